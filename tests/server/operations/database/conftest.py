"""An installation that was used, and PostgreSQL databases of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.server.operations.database.kit import ROOT, Installation
from tests.support.needs import need


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of an installation on SQLite that was used; do not change it."""
    installation = Installation(tmp_path_factory.mktemp("used") / "data")
    installation.make()
    return installation.data


@pytest.fixture
def installation(used: Path, tmp_path: Path) -> Installation:
    """A copy of it."""
    return Installation(Path(shutil.copytree(used, tmp_path / "data")))


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a database of a PostgreSQL: that of the tests, or one that is started for these."""
    given = os.environ.get("VETRO_DATABASE__URL", "")
    if given.startswith("postgres"):
        yield given
        return
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        need("PostgreSQL's programs")
    server = subprocess.Popen(
        [str(ROOT / "script" / "with-postgresql"), "sh", "-c", 'echo "$VETRO_DATABASE__URL"; cat'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        address = server.stdout.readline().strip()
        assert address, "PostgreSQL did not start"
        yield address
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait(60)


@pytest.fixture
def postgresql(cluster: str) -> Iterator[Callable[[], str]]:
    """Makes empty databases; their addresses."""
    import psycopg

    parts = urlsplit(cluster)
    host = dict(parse_qsl(parts.query)).get("host") or parts.hostname
    made: list[str] = []

    def make() -> str:
        name = f"vetro_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(cluster, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        made.append(name)
        return f"postgresql://{parts.username}@/{name}?host={host}"

    yield make
    with psycopg.connect(cluster, autocommit=True) as connection:
        for name in made:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
