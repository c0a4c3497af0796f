"""A kind of clouds for tests, better than the recorder: it executes things, as far as it says, once it has an image.

It keeps a record of its own kind in the same folder, so tests find what was made by which.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.distribution import install
from vetro.clouds import kinds
from vetro.server.tasks import effect_hosts

_KIND = """
import os
from dataclasses import replace
from pathlib import Path

from vetro.clouds.kind_protocols import Lack
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.record.kind import RecordKind
from vetro.clouds.stacks.kind import BUILD_IMAGE, NO_IMAGE


class Moon(RecordDriver):
    name = "moon"
    executes = True

    def __init__(self, directory):
        super().__init__(Path(directory) / "moon")


class MoonKind(RecordKind):
    name = "moon"
    title = "servers are on the moon"
    rank = 1

    def driver(self, settings, place):
        return Moon(place.directory)

    def lacks(self, settings, place):
        return None if Path(os.environ["MOON_IMAGE"]).exists() else Lack(NO_IMAGE, BUILD_IMAGE)

    def capabilities(self, settings):
        return replace(super().capabilities(settings), executes=True)


KIND = MoonKind()
"""


@contextmanager
def moon(folder: Path) -> Iterator[Path]:
    """The kind is there, and lacks an image until the file is there that is given."""
    site, image = folder / "moon-site", folder / "moon-image"
    install(site, "vetro-moon", "[vetro.clouds]\nmoon = vetro_moon:KIND\n", {"vetro_moon": _KIND})
    path = os.environ.get("PYTHONPATH")
    sys.path.insert(0, str(site))
    os.environ |= {"PYTHONPATH": os.pathsep.join(filter(None, [str(site), path])), "MOON_IMAGE": str(image)}
    forget()
    try:
        yield image
    finally:
        sys.path.remove(str(site))
        sys.modules.pop("vetro_moon", None)
        del os.environ["MOON_IMAGE"]
        os.environ.pop("PYTHONPATH")
        if path is not None:
            os.environ["PYTHONPATH"] = path
        forget()


def forget() -> None:
    """Processes and tables that know which kinds there are."""
    kinds._registered.cache_clear()
    effect_hosts.close()
