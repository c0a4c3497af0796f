"""What is written down of a snapshot: in Heat, as the file of a stack of its own whose only resource does nothing.

So every worker finds it, nothing of ours has to be kept beside the cloud, and secrets are where Heat has them anyway.
That stack belongs to an owner of its own, who is never an environment.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from vetro.clouds.interface import Owner, StackChange
from vetro.library.stackdata import FILES, Part, Parts, difference, digest_of, parts_of
from vetro_openstack.link import Link
from vetro_openstack.stacks import Stacks

#: The stack, and its file.
_STACK, _FILE = "snapshot", "vetro/snapshot"
#: Its template; a Heat that knows neither (before Liberty) keeps no snapshots.
_TEMPLATE = {
    "heat_template_version": "2015-10-15",
    "description": "What Vetro keeps of an environment that is updated",
    "resources": {"nothing": {"type": "OS::Heat::None"}},
}


@dataclass(slots=True, kw_only=True)
class KeptStack:
    """A stack as it was given to Heat."""

    name: str
    region: str
    parts: list[list[Any]]

    def change(self) -> StackChange:
        """What makes it this again, whatever it is now."""
        parts: Parts = {(section, key): value for section, key, value in self.parts}
        put, _ = difference({}, parts)
        return StackChange(digest_of(parts), None, put, [])


@dataclass(slots=True, kw_only=True)
class KeptServer:
    """A server, and what its image is called in Glance. ``why``: it has none, and why."""

    id: str
    name: str
    region: str
    status: str
    image: str
    why: str = ""


@dataclass(slots=True, kw_only=True)
class KeptVolume:
    """A volume, what its snapshot is called in Cinder, and the servers it was attached to: (id, device)."""

    id: str
    name: str
    region: str
    snapshot: str
    attached: list[list[str]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Record:
    """A snapshot. ``state``: making, open, restoring, dropping. ``mark``: tells it from others that had its name."""

    name: str
    mark: str
    state: str = "making"
    stacks: list[KeptStack] = field(default_factory=list)
    servers: list[KeptServer] = field(default_factory=list)
    volumes: list[KeptVolume] = field(default_factory=list)


def prefix(owner: Owner) -> str:
    """How names of images and snapshots of an environment begin, and nobody else's."""
    return f"vetro-{_digest(owner.project, owner.environment)}-"


def kept_name(owner: Owner, mark: str, id: str) -> str:
    """What the image of a server, or the snapshot of a volume, is called."""
    return f"{prefix(owner)}{mark}-{id}"


class Records:
    """The records of all environments; ``link`` leads to the home region for an owner."""

    def __init__(self, stacks: Stacks, link: Callable[[Owner, str], Link]) -> None:
        self._stacks = stacks
        self._link = link

    def read(self, owner: Owner) -> Record | None:
        """The snapshot of the environment; None when it has none."""
        for_record = _owner(owner)
        link = self._link(for_record, "")
        for found in self._stacks.ids(link, for_record):
            parts = self._stacks.parts(link, found)
            if parts is not None and (FILES, _FILE) in parts:
                return _unpacked(parts[FILES, _FILE])
        return None

    def write(self, owner: Owner, record: Record) -> None:
        """Writes it down. Raises what pushing a stack raises."""
        parts: dict[Part, Any] = parts_of(
            _TEMPLATE,
            files={_FILE: _packed(record)},
        )
        put, _ = difference({}, parts)
        for_record = _owner(owner)
        change = StackChange(digest_of(parts), None, put, [])
        self._stacks.push(self._link(for_record, ""), for_record, "", _STACK, change)

    def remove(self, owner: Owner) -> None:
        """Forgets it."""
        for_record = _owner(owner)
        self._stacks.delete(self._link(for_record, ""), for_record, _STACK)


def _owner(owner: Owner) -> Owner:
    return Owner(owner.project, f"{owner.environment}/snapshot")


def _packed(record: Record) -> str:
    """Small: Heat takes a megabyte for everything."""
    return base64.b64encode(zlib.compress(json.dumps(asdict(record)).encode())).decode()


def _unpacked(text: str) -> Record:
    data = json.loads(zlib.decompress(base64.b64decode(text)))
    return Record(
        name=data["name"],
        mark=data["mark"],
        state=data["state"],
        stacks=[KeptStack(**one) for one in data["stacks"]],
        servers=[KeptServer(**one) for one in data["servers"]],
        volumes=[KeptVolume(**one) for one in data["volumes"]],
    )


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
