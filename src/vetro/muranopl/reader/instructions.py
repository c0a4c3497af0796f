"""Reading method bodies (SEMANTICS 9).

An instruction is an expression, an assignment (a mapping with one key that is an expression), or a block construct: a
mapping of keywords that fits exactly one row of `CONSTRUCTS`. Everything else is a syntax error when the class is
built, except inside the branches of ``Match`` and ``Switch``: those are read when first executed (4.3).
"""

from __future__ import annotations

from typing import Final

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

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
            f"{'an empty mapping' if node.__class__ is MappingNode else 'a list'} is no instruction",
            position=context.position(node),
            hint="use Do for a block of instructions" if node.value else "remove it",
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
    what, hint = describe(node), "text does nothing here"
    if context.is_null(node):
        what, hint = "an empty item", "remove the dash"
    elif context.scalars.read(node).__class__ is not str:
        hint = "to return a value write 'Return:' before it"
    elif node.value in _KEYWORDS:
        hint = f"write '{node.value}:' with a colon"
    else:
        call = f"to call a method write $.{node.value}()" if node.value.isidentifier() else hint
        hint = did_you_mean(node.value, _KEYWORDS) or call
    return DslSyntaxError(f"{what} is no instruction", position=context.position(node), hint=hint)


def _read_construct(context: ReadContext, node: MappingNode) -> Instruction:
    entries: Entries = {}
    for key, value in node.value:
        if key.__class__ is not ScalarNode:
            raise DslSyntaxError(
                "a keyword must be a word",
                position=context.position(key),
                hint="block constructs have fixed keywords",
            )
        if context.expression(key) is not None:
            raise DslSyntaxError(
                f"'{key.value}' stands beside other keys",
                position=context.position(key),
                hint="begin each assignment with a dash of its own",
            )
        entries[key.value] = (key, value)
    leading = next((word for word in entries if word in CONSTRUCTS and word != "Do"), "Do" if "Do" in entries else None)
    if leading is None:
        key = node.value[0][0]
        word = did_you_mean(key.value, CONSTRUCTS)
        if word is None:
            word = (
                f"to assign, write ${key.value}" if key.value.isidentifier() else "block constructs have fixed keywords"
            )
        raise DslSyntaxError(f"'{key.value}' begins no block construct", position=context.position(key), hint=word)
    needs, may = CONSTRUCTS[leading]
    for word, (key, _) in entries.items():
        if word != leading and word not in needs and word not in may:
            missing = [w for w in (*needs, *may) if w not in entries]
            hint = did_you_mean(word, CONSTRUCTS if leading == "Do" else missing)
            if hint is None:
                hint = "begin the next instruction with a dash of its own" if word in _KEYWORDS else _form(leading)
            raise DslSyntaxError(f"{leading} takes no '{word}'", position=context.position(key), hint=hint)
    for word in needs:
        if word not in entries:
            raise DslSyntaxError(
                f"{leading} needs {word}", position=context.position(entries[leading][0]), hint=_form(leading)
            )
    return READERS[leading](Parts(context, entries, context.position(node), read_block))


def _form(leading: str) -> str:
    needs, may = CONSTRUCTS[leading]
    parts = [leading, *needs, *(f"[{word}]" for word in may)]
    return f"the form is: {' '.join(parts)}" if len(parts) > 1 else f"{leading} stands alone"
