from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0005_ended")]
    operations = [
        migrations.AddIndex(
            "task",
            models.Index(
                fields=["project_id", "-priority", "created", "id"],
                condition=models.Q(state="queued"),
                name="tasks_that_wait",
            ),
        ),
        migrations.AddIndex(
            "task", models.Index(fields=["kind"], condition=models.Q(state="queued"), name="kinds_that_wait")
        ),
    ]
