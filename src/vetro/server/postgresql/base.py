"""The database backend: Django's own, whose sessions keep the statements that come again.

The service asks the same statements all the time, and parsing and planning them was half of what the server spent on a
deployment (docs/measurements.md). Values are bound by the server for that, which takes 65,535 of them with a statement;
longer ones, such as a list of all tasks, are put together here as Django does it otherwise.
"""

from __future__ import annotations

from typing import Any, Final

from django.db.backends.postgresql import base
from psycopg import ClientCursor
from psycopg.errors import FeatureNotSupported
from psycopg.pq import TransactionStatus

#: Values of one statement, by the protocol.
MOST: Final = 65_535


class Cursor(base.ServerBindingCursor):
    """Has the server bind values, where it takes so many."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        """Executes a statement, as the driver does."""
        if params is not None and len(params) > MOST:
            query, params = ClientCursor(self.connection).mogrify(query, params), None  # type: ignore[attr-defined]
            options["prepare"] = False  # it would be kept as a whole
        try:
            return super().execute(query, params, **options)  # type: ignore[misc]
        except FeatureNotSupported:
            # A migration changed the type of a column that a kept statement gives: it would be refused for ever.
            self.connection.prepare_threshold = None  # type: ignore[attr-defined]
            if self.connection.info.transaction_status != TransactionStatus.IDLE:  # type: ignore[attr-defined]
                raise
            return super().execute(query, params, **options)  # type: ignore[misc]


class DatabaseWrapper(base.DatabaseWrapper):
    """See the module."""

    def get_connection_params(self) -> Any:
        """What the driver gets."""
        found = super().get_connection_params()
        found["cursor_factory"] = Cursor
        return found

    def _configure_connection(self, connection: Any) -> Any:
        """Statements are kept by a session of the server. A pooler that shares sessions, such as PgBouncer, gives each
        transaction another one; that there is one is seen by the number of the session, which poolers make up."""
        done = super()._configure_connection(connection)  # type: ignore[misc]
        if connection.prepare_threshold is not None:
            with connection.cursor() as cursor:
                (session,) = cursor.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
            if session != connection.info.backend_pid:
                connection.prepare_threshold = None
        return done
