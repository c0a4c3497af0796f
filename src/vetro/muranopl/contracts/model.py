"""A contract as data: what the reader makes of it once, and what everything else takes (SEMANTICS 6).

A contract is an expression, a literal, a list or a mapping. An expression that is a chain of methods on ``$`` is
resolved to typed steps; everything else, the predicates of ``check`` among it, stays the tree that it is. The names of
the steps stand here only.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import field
from typing import Final, Union

from vetro.data_classes import dataclass
from vetro.muranopl.expressions import Expression, Literal, Position
from vetro.yaql import ast


class StepName(enum.StrEnum):
    """The methods that only contracts have."""

    INT = "int"
    STRING = "string"
    BOOL = "bool"
    NOT_NULL = "notNull"
    CHECK = "check"
    CLASS = "class"
    TEMPLATE = "template"
    OWNED = "owned"
    NOT_OWNED = "notOwned"


STEP_NAMES: Final = frozenset(map(str, StepName))
#: Steps that name a class.
OBJECT_STEPS: Final = frozenset({StepName.CLASS, StepName.TEMPLATE})


# -- steps of an expression --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """One method of a chain. ``sound``: its arguments are what it takes, as can be told without running it."""

    call: ast.MethodCall
    sound: bool


@dataclass(frozen=True, slots=True)
class Convert(Step):
    """``int()``, ``string()`` or ``bool()``."""

    name: StepName


@dataclass(frozen=True, slots=True)
class NotNull(Step):
    """``notNull()``."""


@dataclass(frozen=True, slots=True)
class Check(Step):
    """``check(predicate, message)``: expressions that stay as they are; the predicate is None where none is given."""

    predicate: ast.Node | None
    message: ast.Node | None


@dataclass(frozen=True, slots=True)
class OfClass(Step):
    """``class(name, defaultName, versionSpec)``, and ``template``, which also has ``excludeProperties``.

    A name that is no class name as such, but an expression, is None.
    """

    template: bool
    name: str | None
    default: str | None = None
    version_spec: ast.Scalar = None
    excluded: ast.Node | None = None


@dataclass(frozen=True, slots=True)
class Owner(Step):
    """``owned()`` or ``notOwned()``."""

    owned: bool


@dataclass(frozen=True, slots=True)
class OtherMethod(Step):
    """A method of the language or of an object, as ``toUpper()``."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Methods on ``$``, in order.

    ``alternative``: the expression is ``chain or …``. ``safe``: a step stands behind ``?.``.
    """

    steps: tuple[Step, ...]
    alternative: bool = False
    safe: bool = False

    @property
    def straight(self) -> bool:
        """Every value goes through every step."""
        return not self.alternative and not self.safe

    @property
    def plain(self) -> bool:
        """Straight, of sound steps of contracts only: it can be unrolled."""
        return self.straight and all(step.sound for step in self.steps)

    @property
    def nullable(self) -> bool:
        """No ``notNull()`` among the steps; checks may refuse null all the same."""
        return not any(isinstance(step, NotNull) for step in self.steps)

    @property
    def kind(self) -> StepName | None:
        """What the last step that says what values are makes of them; ``template`` counts as ``class``."""
        for step in reversed(self.steps):
            if isinstance(step, Convert):
                return step.name
            if isinstance(step, OfClass):
                return StepName.CLASS
        return None


# -- contracts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ContractExpression(Expression):
    """``$.int().notNull()``, or any other expression; those that are no chain have none."""

    chain: Chain | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class ContractList:
    """``[c1, c2, min, max]``: item contracts by position, the last repeats; none accepts any items."""

    items: tuple[Contract, ...]
    minimum: int | None
    maximum: int | None
    position: Position


@dataclass(frozen=True, slots=True)
class ContractMap:
    """``{key: c, $.string(): c}``: literal keys always present, expression keys map the rest.

    ``open`` (the empty mapping contract) accepts any mapping. More than one entry in ``rest`` is a contract syntax
    error when the contract is used.
    """

    entries: tuple[tuple[object, Contract], ...]
    rest: tuple[tuple[ContractExpression, Contract], ...]
    open: bool
    position: Position


Contract = Union[ContractExpression, Literal, ContractList, ContractMap]


def expressions(contract: Contract) -> Iterator[ContractExpression]:
    """Every expression in a contract, keys of mappings included."""
    left: list[Contract] = [contract]
    while left:
        item = left.pop()
        if isinstance(item, ContractExpression):
            yield item
        elif isinstance(item, ContractList):
            left += reversed(item.items)
        elif isinstance(item, ContractMap):
            left += [part for pair in reversed(item.rest) for part in reversed(pair)]
            left += [part for _, part in reversed(item.entries)]


def object_calls(contract: Contract) -> Iterator[tuple[ContractExpression, ast.MethodCall]]:
    """Every ``class(…)`` and ``template(…)`` in a contract, also inside predicates and alternatives."""
    for expression in expressions(contract):
        for node in ast.walk(expression.node):
            if isinstance(node, ast.MethodCall) and node.name in OBJECT_STEPS:
                yield expression, node
