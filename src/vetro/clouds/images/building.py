"""Builds of images that nobody waits for: a process of its own, and what it says of itself in the folder of images.

One build at a time: its process holds a lock, so who looks knows whether it lives. It goes on when whoever began it has
gone, and what it leaves when it is killed is removed by the next one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from vetro import file_lock
from vetro.clouds.drivers import spec_files
from vetro.clouds.drivers.errors import ImageBusy, ImageMissing
from vetro.clouds.errors import CloudError
from vetro.clouds.images.build import build
from vetro.clouds.images.recipe import DEFAULT, RECIPES
from vetro.clouds.images.store import ImageStore
from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.visible import visible

#: Lines of what a build says that are kept, and characters of one.
LINES, WIDTH = 100, 300
#: Seconds between two notes of what it says.
_PAUSE = 0.5
#: Seconds in which a process that has built an image is gone.
_ENDS = 10.0


@dataclass(frozen=True, slots=True)
class Build:
    """A build, as it is or as it ended."""

    name: str
    state: Literal["running", "done", "failed"]
    begun: float
    ended: float | None = None
    #: What it does now, or did last.
    step: str = ""
    #: The end of what its programs say.
    log: list[str] = field(default_factory=list)
    #: Why it failed, and what to do.
    error: str = ""
    hint: str | None = None


class BuildsImages(Protocol):
    """Whoever builds the images of a machine."""

    def begin_build(self, name: str) -> None:
        """Begins to build an image of a recipe. Raises `ImageBusy` while one is built, `ImageMissing`."""
        ...  # pragma: no cover - protocol

    def last_build(self) -> Build | None:
        """The build that runs, or ran last."""
        ...  # pragma: no cover - protocol


class Builds:
    """Implements `BuildsImages` for the images of a store; of this user unless one is given."""

    def __init__(self, store: ImageStore | None = None) -> None:
        self._folder = (store or ImageStore()).folder
        self._note = self._folder / ".build.json"

    def begin_build(self, name: str = DEFAULT) -> None:
        """See `BuildsImages.begin_build`."""
        if name not in RECIPES:
            raise ImageMissing(Text("there is no recipe '{name}' of an image", name=name))
        until = time.monotonic() + _ENDS
        while (lock := self._lock()) is None and time.monotonic() < until:
            known = build_of(spec_files.load(self._note))
            if known is not None and known.state == "running":
                break
            time.sleep(0.05)  # it has said how it ended, and is about to go
        if lock is None:
            raise ImageBusy(Text("an image is being built already"))
        try:
            self.note(Build(name, "running", time.time()))
            # Settings of the service, passwords among them, are nothing for the programs that build.
            environment = {key: value for key, value in os.environ.items() if not key.startswith("VETRO_")}
            path = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "vetro.clouds.images.building", str(self._folder), name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, path))},
                pass_fds=(lock,),
                start_new_session=True,
            )
            threading.Thread(target=process.wait, daemon=True).start()  # it ends some time, and is nobody's then
        finally:
            os.close(lock)  # the process holds it

    def last_build(self) -> Build | None:
        """See `BuildsImages.last_build`."""
        found = build_of(spec_files.load(self._note))
        if found is None or found.state != "running":
            return found
        lock = self._lock()
        if lock is None:
            return found
        os.close(lock)
        found = build_of(spec_files.load(self._note)) or found  # it may just have ended
        if found.state == "running":
            return replace(found, state="failed", error=Text("the build was ended before it was done"))
        return found

    def note(self, found: Build) -> None:
        """Writes down how a build is."""
        spec_files.save(self._note, asdict(found))

    def _lock(self) -> int | None:
        """The lock of whoever builds; None where it is held."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o711)
        try:
            return file_lock.take(self._folder / ".building", wait=False)
        except BlockingIOError:
            return None


def build_of(data: Mapping[str, Any] | None) -> Build | None:
    """A build out of plain data; None for what is none."""
    try:
        return None if data is None else Build(**data)
    except TypeError:
        return None


def main(folder: str, name: str) -> None:
    """Builds an image and notes how that goes on."""
    store = ImageStore(Path(folder))
    builds = Builds(store)
    found = builds.last_build() or Build(name, "running", time.time())
    found = replace(found, state="running", error="", log=[])
    log: deque[str] = deque(maxlen=LINES)
    noted = 0.0

    def tell(step: str | None = None, line: str = "") -> None:
        nonlocal found, noted
        if step is not None:
            found = replace(found, step=step)
        log.append(visible(line or str(step))[:WIDTH])
        if step is not None or time.monotonic() - noted > _PAUSE:
            noted = time.monotonic()
            builds.note(replace(found, log=list(log)))

    try:
        build(store, name, progress=tell, log=lambda line: tell(line=line))
        found = replace(found, state="done")
    except CloudError as error:
        found = replace(found, state="failed", error=error.message, hint=error.hint)
    except Exception as error:
        found = replace(found, state="failed", error=f"{type(error).__name__}: {error}"[:1000])
    builds.note(replace(found, log=list(log), ended=time.time()))


if __name__ == "__main__":
    main(*sys.argv[1:])
