"""`vetro env metrics`: what servers use, as a table; a reason where nothing is known."""

from __future__ import annotations

import json

from click.testing import CliRunner

from tests.cli.remotekit import Remote
from vetro.cli.commands.env_metrics import _HEAD, _row
from vetro.cli.main import main


def test_what_is_simulated_uses_nothing(remote: Remote) -> None:
    remote.ok("env", "create", "measured")
    assert "nothing was measured in the last hour" in remote.ok("env", "metrics", "measured").output
    assert json.loads(remote.ok("env", "metrics", "measured", "-o", "json").stdout)["servers"] == []
    remote.ok("env", "destroy", "measured", "--yes")


def test_a_workspace_has_nobody_who_measures() -> None:
    done = CliRunner().invoke(main, ["env", "metrics", "x"])
    assert done.exit_code == 1 and "measured by the worker of a server" in done.output


def test_a_row_has_the_newest_sample_and_the_busiest_minute() -> None:
    one = {"processors": 0.75, "memory": 1 << 20, "memory_limit": None, "disk": None}
    two = {"processors": 0.5, "memory": 3 << 19, "memory_limit": 2 << 20, "disk": 1 << 30}
    row = dict(zip(_HEAD, _row({"name": "web", "samples": [one, two]}), strict=True))
    assert row == {
        "server": "web", "processors": "0.50", "most": "0.75", "memory": "1.5 MiB", "of": "2.0 MiB",
        "disk": "1,024.0 MiB", "samples": "2",
    }  # fmt: skip
    assert _row({"name": "db", "samples": []})[1] == "not told"
