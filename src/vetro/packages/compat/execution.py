"""Contracts of one version of a package, run on values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vetro.data_classes import dataclass
from vetro.muranopl.contracts.model import Contract, OfClass, Owner, expressions
from vetro.muranopl.errors import ContractSyntax, ContractViolation, MuranoError
from vetro.muranopl.functions.dialects import level_of
from vetro.yaql import ast
from vetro.yaql.errors import LimitExceeded, VetroError
from vetro.yaql.values import freeze

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass

#: Functions whose results depend on more than their arguments.
_CHANGING = frozenset(
    {"now", "localtz", "random", "randomInt", "randomName", "new", "find", "config", "uuid", "sleep", "this", "cast"}
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a contract made of a value. ``taken`` is None when it cannot be told outside of a deployment."""

    taken: bool | None
    result: Any = None


class Side:
    """One version: the class that declares a contract, and what its contracts say of values."""

    def __init__(self, kind: LinkedClass) -> None:
        self.kind = kind
        self._compiled: dict[int, tuple[Contract, Callable[[Any, Any], Any]]] = {}

    @property
    def prefixes(self) -> Any:
        """Namespaces of the class's file."""
        decl: Any = self.kind.decl
        return decl.namespaces.prefixes

    def class_named(self, name: str) -> LinkedClass | None:
        """The class that a name in its contracts means; None where there is none."""
        try:
            return self.kind.resolve_class(name)
        except MuranoError:
            return None

    @property
    def level(self) -> str:
        """The dialect of its expressions."""
        package: Any = self.kind.package
        return level_of(package.format)

    @cached_property
    def code(self) -> str:
        """Equal where the classes of two packages are the same, and what they require."""
        package: Any = self.kind.package
        texts = [f"{name} {package.read_class(name).text}" for name in sorted(package.classes)]
        return hashlib.sha256(repr((texts, sorted(package.effective_requirements.items()))).encode()).hexdigest()

    def calls_packages(self, node: ast.Node, *, objects: bool = False) -> bool:
        """Whether an expression may call methods of classes, whose code may be another one in another version.

        ``objects``: its value is an object.
        """
        extensions = self.kind.extension_names()
        for part in ast.walk(node):
            if isinstance(part, ast.MethodCall) and (part.name in extensions or _on_object(part.receiver, objects)):
                return True
        return False

    def take(self, contract: Contract, value: Any) -> Outcome:
        """What the contract makes of a value, as in a model that is loaded. Raises `TimeExceeded`."""
        known = self._compiled.get(id(contract))
        if known is None:
            compiler: Any = self.kind.session.compiler
            known = contract, compiler.contract(contract, self.kind, strict=False, name="compared")
            self._compiled[id(contract)] = known
        try:
            return Outcome(True, known[1](freeze(value), None))
        except (ContractSyntax, LimitExceeded, RecursionError):
            return Outcome(None)
        except (ContractViolation, VetroError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
            return Outcome(False)


def _on_object(node: ast.Node, objects: bool) -> bool:
    """Whether what a method is called on may be an object or a class."""
    while isinstance(node, (ast.Attribute, ast.MethodCall)):
        node = node.receiver
    if isinstance(node, ast.Variable):
        return objects if node.name == "1" else True
    if isinstance(node, ast.Call):
        return node.name in ("this", "cast", "new", "find", "super")
    return isinstance(node, (ast.Unary, ast.Binary)) and node.op == ":"


def runs_alone(contract: Contract) -> bool:
    """Whether values alone decide: no object, no ``$this``, no time and no randomness in it."""
    for expression in expressions(contract):
        if expression.chain is not None and any(isinstance(step, (OfClass, Owner)) for step in expression.chain.steps):
            return False
        for node in ast.walk(expression.node):
            if isinstance(node, ast.Variable) and node.name != "1":
                return False
            if isinstance(node, (ast.Call, ast.MethodCall)) and node.name in _CHANGING:
                return False
            if isinstance(node, (ast.Unary, ast.Binary)) and node.op == ":":
                return False
    return True


def tried(old: tuple[Side, Contract], new: tuple[Side, Contract], values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Values that the old contract takes and the new one refuses, and those of which both make something else."""
    refused, changed = [], []
    for value in values:
        before = old[0].take(old[1], value)
        if not before.taken:
            continue
        after = new[0].take(new[1], value)
        if after.taken is False:
            refused.append(value)
        elif after.taken and not _same(before.result, after.result):
            changed.append(value)
    return refused, changed


def _same(one: Any, other: Any) -> bool:
    """Equal, and of one type: 7 is not '7', and 1 is not true. Keys that only one of two mappings has do not count."""
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if hasattr(one, "items"):
        return all(_same(one[name], other[name]) for name in one.keys() & other.keys())
    return bool(one == other)
