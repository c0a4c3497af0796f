"""What a load puts aside: references and values that may still come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.muranopl.errors import ObjectNotFound, UninitializedProperty
from vetro.muranopl.objects.header import inline_key
from vetro.muranopl.objects.load_plans import LoadPlan, PropertyPlan
from vetro.muranopl.runtime.exceptions import translate
from vetro.muranopl.types.murano_object import MuranoObject


class ForwardReference(ObjectNotFound):
    """An id that no definition has introduced so far; final when the load ends without it."""

    def __init__(self, object_id: str) -> None:
        super().__init__(f"there is no object with id '{object_id}'")
        self.object_id = object_id


def definitions_with(value: Any, object_id: str) -> list[Mapping[Any, Any]]:
    """The outermost definitions in a raw value, in order, if one of them is or holds that of ``object_id``.

    Only definitions that name their class are given: what class the others get is up to the contract.
    """
    outermost: list[Mapping[Any, Any]] = []
    wanted = False
    work: list[tuple[Any, bool]] = [(value, False)]
    while work:
        item, inside = work.pop()
        if isinstance(item, Mapping):
            header = item.get("?")
            names_class = isinstance(header, Mapping) and header.get("type") is not None
            if header is None and inline_key(item) is not None:
                header, names_class = item, True
            if isinstance(header, Mapping):
                wanted = wanted or header.get("id") == object_id
                if not inside and names_class:
                    outermost.append(item)
                inside = True
            work.extend((inner, inside) for inner in reversed(list(item.values())))
        elif isinstance(item, (list, tuple)):
            work.extend((inner, inside) for inner in reversed(item))
    return outermost if wanted else []


#: What compiled code raises when it meets something that may still come; an unset slot is an `AttributeError`.
NOT_YET = (UninitializedProperty, ForwardReference, AttributeError)


def reason_to_wait(error: Exception) -> Exception:
    """``error`` as the reason why a property has to wait; raised again when it is none."""
    better = translate(error)
    if isinstance(better, (UninitializedProperty, ForwardReference)):
        return better
    raise error


class UnfinishedObject:
    """An object whose properties are not all set: what is left to do for it."""

    __slots__ = ("depth", "level", "obj", "pending", "plan", "values")

    def __init__(
        self,
        obj: MuranoObject,
        values: Mapping[Any, Any],
        plan: LoadPlan,
        depth: int,
        level: int,
        pending: list[Pending],
    ) -> None:
        self.obj = obj
        self.values = values
        self.plan = plan
        self.depth = depth
        self.level = level
        self.pending = pending


class Pending:
    """One property that waits for others: its raw value once known, and the objects its definitions became."""

    __slots__ = ("error", "plan", "raw", "trail")

    def __init__(self, plan: PropertyPlan, raw: Any, trail: list[tuple[Any, MuranoObject]] | None, error: Exception):
        self.plan = plan
        self.raw = raw
        self.trail = trail
        self.error = error
