"""``template()``: object definitions checked and completed without making the object (SEMANTICS 6.2).

The definition is loaded like any other, only that the objects are never published and no ``.init`` runs; what they
then hold is written back as a mapping with reflected types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vetro.muranopl.contracts.runtime import accepts, outer_violation, wrong_class
from vetro.muranopl.errors import ContractViolation
from vetro.muranopl.objects.loader import Loader
from vetro.muranopl.objects.placement import held_objects
from vetro.muranopl.objects.serializer import Dumper
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.yaql.values import freeze

if TYPE_CHECKING:
    from vetro.muranopl.objects.registry import ObjectRegistry
    from vetro.muranopl.runtime.protocol import LinkedClass, MuranoContext, Runtime


def template_from_mapping(
    store: ObjectRegistry,
    value: Mapping[Any, Any],
    cx: MuranoContext,
    this: Any,
    type_: LinkedClass,
    default: LinkedClass | None,
    spec: str | None,
    exclude: Sequence[str],
) -> Any:
    """The complete definition. Ids stay only while a model is loaded. Raises `ContractViolation`."""
    owner = this if isinstance(this, MuranoObject) else None
    outer = None if owner is None else owner._loader
    keep_ids = outer is not None and outer.keep_ids
    loader = Loader(store, keep_ids=keep_ids, parent=outer)
    paths = [str(path).split(".") for path in exclude or ()]
    if paths:
        loader.excluded = {}
    try:
        root = loader.define(value, owner, default or type_, cx.type)
        if not accepts(root, type_, spec, cx.type.package):
            raise wrong_class(root, type_)
        if loader.excluded is not None:
            loader.excluded[root] = paths
        loader.fill()
    except ContractViolation as error:
        raise outer_violation(error) from None
    hidden = None
    if loader.excluded is not None:
        hidden = {obj: {p[0] for p in left if len(p) == 1} for obj, left in loader.excluded.items()}
    return freeze(Dumper(cx.session, "Mixed", hidden).write(root))


def template_from_object(session: Runtime, obj: MuranoObject, exclude: Sequence[str]) -> Any:
    """An existing object as a definition, its id included."""
    hidden: dict[MuranoObject, set[str]] = {}
    for path in exclude or ():
        _hide(obj, str(path).split("."), hidden)
    return freeze(Dumper(session, "Mixed", hidden).write(obj))


def _hide(obj: MuranoObject, path: list[str], hidden: dict[MuranoObject, set[str]]) -> None:
    """Notes which properties of which objects a dotted path leaves out."""
    level = [obj]
    for name in path[:-1]:
        level = [
            inner
            for holder in level
            if holder._type.find_property(name) is not None
            for inner in held_objects(holder, ((name, "p_" + name),))
        ]
    for holder in level:
        hidden.setdefault(holder, set()).add(path[-1])
