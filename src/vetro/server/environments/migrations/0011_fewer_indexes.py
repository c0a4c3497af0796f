import django.db.models.deletion
from django.db import migrations, models

from vetro.server.indexes import drop_indexes, drop_pattern_indexes, set_fill_factor

FIELDS = (("instanceusage", "usage"), ("session", "sessions"), ("state", "states"))


def forwards(apps, schema_editor):
    for name, _ in FIELDS:
        drop_indexes(schema_editor, apps.get_model("environments", name), ["environment_id"])
    drop_pattern_indexes(schema_editor, "environments")
    set_fill_factor(schema_editor, "environments_session", 50)
    set_fill_factor(schema_editor, "environments_environment", 80)


def backwards(apps, schema_editor):
    """Nothing is missing without them."""


class Migration(migrations.Migration):
    dependencies = [("environments", "0010_offers")]
    operations = [
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["environment", "version"], name="sessions_of_a_version"),
        ),
        migrations.RemoveIndex(model_name="session", name="environment_environ_2f548f_idx"),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(forwards, backwards)],
            state_operations=[
                migrations.AlterField(
                    model_name=name,
                    name="environment",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name=related,
                        to="environments.environment",
                    ),
                )
                for name, related in FIELDS
            ],
        ),
    ]
