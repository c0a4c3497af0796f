from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("environments", "0005_stopped")]
    operations = [
        migrations.AddField(
            "environment", "repair", models.CharField(max_length=8, default="propose", db_default="propose")
        ),
    ]
