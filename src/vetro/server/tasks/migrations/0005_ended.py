from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0004_log_order")]
    operations = [
        migrations.AddIndex(
            "task",
            models.Index(
                fields=["finished", "kind", "state"],
                condition=models.Q(finished__isnull=False),
                name="tasks_that_ended",
            ),
        ),
        migrations.AddIndex("journaltask", models.Index(fields=["begun"], name="journals_by_age")),
    ]
