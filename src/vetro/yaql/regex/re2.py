"""Writes a regular expression for RE2, which matches in linear time, so that it finds what Python's ``re`` finds.

RE2 has no look-around, back-references, atomic groups and conditionals, its repetitions end at 1000, and it treats
repetitions of what may be empty in its own way: `write` refuses all these (None), the backtracking engine takes over.
Three differences are bridged per text, see `Written`.
"""

from __future__ import annotations

from dataclasses import field
from functools import cache

from vetro.data_classes import dataclass
from vetro.yaql.regex.case import merge
from vetro.yaql.regex.nodes import (
    MANY,
    Alt,
    AnyChar,
    At,
    Char,
    CharSet,
    Group,
    Node,
    Repeat,
    Seq,
    width,
)

_MOST = 1000
SPACES = ((9, 13), (28, 32), (133, 133), (160, 160), (5760, 5760), (8192, 8202), (8232, 8233), (8239, 8239),
           (8287, 8287), (12288, 12288))  # fmt: skip
ASCII_RANGES = {"d": ((48, 57),), "s": ((9, 13), (32, 32)), "w": ((48, 57), (65, 90), (95, 95), (97, 122))}
_PLACES = {"start": r"\A", "end": r"\z", "line_start": "(?m:^)", "line_end": "(?m:$)", "word": r"\b", "no_word": r"\B"}
_TOP = 0x10FFFF


@dataclass(slots=True)
class Written:
    """A pattern in RE2's syntax, and what remains to be observed.

    ``text_end``: groups of RE2 (numbers) that took a final line end for ``$``, each with our groups around it, whose
    end must be moved before it.
    """

    text: str
    #: Number of each of our groups among RE2's.
    groups: list[int] = field(default_factory=list)
    text_end: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    #: A `$` inside: texts that end with a line end are for the other engine.
    inner_end: bool = False
    #: Word boundaries: RE2 knows ASCII words only, so other texts are for the other engine.
    words: bool = False
    #: `\B`, which Python does not match in the empty text.
    no_word: bool = False
    #: An empty match may hide a longer one at the same place.
    prefers_empty: bool = False


class _Refused(Exception):
    pass


def write(tree: Node, groups: int) -> Written | None:
    """``tree`` for RE2, or None where RE2 cannot do it."""
    writer = _Writer(groups)
    try:
        writer.out.text = writer.node(tree, True, ())
    except _Refused:
        return None
    return writer.out


class _Writer:
    def __init__(self, groups: int) -> None:
        self.out = Written("", [0] * (groups + 1))
        self.count = 0

    def node(self, node: Node, tail: bool, around: tuple[int, ...]) -> str:
        """``tail``: nothing follows in the whole pattern. ``around``: our capturing groups around ``node``."""
        if isinstance(node, Char):
            return char(ord(node.char))
        if isinstance(node, AnyChar):
            return "(?s:.)" if node.newline else r"[^\n]"
        if isinstance(node, CharSet):
            return char_set(node)
        if isinstance(node, At):
            return self.place(node, tail, around)
        if isinstance(node, Seq):
            last = len(node.items) - 1
            return _wrap("".join(self.node(n, tail and i == last, around) for i, n in enumerate(node.items)))
        if isinstance(node, Alt):
            if any(not width(branch)[0] for branch in node.branches[:-1]):
                self.out.prefers_empty = True
            return _wrap("|".join(self.node(branch, tail, around) for branch in node.branches))
        if isinstance(node, Group):
            self.count += 1
            self.out.groups[node.number] = self.count
            return f"({self.node(node.body, tail, (*around, node.number))})"
        if isinstance(node, Repeat):
            return self.repeat(node, around)
        raise _Refused

    def place(self, node: At, tail: bool, around: tuple[int, ...]) -> str:
        if node.place == "last":
            if not tail:
                self.out.inner_end = True
                return r"\z"
            self.count += 1
            self.out.text_end.append((self.count, around))
            return r"(?:(\n)?\z)"
        if node.place in ("word", "no_word"):
            # Both agree on ASCII texts, whatever the ASCII flag says.
            self.out.words = self.out.words or not node.ascii
            self.out.no_word = self.out.no_word or node.place == "no_word"
        return _PLACES[node.place]

    def repeat(self, node: Repeat, around: tuple[int, ...]) -> str:
        bounded = node.most < MANY
        if node.mode == "possessive" or (bounded and node.most > _MOST) or node.least > _MOST:
            raise _Refused
        if node.most > 1 and not width(node.body)[0]:
            raise _Refused
        if node.mode == "lazy":
            self.out.prefers_empty = True
        body = _wrap(self.node(node.body, False, around))
        times = f"{{{node.least},{node.most if bounded else ''}}}"
        lazy = "?" if node.mode == "lazy" else ""
        return f"(?:{body}{times}{lazy})"


def _wrap(text: str) -> str:
    return f"(?:{text})"


def char(code: int) -> str:
    """One character, quoted where it might mean something."""
    if 0xD800 <= code <= 0xDFFF:
        raise _Refused  # RE2 reads UTF-8, which has no half characters
    text = chr(code)
    return text if text.isascii() and text.isalnum() else f"\\x{{{code:X}}}"


def char_set(node: CharSet) -> str:
    """One character out of a set."""
    ranges = list(node.ranges)
    classes = ""
    for letter in node.categories:
        known = _known(letter.lower(), node.ascii)
        if letter.islower() and known is None:
            classes += {"d": r"\p{Nd}", "w": r"\p{L}\p{N}_"}[letter]
        elif letter == "D" and known is None:
            classes += r"\P{Nd}"
        elif letter == "W" and known is None:
            if len(node.categories) == 1 and not ranges:
                return r"[\p{L}\p{N}_]" if node.negated else r"[^\p{L}\p{N}_]"
            ranges += complement(word_ranges())
        else:
            ranges += known if letter.islower() else complement(known)  # type: ignore[arg-type]
    parts = []
    for low, high in merge(ranges):
        for a, b in _without_surrogates(low, high):
            parts.append(char(a) if a == b else f"{char(a)}-{char(b)}")
    inside = "".join(parts) + classes
    if not inside:
        return r"(?s:.)" if node.negated else r"[^\x{0}-\x{10FFFF}]"
    return f"[{'^' if node.negated else ''}{inside}]"


def _known(letter: str, ascii_only: bool) -> tuple[tuple[int, int], ...] | None:
    if ascii_only:
        return ASCII_RANGES[letter]
    return SPACES if letter == "s" else None


def complement(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """All other code points."""
    result = []
    start = 0
    for low, high in ranges:
        if start < low:
            result.append((start, low - 1))
        start = high + 1
    if start <= _TOP:
        result.append((start, _TOP))
    return result


def _without_surrogates(low: int, high: int) -> list[tuple[int, int]]:
    parts = [(low, min(high, 0xD7FF)), (max(low, 0xE000), high)]
    return [(a, b) for a, b in parts if a <= b]


@cache
def word_ranges() -> tuple[tuple[int, int], ...]:
    r"""What ``\w`` matches. Takes some 100 ms, once; only sets such as ``[^\W_]`` need it."""
    codes = [code for code in range(_TOP + 1) if chr(code).isalnum() or code == 95]
    result: list[tuple[int, int]] = []
    start = previous = codes[0]
    for code in codes[1:]:
        if code != previous + 1:
            result.append((start, previous))
            start = code
        previous = code
    result.append((start, previous))
    return tuple(result)
