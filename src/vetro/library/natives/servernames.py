"""To whom a server's name belongs: in one region of an environment no two components have a server of the same name.

The name is the key of the server's resource in the stack that all components of the environment share. Two servers of
one name would be one resource: the later push replaced the earlier component's server, and lost its data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.library.natives.common import whole
from vetro.library.natives.stackstates import HeatStackError
from vetro.muranopl.types.murano_object import DESTROYED
from vetro.muranopl.types.native import state

_INSTANCE = "io.murano.resources.Instance"
_CLOUD_RESOURCE = "io.murano.CloudResource"
_ENVIRONMENT = "io.murano.Environment"


class NameTaken(HeatStackError):
    """Two components of an environment have a server of the same name. Nothing of the second was made."""

    code = "LIB202"
    kind = "conflict"


class ServerNames:
    """The servers of one environment by name, as far as they are in the model or were begun in this run."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._begun: set[str] = set()
        #: Ids: who is only named here may go.
        self._ids: dict[Any, dict[str, None]] = {}
        kinds: dict[Any, bool] = {}
        for obj in session.store:
            kind = obj._type
            if kind not in kinds:
                kinds[kind] = _is(obj, _INSTANCE)
            if kinds[kind]:
                self._add(obj)

    def check(self) -> None:
        """Raises `NameTaken` when two servers of the model have the same name."""
        for ids in list(self._ids.values()):
            for obj in map(self._session.store.get, ids) if len(ids) > 1 else ():
                other = next(self._namesakes(obj), None) if obj is not None and self._lives(obj) else None
                if other is not None:
                    raise _taken(obj, other)

    def claim(self, obj: Any) -> None:
        """The server is about to be made. Raises `NameTaken` when another one that was made has its name."""
        for other in self._namesakes(obj):
            if self._made(other):
                raise _taken(other, obj)
        self._add(obj)
        self._begun.add(obj._id)

    def owns(self, obj: Any) -> bool:
        """Whether the resource of the server's name is its own: false where only a namesake was made."""
        return self._made(obj) or next(self._namesakes(obj), None) is None

    def made(self, region: str | None, name: str) -> Any:
        """The server of this name of which something was made; None when there is none."""
        for place, ids in self._ids.items():
            if place[1:] == (region or "", name):
                for obj in map(self._session.store.get, ids):
                    if obj is not None and self._lives(obj) and self._made(obj):
                        return obj
        return None

    def _add(self, obj: Any) -> None:
        self._ids.setdefault(_place(obj), {})[obj._id] = None

    def _lives(self, obj: Any) -> bool:
        return obj._state != DESTROYED and not self._session.gc.is_doomed(obj)

    def _namesakes(self, obj: Any) -> Iterator[Any]:
        place = _place(obj)
        for id in tuple(self._ids.get(place, ())):
            other = self._session.store.get(id)
            if other is not None and other is not obj and self._lives(other) and _place(other) == place:
                yield other

    def _made(self, obj: Any) -> bool:
        """Whether this or an earlier run made something of the server."""
        if obj._id in self._begun or getattr(obj, "p_openstackId", None) is not None:
            return True
        kind = next(found for found in obj._type.ancestors if found.name == _INSTANCE)
        return bool(self._session.attributes.get(obj, kind, "instanceResources"))


def names_of(session: Any, notifier: Any) -> ServerNames:
    """The names of the environment whose notifier this is."""
    values = state(whole(notifier))
    found: ServerNames | None = values.get("names")
    if found is None:
        found = values["names"] = ServerNames(session)
    return found


def _place(obj: Any) -> tuple[Any, ...]:
    """Environment, region and name."""
    region, environment, above = None, None, obj
    while above is not None:
        if region is None and _is(above, _CLOUD_RESOURCE):
            region = getattr(above, "p_regionName", None)
        if _is(above, _ENVIRONMENT):
            environment = above
            break
        above = above._owner
    if region is None:
        region = getattr(environment, "p_region", None)
    return getattr(environment, "_id", None), region or "", getattr(obj, "p_name", None)


def _made(session: Any, obj: Any) -> bool:
    """Whether this or an earlier run made something of the server."""
    if getattr(obj, "p_openstackId", None) is not None:
        return True
    kind = next(found for found in obj._type.ancestors if found.name == _INSTANCE)
    return bool(session.attributes.get(obj, kind, "instanceResources"))


def _is(obj: Any, name: str) -> bool:
    return any(kind.name == name for kind in obj._type.ancestors)


def _taken(one: Any, two: Any) -> NameTaken:
    names, server = [component(one), component(two)], getattr(two, "p_name", None)
    who = f"{names[0]} and {names[1]} both have" if names[0] != names[1] else f"{names[0]} has twice"
    return NameTaken(
        f"{who} a server called {server}",
        hint="in one environment each server needs a name of its own: give one of them another name, or deploy the"
        " application in another environment",
    )


def component(obj: Any) -> str:
    """What people call the part of the environment that an object belongs to."""
    while obj._owner is not None and not _is(obj._owner, _ENVIRONMENT):
        obj = obj._owner
    name = obj._name or getattr(obj, "p_name", None)
    return name if isinstance(name, str) and name else f"{obj._type.name} ({obj._id})"
