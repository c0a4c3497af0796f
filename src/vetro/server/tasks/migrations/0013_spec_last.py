from django.db import migrations

from vetro.server.indexes import move_to_the_end, set_fill_factor


def forwards(apps, schema_editor):
    set_fill_factor(schema_editor, "dispatch_task", 70)
    move_to_the_end(schema_editor, "dispatch_task", ["spec"])


def backwards(apps, schema_editor):
    """Earlier versions name the columns that they read."""


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0012_vacuum")]
    operations = [migrations.RunPython(forwards, backwards)]
