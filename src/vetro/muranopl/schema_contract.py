"""Contracts -> JSON Schema (SEMANTICS 17.2), from the same trees that the contract compiler reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from vetro.muranopl.declarations import Contract, ContractList, ContractMap, Expression, Literal
from vetro.muranopl.errors import ContractSyntax
from vetro.muranopl.schema_check import CheckTranslator, fold, is_plain, is_value
from vetro.yaql import ast
from vetro.yaql.errors import VetroError
from vetro.yaql.values import thaw

_TYPES: Final = {"int": "integer", "string": "string", "bool": "boolean"}
#: Parameters of `class` and `template` by position.
_CLASS_PARAMETERS: Final = ("name", "defaultName", "versionSpec", "excludeProperties")
OBJECT: Final = "muranoObject"


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
        if isinstance(contract, Expression):
            return self._expression(contract.node)
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

    def _expression(self, node: ast.Node) -> dict[str, Any]:
        """A chain of contract methods on ``$``, perhaps with a default (``… or 5``); others may yield anything."""
        while isinstance(node, ast.Binary) and node.op == "or":
            node = node.left
        steps: list[ast.MethodCall] = []
        while isinstance(node, ast.MethodCall):
            steps.append(node)
            node = node.receiver
        if not (isinstance(node, ast.Variable) and node.name == "1"):
            return {}
        schema: dict[str, Any] = {}
        kind: str | None = None
        nullable = True
        checks: CheckTranslator | None = None
        converted = False
        for step in reversed(steps):
            name = step.name
            if name == "notNull":
                nullable = False
            elif name == "check":
                if not converted and step.args:
                    checks = checks or CheckTranslator(self._evaluate)
                    first = step.args[0]
                    checks.add(first.value if isinstance(first, ast.Pair) else first)
            elif name in _TYPES:
                kind = _TYPES[name]
            elif name in ("class", "template"):
                kind = OBJECT
                self._object(step, schema)
            elif name in ("owned", "notOwned"):
                schema["owned"] = name == "owned"
            else:
                # An ordinary method, as toUpper(): a check behind it tests another value than the one a person enters.
                converted = True
        if kind is not None:
            schema["type"] = [kind, "null"] if nullable else kind
        if checks is not None:
            schema.update(checks.keywords)
            if checks.context and kind == OBJECT:
                schema["context"] = checks.context
        return schema

    def _object(self, step: ast.MethodCall, schema: dict[str, Any]) -> None:
        given = _bind(step)
        name = class_name_of(given.get("name"))
        if name is None:
            raise ContractSyntax(
                f"{step.name}() needs the name of a class", hint="write the name as in $.class(prefix:ClassName)"
            )
        spec_node = given.get("versionSpec")
        spec = fold(spec_node) if spec_node is not None else None
        spec = spec if isinstance(spec, str) else None
        resolved = self._type.resolve_class(name, spec)
        schema["muranoType"] = resolved.name
        schema["version"] = spec if spec is not None else self._requirement(resolved)
        if step.name == "template":
            schema["owned"] = True
            excluded = given.get("excludeProperties")
            if excluded is not None:
                names = self._evaluate.constant(excluded)
                if isinstance(names, list):
                    schema["excludedProperties"] = names

    def _requirement(self, resolved: Any) -> str:
        """The version as the manifest states it; the own major for own classes, ``0`` where nothing is stated."""
        own, other = self._type.package, resolved.package
        stated = own.requirements.get(other.name)
        if stated not in (None, ""):
            return str(stated)
        return str(own.version.major) if other.name == own.name else "0"


def _bind(step: ast.MethodCall) -> dict[str, ast.Node]:
    given: dict[str, ast.Node] = {}
    for position, argument in enumerate(step.args):
        if isinstance(argument, ast.Pair):
            if isinstance(argument.key, ast.Constant) and isinstance(argument.key.value, str):
                given[argument.key.value] = argument.value
        elif position < len(_CLASS_PARAMETERS) and not isinstance(argument, ast.Empty):
            given[_CLASS_PARAMETERS[position]] = argument
    return given


def class_name_of(node: ast.Node | None) -> str | None:
    """The class name that ``Word``, ``'a.b.C'``, ``p:Word`` or ``:Word`` spells; None for other expressions."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Unary) and node.op == ":":
        word = class_name_of(node.operand)
        return None if word is None else ":" + word
    if isinstance(node, ast.Binary) and node.op == ":":
        prefix, word = class_name_of(node.left), class_name_of(node.right)
        return None if prefix is None or word is None else f"{prefix}:{word}"
    return None


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(thaw(key))


__all__ = ["ContractTranslator", "Fallible", "Literal", "class_name_of"]
