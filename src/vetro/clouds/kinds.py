"""Kinds of clouds: those that installed distributions register (entry points of the group ``vetro.clouds``).

A name stands for one kind; where two distributions register the same name, neither can be used. Nothing is read before
somebody asks for a kind, and a kind that does not import is an error for whoever asks for that one only.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from vetro.clouds.interface import NotAvailable
from vetro.clouds.kind_protocols import CloudKind, Lack, Place
from vetro.diagnostics import Text

GROUP = "vetro.clouds"
#: Words for the kind with the lowest rank that lacks nothing; the last one is of earlier versions.
AUTOMATIC = ("", "auto", "local")
#: The kind that executes nothing: plans are made in a cloud of this kind, and it works everywhere.
RECORD = "record"
#: Kinds that were part of Vetro once, and the distributions that they are now.
_MOVED_OUT = {"openstack": "vetro-openstack"}


class KindMissing(NotAvailable):
    """There is no such kind of clouds here, or it cannot be used."""


class ChosenKind(NamedTuple):
    """A kind; why none with a lower rank, for a person; what would make one of those work."""

    kind: CloudKind
    why: str = ""
    hint: str | None = None

    @property
    def name(self) -> str:
        """The name of the kind."""
        return self.kind.name


def names() -> list[str]:
    """The names of all kinds that are registered, whether or not they can be used."""
    return sorted(_registered())


def named(word: str, driver: str = "") -> str:
    """The name of a kind as settings give it: ``kind = "local"`` with a driver means that driver; '' is automatic."""
    return driver if word in AUTOMATIC and driver not in AUTOMATIC else "" if word in AUTOMATIC else word


def find(name: str) -> CloudKind:
    """The kind of this name. Raises `KindMissing` with what to install, or why it does not work."""
    points = _registered().get(name, ())
    if len(points) > 1:
        whose = " and ".join(sorted(_distribution(point) for point in points))
        text = Text(
            "{whose} both bring clouds of kind '{name}': neither is used; remove one of them", whose=whose, name=name
        )
        raise KindMissing(text)
    if not points:
        error = KindMissing(
            Text("there is no cloud of kind '{name}'; there are {names}", name=name, names=", ".join(names()) or "none")
        )
        if name in _MOVED_OUT:
            error.hint = Text(
                "install {package}: pip install 'vetro[{name}]'; script/setup in a checkout",
                package=_MOVED_OUT[name],
                name=name,
            )
        elif RECORD not in _registered():
            error.hint = Text("this installation of Vetro is older than its code: install it again (script/setup)")
        raise error
    try:
        found = points[0].load()
    except Exception as failure:
        whose = _distribution(points[0])
        raise KindMissing(
            Text("clouds of kind '{name}' cannot be loaded from {whose}: {why}", name=name, whose=whose, why=failure)
        ) from failure
    if not isinstance(found, CloudKind) or found.name != name:
        whose = _distribution(points[0])
        text = Text(
            "'{value}' of {whose} is no kind of clouds named '{name}'", value=points[0].value, whose=whose, name=name
        )
        raise KindMissing(text)
    return found


def usable() -> Iterator[CloudKind]:
    """All kinds that can be loaded, by name."""
    for name in names():
        try:
            yield find(name)
        except KindMissing:
            continue  # `find` says why to whoever asks for it


def ranked() -> list[CloudKind]:
    """The kinds that are chosen for whoever names none, the best first."""
    return sorted((kind for kind in usable() if kind.rank is not None), key=lambda kind: (kind.rank or 0, kind.name))


def choose(place: Place, *, wanted: str = "", settings: Mapping[str, Any] | None = None) -> ChosenKind:
    """The kind to use: that of the name ``wanted``, else the best that lacks nothing here.

    Raises `KindMissing` with the reason when the one that is wanted does not work, and what its settings raise.
    """
    name = named(wanted)
    if name:
        kind = find(name)
        lack = kind.lacks(kind.settings.from_json(settings or {}), place)
        if lack is not None:
            error = KindMissing(
                Text("clouds of kind '{name}' do not work here: {reason}", name=name, reason=lack.reason)
            )
            error.hint = lack.hint
            raise error
        return ChosenKind(kind)
    lacking: list[tuple[str, Lack]] = []
    for kind in ranked():
        lack = kind.lacks(kind.settings.from_json(settings or {}), place)
        if lack is None:
            return ChosenKind(kind, _reasons(lacking), next((lack.hint for _, lack in lacking if lack.hint), None))
        lacking.append((kind.name, lack))
    text = Text("there is no kind of clouds that works here")
    reasons = _reasons(lacking)
    raise KindMissing(Text("{text}: {reasons}", text=text, reasons=reasons) if reasons else text)


def _reasons(lacking: Iterable[tuple[str, Lack]]) -> str:
    """Why these kinds are not used, in one line."""
    listed: list[str] = [Text("no {name}: {reason}", name=name, reason=lack.reason) for name, lack in lacking]
    return functools.reduce(lambda one, other: Text("{one}; {other}", one=one, other=other), listed) if listed else ""


def modules(word: str) -> tuple[str, ...]:
    """Modules to load in advance for clouds of a kind, by the word of the settings; none for a kind that is missing."""
    name = named(word)
    try:
        kinds = [find(name)] if name else ranked()
    except KindMissing:
        return ()
    return tuple(dict.fromkeys(module for kind in kinds for module in kind.modules))


@functools.lru_cache(maxsize=1)
def _registered() -> Mapping[str, tuple[EntryPoint, ...]]:
    found: dict[str, dict[tuple[str, str], EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        # A distribution that is on the path twice is one.
        found.setdefault(point.name, {})[_distribution(point), point.value] = point
    return {name: tuple(points.values()) for name, points in found.items()}


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
