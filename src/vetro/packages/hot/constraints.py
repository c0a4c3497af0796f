"""Constraints of Heat parameters, and the same as expressions about ``$`` (PACKAGES 4)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Position
from vetro.packages.hot.values import mapping, number, refuse, size, text, typed
from vetro.packages.yamltree import Node
from vetro.yaql.didyoumean import suggest
from vetro.yaql.regex.pattern import compile_regex

#: Kind -> parameter types that Heat allows it for.
KINDS: dict[str, tuple[str, ...]] = {
    "allowed_values": ("string", "number", "boolean", "comma_delimited_list"),
    "allowed_pattern": ("string", "comma_delimited_list"),
    "length": ("string", "comma_delimited_list", "json"),
    "range": ("number",),
    "modulo": ("number",),
    # Asks the cloud whether there is such an image, flavor…: it does so itself when the stack is made.
    "custom_constraint": ("string", "number", "boolean", "comma_delimited_list", "json"),
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint.

    ``value``: the allowed values, a pattern, or a pair: (min, max) of length and range, either may be None, and (step,
    offset) of modulo.
    """

    kind: str
    value: Any
    position: Position
    description: str | None = None


def read_constraints(node: Node | None, type_: str, what: str) -> tuple[Constraint, ...]:
    """The constraints of a parameter of this type; custom ones are left out. Raises `TemplateError`."""
    if node is None or node.null:
        return ()
    if node.items is None:
        raise refuse(
            Text("'constraints' of {what} is {describe}", what=what, describe=node.describe()),
            node.position,
            Text("write a list of constraints"),
        )
    read = [_constraint(item, type_, what) for item in node.items]
    return tuple(c for c in read if c.kind != "custom_constraint")


def _constraint(node: Node, type_: str, what: str) -> Constraint:
    keys = mapping(node)
    for name, (key, _) in keys.items():
        if name not in KINDS and name != "description":
            close = suggest(name, KINDS)
            hint = (
                Text("did you mean '{close}'?", close=close)
                if close
                else Text("kinds are {kinds}", kinds=", ".join(KINDS))
            )
            raise refuse(
                Text("{what} has an unknown constraint '{name}'", what=what, name=name[:40]), key.position, hint
            )
    kinds = [name for name in keys if name in KINDS]
    if len(kinds) != 1:
        found = " and ".join(kinds) or Text("nothing")
        raise refuse(
            Text("a constraint of {what} says {found}", what=what, found=found),
            node.position,
            Text("write one of {kinds}", kinds=", ".join(KINDS)),
        )
    kind = kinds[0]
    if type_ not in KINDS[kind]:
        raise refuse(
            Text("{what} has type {type}, to which '{kind}' does not apply", what=what, type=type_, kind=kind),
            keys[kind][0].position,
            Text("it applies to {kinds}", kinds=", ".join(KINDS[kind])),
        )
    described = keys.get("description")
    description = text(described[1], Text("the description of a constraint")).strip() if described else None
    value = _value(kind, keys[kind][1], type_, Text("'{kind}' of {what}", kind=kind, what=what))
    return Constraint(kind, value, keys[kind][0].position, description)


def _value(kind: str, node: Node, type_: str, what: str) -> Any:
    if kind == "allowed_values":
        if not node.items:
            raise refuse(
                Text("{what} is {describe}", what=what, describe=node.describe()),
                node.position,
                Text("write a list with at least one value"),
            )
        single = "string" if type_ == "comma_delimited_list" else type_
        return tuple(typed(item, single, Text("a value of {what}", what=what)) for item in node.items)
    if kind == "allowed_pattern":
        return _pattern(node, what)
    if kind == "length":
        return _limits(node, what, size)
    if kind == "range":
        return _limits(node, what, number)
    if kind == "modulo":
        keys = {name: value for name, (_, value) in mapping(node).items()}
        if set(keys) != {"step", "offset"}:
            raise refuse(
                Text("{what} needs step and offset", what=what), node.position, Text("write {{step: 2, offset: 0}}")
            )
        step, offset = (
            number(keys[name], Text("{name} of {what}", name=name, what=what)) for name in ("step", "offset")
        )
        if not step:
            raise refuse(Text("step of {what} is 0", what=what), keys["step"].position, Text("write another number"))
        return step, offset
    return None


def _limits(node: Node, what: str, read: Any) -> tuple[Any, Any]:
    keys = {name: value for name, (_, value) in mapping(node).items()}
    if not keys or set(keys) - {"min", "max"}:
        raise refuse(
            Text("{what} has to have min, max or both", what=what), node.position, Text("write {{min: 1, max: 9}}")
        )
    low, high = (
        read(keys[name], Text("{name} of {what}", name=name, what=what)) if name in keys else None
        for name in ("min", "max")
    )
    if low is not None and high is not None and low > high:
        raise refuse(
            Text("{what} has min {low} above max {high}", what=what, low=low, high=high),
            node.position,
            Text("exchange them"),
        )
    return low, high


def _pattern(node: Node, what: str) -> str:
    pattern = text(node, what)
    try:
        compile_regex(f"^(?:{pattern})$")
    except ValueError as error:
        raise refuse(Text("{what} is no regular expression: {error}", what=what, error=error), node.position) from None
    return pattern


# -- as expressions ---------------------------------------------------------------------------------------------------


def literal(value: Any) -> str:
    """A text, number or boolean in the expression language."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
        return f"'{escaped}'"
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")  # the language knows no exponents
    return json.dumps(value)


def predicate(constraint: Constraint, type_: str) -> str | None:
    """An expression that holds for a value ``$`` (not null) of a parameter of this type; None: not checked here."""
    if type_ == "json":
        return None  # its length is that of the structure, which nobody sees in the text
    value = constraint.value
    if type_ == "comma_delimited_list" and constraint.kind != "length":
        return f"$.split(',').all({_single(constraint.kind, value, '$.trim()')})"
    if type_ == "comma_delimited_list":
        return _between("len($.split(','))", value)
    return _single(constraint.kind, value, "$")


def _single(kind: str, value: Any, subject: str) -> str:
    if kind == "allowed_values":
        return f"{subject} in list({', '.join(map(literal, value))})"
    if kind == "allowed_pattern":
        return f"{subject} =~ {literal(f'^(?:{value})$')}"
    if kind == "length":
        return _between(f"len({subject})", value)
    if kind == "range":
        return _between(subject, value)
    step, offset = value
    return f"({subject} - {literal(offset)}) mod {literal(step)} = 0"


def _between(subject: str, limits: tuple[Any, Any]) -> str:
    low, high = limits
    parts = [f"{subject} >= {literal(low)}"] if low is not None else []
    if high is not None:
        parts.append(f"{subject} <= {literal(high)}")
    return " and ".join(parts)
