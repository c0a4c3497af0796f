from django.db import migrations

from vetro.server.indexes import move_to_the_end


def forwards(apps, schema_editor):
    move_to_the_end(schema_editor, "environments_session", ["upgrade", "answers", "draft"])


def backwards(apps, schema_editor):
    """Earlier versions name the columns that they read."""


class Migration(migrations.Migration):
    dependencies = [("environments", "0012_sessions_without_states")]
    operations = [migrations.RunPython(forwards, backwards)]
