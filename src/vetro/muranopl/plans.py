"""What the loader has to know about a class, worked out once per class and session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from vetro.muranopl.declarations import PropertyUsage
from vetro.muranopl.members import SERIALIZED, Property

if TYPE_CHECKING:
    from vetro.muranopl.types import MuranoType


class PropertyPlan(NamedTuple):
    """How one property gets its value (SEMANTICS 5.6)."""

    name: str
    attr: str
    #: The declaration that counts: its contract converts, its Default is used.
    prop: Property
    #: The other declarations of the hierarchy; they only check the outcome (5.3).
    validators: tuple[Property, ...]
    #: Whether the model may give the value (any declaration of a serialised usage).
    from_model: bool
    #: Runtime: stays without a value when there is no Default, or one that violates the contract.
    runtime: bool


class LoadPlan(NamedTuple):
    """How objects of one class are filled in."""

    type: MuranoType
    pyclass: Any
    #: Properties by the class that declares them, derived classes first; no property stands twice.
    levels: tuple[tuple[PropertyPlan, ...], ...]
    #: Names of the arguments of all ``.init``; they hide properties of the same name (7.7).
    init_arguments: frozenset[str]
    has_init: bool
    #: Any class of the hierarchy has a ``.destroy``.
    has_destructor: bool
    #: Generated loader of the class, None where there is none.
    fast_load: Callable[[Any, Any, Any], bool] | None


def load_plan(type_: MuranoType) -> LoadPlan:
    """The plan of a class. Raises `AmbiguousPropertyName` when a property of it is ambiguous (4.4)."""
    hidden: set[str] = set()
    has_init = has_destructor = False
    for ancestor in type_.ancestors:
        init = ancestor.own_methods.get(".init")
        if init is not None:
            has_init = True
            hidden.update(argument.name for argument in init.arguments)
        has_destructor = has_destructor or ".destroy" in ancestor.own_methods
    seen = set(hidden)
    levels: list[tuple[PropertyPlan, ...]] = []
    effective = type_.properties
    for ancestor in type_.ancestors:
        level = []
        for name in ancestor.own_properties:
            prop = effective[name]
            if name not in seen and prop.usage is not PropertyUsage.STATIC:
                level.append(_property_plan(type_, prop))
            seen.add(name)
        if level:
            levels.append(tuple(level))
    return LoadPlan(
        type=type_,
        pyclass=type_.pyclass,
        levels=tuple(levels),
        init_arguments=frozenset(hidden),
        has_init=has_init,
        has_destructor=has_destructor,
        fast_load=getattr(type_.pyclass, "_fast_load", None),
    )


def _property_plan(type_: MuranoType, prop: Property) -> PropertyPlan:
    chain = type_.property_chain(prop.name)
    return PropertyPlan(
        name=prop.name,
        attr=prop.attr,
        prop=prop,
        validators=tuple(p for p in chain if p is not prop),
        from_model=any(p.usage in SERIALIZED for p in chain),
        runtime=prop.usage is PropertyUsage.RUNTIME,
    )
