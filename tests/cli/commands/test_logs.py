"""`vetro logs`: what servers say, in a terminal."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.cli.deploykit import Place
from vetro.cli.environments import server_logs
from vetro.clouds.record.driver import RecordDriver


def test_what_the_servers_of_a_workspace_say(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(here)
    place.deploy()
    said = ["first\n\x1b[31msecond\n"]
    monkeypatch.setattr(RecordDriver, "console", lambda self, server, lines=200: said[0])
    assert place.ok("logs", "e").stdout == "first\nsecond\n"
    assert place.ok("logs", "e", "-n", "1").stdout == "second\n"
    (log,) = place.data("logs", "e")
    name = log["server"]["name"]
    assert (log["lines"], log["source"], log["server"]["component"]) == (["first", "second"], "console", "box")
    assert place.ok("logs", "e", name, "--console").stdout == "first\nsecond\n"
    assert "there is no server 'other'" in place.refused("logs", "e", "other")
    assert "no journal" in place.refused("logs", "e", name, "--journal")
    assert "there is no environment 'x'" in place.refused("logs", "x")
    looks: list[float] = []

    def pause(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            raise KeyboardInterrupt
        said[0] += f"look {len(looks)}\n"

    monkeypatch.setattr(server_logs.time, "sleep", pause)
    followed = place.run("logs", "e", name, "--follow")
    assert followed.exit_code == 130 and followed.stdout == "first\nsecond\nlook 1\nlook 2\n"


def test_a_report_is_written(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(here)
    place.deploy()
    monkeypatch.chdir(here)
    monkeypatch.setattr("vetro.server.servers.report.examine", list)
    assert place.ok("env", "report", "e").stdout == "e-report.zip\n"
    assert (here / "e-report.zip").stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(here / "e-report.zip") as archive:
        names = archive.namelist()
        assert json.loads(archive.read("environment.json"))["name"] == "e"
    assert any(name.startswith("tasks/") and name.endswith("/log.txt") for name in names)
    assert "is there already" in place.refused("env", "report", "e")
    assert place.ok("env", "report", "e", "-o", "x.zip").stdout == "x.zip\n"
    assert "there is no environment 'y'" in place.refused("env", "report", "y")


def test_several_servers_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    class Two:
        """A client of a service with an environment of two servers, of which one lost lines."""

        local = False

        def items(self, path: str, **params: object) -> list[dict[str, str]]:
            return [{"id": "env", "name": "shop"}]

        def get(self, path: str, **params: object) -> dict[str, object]:
            if path.endswith("/servers"):
                return {"items": [{"id": "a", "name": "web-1"}, {"id": "b", "name": "db"}]}
            server = {"id": path.split("/")[-2], "name": "web-1" if "/a/" in path else "db"}
            return {
                "server": server, "source": "console", "lines": ["hello", "you"], "next": "", "missed": "/b/" in path
            }  # fmt: skip

    server_logs.show(Two(), "shop", "", "console", 5, False, "text")  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert printed.out == "web-1 | hello\nweb-1 | you\ndb    | hello\ndb    | you\n"
    assert printed.err == "lines of db are left out: there were too many\n"
