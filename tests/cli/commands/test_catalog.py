"""`vetro catalog`: the applications that come with Vetro, into the catalog of a server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.remotekit import Remote


def test_applications_are_listed_and_added_once(remote: Remote) -> None:
    rows = json.loads(remote.ok("catalog", "list", "-o", "json").stdout)
    redis = next(row for row in rows if row["application"] == "Redis")
    assert (Path(redis["folder"]) / "manifest.yaml").is_file()
    assert "there is: Redis" in " ".join(remote.run("catalog", "add", "Rediss").output.split())
    assert "io.vetro.catalog.Redis" in remote.ok("catalog", "add", "redis").output
    (listed,) = json.loads(remote.ok("package", "list", "--search", "Redis", "-o", "json").stdout)
    assert (listed["fqn"], listed["version"]) == ("io.vetro.catalog.Redis", redis["version"])
    assert json.loads(remote.ok("catalog", "add", "Redis", "-o", "json").stdout)["imported"] == []
