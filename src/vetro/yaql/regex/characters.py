"""What a single character or place must be like, as Python functions for the backtracking engine."""

from __future__ import annotations

from collections.abc import Callable

from vetro.yaql.regex.nodes import AnyChar, Char, CharSet, Node

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
