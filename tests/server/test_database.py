"""Addresses of databases as Django's settings, and connections of processes that answer requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from vetro.server.config.config import Config, ConfigError
from vetro.server.database import database_settings

pytestmark = pytest.mark.database


def settings(folder: Path, url: str, **more: Any) -> dict[str, Any]:
    given = {"database.url": url, **{name.replace("__", "."): value for name, value in more.items()}}
    return database_settings(Config.load(folder, overrides=given, environ={}))


@pytest.mark.parametrize(
    ("url", "path"),
    [("", "vetro.db"), ("sqlite:///own.db", "own.db"), ("sqlite:///sub/a%20b.db", "sub/a b.db")],
)
def test_files_are_relative_to_the_data_directory(tmp_path: Path, url: str, path: str) -> None:
    assert settings(tmp_path, url)["NAME"] == str(tmp_path / path)
    assert (tmp_path / path).parent.is_dir()


def test_files_may_be_absolute(tmp_path: Path) -> None:
    assert settings(tmp_path / "data", f"sqlite:///{tmp_path}/there.db")["NAME"] == f"{tmp_path}/there.db"


def test_a_server_may_have_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VETRO_HTTP", raising=False)
    url = "postgresql://ann:p%40ss@db.example:5433/vetro?sslmode=require&application_name=blue"
    found = settings(tmp_path, url)
    names = ("USER", "PASSWORD", "HOST", "PORT", "NAME", "CONN_MAX_AGE")
    assert [found[name] for name in names] == ["ann", "p@ss", "db.example", "5433", "vetro", None]
    assert {name: found["OPTIONS"][name] for name in ("sslmode", "application_name", "connect_timeout")} == {
        "sslmode": "require", "application_name": "blue", "connect_timeout": "10",
    }  # fmt: skip
    with pytest.raises(ConfigError, match="must begin with sqlite:/// or postgresql://, not 'mysql'"):
        settings(tmp_path, "mysql://x/y")


@pytest.mark.django_db
def test_who_is_lost_holds_nobody_up(tmp_path: Path) -> None:
    """A machine that vanishes in a transaction would keep its locks until TCP gives up, two hours later."""
    options = settings(tmp_path, "postgresql:///vetro")["OPTIONS"]
    ours = "-c idle_in_transaction_session_timeout=60000 -c jit=off"
    assert options["options"] == ours
    assert int(options["keepalives_idle"]) + 3 * int(options["keepalives_interval"]) <= 60
    mine = settings(tmp_path, "postgresql:///vetro?options=&keepalives_idle=300")["OPTIONS"]
    assert (mine["options"], mine["keepalives_idle"]) == ("", "300")  # poolers may refuse options
    more = settings(tmp_path, "postgresql:///vetro?options=-c%20search_path%3Dblue")["OPTIONS"]
    assert more["options"] == f"{ours} -c search_path=blue"
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            assert cursor.fetchone() == ("1min",)


def test_an_address_may_say_when_statements_are_prepared(tmp_path: Path) -> None:
    def threshold(query: str) -> Any:
        return settings(tmp_path, f"postgresql:///vetro{query}")["OPTIONS"]["prepare_threshold"]

    assert [threshold(query) for query in ("", "?prepare_threshold=", "?prepare_threshold=7")] == [3, None, 7]
    with pytest.raises(ConfigError, match=r"'prepare_threshold' in 'database\.url' must be a number or empty"):
        threshold("?prepare_threshold=x")


def test_processes_that_answer_requests_share_few_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_HTTP", "1")
    found = settings(tmp_path, "postgresql:///vetro", database__pool=7)
    assert (found["OPTIONS"]["pool"]["max_size"], found["CONN_MAX_AGE"]) == (7, 0)
    without = settings(tmp_path, "postgresql:///vetro", database__pool=0)
    assert ("pool" in without["OPTIONS"], without["CONN_MAX_AGE"]) == (False, None)
