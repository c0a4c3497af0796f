"""Reading ``Throw`` and ``Try`` (SEMANTICS 10.1, 10.2)."""

from __future__ import annotations

import dataclasses
import re

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import (
    Expression,
    Handler,
    Instruction,
    ListTemplate,
    Literal,
    Template,
    Throw,
    Try,
)
from vetro.muranopl.errors import DslSyntaxError, MuranoError
from vetro.muranopl.reader.parts import Parts, ReadBlock
from vetro.muranopl.reader.values import ReadContext, did_you_mean
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
