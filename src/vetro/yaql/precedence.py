"""How tight the operators of each dialect bind (reference YAQL.md sections 2.1 and 5, SEMANTICS.md 16.1)."""

from __future__ import annotations

from dataclasses import field

from vetro.data_classes import dataclass

#: Levels of the binary operators; a higher one binds tighter.
BINARY: dict[str, int] = {
    "->": 1,
    "or": 3,
    "and": 4,
    ">": 6,
    "<": 6,
    ">=": 6,
    "<=": 6,
    "!=": 6,
    "=": 6,
    "in": 6,
    "+": 7,
    "-": 7,
    "*": 8,
    "/": 8,
    "mod": 8,
    "=~": 9,
    "!~": 9,
    ".": 12,
    "?.": 12,
}
PREFIX: dict[str, int] = {"not": 5, "+": 10, "-": 10}
#: What the dialects add.
LEGACY_BINARY: dict[str, int] = {"=>": 2}
MURANO_BINARY: dict[str, int] = {"is": 6, ":": 13}
MURANO_PREFIX: dict[str, int] = {":": 13}
#: Level of ``x[…]`` and, with delegates, of ``x(…)``.
POSTFIX_LEVEL = 11
DOT_LEVEL = BINARY["."]
RIGHT_ASSOCIATIVE = frozenset({"->"})


@dataclass(frozen=True, slots=True)
class ParserDialect:
    """Which operators there are besides those of YAQL.md 2.1.

    ``legacy``: ``=>`` is a binary, left-associative operator between ``or`` and ``->``, and no argument is a pair.
    ``murano``: ``is`` at the level of ``=``; ``:``, binary and prefix, tighter than ``.``.
    ``delegates``: ``value(args)`` calls a callable value; it binds like an index.
    """

    legacy: bool = False
    murano: bool = False
    delegates: bool = False
    #: Operator -> level, both derived from the flags.
    binary: dict[str, int] = field(init=False, repr=False, compare=False)
    prefix: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        legacy = LEGACY_BINARY if self.legacy else {}
        murano = MURANO_BINARY if self.murano else {}
        object.__setattr__(self, "binary", BINARY | legacy | murano)
        object.__setattr__(self, "prefix", PREFIX | (MURANO_PREFIX if self.murano else {}))


STANDARD = ParserDialect()
LEGACY = ParserDialect(legacy=True)
MURANO = ParserDialect(murano=True)
MURANO_LEGACY = ParserDialect(legacy=True, murano=True)
