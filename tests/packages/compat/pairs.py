"""Contracts in two versions of a class, ready to be compared."""

from __future__ import annotations

from typing import Any

from vetro.muranopl import Engine
from vetro.packages.compat.execution import Side
from vetro.packages.memory import memory_package
from vetro.yaql.context import Limits

CLASSES = {"a.Base": "Namespaces: {=: a}\nName: Base\n", "a.Other": "Namespaces: {=: a}\nName: Other\n"}
DERIVED = "Namespaces: {=: a}\nName: Derived\nExtends: Base\n"
ALONE = "Namespaces: {=: a}\nName: Derived\n"


#: A contract: an expression, or a list or mapping of contracts; ``bounds`` stand at the end of a list.
Written = Any


def lines_of(contract: Written, indent: str) -> list[str]:
    """A contract as YAML, after a key or a dash."""
    if isinstance(contract, dict):
        return [""] + [
            line
            for name, item in contract.items()
            for line in _after(f"{indent}{name}:", lines_of(item, indent + "  "))
        ]
    if isinstance(contract, list):
        return [""] + [line for item in contract for line in _after(f"{indent}-", lines_of(item, indent + "  "))]
    return [f" {contract}"]


def _after(begin: str, lines: list[str]) -> list[str]:
    return [begin + lines[0], *lines[1:]]


def sides(version: str, contracts: list[Written], derived: str = DERIVED) -> list[tuple[Side, Any]]:
    """The contracts of properties of one class, each with its class."""
    lines = ["Namespaces: {=: a}", "Name: Holder", "Properties:"]
    for number, contract in enumerate(contracts):
        lines += [f"  p{number}:", *_after("    Contract:", lines_of(contract, "      "))]
    classes = {**CLASSES, "a.Derived": derived, "a.Holder": "\n".join(lines) + "\n"}
    package = memory_package({"name": "a", "version": version, "format": "1.4", "classes": classes})
    session = Engine([package], limits=Limits(max_seconds=600)).session()
    kind: Any = session.types.in_package(package, "a.Holder")
    side = Side(kind)
    return [(side, kind.own_properties[f"p{number}"].decl.contract) for number in range(len(contracts))]
