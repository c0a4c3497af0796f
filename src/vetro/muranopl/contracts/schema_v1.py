"""Contracts -> JSON Schema as the v1 API has it: draft-04, as Murano made it (SEMANTICS 17.2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from vetro.muranopl.contracts.checks import CheckTranslator, fold, is_plain, is_value
from vetro.muranopl.contracts.model import (
    Chain,
    Check,
    Contract,
    ContractExpression,
    ContractList,
    ContractMap,
    Convert,
    NotNull,
    OfClass,
    OtherMethod,
    Owner,
    StepName,
)
from vetro.muranopl.errors import ContractSyntax
from vetro.yaql import ast
from vetro.yaql.errors import VetroError
from vetro.yaql.values import thaw

OBJECT: Final = "muranoObject"
TYPES: Final = {
    StepName.INT: "integer",
    StepName.STRING: "string",
    StepName.BOOL: "boolean",
    StepName.CLASS: OBJECT,
}


class Fallible:
    """Evaluates constants in the names of one class; what cannot be computed is `UNKNOWN`."""

    __slots__ = ("_evaluate", "_type", "count")

    UNKNOWN: Final = object()

    def __init__(self, evaluate: Callable[[ast.Node, Any], Any], type_: Any) -> None:
        self._evaluate = evaluate
        self._type = type_
        #: Evaluations so far: what needed none is the same in every class.
        self.count = 0

    def __call__(self, node: ast.Node) -> Any:
        self.count += 1
        return self._evaluate(node, self._type)

    def constant(self, node: ast.Node) -> Any:
        """Plain data, or `UNKNOWN`."""
        value = fold(node)
        if not is_value(value):
            if any(isinstance(part, ast.Variable) for part in ast.walk(node)):
                return self.UNKNOWN
            try:
                value = self(node)
            except (VetroError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
                return self.UNKNOWN
        return thaw(value) if is_plain(value) else self.UNKNOWN


class ContractTranslator:
    """Translates the contracts that one class declares."""

    __slots__ = ("_evaluate", "_type")

    def __init__(self, type_: Any, evaluate: Callable[[ast.Node, Any], Any]) -> None:
        self._type = type_
        self._evaluate = Fallible(evaluate, type_)

    def schema(self, contract: Contract) -> dict[str, Any]:
        """The schema of ``contract``. Raises `ContractSyntax`, and what resolving a class raises."""
        if isinstance(contract, ContractExpression):
            return self._expression(contract)
        if isinstance(contract, ContractList):
            return self._list(contract)
        if isinstance(contract, ContractMap):
            return self._map(contract)
        return {"enum": [thaw(contract.value)]}

    def _list(self, contract: ContractList) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array"}
        items = [self.schema(item) for item in contract.items]
        if len(items) == 1:
            schema["items"] = items[0]
        elif items:
            schema["items"] = items
            schema["additionalItems"] = items[-1]
        if contract.minimum is not None:
            schema["minItems"] = max(contract.minimum, 0)
        if contract.maximum is not None and contract.maximum >= 0:
            schema["maxItems"] = contract.maximum
        return schema

    def _map(self, contract: ContractMap) -> dict[str, Any]:
        if len(contract.rest) > 1:
            raise ContractSyntax(
                "a mapping contract has more than one expression key",
                position=contract.position,
                hint="keep one and check the differences in a method",
            )
        rest: Any = self.schema(contract.rest[0][1]) if contract.rest else False
        properties = {_key(key): self.schema(value) for key, value in contract.entries}
        return {"type": "object", "properties": properties, "additionalProperties": rest}

    def _expression(self, contract: ContractExpression) -> dict[str, Any]:
        """A chain of contract methods on ``$``, perhaps with a default (``… or 5``); others may yield anything."""
        chain = contract.chain
        if chain is None:
            return {}
        schema = self._values(chain)
        checks: CheckTranslator | None = None
        for step in chain.steps:
            if isinstance(step, Check):
                if step.predicate is not None:
                    checks = checks or CheckTranslator(self._evaluate)
                    checks.add(step.predicate)
            elif isinstance(step, OtherMethod):
                break  # as toUpper(): a check behind it tests another value than the one a person enters
        if checks is not None:
            schema.update(checks.keywords)
            if checks.context and chain.kind is StepName.CLASS:
                schema["context"] = checks.context
        return schema

    def _values(self, chain: Chain) -> dict[str, Any]:
        """What the steps say of a value besides checks: its type, class and owner."""
        schema: dict[str, Any] = {}
        kind: str | None = None
        nullable = True
        for step in chain.steps:
            if isinstance(step, Convert):
                kind = TYPES[step.name]
            elif isinstance(step, NotNull):
                nullable = False
            elif isinstance(step, OfClass):
                kind = OBJECT
                self._object(step, schema)
            elif isinstance(step, Owner):
                schema["owned"] = step.owned
        if kind is not None:
            schema["type"] = [kind, "null"] if nullable else kind
        return schema

    def _object(self, step: OfClass, schema: dict[str, Any]) -> None:
        if step.name is None:
            raise ContractSyntax(
                f"{step.call.name}() needs the name of a class", hint="write the name as in $.class(prefix:ClassName)"
            )
        spec = step.version_spec if isinstance(step.version_spec, str) else None
        resolved = self._type.resolve_class(step.name, spec)
        schema["muranoType"] = resolved.name
        schema["version"] = spec if spec is not None else self._requirement(resolved)
        if step.template:
            schema["owned"] = True
            if step.excluded is not None:
                names = self._evaluate.constant(step.excluded)
                if isinstance(names, list):
                    schema["excludedProperties"] = names

    def _requirement(self, resolved: Any) -> str:
        """The version as the manifest states it; the own major for own classes, ``0`` where nothing is stated."""
        own, other = self._type.package, resolved.package
        stated = own.requirements.get(other.name)
        if stated not in (None, ""):
            return str(stated)
        return str(own.version.major) if other.name == own.name else "0"


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(thaw(key))
