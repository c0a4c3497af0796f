"""Compiles the tree of a regular expression into a program of the backtracking machine (`backtrack`).

What a single character or place must be like becomes a Python function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.yaql.regex.nodes import (
    Alt,
    AnyChar,
    At,
    Atomic,
    BackRef,
    Char,
    CharSet,
    Cond,
    Group,
    Look,
    Node,
    Repeat,
    Seq,
)

# Instructions. Arguments in brackets.
CHAR, SET, SPLIT, JUMP, SAVE, PLACE, ONE, INIT, LOOP, REF, LOOK, ATOMIC, COND, MATCH = range(14)

Test = Callable[[str], bool]


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CATEGORIES: dict[str, Test] = {"d": str.isdecimal, "s": str.isspace, "w": _is_word}


def _category(letter: str, ascii_only: bool) -> Test:
    known = _CATEGORIES[letter.lower()]
    if ascii_only:
        if letter.lower() == "s":
            return (lambda c: c in " \t\n\r\f\v") if letter.islower() else (lambda c: c not in " \t\n\r\f\v")
        return (lambda c: c.isascii() and known(c)) if letter.islower() else (lambda c: not (c.isascii() and known(c)))
    return known if letter.islower() else (lambda c: not known(c))


def char_test(node: Node) -> Test:
    """A test for one character."""
    if isinstance(node, Char):
        return node.char.__eq__
    if isinstance(node, AnyChar):
        return (lambda c: True) if node.newline else (lambda c: c != "\n")
    assert isinstance(node, CharSet)
    tests = [_category(letter, node.ascii) for letter in node.categories]
    negated = node.negated
    if len(tests) == 1 and not node.ranges and not negated:
        return tests[0]
    few = frozenset(chr(code) for low, high in node.ranges if high - low < 256 for code in range(low, high + 1))
    wide = tuple((chr(low), chr(high)) for low, high in node.ranges if high - low >= 256)
    if not tests and not wide:
        return (lambda c: c not in few) if negated else few.__contains__

    def test(char: str) -> bool:
        found = (
            char in few or any(low <= char <= high for low, high in wide) or any(category(char) for category in tests)
        )
        return found is not negated

    return test


def _boundary(text: str, pos: int, size: int, ascii_only: bool) -> bool:
    before = pos > 0 and _is_word(text[pos - 1]) and not (ascii_only and not text[pos - 1].isascii())
    after = pos < size and _is_word(text[pos]) and not (ascii_only and not text[pos].isascii())
    return before is not after


PLACES: dict[str, Callable[[str, int, int, bool], bool]] = {
    "start": lambda text, pos, size, _: pos == 0,
    "end": lambda text, pos, size, _: pos == size,
    "line_start": lambda text, pos, size, _: pos == 0 or text[pos - 1] == "\n",
    "line_end": lambda text, pos, size, _: pos == size or text[pos] == "\n",
    "last": lambda text, pos, size, _: pos == size or (pos == size - 1 and text[pos] == "\n"),
    "word": _boundary,
    # Python up to 3.13 finds no place at all in the empty text.
    "no_word": lambda text, pos, size, ascii_only: size > 0 and not _boundary(text, pos, size, ascii_only),
}


class Program:
    """A compiled pattern.

    The machine has ``slots``: start and end of each group (the whole is group 0), then two registers for each counted
    repetition. ``prefix`` is a text with which every match begins.
    """

    def __init__(self, tree: Node, groups: int) -> None:
        self.code: list[tuple[Any, ...]] = []
        self.groups = groups
        self.slots = 2 * groups + 2
        self._emit(tree)
        self.code.append((MATCH,))
        self.prefix = _prefix(tree)

    def _emit(self, node: Node) -> None:
        code = self.code
        if isinstance(node, Char):
            code.append((CHAR, node.char))
        elif isinstance(node, (CharSet, AnyChar)):
            code.append((SET, char_test(node)))
        elif isinstance(node, At):
            code.append((PLACE, PLACES[node.place], node.ascii))
        elif isinstance(node, Seq):
            for item in node.items:
                self._emit(item)
        elif isinstance(node, Alt):
            self._alternatives(node)
        elif isinstance(node, Group):
            code.append((SAVE, 2 * node.number))
            self._emit(node.body)
            code.append((SAVE, 2 * node.number + 1))
        elif isinstance(node, Repeat):
            self._repeat(node)
        elif isinstance(node, BackRef):
            code.append((REF, 2 * node.number, node.ignore_case))
        elif isinstance(node, Look):
            self._enclosed(node.body, (LOOK, node.behind, node.negated))
        elif isinstance(node, Atomic):
            self._enclosed(node.body, (ATOMIC,))
        else:
            self._condition(node)

    def _hole(self) -> int:
        self.code.append(())
        return len(self.code) - 1

    def _alternatives(self, node: Alt) -> None:
        ends = []
        for branch in node.branches[:-1]:
            split = self._hole()
            self._emit(branch)
            ends.append(self._hole())
            self.code[split] = (SPLIT, split + 1, len(self.code))
        self._emit(node.branches[-1])
        for end in ends:
            self.code[end] = (JUMP, len(self.code))

    def _enclosed(self, body: Node, head: tuple[Any, ...]) -> None:
        start = self._hole()
        self._emit(body)
        self.code.append((MATCH,))
        self.code[start] = (*head, len(self.code))

    def _condition(self, node: Cond) -> None:
        start = self._hole()
        self._emit(node.yes)
        end = self._hole()
        self.code[start] = (COND, 2 * node.number, len(self.code))
        self._emit(node.no)
        self.code[end] = (JUMP, len(self.code))

    def _repeat(self, node: Repeat) -> None:
        if node.mode == "possessive":
            self._enclosed(Repeat(node.body, node.least, node.most, "greedy"), (ATOMIC,))
            return
        lazy = node.mode == "lazy"
        body = node.body
        while isinstance(body, Seq) and len(body.items) == 1:
            body = body.items[0]
        if isinstance(body, (Char, CharSet, AnyChar)):
            self.code.append((ONE, char_test(body), node.least, node.most, lazy))
            return
        if (node.least, node.most) == (0, 1):
            split = self._hole()
            self._emit(body)
            ways = (split + 1, len(self.code))
            self.code[split] = (SPLIT, *(ways[::-1] if lazy else ways))
            return
        register = self.slots
        self.slots += 2
        self.code.append((INIT, register))
        loop = self._hole()
        self._emit(body)
        self.code.append((JUMP, loop))
        self.code[loop] = (LOOP, register, node.least, node.most, lazy, len(self.code))


def _prefix(node: Node) -> str:
    """Characters with which every match begins."""
    text = ""
    while isinstance(node, Seq) and len(node.items) == 1:
        node = node.items[0]
    if isinstance(node, Char):
        return node.char
    if isinstance(node, Seq):
        for item in node.items:
            if not isinstance(item, Char):
                break
            text += item.char
    return text
