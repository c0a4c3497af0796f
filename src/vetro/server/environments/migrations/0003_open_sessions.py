from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("environments", "0002_by_name")]
    operations = [
        migrations.AddIndex(
            "session",
            models.Index(
                fields=["environment", "version"], condition=models.Q(state="opened"), name="sessions_that_are_open"
            ),
        ),
    ]
