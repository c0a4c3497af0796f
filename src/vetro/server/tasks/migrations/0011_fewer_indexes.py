import django.db.models.deletion
from django.db import migrations, models

from vetro.server.indexes import drop_indexes, drop_pattern_indexes


def forwards(apps, schema_editor):
    for name in ("JournalEntry", "JournalNote"):
        drop_indexes(schema_editor, apps.get_model("dispatch", name), ["task_id"])
    drop_pattern_indexes(schema_editor, "dispatch")


def backwards(apps, schema_editor):
    """Nothing is missing without them."""


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0010_waits")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(forwards, backwards)],
            state_operations=[
                migrations.AlterField(
                    model_name=name,
                    name="task",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name=related,
                        to="dispatch.task",
                    ),
                )
                for name, related in (("journalentry", "entries"), ("journalnote", "notes"))
            ],
        ),
    ]
