"""What a class throws: the texts of its ``Throw``, and what stood in their places in a message that was made of one.

A ``Message`` is a text, ``format`` of one, or one of several that are chosen from; others have no texts here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vetro.muranopl.compiler.variables import walk_instructions
from vetro.muranopl.declarations.tree import ClassDecl, Expression, Literal, Throw
from vetro.yaql import ast

#: A place in a text that `format` fills in.
_PLACE: Final = re.compile(r"\{(\w+)\}")
#: Functions whose arguments are the texts that one of is chosen from.
_CHOICES: Final = frozenset({"switch", "coalesce"})


def thrown_texts(declared: ClassDecl, line: int | None = None) -> Iterator[str]:
    """The texts, some with places, that a class throws; only at a line of its file, where one is given."""
    for method in declared.methods.values():
        for one in walk_instructions(method.body):
            if isinstance(one, Throw) and one.message is not None:
                places = (None, one.position.line, one.message.position.line)
                yield from _texts(one) if line in places else ()


def _texts(thrown: Throw) -> Iterator[str]:
    message = thrown.message
    if isinstance(message, Literal) and isinstance(message.value, str):
        yield message.value
    elif isinstance(message, Expression):
        yield from _constants(message.node)


def _constants(node: ast.Node) -> Iterator[str]:
    """The texts that an expression may give, and those that it fills in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Call) and node.name == "format" and node.args:
        yield from _constants(node.args[0])
    elif isinstance(node, ast.Call) and node.name in _CHOICES:
        for argument in node.args:
            yield from _constants(argument.value if isinstance(argument, ast.Pair) else argument)


def values_in(text: str, message: str) -> dict[str, str] | None:
    """What stands in the places of a text in a message; None where the message is not made of it, or in two ways."""
    first, *parts = _PLACE.split(text)  # what is between the places, and their names
    names, between = parts[::2], parts[1::2]
    if not names:
        return {} if message == text else None
    last = between.pop()
    if len(message) < len(first) + len(last) or not (message.startswith(first) and message.endswith(last)):
        return None
    begin, end = len(first), len(message) - len(last)
    # Each part as early and as late as it may stand: where that is the same, there is no other way.
    early, late = _found(between, message, begin, end), _found_from_end(between, message, begin, end)
    if early is None or early != late:
        return None
    starts = [begin, *(at + len(part) for at, part in zip(early, between, strict=True))]
    values = list(zip(names, starts, [*early, end], strict=True))
    found = {name: message[start:stop] for name, start, stop in values}
    return found if all(found[name] == message[start:stop] for name, start, stop in values) else None


def _found(parts: list[str], message: str, begin: int, end: int) -> list[int] | None:
    found = []
    for part in parts:
        found.append(at := message.find(part, begin, end))
        if at < 0 or not part:
            return None
        begin = at + len(part)
    return found


def _found_from_end(parts: list[str], message: str, begin: int, end: int) -> list[int] | None:
    found = []
    for part in reversed(parts):
        found.append(end := message.rfind(part, begin, end))
        if end < 0:
            return None
    return found[::-1]


def filled(text: str, values: dict[str, str]) -> str:
    """The text with the values in its places; other braces are braces."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), text)
