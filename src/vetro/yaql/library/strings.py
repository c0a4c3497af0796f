"""Texts (YAQL.md 4.6). Functions whose result can be much longer than their arguments measure it first."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import ENTRY, SLOT, Items, growing, varargs
from vetro.yaql.library._text import text_of
from vetro.yaql.resolve.signature import Param, Type, function

#: Products of lengths up to this are searched backwards by CPython itself.
_QUICK = 1_000_000
_FEW = 64
_STRING = Param("string", Type.STR)
_CHARS = Param("chars", Type.STR, default=None)
_SEPARATOR = Param("separator", Type.STR, default=None)
_MAX_SPLITS = Param("maxSplits", Type.INT, default=-1)
_SUB = Param("sub", Type.STR)
_START = Param("start", Type.INT)
_LENGTH = Param("length", Type.INT)
_COUNT = Param("count", Type.INT, default=-1)
_TEXTS = frozenset({str})
_WORD = re.compile(r"\S+")


@function("toUpper", style="M", params=(_STRING,))
def to_upper(cx: CodeContext, string: str) -> str:
    """The text in capitals."""
    cx.rt.check_memory(len(string))
    return string.upper()


@function("toLower", style="M", params=(_STRING,))
def to_lower(cx: CodeContext, string: str) -> str:
    """The text in small letters."""
    cx.rt.check_memory(len(string))
    return string.lower()


@function("toCharArray", style="M", params=(_STRING,))
def to_char_array(cx: CodeContext, string: str) -> tuple[str, ...]:
    """A list of the characters."""
    cx.rt.check_items(len(string))
    cx.rt.check_memory(SLOT * len(string))
    return tuple(string)


def _pieces(cx: CodeContext, string: str, separator: str | None, limit: int) -> None:
    """Refuses a split into too many pieces before it is made."""
    if len(string) < 4096:
        return
    if separator is None:
        count = sum(1 for _ in _WORD.finditer(string))
    elif separator:
        count = string.count(separator) + 1
    else:
        return
    if limit >= 0:
        count = min(count, limit + 1)
    cx.rt.check_items(count)
    cx.rt.check_memory(ENTRY * count + len(string))


@function("split", style="M", params=(_STRING, _SEPARATOR, _MAX_SPLITS))
def split(cx: CodeContext, string: str, separator: str | None = None, max_splits: int = -1) -> tuple[str, ...]:
    """The parts between separators (runs of white space when null), at most ``maxSplits`` cuts from the left.

    Raises ValueError for an empty separator.
    """
    _pieces(cx, string, separator, max_splits)
    return tuple(string.split(separator, _host_size(max_splits)))


@function("rightSplit", style="M", params=(_STRING, _SEPARATOR, _MAX_SPLITS))
def right_split(cx: CodeContext, string: str, separator: str | None = None, max_splits: int = -1) -> tuple[str, ...]:
    """The parts between separators (runs of white space when null), at most ``maxSplits`` cuts from the right.

    Raises ValueError for an empty separator.
    """
    _pieces(cx, string, separator, max_splits)
    if separator and len(string) * len(separator) > _QUICK:  # CPython searches backwards in quadratic time
        parts = string[::-1].split(separator[::-1], _host_size(max_splits))
        return tuple([part[::-1] for part in reversed(parts)])
    return tuple(string.rsplit(separator, _host_size(max_splits)))


def _host_size(number: int) -> int:
    """``number`` within what the host's text functions take; more than any text is long anyway."""
    if number == -1:
        return -1
    return max(-1 << 62, min(number, 1 << 62))


@function("join", style="M", params=(Param("sequence", Type.ITER), Param("separator", Type.STR)))
def join_items(cx: CodeContext, sequence: Items, separator: str) -> str:
    """The texts of the items with the separator between them. Raises `MemoryQuotaExceeded` beyond the memory limit."""
    return join_texts(cx, separator, sequence)


@function("join", style="M", params=(Param("separator", Type.STR), Param("sequence", Type.ITER)))
def join_separator(cx: CodeContext, separator: str, sequence: Items) -> str:
    """The texts of the items with the separator between them. Raises `MemoryQuotaExceeded` beyond the memory limit."""
    return join_texts(cx, separator, sequence)


def join_texts(cx: CodeContext, separator: str, items: Items) -> str:
    """The texts of ``items`` (as ``str`` gives them) with the separator between them, size checked while it grows."""
    gap = len(separator)
    if items.__class__ is tuple and _TEXTS.issuperset(map(type, items)):
        rt = cx.rt
        rt.check_items(len(items))
        rt.charge(len(items))
        rt.check_memory(sum(map(len, items)) + gap * len(items))
        return separator.join(items)
    parts: list[str] = []
    size = 0
    unchecked = 0
    for item in growing(cx, items):
        part = item if item.__class__ is str else text_of(cx, item)
        parts.append(part)
        unchecked += len(part) + gap
        if unchecked > 65536:
            size += unchecked
            unchecked = 0
            cx.rt.check_memory(size)
    cx.rt.check_memory(size + unchecked)
    return separator.join(parts)


@function("concat", params=(varargs("args", Type.STR),))
def concat(cx: CodeContext, *args: str) -> str:
    """The texts one after the other."""
    return join_texts(cx, "", args)


@function("trim", style="M", params=(_STRING, _CHARS))
def trim(string: str, chars: str | None = None) -> str:
    """The text without these characters (white space when null) at both ends."""
    return _strip(string, chars)


