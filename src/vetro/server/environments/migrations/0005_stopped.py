from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("environments", "0004_cloud")]
    operations = [
        migrations.AddField("environment", "stopped", models.JSONField(default=dict, db_default={})),
    ]
