from django.db import migrations, models

_FILL = """
UPDATE dispatch_task SET log_bytes = (
    SELECT coalesce(sum(length(r.text) + coalesce(length(r.details), 0)), 0)
    FROM dispatch_report r WHERE r.task_id = dispatch_task.id)
"""


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0006_waiting")]
    operations = [
        migrations.AddField("task", "log_bytes", models.BigIntegerField(default=0, db_default=0)),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            "task",
            models.Index(
                fields=["project_id", "log_bytes"], condition=models.Q(log_bytes__gt=0), name="log_bytes_of_projects"
            ),
        ),
    ]
