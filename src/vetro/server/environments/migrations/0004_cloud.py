from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("environments", "0003_open_sessions")]
    operations = [
        migrations.AddField("environment", "cloud", models.JSONField(default=dict, db_default={})),
    ]
