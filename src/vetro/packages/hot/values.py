"""Values of Heat parameters as their declared types mean them: defaults, limits and allowed values (PACKAGES 4)."""

from __future__ import annotations

import json
from typing import Any

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Position
from vetro.packages.errors import PackageError
from vetro.packages.yamltree import Node, TreeError, plain

_TRUE = frozenset({"true", "t", "on", "y", "yes", "1"})
_FALSE = frozenset({"false", "f", "off", "n", "no", "0"})


class TemplateError(PackageError):
    """The template of a HOT package cannot be offered as an application. The position is that in the template."""

    code = "PKG170"


def refuse(message: str, position: Position, hint: str | None = None) -> TemplateError:
    """The error about this place of the template."""
    return TemplateError(
        Text("{position}: {message}", position=position, message=message), position=position, hint=hint
    )


def mapping(node: Node) -> dict[str, tuple[Node, Node]]:
    """Key text -> (key, value), merges included; of equal keys the last counts. Empty for what is no mapping."""
    own: dict[str, tuple[Node, Node]] = {}
    merged: dict[str, tuple[Node, Node]] = {}
    for key, value in node.pairs or ():
        if key.kind != "scalar":
            raise refuse(
                Text("{describe} cannot be a key", describe=key.describe()), key.position, Text("write a name")
            )
        if key.text == "<<" and value.kind != "scalar":
            for source in reversed(value.items or [value]):
                merged.update(mapping(source))
        else:
            own[key.text] = key, value
    return {**merged, **own}


def data(node: Node) -> Any:
    """The node as plain data. Raises `TemplateError`."""
    try:
        return plain(node)
    except TreeError as error:
        raise refuse(error.message, error.position, error.hint) from None


def text(node: Node, what: str) -> str:
    """A scalar as it is written. Raises `TemplateError`."""
    if node.kind != "scalar" or node.null:
        raise refuse(
            Text("{what} is {describe}", what=what, describe=node.describe()), node.position, Text("write a text")
        )
    return node.text


def number(node: Node, what: str) -> int | float:
    """A number, also a quoted one. Raises `TemplateError`."""
    value = data(node) if node.kind == "scalar" else None
    if isinstance(value, str):
        for convert in (int, float):
            try:
                value = convert(value)
                break
            except ValueError:
                continue
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value != value or abs(value) == float("inf"):
        raise refuse(
            Text("{what} is {describe}", what=what, describe=node.describe()), node.position, Text("write a number")
        )
    return value


def size(node: Node, what: str) -> int:
    """A count: a whole number that is not negative. Raises `TemplateError`."""
    value = number(node, what)
    if value != int(value) or value < 0:
        raise refuse(
            Text("{what} is {describe}", what=what, describe=node.describe()),
            node.position,
            Text("write a whole number that is not negative"),
        )
    return int(value)


def boolean(node: Node, what: str) -> bool:
    """A boolean as Heat reads it: YAML's own, and words as on, t, 0. Raises `TemplateError`."""
    if node.kind == "scalar" and not node.null:
        word = node.text.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
    raise refuse(
        Text("{what} is {describe}", what=what, describe=node.describe()), node.position, Text("write true or false")
    )


def typed(node: Node, type_: str, what: str) -> Any:
    """The value that the node gives a parameter of this type; lists and structures become their texts.

    Raises `TemplateError` when it gives none.
    """
    if type_ == "number":
        return number(node, what)
    if type_ == "boolean":
        return boolean(node, what)
    if type_ == "comma_delimited_list" and node.items is not None:
        return ",".join(text(item, Text("an item of {what}", what=what)) for item in node.items)
    if type_ == "json" and node.kind != "scalar":
        return json.dumps(data(node))
    return text(node, what)
