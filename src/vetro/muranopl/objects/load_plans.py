"""What the loader has to know about a class, worked out once per class and session."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from vetro.muranopl.contracts.model import (
    Check,
    Contract,
    ContractExpression,
    ContractList,
    ContractMap,
    Convert,
    NotNull,
    OfClass,
    Owner,
)
from vetro.muranopl.declarations.tree import PropertyUsage
from vetro.muranopl.expressions import Literal
from vetro.muranopl.types.members import SERIALIZED
from vetro.yaql.values import MISSING

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, LinkedProperty


class Shape(Enum):
    """What has to be done with raw lists and mappings before a contract may see them."""

    #: They have to be frozen all the way down: the contract may pass them on as they are.
    OPEN = 0
    #: Nothing: the contract looks at scalars only, and makes no objects.
    SCALAR = 1
    #: Nothing: the contract makes objects of definitions and lets nothing else through.
    OBJECT = 2
    #: The list or mapping itself only: the contract rebuilds it from items that it converts.
    ITEMS = 3


class PropertyPlan(NamedTuple):
    """How one property gets its value (SEMANTICS 5.6)."""

    name: str
    attr: str
    #: The declaration that counts: its contract converts, its Default is used.
    prop: LinkedProperty
    #: The other declarations of the hierarchy; they only check the outcome (5.3).
    validators: tuple[LinkedProperty, ...]
    #: Whether the model may give the value (any declaration of a serialised usage).
    from_model: bool
    #: Runtime: stays without a value when there is no Default, or one that violates the contract.
    runtime: bool
    #: The compiled contract of `prop`; raises without a location.
    transform: Callable[[Any, Any], Any]
    #: Whether there is a Default, and its value where that needs no evaluation (else MISSING).
    has_default: bool
    constant: Any
    shape: Shape


class LoadPlan(NamedTuple):
    """How objects of one class are filled in."""

    type: LinkedClass
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


def load_plan(type_: LinkedClass) -> LoadPlan:
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


def _property_plan(type_: LinkedClass, prop: LinkedProperty) -> PropertyPlan:
    declarations = type_.property_chain(prop.name)
    return PropertyPlan(
        name=prop.name,
        attr=prop.attr,
        prop=prop,
        validators=tuple(p for p in declarations if p is not prop),
        from_model=any(p.usage in SERIALIZED for p in declarations),
        runtime=prop.usage is PropertyUsage.RUNTIME,
        transform=prop.transform,
        has_default=prop.has_default,
        constant=_constant(prop),
        shape=contract_shape(prop.decl.contract),
    )


def _constant(prop: LinkedProperty) -> Any:
    configured = prop.declaring.config
    if prop.name in configured:
        return configured[prop.name]
    return prop.decl.default.value if isinstance(prop.decl.default, Literal) else MISSING


def contract_shape(contract: Contract) -> Shape:
    """The shape of a contract; `Shape.OPEN` wherever it is not obvious."""
    if isinstance(contract, ContractList):
        inside = [contract_shape(item) for item in contract.items]
        return Shape.ITEMS if inside and Shape.OPEN not in inside else Shape.OPEN
    if isinstance(contract, ContractMap):
        inside = [contract_shape(item) for _, item in contract.entries]
        inside += [contract_shape(item) for pair in contract.rest for item in pair]
        return Shape.ITEMS if inside and not contract.open and Shape.OPEN not in inside else Shape.OPEN
    if isinstance(contract, ContractExpression):
        chain = contract.chain
        if chain is not None and chain.straight and chain.steps:
            first, *others = chain.steps
            if isinstance(first, Convert) and all(isinstance(step, (Convert, NotNull, Check)) for step in others):
                return Shape.SCALAR
            named = isinstance(first, OfClass) and not first.template
            if named and all(isinstance(step, (NotNull, Check, Owner)) for step in others):
                return Shape.OBJECT
    return Shape.OPEN
