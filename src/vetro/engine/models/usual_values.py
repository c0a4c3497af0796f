"""What is usual where nobody has said anything: sizes of servers, names of servers and of applications.

The rule of both doors: `vetro deploy` chooses these and lists them, a form begins with them and lets them be changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple, TypeVar

from vetro.clouds.stacks.flavors import FLAVORS
from vetro.yaql.api import compile
from vetro.yaql.errors import VetroError

#: The classes whose ``name`` and ``flavor`` are those of a server, and of which an application is one.
SERVER: Final = "io.murano.resources.Instance"
APPLICATION: Final = "io.murano.Application"
#: What a server is made as: its size where the cloud has it, and its image.
FLAVOR: Final = "m1.small"
IMAGE: Final = "debian-12-murano"
#: Characters that a server has of its environment's name: it calls itself by 63 at most, with the number behind it.
_PREFIX: Final = 50
P = TypeVar("P")
_DEBIAN: Final = re.compile(r"debian[ _-]*(gnu/linux[ _-]*)?(12|bookworm)", re.IGNORECASE)

#: The expression language's own bounded engine: patterns are written by packages.
_MATCHES = compile("regex($.pattern).matches($.text)")


def flavor(rows: Iterable[Mapping[str, Any]], wanted: str = FLAVOR) -> str:
    """The flavor of a cloud for a server that is to be as large as ``wanted``, one of the sizes that all clouds know.

    The flavor of that name; else the smallest that has as much, else the largest. ``wanted`` itself where it is no
    such size, or the cloud has none.
    """
    known = list(rows)
    if wanted not in FLAVORS or not known or any(row.get("name") == wanted for row in known):
        return wanted
    vcpus, memory, disk = FLAVORS[wanted]
    ordered = sorted(known, key=lambda row: (*_size(row), str(row["name"])))
    enough = (
        row
        for row in ordered
        # A flavor without a disk has that of its image, or a volume.
        if _size(row)[0] >= memory and _size(row)[1] >= vcpus and (_size(row)[2] or disk) >= disk
    )
    return str(next(enough, ordered[-1])["name"])


class ImageOffer(NamedTuple):
    """An image that servers can be started from: what forms store, all that it is called, whether an operator has
    marked it (it has an agent)."""

    value: str
    words: str
    marked: bool


def image(offers: Iterable[ImageOffer]) -> str | None:
    """What servers start from unless somebody says otherwise: the only image; else the only one of those that an
    operator has marked, or that are a Debian 12, which packages with steps are made for. None where that leaves
    several, or none at all: then it is to be chosen."""
    known = list(offers)
    debian = [one for one in known if _DEBIAN.search(one.words)]
    marked = [one for one in known if one.marked]
    both = [one for one in debian if one.marked]
    return next((found[0].value for found in (known, marked, both, debian) if len(found) == 1), None)


def first_preset(presets: Iterable[P], default: Callable[[P], bool]) -> P | None:
    """The preset that a new object begins with: the one that its author has marked, else the first."""
    known = list(presets)
    return next((one for one in known if default(one)), next(iter(known), None))


def server_names(around: str, taken: Collection[str]) -> Callable[[], str]:
    """Gives names for new servers: that of the environment with a number behind it, one that none has yet."""
    prefix = re.sub(r"[^a-z0-9]+", "-", around.lower()).strip("-")[:_PREFIX].rstrip("-") or "server"
    numbers = count(1)

    def server_name() -> str:
        return next(name for number in numbers if (name := f"{prefix}-{number}") not in taken)

    return server_name


def application_name(class_name: str, taken: Collection[str], schema: Mapping[str, Any]) -> str | None:
    """A name for a new application of a class, one that none has yet; None where none fits its schema."""
    label = class_name.rsplit(".", 1)[-1].lower()
    if schema.get("type") != "string" or not fits(label, schema):
        return None
    names: Sequence[str] = (label, *(f"{label}-{number}" for number in range(2, len(taken) + 3)))
    return next((name for name in names if name not in taken and fits(name, schema)), label)


def fits(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a text has the length and the patterns of a schema."""
    if not int(schema.get("minLength", 0)) <= len(text) <= int(schema.get("maxLength", 1 << 30)):
        return False
    patterns = [schema["pattern"]] if "pattern" in schema else []
    patterns += [part["pattern"] for part in schema.get("allOf", ()) if "pattern" in part]
    try:
        return all(_MATCHES({"pattern": pattern, "text": text}) for pattern in patterns)
    except VetroError:
        return False


def _size(row: Mapping[str, Any]) -> tuple[int, ...]:
    """MiB, processors, GiB."""
    return tuple(int(row[key]) if isinstance(row.get(key), (int, float)) else 0 for key in ("ram", "vcpus", "disk"))
