r"""Regular expressions of package authors in ECMAScript's words, for browsers and JSON Schema.

Contracts use Python's syntax and meaning: ``\d`` and ``\w`` know all of Unicode, ``$`` matches before a final line end.
The translation spells that out, so that ``new RegExp(text, 'u').test(value)`` finds what the contract finds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vetro.yaql.api import compile as compile_expression
from vetro.yaql.errors import LimitExceeded, VetroError
from vetro.yaql.regex.nodes import (
    MANY,
    Alt,
    AnyChar,
    At,
    Char,
    CharSet,
    Group,
    Look,
    Node,
    Repeat,
    Seq,
)
from vetro.yaql.regex.parser import Flags, parse
from vetro.yaql.regex.re2 import ASCII_RANGES, SPACES, complement

_WORD: Final = {True: "[0-9A-Za-z_]", False: r"[\p{L}\p{N}_]"}
_PLACES: Final = {
    "start": "^",
    "end": "$",
    "last": r"(?=\n?$)",
    "line_start": r"(?<![^\n])",
    "line_end": r"(?![^\n])",
}
#: The expression language's own bounded engine.
_FOUND: Final = compile_expression("regex($.pattern).matches($.text)")


def found(pattern: str, text: str) -> bool:
    """Whether ``pattern`` (Python's syntax) is found in ``text``, as contracts see it.

    A pattern that is none, or that would take too long on this text, is not found.
    """
    try:
        return bool(_FOUND({"pattern": pattern, "text": text}))
    except (VetroError, ValueError):
        return False


@lru_cache(maxsize=4096)
def to_ecmascript(pattern: str) -> str | None:
    """``pattern`` as ECMAScript writes it (flag ``u``), with the same matches; None where there is no such text.

    There is none for back-references, atomic and possessive parts, conditionals, and for what is no pattern.
    """
    try:
        tree = parse(pattern, Flags()).tree
        return _node(tree)
    except (ValueError, LimitExceeded, _Untranslatable, RecursionError):
        return None


class _Untranslatable(Exception):
    pass


def _node(node: Node) -> str:
    if isinstance(node, Char):
        return _char(ord(node.char))
    if isinstance(node, AnyChar):
        return r"[\s\S]" if node.newline else r"[^\n]"
    if isinstance(node, CharSet):
        return _char_set(node)
    if isinstance(node, At):
        return _place(node)
    if isinstance(node, Seq):
        return "".join(_grouped(item) if isinstance(item, Alt) else _node(item) for item in node.items)
    if isinstance(node, Alt):
        return "|".join(_node(branch) for branch in node.branches)
    if isinstance(node, Group):
        return f"({_node(node.body)})"
    if isinstance(node, Look):
        return f"(?{'<' if node.behind >= 0 else ''}{'!' if node.negated else '='}{_node(node.body)})"
    if isinstance(node, Repeat) and node.mode != "possessive":
        return _repeat(node)
    raise _Untranslatable


def _repeat(node: Repeat) -> str:
    single = isinstance(node.body, (Char, AnyChar, Group)) or (
        isinstance(node.body, CharSet) and "W" not in node.body.categories
    )
    body = _node(node.body) if single else _grouped(node.body)
    if node.most >= MANY:
        times = {0: "*", 1: "+"}.get(node.least, f"{{{node.least},}}")
    elif (node.least, node.most) == (0, 1):
        times = "?"
    else:
        times = f"{{{node.least}}}" if node.least == node.most else f"{{{node.least},{node.most}}}"
    return body + times + ("?" if node.mode == "lazy" else "")


def _grouped(node: Node) -> str:
    return f"(?:{_node(node)})"


def _place(node: At) -> str:
    plain = _PLACES.get(node.place)
    if plain is not None:
        return plain
    word = _WORD[node.ascii]
    if node.place == "word":
        return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
    # Python finds no \B in the empty text.
    return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word})(?!^$))"


def _char(code: int) -> str:
    if 0xD800 <= code <= 0xDFFF:
        raise _Untranslatable  # half a character: no JSON text has it
    text = chr(code)
    if text in "^$\\.*+?()[]{}|/":
        return "\\" + text
    return text if 32 <= code < 127 else _escaped(code)


def _in_set(code: int) -> str:
    text = chr(code)
    if text in "\\]^-[":
        return "\\" + text
    # Doubled, `&` and `~` mean operations on sets to some engines.
    return text if 32 <= code < 127 and text not in "&~" else _escaped(code)


def _escaped(code: int) -> str:
    """Four digits where they do: more engines know them than know braces."""
    return f"\\u{code:04x}" if code < 0x10000 else f"\\u{{{code:x}}}"


def _char_set(node: CharSet) -> str:
    ranges = list(node.ranges)
    classes = ""
    for letter in node.categories:
        lower = letter.lower()
        known = ASCII_RANGES[lower] if node.ascii else SPACES if lower == "s" else None
        if known is not None:
            ranges += known if letter == lower else complement(known)
        elif lower == "d":
            classes += r"\p{Nd}" if letter == "d" else r"\P{Nd}"
        elif letter == "w":
            classes += r"\p{L}\p{N}_"
        else:
            return _no_word(node)
    inside = "".join(_range(low, high) for low, high in ranges) + classes
    if not inside:
        return r"[\s\S]" if node.negated else "[^\\s\\S]"
    return f"[{'^' if node.negated else ''}{inside}]"


def _no_word(node: CharSet) -> str:
    r"""A set with ``\W``: one set cannot say "not a word character, or one of these", two can."""
    others = tuple(letter for letter in node.categories if letter != "W")
    if not node.ranges and not others:
        return _WORD[False] if node.negated else r"[^\p{L}\p{N}_]"
    rest = _char_set(CharSet(node.ranges, others))
    return f"(?!{rest}){_WORD[False]}" if node.negated else rf"(?:[^\p{{L}}\p{{N}}_]|{rest})"


def _range(low: int, high: int) -> str:
    if low == high:
        return "" if 0xD800 <= low <= 0xDFFF else _in_set(low)
    parts = [(low, min(high, 0xD7FF)), (max(low, 0xE000), high)]
    return "".join(f"{_in_set(a)}-{_in_set(b)}" for a, b in parts if a <= b)
