"""`Executor`: migrations that are recorded in the transaction which does them.

Django records one after its transaction when there are statements left for its end; who is killed in between has tables
of which nobody knows, and no later run gets past them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db.migrations.executor import MigrationExecutor


class Executor(MigrationExecutor):
    """Carries out migrations forwards."""

    def apply_migration(self, state: Any, migration: Any, fake: bool = False, fake_initial: bool = False) -> Any:
        """The state after a migration, which is done and recorded, or neither."""
        with self.connection.schema_editor(atomic=migration.atomic) as editor:
            state = migration.apply(state, editor)
            waiting, editor.deferred_sql = list(editor.deferred_sql), []
            for statement in waiting:
                editor.execute(statement, None)
            self.record_migration(migration)  # type: ignore[call-arg]  # the stubs are behind
        return state


def migrate_all(connection: Any, begun: Callable[[int, int], None] = lambda number, of: None) -> None:
    """Does every migration that is missing, as the command ``migrate`` does; ``begun`` is told which one, of how many.

    Raises errors of the database.
    """

    number = 0

    def progress(what: str, *_: Any) -> None:
        nonlocal number
        if what == "apply_start":
            number += 1
            begun(number, len(plan))

    executor = Executor(connection, progress)
    executor.loader.check_consistent_history(connection)
    targets = executor.loader.graph.leaf_nodes()
    plan = executor.migration_plan(targets)
    emit_pre_migrate_signal(0, False, connection.alias, plan=plan)
    executor.migrate(targets, plan=plan)
    emit_post_migrate_signal(0, False, connection.alias, plan=plan)
