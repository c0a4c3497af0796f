"""`vetro serve` builds the image where that is all that real servers lack: wanted, refused, asked for at a terminal.

The service itself is left out here; at a real terminal, with a real build: tests/acceptance/test_realize_real.py.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.image_tool import SMALL, becomes, image_lacks
from vetro.cli.commands import serve
from vetro.cli.main import main
from vetro.clouds.images.store import ImageStore
from vetro.clouds.nspawn.kind import NspawnKind


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What builds images, on a machine that lacks only one."""
    made = image_lacks(tmp_path, monkeypatch)
    becomes(made, f"{SMALL}touch {made.parent}/waits; while [ ! -e {made.parent}/go ]; do sleep 0.05; done\n")
    monkeypatch.setattr(serve, "serve", lambda *given: 0)
    monkeypatch.setenv("VETRO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("VETRO_CLOUD__DIRECTORY", str(tmp_path / "cloud"))
    return made


def said(*options: str, typed: str = "") -> str:
    result = CliRunner().invoke(main, ["serve", *options], input=typed, prog_name="vetro")
    assert result.exit_code == 0, result.output
    return result.output


def built(tool: Path) -> None:
    """Waits until the image is there."""
    (tool.parent / "go").touch()
    end = time.monotonic() + 60
    while not ImageStore().list():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_it_is_built_when_wanted_and_not_without_a_terminal(tool: Path) -> None:
    assert "is built" not in said() and "is built" not in said("--no-build-image")
    assert "the image debian-12 is built beside the service" in said("--build-image")
    # It serves all the same.
    assert "no image is built: an image is being built already" in said("--build-image")
    built(tool)
    assert "no image is built: there is one already" in said("--build-image")


@pytest.mark.parametrize("typed", ["\n", "y\n"])
def test_a_terminal_is_asked(tool: Path, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr(serve, "_at_terminal", lambda: True)
    assert "is built" not in said(typed="n\n") and not (tool.parent / "waits").exists()
    answer = said(typed=typed)
    question = "Build the image debian-12 now, beside the service (half a minute), so that servers are real? [Y/n]: "
    assert question in answer and "is built beside the service" in answer
    built(tool)
    assert "Build the image" not in said()


def test_where_more_is_missing_it_says_what(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NspawnKind, "missing", lambda kind, images=None: "systemd-nspawn is not installed")
    assert "no image is built: systemd-nspawn is not installed" in said("--build-image")
    assert not (tool.parent / "waits").exists()
