"""Effects hosts of this process have the images of the test that runs, whatever an earlier one began."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers import images_in
from vetro.server.tasks import effect_hosts


@pytest.fixture(autouse=True)
def another() -> Iterator[None]:
    """What an earlier test has begun, which knows no images."""
    before = os.environ.get("VETRO_IMAGES")
    effect_hosts.close()  # what one before that has begun, with variables of its own
    effect_hosts.forker("record").start()
    try:
        yield
    finally:
        assert os.environ.get("VETRO_IMAGES") == before
        effect_hosts.close()


def folder_of(settings: dict[str, Any]) -> str:
    """VETRO_IMAGES of a new host; '' where it has none."""
    with effect_hosts.host(settings) as host:
        host.start()
        words = Path(f"/proc/{host.pid}/environ").read_bytes().split(b"\0")
        return next((os.fsdecode(word[13:]) for word in words if word.startswith(b"VETRO_IMAGES=")), "")


def test_hosts_have_the_images_that_are_named(tmp_path: Path) -> None:
    cloud = {"kind": "record", "directory": str(tmp_path / "cloud")}
    settings = {"cloud": cloud, "owner": {"project": "p", "environment": "1"}}
    given = os.environ.get("VETRO_IMAGES", "")
    assert folder_of(settings) == given
    for name in ("one", "two"):
        with images_in(tmp_path / name):
            assert folder_of(settings) == str(tmp_path / name)
    assert folder_of(settings) == given
