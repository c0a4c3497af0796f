"""Contracts -> JSON Schema 2020-12 for forms: what the schema accepts is what the contract takes unchanged.

The schemas of the v1 API (`schema_v1`) are as Murano made them and say less. Here they are exact where JSON
Schema can be: null is refused where the contract refuses it, an open mapping is open, keys have their contract, every
check keeps its own message. What cannot be translated is marked with ``serverChecks``: the schema then accepts more
than the contract. docs/forms/schema.md lists every keyword.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from vetro.muranopl.contracts.checks import FLIPPED, CheckTranslator, conjuncts, fold, is_value, subject_of
from vetro.muranopl.contracts.model import (
    Chain,
    Check,
    Contract,
    ContractExpression,
    ContractList,
    ContractMap,
    OfClass,
    OtherMethod,
)
from vetro.muranopl.contracts.schema_v1 import OBJECT, TYPES, ContractTranslator
from vetro.muranopl.schema_draft import to_2020_12
from vetro.yaql import ast
from vetro.yaql.errors import VetroError
from vetro.yaql.parser import MURANO, parse
from vetro.yaql.values import SCALARS

#: Every type but null: what ``$.notNull()`` accepts.
NOT_NULL: Final = ("string", "number", "boolean", "array", "object")
#: Keywords that test values of one type only.
_TESTS: Final = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "integer"),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "allOf"), "string"),
}
_LOWER_BOUNDS: Final = frozenset((">", ">="))
_UPPER_BOUNDS: Final = frozenset(("<", "<="))


#: Schemas of expressions that mean the same in every class, by the identity of their steps, of which equal texts have
#: the same (`resolver`). Bounded: cleared when full.
_MEMO: dict[int, tuple[Chain, dict[str, Any]]] = {}
_MEMO_SIZE: Final = 4096


class FormTranslator(ContractTranslator):
    """Translates the contracts that one class declares, for forms."""

    __slots__ = ()

    def schema(self, contract: Contract) -> dict[str, Any]:
        """The schema of ``contract``; the mapping is the caller's, what is in it is not."""
        if not isinstance(contract, ContractExpression):
            return super().schema(contract)
        chain = contract.chain
        if chain is None:
            return {"serverChecks": True}
        if chain.alternative:
            return self._or_else(chain, contract.node)
        known = _MEMO.get(id(chain))
        if known is not None and known[0] is chain:
            return dict(known[1])
        before = self._evaluate.count
        schema = self._chain(chain)
        if self._evaluate.count == before and "muranoType" not in schema:
            if len(_MEMO) >= _MEMO_SIZE:
                _MEMO.clear()
            _MEMO[id(chain)] = chain, schema
            return dict(schema)
        return schema

    def _or_else(self, chain: Chain, node: ast.Node) -> dict[str, Any]:
        """``$.int() or 4``: what ``$.int()`` takes; nothing, and what counts as nothing, becomes the rest."""
        while isinstance(node, ast.Binary) and isinstance(node.left, ast.Binary) and node.left.op == "or":
            node = node.left
        schema = {**self._chain(chain), "serverChecks": True}
        value = fold(node.right) if isinstance(node, ast.Binary) else None
        if is_value(value) and value.__class__ in SCALARS and value is not None:
            schema["default"] = value
        return schema

    def _list(self, contract: ContractList) -> dict[str, Any]:
        schema = super()._list(contract)
        if "additionalItems" in schema:  # one contract a position; the last repeats
            schema["prefixItems"] = schema.pop("items")
            schema["items"] = schema.pop("additionalItems")
        return schema

    def _map(self, contract: ContractMap) -> dict[str, Any]:
        schema = super()._map(contract)
        if not contract.entries and not contract.rest:
            schema["additionalProperties"] = True
        else:
            needed = [name for name, item in schema["properties"].items() if _refuses_null(item)]
            if needed:
                schema["required"] = needed
        if contract.rest:
            keys = dict(self.schema(contract.rest[0][0]))
            if keys.pop("type", "string") in ("string", ["string", "null"]):
                if keys:
                    schema["propertyNames"] = keys
            else:
                schema["serverChecks"] = True
        return schema

    def _chain(self, chain: Chain) -> dict[str, Any]:
        schema = self._values(chain)
        kind = None if chain.kind is None else TYPES[chain.kind]
        nullable = chain.nullable
        exact = not any(isinstance(step, OtherMethod) for step in chain.steps)
        if any(isinstance(step, OfClass) and step.template for step in chain.steps):
            schema["template"] = True
        parts: list[dict[str, Any]] = []
        contexts: list[dict[str, Any]] = []
        converted = False
        for step in chain.steps:
            if isinstance(step, Check) and step.predicate is not None:
                nullable = nullable and self._passes_null(step.predicate)
                if converted:
                    continue
                message = None if step.message is None else fold(step.message)
                for part in conjuncts(step.predicate):
                    exact = self._add(part, kind, message, parts, contexts) and exact
            elif isinstance(step, OtherMethod):
                converted = True
        _merge(schema, parts)
        if contexts:
            schema["context"] = contexts[0] if len(contexts) == 1 else {"allOf": contexts}
        if not nullable:
            schema["type"] = kind if kind is not None else list(NOT_NULL)
        if not exact:
            schema["serverChecks"] = True
        return schema

    def _add(
        self,
        part: ast.Node,
        kind: str | None,
        message: Any,
        parts: list[dict[str, Any]],
        contexts: list[dict[str, Any]],
    ) -> bool:
        """Takes in one condition; False when the schema says less than it."""
        if kind == OBJECT and (inner := _unless_null(part)) is not None:
            for one in conjuncts(inner):
                self._add(one, kind, message, parts, contexts)
            return False
        checks = CheckTranslator(self._evaluate)
        checks.add(part)
        if checks.context and kind == OBJECT:
            contexts.append(to_2020_12(checks.context))
        if not checks.keywords:
            return False
        exact = not checks.context and self._exact(part, kind)
        keywords = to_2020_12(checks.keywords)
        if isinstance(message, str) and message:
            keywords["message"] = message
        parts.append(keywords)
        return exact

    def _exact(self, part: ast.Node, kind: str | None) -> bool:
        if isinstance(part, ast.Binary) and part.op == "or":
            return all(self._exact(inner, kind) for inner in conjuncts(part.right))
        checks = CheckTranslator(self._evaluate)
        checks.add(part)
        if kind in (None, OBJECT) or not checks.keywords:
            return False
        return all(_TESTS.get(keyword, kind) == kind for keyword in to_2020_12(checks.keywords))

    def _passes_null(self, predicate: ast.Node) -> bool:
        """Whether the check lets null through. Where only the running object could tell: yes, the engine will say."""
        for part in conjuncts(predicate):
            passes = _null_by_form(part)
            if passes is None:
                passes = self._evaluated_on_null(part)
            if not passes:
                return False
        return True

    def _evaluated_on_null(self, part: ast.Node) -> bool:
        if any(isinstance(inner, ast.Variable) and inner.name == "this" for inner in ast.walk(part)):
            return True
        try:
            return bool(self._evaluate(replace(_ON_NULL, right=part)))
        except (VetroError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
            return False


def _with_null() -> ast.Binary:
    node = parse("with(null) -> 0", MURANO)
    assert isinstance(node, ast.Binary)
    return node


#: What `_evaluated_on_null` puts a condition into.
_ON_NULL: Final = _with_null()


def _unless_null(part: ast.Node) -> ast.Node | None:
    """P of ``$ = null or P``: for an object, which is tested only where there is one."""
    if not isinstance(part, ast.Binary) or part.op != "or" or not isinstance(part.left, ast.Binary):
        return None
    left = part.left
    null = isinstance(left.right, ast.Constant) and left.right.value is None
    return part.right if left.op == "=" and null and subject_of(left.left) == ((), False) else None


def _null_by_form(part: ast.Node) -> bool | None:
    """The outcome for null of the usual conditions; None for others. Null is less than everything (SEMANTICS 6.3)."""
    if not isinstance(part, ast.Binary):
        return None
    op, subject, value = part.op, subject_of(part.left), fold(part.right)
    if subject is None and op in FLIPPED:
        op, subject, value = FLIPPED[op], subject_of(part.right), fold(part.left)
    if subject is None or subject[0] or not is_value(value):
        return None
    if subject[1]:  # the length of null is an error
        return False
    if op in _LOWER_BOUNDS and value is not None:
        return False
    if op in _UPPER_BOUNDS and value is not None:
        return True
    if op == "=":
        return value is None
    if op == "in" and isinstance(value, tuple):
        return None in value
    return None


def _merge(schema: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """Conditions into ``schema``: beside each other where they do not meet and have no message, else in ``allOf``."""
    rest: list[dict[str, Any]] = []
    for part in parts:
        if "message" in part or any(keyword in schema for keyword in part):
            rest.append(part)
        else:
            schema.update(part)
    if rest:
        schema.setdefault("allOf", []).extend(rest)


def _refuses_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type")
    if kinds is None:
        return "enum" in schema and None not in schema["enum"]
    if kinds == "array":  # nothing becomes an empty list, an empty mapping
        return bool(schema.get("minItems"))
    if kinds == "object":
        return bool(schema.get("required"))
    return "null" not in (kinds if isinstance(kinds, list) else [kinds])