@function("trimLeft", style="M", params=(_STRING, _CHARS))
def trim_left(string: str, chars: str | None = None) -> str:
    """The text without these characters (white space when null) at its start."""
    return _strip(string, chars, right=False)


@function("trimRight", style="M", params=(_STRING, _CHARS))
def trim_right(string: str, chars: str | None = None) -> str:
    """The text without these characters (white space when null) at its end."""
    return _strip(string, chars, left=False)


@function("norm", style="FM", params=(Param("string", Type.STR, nullable=True), _CHARS))
def norm(string: str | None, chars: str | None = None) -> str | None:
    """The trimmed text, or null when nothing is left of it."""
    return _strip(string or "", chars) or None


@function(
    "isEmpty",
    style="FM",
    params=(Param("string", Type.STR, nullable=True), Param("trim", Type.BOOL, default=True), _CHARS),
)
def is_empty(string: str | None, trim: bool = True, chars: str | None = None) -> bool:
    """True for null and for a text of which nothing is left, after trimming unless ``trim`` is false."""
    if string is None:
        return True
    return not (_strip(string, chars) if trim else string)


@function("replace", style="M", params=(_STRING, Param("old", Type.STR), Param("new", Type.STR), _COUNT))
def replace(cx: CodeContext, string: str, old: str, new: str, count: int = -1) -> str:
    """The text with ``old`` replaced by ``new``, at most ``count`` times unless negative.

    Raises `MemoryQuotaExceeded` beyond the memory limit.
    """
    count = _host_size(count)
    if len(new) > len(old):
        hits = string.count(old)
        if count >= 0:
            hits = min(hits, count)
        cx.rt.check_memory(len(string) + hits * (len(new) - len(old)))
    return string.replace(old, new, count)


@function("replace", style="M", params=(_STRING, Param("replacements", Type.DICT), _COUNT))
def replace_all(cx: CodeContext, string: str, replacements: dict[Any, Any], count: int = -1) -> str:
    """The text with every key replaced by its value, one after the other in the order of the mapping."""
    for old, new in replacements.items():
        string = replace(cx, string, text_of(cx, old), text_of(cx, new), count)
    return string


@function("substring", style="M", params=(_STRING, _START, Param("length", Type.INT, default=-1)))
def substring(string: str, start: int, length: int = -1) -> str:
    """``length`` characters from ``start`` (negative: from the end); all that follow when ``length`` is negative."""
    if start < 0:
        start += len(string)
    return string[start : start + (len(string) if length < 0 else length)]


def _end(string: str, start: int, length: int) -> int:
    return len(string) if length < 0 else start + length


@function("indexOf", style="M", params=(_STRING, _SUB, Param("start", Type.INT, default=0)))
def index_of(string: str, sub: str, start: int = 0) -> int:
    """Where ``sub`` first occurs at or after ``start``; -1 when it does not."""
    return string.find(sub, start)


@function("indexOf", style="M", params=(_STRING, _SUB, _START, _LENGTH))
def index_of_within(string: str, sub: str, start: int, length: int) -> int:
    """Where ``sub`` first occurs within ``length`` characters from ``start``; -1 when it does not."""
    return _find(string, str.find, sub, start, length)


@function("lastIndexOf", style="M", params=(_STRING, _SUB, Param("start", Type.INT, default=0)))
def last_index_of(string: str, sub: str, start: int = 0) -> int:
    """Where ``sub`` last occurs at or after ``start``; -1 when it does not."""
    return _rfind(string, sub, start, len(string))


@function("lastIndexOf", style="M", params=(_STRING, _SUB, _START, _LENGTH))
def last_index_of_within(string: str, sub: str, start: int, length: int) -> int:
    """Where ``sub`` last occurs within ``length`` characters from ``start``; -1 when it does not."""
    return _find(string, _rfind, sub, start, length)


def _strip(string: str, chars: str | None, *, left: bool = True, right: bool = True) -> str:
    """``str.strip``, which looks through all of ``chars`` for each character; here many cost no more than few."""
    if chars is not None and len(chars) > _FEW:
        known = frozenset(chars)
        start, end = 0, len(string)
        while left and start < end and string[start] in known:
            start += 1
        while right and end > start and string[end - 1] in known:
            end -= 1
        return string[start:end]
    return string.strip(chars) if left and right else string.lstrip(chars) if left else string.rstrip(chars)


def _rfind(string: str, sub: str, start: int, end: int) -> int:
    """``str.rfind``, whose time CPython bounds by the product of the lengths, in time that grows with their sum."""
    if len(string) * len(sub) <= _QUICK:
        return string.rfind(sub, start, end)
    if len(sub) > len(string):
        return -1
    start, end, _ = slice(start, end).indices(len(string))
    found = string[start:end][::-1].find(sub[::-1])
    return -1 if found < 0 else end - found - len(sub)


def _find(string: str, search: Callable[..., int], sub: str, start: int, length: int) -> int:
    if start < 0:
        start += len(string)
    return search(string, sub, start, _end(string, start, length))


@function("startsWith", style="M", params=(_STRING, varargs("prefixes", Type.STR)))
def starts_with(string: str, *prefixes: str) -> bool:
    """True when the text begins with one of the prefixes."""
    return string.startswith(prefixes)


@function("endsWith", style="M", params=(_STRING, varargs("suffixes", Type.STR)))
def ends_with(string: str, *suffixes: str) -> bool:
    """True when the text ends with one of the suffixes."""
    return string.endswith(suffixes)
