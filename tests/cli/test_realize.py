"""`vetro env realize` in a workspace: an image is built where nothing else is missing; then all of it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.deploykit import Place
from tests.support.moon import moon
from vetro.clouds import kinds
from vetro.clouds.record.driver import RecordDriver
from vetro.server.config import cloud_settings


@pytest.fixture
def image(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What servers on the moon lack; nothing else is possible on this machine."""
    monkeypatch.setattr(cloud_settings, "_chosen", {})
    ranked = kinds.ranked
    with moon(here) as image:
        monkeypatch.setattr(kinds, "ranked", lambda: [k for k in ranked() if k.name in ("moon", "record")])
        yield image


def builds(image: Path, monkeypatch: pytest.MonkeyPatch, then: Callable[[], None] = lambda: None) -> list[str]:
    """What is built from now on, without any package source."""
    built = []

    def build(
        store: Any, name: str, *, again: bool = False, progress: Callable[[str], None], ready: Sequence[str] = ()
    ) -> Any:
        progress("unpacking")
        then()
        built.append(name)
        image.touch()
        return SimpleNamespace(name=name)

    monkeypatch.setattr("vetro.cli.commands.image_files.build_image", build)
    return built


def test_the_image_is_built_and_all_of_it_is_made(here: Path, image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(here)
    place.ok("deploy", str(place.package), "--env", "e", "--set", "text=two")
    (row,) = place.data("env", "list")
    assert (row["driver"], row["simulated"]) == ("record", True)
    built = builds(image, monkeypatch)
    said = place.ok("env", "realize", "e").output
    assert built == ["debian-12"] and "unpacking" in said and "it is built now" in said
    assert "cloud: moon - servers are on the moon" in said and "environment 'e' is deployed" in said
    assert "simulated" not in said
    (row,) = place.data("env", "list")
    assert (row["driver"], row["simulated"], row["status"]) == ("moon", False, "ready")
    driver = RecordDriver(place.root / "cloud" / "moon")
    try:
        assert [plan.name for plan in driver.plans()] == ["Install", "Configure", "Write text"], "all of it, once"
        assert "box --text two" in str(driver.plans()[-1])
    finally:
        driver.close()
    # Sent twice.
    assert "is not simulated" in place.refused("env", "realize", "e")
    assert built == ["debian-12"]
    place.ok("env", "destroy", "e", "--yes")


@pytest.mark.campaign
def test_a_build_that_is_interrupted_changes_nothing(here: Path, image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(here)
    place.deploy()

    def stop() -> None:
        raise KeyboardInterrupt

    builds(image, monkeypatch, stop)
    assert place.run("env", "realize", "e").exit_code != 0
    assert place.data("env", "list")[0]["simulated"] is True
    builds(image, monkeypatch)
    assert "is deployed" in place.ok("env", "realize", "e", "--driver", "moon").output


@pytest.mark.campaign
def test_it_is_refused_where_nothing_can_be_executed(here: Path, image: Path) -> None:
    place = Place(here)
    place.deploy()
    said = place.refused("env", "realize", "e", "--driver", "record")
    assert "there is no cloud that could make it real" in said
    assert place.data("env", "show", "e")["status"] == "ready"
