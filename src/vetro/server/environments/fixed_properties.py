"""What a draft must not change: ``Const`` properties of objects that were deployed, and ``Out`` ones.

``Const`` is free until the object was part of one deployment that ended well. Classes are only read here, nothing of
them runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from vetro import muranopl
from vetro.diagnostics import Text
from vetro.model.copies import Classes, Declared
from vetro.model.differences import same
from vetro.model.environment import deployed_objects
from vetro.model.header import id_of, parse_type_text, type_of
from vetro.model.tree import by_id, objects
from vetro.muranopl.tools.inspect import inspect_class
from vetro.packages.lock import Lock
from vetro.server.caller import Caller
from vetro.server.environments import packages, queries
from vetro.server.environments.models import State
from vetro.server.errors import Invalid
from vetro.server.tasks.models import Task
from vetro.yaql.errors import VetroError

_FIXED = ("Const", "Out")


class _Changed(NamedTuple):
    object_id: str
    #: As the header has it: ``Name/version@package``.
    type: str
    property: str


def check(
    caller: Caller,
    found: queries.ListedEnvironment,
    root: dict[str, Any] | None,
    lock: Lock | None = None,
    base: Any = None,
) -> None:
    """Raises `Invalid` when a draft changes what is fixed, with every such property in ``details``.

    ``base``: what is deployed as it would be in the versions of the draft, where these are others.
    """
    changed = list(_changes(base or deployed_objects(found.model or {}), root))
    if not changed:
        return
    try:
        rows = packages.chosen(caller, found, {"Objects": root}, lock)
    except Invalid:
        return  # the deployment itself will say what is missing
    digests = tuple(sorted(row.digest for row in rows))
    finished: set[str] | None = None
    refused = []
    for item in changed:
        declared = _properties(item.type, digests).get(item.property)
        usage = declared.usage if declared is not None else ""
        if usage not in _FIXED:
            continue
        if usage == "Const":
            finished = _finished(found.id) if finished is None else finished
            if item.object_id not in finished:
                continue
        refused.append({"object": item.object_id, "property": item.property, "usage": usage})
    if refused:
        told = ", ".join(f"{r['property']} of {r['object']} ({r['usage']})" for r in refused)
        raise Invalid(
            Text("properties that cannot be changed any more were changed: {told}", told=told),
            hint=Text("give them their old values, or replace the object by one with a new id"),
            details={"properties": refused},
        )


def classes_for(
    caller: Caller, found: queries.ListedEnvironment, model: dict[str, Any], lock: Lock | None = None
) -> Classes:
    """The properties of a class, by what the header has as ``type``; nothing where no package fits."""
    try:
        return classes_of([row.digest for row in packages.chosen(caller, found, model, lock)])
    except Invalid:
        return lambda type_text: {}


def classes_of(digests: Iterable[str]) -> Classes:
    """The same among packages with these digests."""
    known = tuple(sorted(digests))
    return lambda type_text: _properties(type_text, known)


def _changes(before: Any, after: Any) -> Iterator[_Changed]:
    old = by_id(before)
    for obj in objects(after):
        own = id_of(obj)
        known = old.get(own) if own is not None else None
        if own is None or known is None:
            continue
        for name, value in obj.items():
            if name != "?" and name in known and not same(known[name], value):
                yield _Changed(own, type_of(obj), name)


def _finished(environment_id: str) -> set[str]:
    """Ids of the objects of the newest state that a task left which ended well."""
    rows = list(
        State.objects.filter(environment_id=environment_id)
        .exclude(task_id="")
        .order_by("-number")
        .values_list("id", "task_id")
    )
    done = set(Task.objects.filter(id__in=[task for _, task in rows], state="done").values_list("id", flat=True))
    for id, task in rows:
        if task in done:
            model: Any = State.objects.values_list("model", flat=True).get(id=id)
            return set(by_id(model.get("Objects")))
    return set()


@lru_cache(maxsize=512)
def _properties(type_text: str, digests: Sequence[str]) -> dict[str, Declared]:
    """The properties of a class; nothing for a class that cannot be read: its deployment will say so."""
    from vetro.packages import load_path
    from vetro.server.catalog.blobs import local_path

    try:
        return _read([item for digest in digests for item in load_path(local_path(digest))], type_text)
    except VetroError:
        return {}


def _read(packages: Iterable[Any], type_text: str) -> dict[str, Declared]:
    """The properties of a class of loaded packages. Its file is read, nothing of it runs. Raises `MuranoError`."""
    session = muranopl.Engine(packages, seed=0).session()
    try:
        found = inspect_class(session, *parse_type_text(type_text))
    finally:
        session.close()
    return {p.name: Declared(p.usage, p.objects) for p in found.properties}
