import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0003_workers")]
    operations = [
        migrations.AddIndex("report", models.Index(fields=["task", "seq"], name="log_of_a_task")),
        # The index above serves what looks for a task alone, too.
        migrations.AlterField(
            "report",
            "task",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="reports",
                to="dispatch.task",
            ),
        ),
    ]
