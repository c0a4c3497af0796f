"""`contract_key`: two contracts that say the same, whatever names their packages give to classes, have one key."""

from __future__ import annotations

from typing import Any

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
from vetro.muranopl.expressions import Literal
from vetro.packages.compat.execution import Side
from vetro.packages.compat.predicates import key
from vetro.yaql import ast


def contract_key(contract: Contract, side: Side) -> object:
    """Equal for contracts that say the same."""
    if isinstance(contract, ContractList):
        return "list", contract.minimum, contract.maximum, tuple(contract_key(one, side) for one in contract.items)
    if isinstance(contract, ContractMap):
        entries = tuple((type(name).__name__, name, contract_key(item, side)) for name, item in contract.entries)
        rest = tuple((contract_key(name, side), contract_key(item, side)) for name, item in contract.rest)
        return "map", contract.open, frozenset(entries), rest
    if isinstance(contract, Literal):
        return "literal", repr(contract.value)
    chain = contract.chain
    if chain is None or not chain.plain:
        names = side.kind.name if _names_classes(contract) else ""
        objects = chain is None or any(isinstance(step, OfClass) for step in chain.steps)
        return "expression", key(contract.node, side.prefixes), names, meaning(contract.node, side, objects=objects)
    objects = any(isinstance(step, OfClass) for step in chain.steps)
    return "chain", tuple(_step_key(step, side, objects) for step in chain.steps)


def meaning(node: ast.Node, side: Side, *, objects: bool = False) -> tuple[str, str]:
    """What else than its text says what an expression means."""
    return side.level, side.code if side.calls_packages(node, objects=objects) else ""


def _names_classes(contract: ContractExpression) -> bool:
    return contract.chain is None or any(isinstance(step, OfClass) for step in contract.chain.steps)


def _step_key(step: Any, side: Side, objects: bool) -> object:
    if isinstance(step, Convert):
        return "convert", step.name
    if isinstance(step, NotNull):
        return ("not null",)
    if isinstance(step, Owner):
        return "owner", step.owned
    if isinstance(step, Check):
        if step.predicate is None:
            return "check", None
        return "check", key(step.predicate, side.prefixes), meaning(step.predicate, side, objects=objects)
    assert isinstance(step, OfClass)
    names = tuple((_full_name(name, side), _required(name, side)) for name in (step.name, step.default))
    excluded = None if step.excluded is None else key(step.excluded, side.prefixes)
    return "class", step.template, names, step.version_spec, excluded


def _required(name: str | None, side: Side) -> str | None:
    """In which versions the package of a class of others is required; None for own ones."""
    found = None if name is None else side.class_named(name)
    return None if found is None or found.package.name == side.kind.package.name else required_versions(found, side)


def required_versions(kind: Any, side: Side) -> str | None:
    """In which versions a class's package requires the package of another class."""
    package: Any = side.kind.package
    spec: str | None = package.effective_requirements.get(kind.package.name)
    return spec


def _full_name(name: str | None, side: Side) -> str | None:
    found = None if name is None else side.class_named(name)
    return name if found is None else str(found.name)
