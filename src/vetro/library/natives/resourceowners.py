"""To whom the resources of an environment's stack belong that code of packages wrote into its template by itself.

What the standard library writes has names with ids, or those of servers (`vetro.library.natives.servernames`). Other
code chooses its own: the object that brings a resource first owns it, noted among the attributes of the region. Another
component may add to it (rules, metadata, references); one that replaces or removes it changes what is not its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.library.natives.servernames import component, names_of
from vetro.library.natives.stackstates import MISSING, HeatStackError
from vetro.muranopl.types.murano_object import DESTROYED, owns

_REGION = "io.murano.CloudRegion"
_ATTRIBUTE = "resourceOwners"


class ResourceTaken(HeatStackError):
    """A component replaces or removes a resource of another one in the template they share. Nothing was sent."""

    code = "LIB203"
    kind = "conflict"


class ResourceOwners:
    """The resources of one stack. ``region`` is its owner."""

    def __init__(self, session: Any, region: Any) -> None:
        self._session = session
        self._region = region

    def merging(self, writer: Any, before: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        """``writer`` merges these resources. Raises `ResourceTaken`; notes whose the new ones are."""
        fresh = {}
        for key, value in more.items():
            if key not in before:
                fresh[key] = writer._id
            elif _replaces(before[key], value):
                self._refuse(writer, key)
        if fresh:
            self._note(fresh, {**before, **more})

    def replacing(self, writer: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """``writer`` sets all resources. Raises `ResourceTaken`; notes whose the new ones are."""
        for key, value in before.items():
            now = after.get(key, MISSING)
            if now is not value and now != value:
                self._refuse(writer, key)
        fresh = {key: writer._id for key in after if key not in before}
        if fresh:
            self._note(fresh, after)

    def _refuse(self, writer: Any, key: str) -> None:
        owner = self._owner(key)
        if owner is None or owner is writer or owns(owner, writer) or owns(writer, owner):
            return
        one, two = component(owner), component(writer)
        if one == two:
            return  # parts of one component
        raise ResourceTaken(
            f"{two} changes the resource {key} of {one}",
            hint="give the resource another name, for example one with the id of its object",
        )

    def _owner(self, key: str) -> Any:
        found = self._known().get(key)
        obj = self._session.store.get(found) if isinstance(found, str) else self._server(key)
        return obj if obj is not None and obj._state != DESTROYED else None

    def _server(self, key: str) -> Any:
        notifier = getattr(self._region._owner, "p_instanceNotifier", None)
        region = getattr(self._region, "p_name", None)
        return names_of(self._session, notifier).made(region, key) if notifier is not None else None

    def _known(self) -> Mapping[str, Any]:
        found = self._session.attributes.get(self._region, self._region._type, _ATTRIBUTE)
        return found if isinstance(found, dict) else {}

    def _note(self, fresh: Mapping[str, str], present: Mapping[str, Any]) -> None:
        kept = {key: value for key, value in self._known().items() if key in present}
        self._session.attributes.set(self._region, self._region._type, _ATTRIBUTE, {**kept, **fresh})


def owners_of(cx: Any, stack: Any) -> ResourceOwners | None:
    """The owners where components share the stack and code of a package writes; None where that is not so."""
    region = stack._owner
    shared = region is not None and any(kind.name == _REGION for kind in region._type.ancestors)
    if not shared or cx.type.package.name.partition("/")[0] in ("io.murano", "io.murano.applications"):
        return None
    return ResourceOwners(cx.session, region)


def _replaces(old: Any, new: Any) -> bool:
    """Whether merging ``new`` changes something that is there; lists are united."""
    if isinstance(old, dict) and isinstance(new, dict):
        return any(key in old and _replaces(old[key], value) for key, value in new.items())
    return not (isinstance(old, tuple) and isinstance(new, tuple)) and old != new
