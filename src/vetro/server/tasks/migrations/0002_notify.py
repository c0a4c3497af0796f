"""PostgreSQL tells those who listen (`vetro.server.tasks.notifications`) at the commit what happened.

Triggers, so that nothing can be written without being told, and nothing is told that was rolled back.
"""

from django.db import migrations

STATEMENTS = (
    """
CREATE OR REPLACE FUNCTION vetro_event_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('vetro_events', NEW.project_id || ' ' || NEW.environment_id || ' ' || NEW.task_id);
  RETURN NULL;
END $$
""",
    """
CREATE OR REPLACE FUNCTION vetro_task_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('vetro_tasks', NEW.id);
  RETURN NULL;
END $$
""",
    """
CREATE OR REPLACE FUNCTION vetro_task_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('vetro_ended', NEW.id);
  RETURN NULL;
END $$
""",
    "CREATE TRIGGER vetro_event_told AFTER INSERT ON dispatch_event"
    " FOR EACH ROW EXECUTE FUNCTION vetro_event_told()",
    "CREATE TRIGGER vetro_task_queued AFTER INSERT ON dispatch_task"
    " FOR EACH ROW WHEN (NEW.state = 'queued') EXECUTE FUNCTION vetro_task_told()",
    # Queued once more, to be cancelled, or given back by its worker.
    "CREATE TRIGGER vetro_task_changed AFTER UPDATE ON dispatch_task FOR EACH ROW"
    " WHEN ((NEW.state = 'queued' AND OLD.state <> 'queued') OR NEW.cancel <> OLD.cancel"
    " OR (NEW.state = 'running' AND NEW.owner = '' AND OLD.owner <> '')) EXECUTE FUNCTION vetro_task_told()",
    "CREATE TRIGGER vetro_task_ended AFTER UPDATE ON dispatch_task FOR EACH ROW"
    " WHEN (NEW.state <> OLD.state AND NEW.state NOT IN ('queued', 'running')) EXECUTE FUNCTION vetro_task_ended()",
)


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        with schema_editor.connection.cursor() as cursor:
            for statement in STATEMENTS:
                cursor.execute(statement)


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        with schema_editor.connection.cursor() as cursor:
            for function in ("vetro_event_told", "vetro_task_told", "vetro_task_ended"):
                cursor.execute(f"DROP FUNCTION IF EXISTS {function} CASCADE")


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0001_initial")]
    operations = [migrations.RunPython(add, remove)]
