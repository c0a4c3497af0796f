"""Reading method bodies (SEMANTICS 9).

An instruction is an expression, an assignment (a mapping with one key that is an expression), or a block construct: a
mapping of keywords that fits exactly one row of `CONSTRUCTS`. Everything else is a syntax error when the class is
built, except inside the branches of ``Match`` and ``Switch``: those are read when first executed (4.3).
"""

from __future__ import annotations

from typing import Final

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Assign, Block, Evaluate, Instruction
from vetro.muranopl.errors import DslSyntaxError
from vetro.muranopl.reader.constructs import READERS
from vetro.muranopl.reader.parts import Parts
from vetro.muranopl.reader.values import Entries, ReadContext, describe, did_you_mean
from vetro.muranopl.source.nodes import YNode

#: Leading keyword -> (keywords it needs, keywords it may have). ``Do`` stands last: it also belongs to loops.
CONSTRUCTS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "Return": ((), ()),
    "Break": ((), ()),
    "Continue": ((), ()),
    "Rethrow": ((), ()),
    "If": (("Then",), ("Else",)),
    "While": (("Do",), ()),
    "For": (("In", "Do"), ()),
    "Repeat": (("Do",), ()),
    "Match": (("Value",), ("Default",)),
    "Switch": ((), ("Default",)),
    "Parallel": ((), ("Limit",)),
    "Throw": ((), ("Message", "Extra", "Cause")),
    "Try": ((), ("Catch", "Finally", "Else")),
    "Do": ((), ()),
}
_KEYWORDS = frozenset(CONSTRUCTS) | {word for needs, may in CONSTRUCTS.values() for word in (*needs, *may)}


def read_block(context: ReadContext, node: YNode) -> Block:
    """One instruction, a list of them, or nothing."""
    if node.__class__ is SequenceNode:
        if context.problems is None:
            return tuple([read_instruction(context, item) for item in node.value])
        read = [context.attempt(read_instruction, context, item) for item in node.value]
        return tuple(item for item in read if item is not None)
    if context.is_null(node):
        return ()
    single = context.attempt(read_instruction, context, node)
    return () if single is None else (single,)


def read_instruction(context: ReadContext, node: YNode) -> Instruction:
    """One instruction. Raises `DslSyntaxError`."""
    if node.__class__ is ScalarNode:
        expression = context.expression(node)
        if expression is None:
            raise _no_instruction(context, node)
        return Evaluate(expression, expression.position)
    if node.__class__ is not MappingNode or not node.value:
        raise DslSyntaxError(
            (
                Text("an empty mapping is no instruction")
                if node.__class__ is MappingNode
                else Text("a list is no instruction")
            ),
            position=context.position(node),
            hint=Text("use Do for a block of instructions") if node.value else Text("remove it"),
        )
    if len(node.value) == 1:
        key, value = node.value[0]
        target = context.expression(key)
        if target is not None:
            return Assign(target, context.template(value), context.position(node))
    return _read_construct(context, node)


def _no_instruction(context: ReadContext, node: ScalarNode) -> DslSyntaxError:
    reason = context.scalars.parse_error(node)
    if reason is not None:
        return context.scalars.syntax_error(node, reason)
    what: str = describe(node)
    hint: str = Text("text does nothing here")
    if context.is_null(node):
        what, hint = Text("an empty item"), Text("remove the dash")
    elif context.scalars.read(node).__class__ is not str:
        hint = Text("to return a value write 'Return:' before it")
    elif node.value in _KEYWORDS:
        hint = Text("write '{value}:' with a colon", value=node.value)
    else:
        call = Text("to call a method write $.{value}()", value=node.value) if node.value.isidentifier() else hint
        hint = did_you_mean(node.value, _KEYWORDS) or call
    return DslSyntaxError(Text("{what} is no instruction", what=what), position=context.position(node), hint=hint)


def _read_construct(context: ReadContext, node: MappingNode) -> Instruction:
    entries: Entries = {}
    for key, value in node.value:
        if key.__class__ is not ScalarNode:
            raise DslSyntaxError(
                Text("a keyword must be a word"),
                position=context.position(key),
                hint=Text("block constructs have fixed keywords"),
            )
        if context.expression(key) is not None:
            raise DslSyntaxError(
                Text("'{value}' stands beside other keys", value=key.value),
                position=context.position(key),
                hint=Text("begin each assignment with a dash of its own"),
            )
        entries[key.value] = (key, value)
    leading = next((word for word in entries if word in CONSTRUCTS and word != "Do"), "Do" if "Do" in entries else None)
    if leading is None:
        key = node.value[0][0]
        word = did_you_mean(key.value, CONSTRUCTS)
        if word is None:
            word = (
                Text("to assign, write ${value}", value=key.value)
                if key.value.isidentifier()
                else Text("block constructs have fixed keywords")
            )
        raise DslSyntaxError(
            Text("'{value}' begins no block construct", value=key.value), position=context.position(key), hint=word
        )
    needs, may = CONSTRUCTS[leading]
    for word, (key, _) in entries.items():
        if word != leading and word not in needs and word not in may:
            missing = [w for w in (*needs, *may) if w not in entries]
            hint = did_you_mean(word, CONSTRUCTS if leading == "Do" else missing)
            if hint is None:
                hint = (
                    Text("begin the next instruction with a dash of its own") if word in _KEYWORDS else _form(leading)
                )
            raise DslSyntaxError(
                Text("{leading} takes no '{word}'", leading=leading, word=word),
                position=context.position(key),
                hint=hint,
            )
    for word in needs:
        if word not in entries:
            raise DslSyntaxError(
                Text("{leading} needs {word}", leading=leading, word=word),
                position=context.position(entries[leading][0]),
                hint=_form(leading),
            )
    return READERS[leading](Parts(context, entries, context.position(node), read_block))


def _form(leading: str) -> str:
    needs, may = CONSTRUCTS[leading]
    parts = [leading, *needs, *(f"[{word}]" for word in may)]
    return (
        Text("the form is: {parts}", parts=" ".join(parts))
        if len(parts) > 1
        else Text("{leading} stands alone", leading=leading)
    )
