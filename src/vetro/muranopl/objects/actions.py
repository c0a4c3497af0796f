"""The ``_actions`` of an object's header: what may be called from outside (SEMANTICS 12.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vetro.muranopl.declarations.tree import MethodUsage
from vetro.muranopl.schema import MODEL_BUILDER
from vetro.muranopl.types.meta import meta_values

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, Runtime
    from vetro.muranopl.types.murano_object import MuranoObject

_TEXTS = {
    "io.murano.metadata.Title": "title",
    "io.murano.metadata.Description": "description",
    "io.murano.metadata.HelpText": "helpText",
}


def class_actions(session: Runtime, type_: LinkedClass) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Names and rows of a class's public methods, the same for all its objects.

    Inherited and static ones count, and so does one that a derived class has overridden without making it public.
    """
    found: dict[str, dict[str, Any]] = {}
    for ancestor in type_.ancestors:
        for name, method in ancestor.own_methods.items():
            if name in found or not method.public or method.extension or name.startswith((".", "__")):
                continue
            row: dict[str, Any] = {"name": name, "enabled": True, "title": name}
            for class_name, values in meta_values(session, method):
                key = _TEXTS.get(class_name)
                if key is not None and values.get("text") is not None:
                    row[key] = values["text"]
            found[name] = row
    return tuple(found.items())


def model_builders(type_: LinkedClass) -> frozenset[str]:
    """Names of the methods of a class that fill in its form, and are no actions that anybody calls for themselves.

    Murano has them among the ``_actions`` of a header, so they stay there. Declarations are only read.
    """
    found: dict[str, bool] = {}
    for ancestor in type_.ancestors:
        for name, method in ancestor.own_methods.items():
            if method.decl is not None and method.public:
                found.setdefault(name, method.decl.usage is MethodUsage.STATIC and _builds(ancestor, method.decl))
    return frozenset(name for name, builds in found.items() if builds)


def _builds(declaring: LinkedClass, decl: Any) -> bool:
    for meta in decl.meta:
        if declaring.decl.namespaces.resolve(meta.name) == MODEL_BUILDER:
            given = meta.properties.get("enabled", True)
            return getattr(given, "value", given) is not False
    return False


def object_actions(obj: MuranoObject, rows: tuple[tuple[str, dict[str, Any]], ...]) -> dict[str, Any]:
    """The ``_actions`` mapping of one object; what its stored header switched off stays off."""
    object_id = obj._id
    actions = {f"{object_id}_{name}": row.copy() for name, row in rows}
    for name in obj._header.get("_actions") or ():
        row = actions.get(f"{object_id}_{name}")
        if row is not None:
            row["enabled"] = False
    return actions
