"""`vetro upgrade --one-by-one`: each application for itself, those that others use first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import Place, wait_for
from tests.cli.environments.test_guard import kill

DB = """\
Namespaces: {=: t.db, std: io.murano}
Name: Db
Extends: std:Application
Properties:
  size: {Contract: $.int().notNull(), Default: 1}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'The database is there')
"""
WEB = """\
Namespaces: {=: t.web, std: io.murano, db: t.db}
Name: Web
Extends: std:Application
Properties:
  db: {Contract: $.class(db:Db).notNull()}
  fail: {Contract: $.bool().notNull(), Default: false}
%s
Methods:
  deploy:
    Body:
      - If: $.fail
        Then: [{Throw: Failed, Message: no visitors}]
      - $.find(std:Environment).reporter.report($this, 'The site is open')
"""
MODE = "  mode: {Contract: $.string().notNull()}"
REQUIRE = "Require: {t.db: '>=1'}\n"


def web(folder: Path, version: str, more: str) -> Path:
    return write_package(folder, {"t.web.Web": WEB % more}, name="t.web", version=version, extra=REQUIRE)


@pytest.fixture
def place(here: Path) -> Place:
    """A site that uses a database, each an application of its own; newer versions of both are there."""
    made = Place(here)
    first = write_package(here / "db-1", {"t.db.Db": DB}, name="t.db")
    site = web(here / "web-1", "1.0.0", "")
    # The user comes first in the model: the order is not that.
    made.ok("deploy", str(first), "--env", "e", "--driver", "record", "--app", "store")
    both = ("deploy", str(site), str(first), "--env", "e", "--class", "t.web.Web", "--app", "site")
    made.ok(*both, "--set", "db=store")
    write_package(here / "db-2", {"t.db.Db": DB}, name="t.db", version="2.0.0")
    web(here / "web-2", "2.0.0", MODE)
    return made


def upgrade(place: Place, *more: str) -> list[str]:
    to = [word for name in ("web-2", "db-2") for word in ("--to", str(place.folder / name))]
    return ["upgrade", "e", *to, "--one-by-one", *more]


def versions(place: Place) -> dict[str, Any]:
    return {row["name"]: row["version"] for row in place.data("env", "show", "e")["packages"]}


def test_what_others_use_comes_first(place: Place) -> None:
    said = place.refused(*upgrade(place))
    assert "--set site.mode=VALUE" in said and "nothing was changed" in said
    assert len(place.data("env", "history", "e")) == 2, "nothing begins while something is open"
    said = place.ok(*upgrade(place, "--set", "site.mode=fast", "--plan")).output
    assert said.index("1. store") < said.index("2. site") and "nothing was changed" in said
    said = place.ok(*upgrade(place, "--set", "site.mode=fast")).output
    assert said.index("1 of 2: store") < said.index("2 of 2: site")
    assert said.count("keeping everything as it is") == 2 and said.count("'e' is deployed") == 1
    assert [one["kind"] for one in place.data("env", "history", "e")] == ["deploy"] * 4
    shown = place.ok("env", "show", "e", "--model", "-1").output
    assert "t.db.Db/2.0.0@t.db" in shown and "t.web.Web/2.0.0@t.web" in shown and "mode: fast" in shown


@pytest.mark.campaign
def test_it_stops_where_one_is_taken_back_and_goes_on_there(place: Place) -> None:
    said = place.refused(*upgrade(place, "--set", "site.mode=fast", "--set", "site.fail=true"))
    assert "is as it was before the update" in said and "what went before stays: store" in said
    shown = place.ok("env", "show", "e", "--model", "-1").output
    assert "t.db.Db/2.0.0@t.db" in shown and "t.web.Web/1.0.0@t.web" in shown and place.status() == "ready"
    words = ["upgrade", "e", "--to", str(place.folder / "web-2"), "--one-by-one", "--set", "site.mode=fast"]
    said = place.ok(*words).output
    assert "1 of 1: site" in said
    assert "t.web.Web/2.0.0@t.web" in place.ok("env", "show", "e", "--model", "-1").output


def parts(place: Place) -> list[str]:
    """How the parts of the update under way stand."""
    update = place.data("env", "show", "e")["update"] or {}
    return [part["state"] for part in update.get("parts") or ()]


@pytest.mark.campaign  # what the service does of it is tried in tests/server/procedures
@pytest.mark.parametrize("where", [["now", "open"], ["done", "now"]])
def test_who_is_killed_can_go_on_and_is_told_what_was_done(place: Place, where: list[str]) -> None:
    """The command is killed while the first, or the second, is looked at."""
    kept = set(place.processes())
    with place.start(*upgrade(place, "--set", "site.mode=fast", "--settle", "20")) as process:
        wait_for(lambda: process.poll() is not None or parts(place) == where, "it is there")
        assert process.poll() is None, process.communicate()[0]
        kill(place, process, kept)
    assert place.status() == "interrupted"
    shown = place.ok("env", "show", "e").output
    assert "vetro env resume e goes on" in shown and ("done: store" in shown) == (where[0] == "done")
    said = place.ok("env", "resume", "e").output
    assert f"{2 if where[0] == 'done' else 1} of 2: " in said
    assert versions(place) == {"t.db": "2.0.0", "t.web": "2.0.0"} and place.status() == "ready"
    assert [one["kind"] for one in place.data("env", "history", "e")] == ["deploy"] * 4


def test_all_or_nothing_goes_back_to_what_was_before_the_first(place: Place) -> None:
    said = place.refused(*upgrade(place, "--all-or-nothing", "--set", "site.mode=fast", "--set", "site.fail=true"))
    assert "state 5 is state 2 again" in said and "stays: store" not in said
    assert versions(place) == {"t.db": "1.0.0", "t.web": "1.0.0"}


@pytest.mark.campaign
def test_without_way_back_the_command_makes_one_after_the_other(place: Place) -> None:
    said = place.ok(*upgrade(place, "--no-guard", "--set", "site.mode=fast")).output
    assert said.count("'e' is deployed") == 2 and "keeping everything" not in said
    assert versions(place) == {"t.db": "2.0.0", "t.web": "2.0.0"}


@pytest.mark.parametrize("more", [("--hold", "1h"), ("--object", "site"), ("--all-or-nothing", "--no-guard")])
def test_what_is_for_one_upgrade_is_refused(here: Path, more: tuple[str, ...]) -> None:
    assert Place(here).run("upgrade", "e", "--one-by-one", *more).exit_code == 2
