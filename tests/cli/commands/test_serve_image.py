"""`vetro serve` builds the image where that is all that real servers lack: wanted, refused, asked for at a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from vetro.cli.commands import serve
from vetro.cli.main import main
from vetro.clouds.drivers.errors import ImageBusy
from vetro.diagnostics import Text


class Kind:
    """A kind of clouds that has no image yet; it is also what builds one."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.busy = False

    def builds(self, place: Any) -> Kind:
        return self

    def begin_build(self, name: str) -> None:
        if self.busy:
            raise ImageBusy(Text("an image is being built already"))
        self.begun.append(name)


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kind:
    made = Kind()
    monkeypatch.setattr(serve.image_choice, "only_an_image_lacks", lambda settings: made)
    monkeypatch.setattr(serve, "serve", lambda *given: 0)
    monkeypatch.setenv("VETRO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("VETRO_CLOUD__DIRECTORY", str(tmp_path / "cloud"))
    return made


def said(*options: str, typed: str = "") -> str:
    result = CliRunner().invoke(main, ["serve", *options], input=typed, prog_name="vetro")
    assert result.exit_code == 0, result.output
    return result.output


def test_it_is_built_when_wanted_and_not_without_a_terminal(kind: Kind) -> None:
    assert "is built" not in said() and "is built" not in said("--no-build-image") and kind.begun == []
    assert "the image debian-12 is built beside the service" in said("--build-image")
    assert kind.begun == ["debian-12"]
    kind.busy = True  # it serves all the same
    assert "no image is built: an image is being built already" in said("--build-image")


@pytest.mark.parametrize(("typed", "begun"), [("\n", ["debian-12"]), ("y\n", ["debian-12"]), ("n\n", [])])
def test_a_terminal_is_asked(kind: Kind, monkeypatch: pytest.MonkeyPatch, typed: str, begun: list[str]) -> None:
    monkeypatch.setattr(serve, "_at_terminal", lambda: True)
    assert "Build the image debian-12 now" in said(typed=typed)
    assert kind.begun == begun


def test_where_more_is_missing_it_says_what(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve.image_choice, "only_an_image_lacks", lambda settings: None)
    monkeypatch.setattr(serve.image_choice, "kind_to_build_for", lambda settings: (kind, None))
    assert "no image is built: there is one already" in said("--build-image") and kind.begun == []
