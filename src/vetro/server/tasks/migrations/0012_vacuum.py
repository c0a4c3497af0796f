from django.db import migrations

from vetro.server.indexes import vacuum_at

#: Rows that change several times in the life of a task, and then stay.
TABLES = ("dispatch_task", "dispatch_journaltask", "dispatch_journalentry")


def forwards(apps, schema_editor):
    for table in TABLES:
        vacuum_at(schema_editor, table, 0.02)


def backwards(apps, schema_editor):
    """They serve earlier versions as well."""


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0011_fewer_indexes")]
    operations = [migrations.RunPython(forwards, backwards)]
