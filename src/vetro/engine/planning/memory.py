"""`image` and `opened`: the recorder of a plan without a folder and without an effects host.

`image` is made where the state of the real cloud is: a slice of it, and which servers do not run, as plain data.
`opened` makes the recorder of it, in memory, where the package's code runs. For clouds around a driver only: others
have to be asked while the plan is made (`vetro.engine.planning.names`).
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.drivers.base import Recorder
from vetro.clouds.interface import Owner
from vetro.clouds.kind_protocols import Capabilities, Place
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.kind import DriverKind
from vetro.clouds.stacks.state.slices import Slices, slice_of
from vetro.engine.host.config import quotas_of
from vetro.engine.planning.recorder import OFF, kind_of, settings_of

#: The recording kind: found where this module is loaded, since a process behind walls cannot look for it.
_RECORD = kinds.find(kinds.RECORD)
#: Bytes of what is looked for in another state: pages of SQLite's databases.
_PAGE = 4096
#: A slice is mostly free pages and names that repeat: the least that can be done makes a tenth of it.
_LEVEL = 1


def possible(real: Mapping[str, Any]) -> bool:
    """Whether plans of this cloud (settings of an effects host) can be made in memory."""
    return isinstance(kind_of(real), DriverKind)


def source_of(real: Mapping[str, Any]) -> Path:
    """The file with the state of a cloud around a driver."""
    return Path(real["directory"]) / "cloud.db"


def image(
    real: Mapping[str, Any], owner: Owner, states: Mapping[str, str], slices: Slices | None = None
) -> dict[str, Any]:
    """What `opened` takes: plain data, but for ``state``, which is bytes (`packed`).

    ``states``: of the environment's servers as their driver sees them, by id. ``slices``: of `source_of`.
    """
    kind = kind_of(real)
    assert isinstance(kind, DriverKind)
    able: Capabilities = kind.capabilities(kind.settings.from_json(real.get("settings") or {}))
    source = source_of(real)
    state = slices.of(owner) if slices is not None else slice_of(source, owner) if source.exists() else b""
    return {
        "settings": settings_of(real),
        "able": asdict(able),
        "kind": kind.name,
        "quotas": quotas_of(real),
        "state": state,
        "off": {id: state for id, state in states.items() if state in OFF},
        "owner": asdict(owner),
    }


def packed(state: bytes, base: bytes | None) -> list[int | str]:
    """A state as plain data: its pages, those that ``base`` has by their places there.

    Slices of one project differ in few pages, however much its other environments take.
    """
    places = {} if base is None else {base[at : at + _PAGE]: at // _PAGE for at in range(0, len(base), _PAGE)}
    found: list[int | str] = []
    new: list[bytes] = []

    def flush() -> None:
        if new:
            found.append(base64.b64encode(zlib.compress(b"".join(new), _LEVEL)).decode())
            new.clear()

    for at in range(0, len(state), _PAGE):
        page = state[at : at + _PAGE]
        place = places.get(page)
        if place is None:
            new.append(page)
        else:
            flush()
            found.append(place)
    flush()
    return found


def unpacked(parts: Sequence[int | str], base: bytes | None) -> bytes:
    """The state again."""
    known = base or b""
    return b"".join(
        known[part * _PAGE : (part + 1) * _PAGE] if isinstance(part, int) else zlib.decompress(base64.b64decode(part))
        for part in parts
    )


def opened(image: Mapping[str, Any]) -> StackCloud:
    """The recorder. It begins each time with the same."""
    assert isinstance(_RECORD, DriverKind)
    settings = _RECORD.settings.from_json(image["settings"])
    place = Place(directory=Path("/"), memory=image["state"], quotas=image["quotas"], sweeps=False)
    cloud = _RECORD.opened(settings, place, Capabilities(**image["able"]), image["kind"])
    assert isinstance(cloud.driver, Recorder)
    cloud.driver.adopt(cloud.agents(), image["off"])
    return cloud
