"""`vetro catalog`: the applications that come with Vetro, into the catalog of a server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.remotekit import Remote
from vetro.packages.bundle import applications


def test_applications_are_listed_and_added_once(remote: Remote) -> None:
    rows = json.loads(remote.ok("catalog", "list", "-o", "json").stdout)
    redis = next(row for row in rows if row["application"] == "Redis")
    assert (Path(redis["folder"]) / "manifest.yaml").is_file()
    assert "there is: Redis" in " ".join(remote.run("catalog", "add", "Rediss").output.split())
    assert "io.vetro.catalog.Redis" in remote.ok("catalog", "add", "redis").output
    (listed,) = json.loads(remote.ok("package", "list", "--search", "Redis", "-o", "json").stdout)
    assert listed["categories"] == ["Key-Value Storage"]
    assert (listed["fqn"], listed["version"]) == ("io.vetro.catalog.Redis", redis["version"])
    assert json.loads(remote.ok("catalog", "add", "Redis", "-o", "json").stdout)["imported"] == []


def test_one_that_is_refused_is_named_and_holds_nobody_up(remote: Remote, tmp_path: Path) -> None:
    """The server has a version of HAProxy with other content: published versions do not change."""
    for path in (folder := Path(applications()["HAProxy"][0])).rglob("*"):
        place = tmp_path / "HAProxy" / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            place.write_bytes(path.read_bytes())
    (tmp_path / "HAProxy" / "README.md").write_text("another one")
    remote.ok("package", "publish", str(tmp_path / "HAProxy"))
    done = remote.run("catalog", "add", "HAProxy", "StaticSite")
    words = " ".join(done.output.split())
    assert (
        done.exit_code == 1
        and "HAProxy is not added: the server has io.vetro.catalog.HAProxy 1.0.0 with other" in words
    )
    assert "io.vetro.catalog.StaticSite 1.1.0 published" in words
    again = remote.run("catalog", "add", "StaticSite", "HAProxy", "-o", "json")
    assert list(json.loads(again.stdout)["failed"]) == ["HAProxy"]
