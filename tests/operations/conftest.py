"""PostgreSQL databases, as the tests of moving installations have them."""

from tests.server.operations.database.conftest import cluster, postgresql

__all__ = ["cluster", "postgresql"]
