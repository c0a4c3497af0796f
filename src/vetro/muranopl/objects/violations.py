"""Where a violation inside a nested object is reported (SEMANTICS 6.6). Runs only when a load fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from vetro.muranopl.errors import ContractViolation
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.yaql.values import FSet

if TYPE_CHECKING:
    from vetro.muranopl.objects.forward_references import UnfinishedObject
    from vetro.muranopl.objects.registry import ObjectRegistry


class Load(Protocol):
    """The load that failed."""

    store: ObjectRegistry
    waiting: list[UnfinishedObject]
    blocked: list[UnfinishedObject]


def nested_violation(error: ContractViolation, obj: MuranoObject, loader: Load) -> ContractViolation:
    """``error``, raised while ``obj`` was filled in, located at the outermost property that leads to it.

    The message keeps the inner locations, each after the outer one.
    """
    while True:
        owner = obj._owner
        if owner is None or owner._loader is not loader:
            return error
        found = _place(owner, obj, loader)
        if found is None:
            return error
        location, path = found
        outer = ContractViolation(error.message, path=path, position=error.position)
        outer.located(location)
        error, obj = outer, owner


def _place(owner: MuranoObject, obj: MuranoObject, loader: Load) -> tuple[str, list[Any]] | None:
    """The property of ``owner`` that holds ``obj``, and the path to it inside."""
    plan = loader.store.plans[owner._type]
    for level in plan.levels:
        for prop in level:
            path = find_path(getattr(owner, prop.attr, None), obj)
            if path is not None:
                return prop.prop.location, path
    for entry in (*loader.waiting, *loader.blocked):
        if entry.obj is owner:
            for pending in entry.pending:
                for mapping, made in pending.trail or ():
                    if made is obj:
                        return pending.plan.prop.location, find_path(pending.raw, mapping) or []
    return None


def find_path(value: Any, wanted: Any) -> list[Any] | None:
    """Steps from ``value`` to the very object ``wanted``; None when it is not there."""
    work: list[tuple[Any, tuple[Any, ...]]] = [(value, ())]
    while work:
        item, path = work.pop()
        if item is wanted:
            return list(path)
        if isinstance(item, Mapping):
            work.extend((v, (*path, k)) for k, v in item.items())
        elif isinstance(item, (tuple, list, FSet)):
            work.extend((v, (*path, i)) for i, v in enumerate(item))
    return None


def holds_definition(value: Any) -> bool:
    """Whether a raw value has a mapping with a ``?`` header."""
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, Mapping):
            if "?" in item:
                return True
            work.extend(item.values())
        elif isinstance(item, (tuple, list)):
            work.extend(item)
    return False
