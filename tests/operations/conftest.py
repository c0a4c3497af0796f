"""PostgreSQL databases, as the tests of moving installations have them."""

from tests.server.dbtools.conftest import cluster, postgresql

__all__ = ["cluster", "postgresql"]
