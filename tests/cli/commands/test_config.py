"""`vetro config`: every setting, where it comes from; and that the page of the docs is made of the same table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from vetro.cli.commands.config_show import markdown_table
from vetro.server.config.config import Config
from vetro.server.config.display import without_password
from vetro.server.config.table import SETTINGS

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def shown(vetro: Callable[..., Result], *words: str) -> dict[str, Any]:
    result = vetro("config", "show", *words, "-o", "json", "--data", "data")
    assert result.exit_code == 0, result.output
    return {row["name"]: row for row in json.loads(result.output)}


def test_each_value_says_where_it_comes_from(
    vetro: Callable[..., Result], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "data").mkdir()
    (here / "data" / "vetro.toml").write_text('[server]\nport = 9000\nhost = "::"\n')
    monkeypatch.setenv("VETRO_SERVER__HOST", "0.0.0.0")
    rows = shown(vetro, "server", "database.url", "--database", "sqlite:///x.db")
    assert (rows["server.port"]["value"], rows["server.port"]["source"]) == (9000, str(here / "data" / "vetro.toml"))
    assert (rows["server.host"]["value"], rows["server.host"]["source"]) == (
        "0.0.0.0",
        "environment VETRO_SERVER__HOST",
    )
    assert (rows["server.threads"]["value"], rows["server.threads"]["source"]) == (16, "default")
    assert rows["database.url"]["source"] == "command line"
    assert all(row["meaning"] for row in rows.values())


def test_all_settings_are_shown_without_a_name(vetro: Callable[..., Result]) -> None:
    assert list(shown(vetro)) == [setting.name for setting in SETTINGS]


def test_an_unknown_name_is_told_with_a_similar_one(vetro: Callable[..., Result]) -> None:
    result = vetro("config", "show", "server.prt")
    assert (result.exit_code, "did you mean 'server.port'" in result.output) == (1, True)


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        ("postgresql://vetro:hunter2@db/vetro", "postgresql://vetro:***@db/vetro"),
        ("postgresql://db/vetro?password=hunter2&x=1", "postgresql://db/vetro?password=***&x=1"),
        ("sqlite:///x.db", "sqlite:///x.db"),
        ({"username": "v", "password": "hunter2"}, {"username": "v", "password": "***"}),
    ],
)
def test_passwords_are_not_shown(value: Any, safe: Any) -> None:
    assert without_password(value) == safe


def test_no_output_holds_the_password_of_the_database(
    vetro: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VETRO_DATABASE__URL", "postgresql://vetro:hunter2@db/vetro")
    for form in ("table", "json", "yaml"):
        result = vetro("config", "show", "-o", form, "--data", "data")
        assert "vetro:***@db" in result.output
        assert "hunter2" not in result.output


def test_the_rules_in_force_are_shown(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    (tmp_path / "rules.yaml").write_text('get_package: "role:cook"\n')
    done = subprocess.run(
        [sys.executable, "-m", "vetro.cli.main", "config", "policy", "-o", "json", "--data", str(tmp_path)],
        env={**os.environ, "VETRO_ACCOUNTS__POLICY_FILE": "rules.yaml"},
        capture_output=True,
        timeout=60,
        check=True,
    )
    rules = {row["rule"]: (row["expression"], row["source"]) for row in json.loads(done.stdout)}
    assert rules["get_package"] == ("role:cook", "file")
    assert rules["list_environments"] == ("", "default")


def test_the_table_of_the_docs_is_this_one() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert markdown_table() in page, "run: vetro config show --markdown, and put it into docs/settings.md"


def test_changed_settings_reach_children_through_the_environment(tmp_path: Path) -> None:
    first = Config.load(tmp_path, None, {"worker.labels": ["eu"], "server.port": 0}, {})
    again = Config.load(environ=first.changed({"server.port": 4321}).as_environment())
    assert (again["server.port"], again["worker.labels"], again.data) == (4321, ["eu"], tmp_path)
