"""What the native classes share: performing effects and reading private properties set by their MuranoPL part."""

from __future__ import annotations

from typing import Any

from vetro.muranopl.runtime.effects import plain
from vetro.muranopl.types.access import private_slot
from vetro.yaql.values import check_depth, thaw


def perform(cx: Any, kind: str, **args: Any) -> Any:
    """Performs one effect for the code of ``cx`` and returns its answer (plain data)."""
    return cx.session.perform(kind, plain(args))


def whole(value: Any) -> Any:
    """The object behind a view; anything else itself."""
    return getattr(value, "_object", value)


def private(this: Any, class_name: str, name: str) -> Any:
    """The private property ``name`` that the MuranoPL code of class ``class_name`` keeps on the object."""
    for ancestor in this._type.ancestors:
        if ancestor.name == class_name:
            return getattr(this, private_slot(name, ancestor), None)
    return None


def text_of(value: Any) -> str:
    """A message as text. Raises `NestingTooDeep` for structures that would be endless as text."""
    if isinstance(value, str):
        return value
    check_depth(value)
    return str(thaw(value))


def is_object(value: Any) -> bool:
    """True for objects and views."""
    return hasattr(whole(value), "_type")
