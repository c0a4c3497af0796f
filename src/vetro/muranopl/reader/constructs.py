"""Reading block constructs, one function each (SEMANTICS 9, 10.1, 10.2)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, Final

from yaml.nodes import MappingNode

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import (
    Break,
    Continue,
    Do,
    Expression,
    For,
    Handler,
    If,
    Instruction,
    LazyBlock,
    ListTemplate,
    Literal,
    Match,
    Parallel,
    Repeat,
    Rethrow,
    Return,
    Switch,
    Template,
    Throw,
    Try,
    While,
)
from vetro.muranopl.errors import DslSyntaxError, MuranoError
from vetro.muranopl.reader.parts import Parts, ReadBlock
from vetro.muranopl.reader.values import ReadContext, describe, did_you_mean
from vetro.muranopl.source.nodes import YNode

#: ``p:Name`` and ``:Name``: unquoted they are type expressions elsewhere; here only names make sense.
_PREFIXED = re.compile(r"\w*:\w+")


def _as_name(part: Template) -> Template:
    if isinstance(part, Expression) and _PREFIXED.fullmatch(part.text):
        return Literal(part.text, part.position)
    return part


def read_throw(parts: Parts) -> Instruction:
    names = parts.value("Throw")
    if isinstance(names, ListTemplate):
        names = dataclasses.replace(names, items=tuple(map(_as_name, names.items)))
    names = _as_name(names)
    given = names.items if isinstance(names, ListTemplate) else (names,)
    for part in given:
        value = part.value if isinstance(part, Literal) else ""
        texts = value if value.__class__ is tuple and value else (value,)
        if not isinstance(part, (Literal, Expression)) or any(text.__class__ is not str for text in texts):
            raise DslSyntaxError(
                Text("Throw needs the name of an exception or a list of names"),
                position=part.position,
                hint=Text("a message goes into Message"),
            )
    message, extra = parts.optional("Message"), parts.optional("Extra")
    return Throw(names, message, extra, parts.optional("Cause"), parts.position)


def read_try(parts: Parts) -> Instruction:
    handlers: list[Handler] = []
    if "Catch" in parts.entries:
        for node in parts.context.items(parts.node("Catch")):
            handler = parts.context.attempt(_handler, parts.context, node, parts.read_block)
            if handler is not None:
                handlers.append(handler)
    orelse, final = parts.block("Else"), parts.block("Finally")
    return Try(parts.block("Try"), tuple(handlers), orelse, final, parts.position)


def _handler(context: ReadContext, node: YNode, read_block: ReadBlock) -> Handler:
    entries = context.entries(node, "Catch")
    for word, (key, _) in entries.items():
        if word not in ("With", "As", "Do"):
            hint = did_you_mean(word, ("With", "As", "Do")) or Text("the form is: [With] [As] [Do]")
            raise DslSyntaxError(Text("Catch takes no '{word}'", word=word), position=context.position(key), hint=hint)
    parts = Parts(context, entries, context.position(node), read_block)
    names: tuple[str, ...] = ()
    if "With" in entries:
        names = tuple(_exception_name(context, item) for item in context.items(entries["With"][1]))
    variable = parts.variable("As") if context.present(entries, "As") else None
    body = parts.block("Do") if "Do" in entries else None
    return Handler(names, variable, body, parts.position)


def _exception_name(context: ReadContext, node: YNode) -> str:
    try:
        return context.name(node, "With")
    except MuranoError as error:
        raise DslSyntaxError(
            error.message, position=error.position, hint=Text("write the name of an exception")
        ) from None


def _empty(parts: Parts, word: str) -> None:
    node = parts.node(word)
    if not parts.context.is_null(node):
        raise DslSyntaxError(
            Text("{word} takes no value", word=word),
            position=parts.context.position(node),
            hint=Text("write '{word}:' with nothing behind it", word=word),
        )


def _break(parts: Parts) -> Instruction:
    _empty(parts, "Break")
    return Break(parts.position)


def _continue(parts: Parts) -> Instruction:
    _empty(parts, "Continue")
    return Continue(parts.position)


def _rethrow(parts: Parts) -> Instruction:
    _empty(parts, "Rethrow")
    return Rethrow(parts.position)


def _return(parts: Parts) -> Instruction:
    return Return(parts.value("Return"), parts.position)


def _do(parts: Parts) -> Instruction:
    return Do(parts.block("Do"), parts.position)


def _if(parts: Parts) -> Instruction:
    return If(parts.value("If"), parts.block("Then"), parts.block("Else"), parts.position)


def _while(parts: Parts) -> Instruction:
    node = parts.node("While")
    condition = parts.context.expression(node)
    if condition is None:
        raise DslSyntaxError(
            Text("While needs an expression, not {describe}", describe=describe(node)),
            position=parts.context.position(node),
            hint=Text('for an endless loop write While: !yaql "true"'),
        )
    return While(condition, parts.block("Do"), parts.position)


def _for(parts: Parts) -> Instruction:
    variable = parts.variable("For")
    return For(variable, parts.value("In"), parts.block("Do"), parts.position)


def _number(parts: Parts, word: str) -> Template:
    value = parts.value(word)
    if isinstance(value, Expression) or (isinstance(value, Literal) and value.value.__class__ is int):
        return value
    raise DslSyntaxError(
        Text(
            "{word} needs an integer or an expression, not {describe}", word=word, describe=describe(parts.node(word))
        ),
        position=value.position,
        hint=Text("variables begin with $"),
    )


def _repeat(parts: Parts) -> Instruction:
    return Repeat(_number(parts, "Repeat"), parts.block("Do"), parts.position)


def _parallel(parts: Parts) -> Instruction:
    limit = parts.entries.get("Limit")
    bounded = limit is not None and not parts.context.is_null(limit[1])
    return Parallel(parts.block("Parallel"), _number(parts, "Limit") if bounded else None, parts.position)


def _branches(parts: Parts, word: str) -> list[tuple[YNode, YNode]]:
    node = parts.node(word)
    if node.__class__ is MappingNode:
        return list(node.value)
    if parts.context.is_null(node):
        return []
    raise DslSyntaxError(
        Text("{word} needs a mapping, not {describe}", word=word, describe=describe(node)),
        position=parts.context.position(node),
        hint=(
            Text("write {word}: and below it one 'value: instructions' a line", word=word)
            if word == "Match"
            else Text("write {word}: and below it one 'condition: instructions' a line", word=word)
        ),
    )


def _default(parts: Parts) -> LazyBlock | None:
    return parts.lazy(parts.node("Default")) if "Default" in parts.entries else None


def _match(parts: Parts) -> Instruction:
    cases: list[tuple[Any, LazyBlock]] = []
    for key, value in _branches(parts, "Match"):
        read = parts.context.template(key)
        if isinstance(read, Expression):  # 9.5: keys are not evaluated
            cases.append((read.text, parts.lazy(value)))
        elif isinstance(read, Literal):
            cases.append((read.value, parts.lazy(value)))
        else:
            raise DslSyntaxError(
                Text("a key of Match must be a plain value"),
                position=read.position,
                hint=Text("conditions that are computed belong into Switch"),
            )
    return Match(parts.value("Value"), tuple(cases), _default(parts), parts.position)


def _switch(parts: Parts) -> Instruction:
    cases = tuple((parts.context.template(key), parts.lazy(value)) for key, value in _branches(parts, "Switch"))
    return Switch(cases, _default(parts), parts.position)


#: Leading keyword -> reader of the construct.
READERS: Final[dict[str, Callable[[Parts], Instruction]]] = {
    "Return": _return,
    "Break": _break,
    "Continue": _continue,
    "Rethrow": _rethrow,
    "If": _if,
    "While": _while,
    "For": _for,
    "Repeat": _repeat,
    "Match": _match,
    "Switch": _switch,
    "Parallel": _parallel,
    "Throw": read_throw,
    "Try": read_try,
    "Do": _do,
}
