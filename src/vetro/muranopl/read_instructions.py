"""Reading method bodies (SEMANTICS 9).

An instruction is an expression, an assignment (a mapping with one key that is an expression), or a block construct: a
mapping of keywords that fits exactly one row of `CONSTRUCTS`. Everything else is a syntax error when the class is
built, except inside the branches of ``Match`` and ``Switch``: those are read when first executed (4.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from vetro.muranopl.declarations import (
    Assign,
    Block,
    Break,
    Continue,
    Do,
    Evaluate,
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
    Position,
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
from vetro.muranopl.read_values import Entries, ReadContext, describe, did_you_mean
from vetro.muranopl.source import YNode

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
    return _READERS[leading](context, entries, context.position(node))


def _form(leading: str) -> str:
    needs, may = CONSTRUCTS[leading]
    parts = [leading, *needs, *(f"[{word}]" for word in may)]
    return f"the form is: {' '.join(parts)}" if len(parts) > 1 else f"{leading} stands alone"


# -- one reader a construct -------------------------------------------------------------------------------------------


def _value(context: ReadContext, entries: Entries, word: str) -> Template:
    return context.template(entries[word][1])


def _optional(context: ReadContext, entries: Entries, word: str) -> Template | None:
    return context.template(entries[word][1]) if word in entries else None


def _block(context: ReadContext, entries: Entries, word: str) -> Block:
    return read_block(context, entries[word][1]) if word in entries else ()


def _empty(context: ReadContext, entries: Entries, word: str) -> None:
    node = entries[word][1]
    if not context.is_null(node):
        raise DslSyntaxError(
            f"{word} takes no value", position=context.position(node), hint=f"write '{word}:' with nothing behind it"
        )


def _break(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    _empty(context, entries, "Break")
    return Break(at)


def _continue(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    _empty(context, entries, "Continue")
    return Continue(at)


def _rethrow(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    _empty(context, entries, "Rethrow")
    return Rethrow(at)


def _return(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    return Return(_value(context, entries, "Return"), at)


def _do(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    return Do(_block(context, entries, "Do"), at)


def _if(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    return If(_value(context, entries, "If"), _block(context, entries, "Then"), _block(context, entries, "Else"), at)


def _while(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    node = entries["While"][1]
    condition = context.expression(node)
    if condition is None:
        raise DslSyntaxError(
            f"While needs an expression, not {describe(node)}",
            position=context.position(node),
            hint='for an endless loop write While: !yaql "true"',
        )
    return While(condition, _block(context, entries, "Do"), at)


def _variable(context: ReadContext, node: YNode, what: str) -> str:
    """The name of a loop or exception variable."""
    if node.__class__ is ScalarNode and node.value.isidentifier():
        return str(node.value)
    shown = node.value if node.__class__ is ScalarNode else ""
    bare = shown.lstrip("$")
    hint = (
        f"write {bare} without the dollar sign"
        if shown != bare and bare.isidentifier()
        else "write a name such as item"
    )
    raise DslSyntaxError(
        f"{what} needs a variable name, not {describe(node)}", position=context.position(node), hint=hint
    )


def _for(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    variable = _variable(context, entries["For"][1], "For")
    return For(variable, _value(context, entries, "In"), _block(context, entries, "Do"), at)


def _number(context: ReadContext, entries: Entries, word: str) -> Template:
    value = _value(context, entries, word)
    if isinstance(value, Expression) or (isinstance(value, Literal) and value.value.__class__ is int):
        return value
    raise DslSyntaxError(
        f"{word} needs an integer or an expression, not {describe(entries[word][1])}",
        position=value.position,
        hint="variables begin with $",
    )


def _repeat(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    return Repeat(_number(context, entries, "Repeat"), _block(context, entries, "Do"), at)


def _parallel(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    limit = entries.get("Limit")
    bounded = limit is not None and not context.is_null(limit[1])
    return Parallel(_block(context, entries, "Parallel"), _number(context, entries, "Limit") if bounded else None, at)


def _lazy(context: ReadContext, node: YNode) -> LazyBlock:
    if context.collecting:
        read_block(context, node)  # `vetro check` wants to know now
    return LazyBlock(node, _once(context.raising(), node), context.position(node))


def _once(context: ReadContext, node: YNode) -> Callable[[], Block]:
    block: Block | None = None

    def parse() -> Block:
        nonlocal block
        if block is None:
            block = read_block(context, node)
        return block

    return parse


def _branches(context: ReadContext, entries: Entries, word: str) -> list[tuple[YNode, YNode]]:
    node = entries[word][1]
    if node.__class__ is MappingNode:
        return list(node.value)
    if context.is_null(node):
        return []
    raise DslSyntaxError(
        f"{word} needs a mapping, not {describe(node)}",
        position=context.position(node),
        hint=f"write {word}: and below it one '{'value' if word == 'Match' else 'condition'}: instructions' a line",
    )


def _default(context: ReadContext, entries: Entries) -> LazyBlock | None:
    return _lazy(context, entries["Default"][1]) if "Default" in entries else None


def _match(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    cases: list[tuple[Any, LazyBlock]] = []
    for key, value in _branches(context, entries, "Match"):
        read = context.template(key)
        if isinstance(read, Expression):  # 9.5: keys are not evaluated
            cases.append((read.text, _lazy(context, value)))
        elif isinstance(read, Literal):
            cases.append((read.value, _lazy(context, value)))
        else:
            raise DslSyntaxError(
                "a key of Match must be a plain value",
                position=read.position,
                hint="conditions that are computed belong into Switch",
            )
    return Match(_value(context, entries, "Value"), tuple(cases), _default(context, entries), at)


def _switch(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    cases = tuple(
        (context.template(key), _lazy(context, value)) for key, value in _branches(context, entries, "Switch")
    )
    return Switch(cases, _default(context, entries), at)


def _throw(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    names = _value(context, entries, "Throw")
    parts = names.items if isinstance(names, ListTemplate) else (names,)
    for part in parts:
        value = part.value if isinstance(part, Literal) else ""
        texts = value if value.__class__ is tuple and value else (value,)
        if not isinstance(part, (Literal, Expression)) or any(text.__class__ is not str for text in texts):
            raise DslSyntaxError(
                "Throw needs the name of an exception or a list of names",
                position=part.position,
                hint="a message goes into Message",
            )
    message, extra = _optional(context, entries, "Message"), _optional(context, entries, "Extra")
    return Throw(names, message, extra, _optional(context, entries, "Cause"), at)


def _try(context: ReadContext, entries: Entries, at: Position) -> Instruction:
    handlers: list[Handler] = []
    if "Catch" in entries:
        for node in context.items(entries["Catch"][1]):
            handler = context.attempt(_handler, context, node)
            if handler is not None:
                handlers.append(handler)
    orelse, final = _block(context, entries, "Else"), _block(context, entries, "Finally")
    return Try(_block(context, entries, "Try"), tuple(handlers), orelse, final, at)


def _handler(context: ReadContext, node: YNode) -> Handler:
    entries = context.entries(node, "Catch")
    for word, (key, _) in entries.items():
        if word not in ("With", "As", "Do"):
            hint = did_you_mean(word, ("With", "As", "Do")) or "the form is: [With] [As] [Do]"
            raise DslSyntaxError(f"Catch takes no '{word}'", position=context.position(key), hint=hint)
    names: tuple[str, ...] = ()
    if "With" in entries:
        names = tuple(_exception_name(context, item) for item in context.items(entries["With"][1]))
    variable = None
    if "As" in entries and not context.is_null(entries["As"][1]):
        variable = _variable(context, entries["As"][1], "As")
    body = _block(context, entries, "Do") if "Do" in entries else None
    return Handler(names, variable, body, context.position(node))


def _exception_name(context: ReadContext, node: YNode) -> str:
    try:
        return context.name(node, "With")
    except MuranoError as error:
        raise DslSyntaxError(error.message, position=error.position, hint="write the name of an exception") from None


_READERS: Final[dict[str, Callable[[ReadContext, Entries, Position], Instruction]]] = {
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
    "Throw": _throw,
    "Try": _try,
    "Do": _do,
}
