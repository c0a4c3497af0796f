"""Regular expressions (YAQL.md 4.7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import ENTRY, Lambda
from vetro.yaql.regex.template import expand, read_template
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.types import describe
from vetro.yaql.values import FDict

if TYPE_CHECKING:
    from vetro.yaql.regex.pattern import Regex, RegexMatch

_REGEXP = Param("regexp", Type.REGEX)
_STRING = Param("string", Type.STR)
_SELECTOR = Param("selector", Type.LAMBDA, default=None, arity=None)
_MAX_SPLIT = Param("maxSplit", Type.INT, default=0)
_REPL = Param("repl", Type.STR)
_REPL_BY = Param("repl", Type.LAMBDA, arity=None)
_COUNT = Param("count", Type.INT, default=0)
#: What cannot become longer than this is made at once and measured afterwards.
_SMALL_RESULT = 1 << 20
_SHORT = 64


def compile_regex(pattern: str, ignore_case: bool = False, multi_line: bool = False, dot_all: bool = False) -> Regex:
    """The regular expression ``pattern``, see `vetro.yaql.regex.pattern.compile_regex`."""
    from vetro.yaql.regex import pattern as _regex  # the engines are loaded on first use

    return _regex.compile_regex(pattern, ignore_case, multi_line, dot_all)


def _flag(name: str) -> Param:
    return Param(name, Type.BOOL, default=False, nullable=True)


@function("regex", params=(Param("pattern", Type.STR), _flag("ignoreCase"), _flag("multiLine"), _flag("dotAll")))
def regex(
    pattern: str, ignore_case: bool | None = False, multi_line: bool | None = False, dot_all: bool | None = False
) -> Regex:
    """The compiled pattern. Raises ValueError for a bad one."""
    return compile_regex(pattern, bool(ignore_case), bool(multi_line), bool(dot_all))


@function("escapeRegex", params=(_STRING,))
def escape_regex(cx: CodeContext, string: str) -> str:
    """A pattern that matches exactly ``string``."""
    cx.rt.check_memory(2 * len(string))
    return re.escape(string)


@function("matches", style="M", params=(_REGEXP, _STRING))
def matches(cx: CodeContext, regexp: Regex, string: str) -> bool:
    """True when the pattern is found anywhere in the text."""
    return regexp.found_in(cx, string)


@function("matches", style="M", params=(_STRING, Param("regexp", Type.STR)))
def matches_text(cx: CodeContext, string: str, regexp: str) -> bool:
    """True when the pattern is found anywhere in the text. Raises ValueError for a bad pattern."""
    return compile_regex(regexp).found_in(cx, string)


def _select(found: RegexMatch, selector: Lambda) -> Any:
    """``selector`` called with a record for the whole match and each group; named groups are ``$name`` as well."""
    records = [
        FDict((("value", found.group(i)), ("start", found.span(i)[0]), ("end", found.span(i)[1])))
        for i in range(found.regex.groups + 1)
    ]
    return selector(*records, **{name: records[number] for name, number in found.regex.names.items()})


@function("search", style="M", params=(_REGEXP, _STRING, _SELECTOR))
def search(cx: CodeContext, regexp: Regex, string: str, selector: Lambda | None = None) -> Any:
    """The first match: its text, or what ``selector`` makes of it; null when there is none."""
    found = regexp.search(cx, string)
    if found is None:
        return None
    return found.group() if selector is None else _select(found, selector)


@function("searchAll", style="M", params=(_REGEXP, _STRING, _SELECTOR))
def search_all(cx: CodeContext, regexp: Regex, string: str, selector: Lambda | None = None) -> Iterator[Any]:
    """All matches: their texts, or what ``selector`` makes of them; lazily."""
    for found in regexp.find_all(cx, string):
        yield found.group() if selector is None else _select(found, selector)


@function("split", style="M", params=(_REGEXP, _STRING, _MAX_SPLIT))
def split(cx: CodeContext, regexp: Regex, string: str, max_split: int = 0) -> tuple[str | None, ...]:
    """The parts between the matches, with the groups of the matches among them; at most ``maxSplit`` cuts unless 0."""
    parts: list[str | None] = []
    position = 0
    for found in _limited(regexp.find_all(cx, string), max_split):
        start, end = found.span()
        parts.append(string[position:start])
        parts += [found.group(number) for number in range(1, regexp.groups + 1)]
        cx.rt.check_items(len(parts) + 1)
        if not len(parts) % 1024:
            cx.rt.check_memory(ENTRY * len(parts))
        position = end
    parts.append(string[position:])
    return tuple(parts)


@function("split", style="M", params=(_STRING, _REGEXP, _MAX_SPLIT))
def split_string(cx: CodeContext, string: str, regexp: Regex, max_split: int = 0) -> tuple[str | None, ...]:
    """The parts between the matches, with the groups of the matches among them; at most ``maxSplit`` cuts unless 0."""
    return split(cx, regexp, string, max_split)


def _limited(matches: Iterator[RegexMatch], count: int) -> Iterator[RegexMatch]:
    """So many matches; all of them for 0, none for a negative number."""
    if count < 0:
        return
    for number, found in enumerate(matches):
        if count and number >= count:
            return
        yield found


def _substitute(cx: CodeContext, string: str, replacements: Iterable[tuple[RegexMatch, str]]) -> str:
    parts: list[str] = []
    size = len(string)
    position = 0
    for found, text in replacements:
        start, end = found.span()
        parts += (string[position:start], text)
        size += len(text)
        cx.rt.check_memory(size)
        position = end
    parts.append(string[position:])
    return "".join(parts)


@function("replace", style="M", params=(_REGEXP, _STRING, _REPL, _COUNT))
def replace(cx: CodeContext, regexp: Regex, string: str, repl: str, count: int = 0) -> str:
    r"""The text with every match (the first ``count`` unless 0) replaced by ``repl``, in which ``\1`` is group 1.

    Raises ValueError for a bad ``repl``, IndexError for an unknown group name.
    """
    if len(string) <= regexp.short and len(repl) <= _SHORT and count >= 0 and "\\" not in repl:
        assert regexp.substitute is not None
        made = regexp.substitute(repl, string, count)
        if len(made) > _SHORT:
            cx.rt.check_memory(len(made))
        return made
    if (
        "\\" not in repl
        and count >= 0
        and regexp.takes_host(string)
        and len(string) + (len(string) + 1) * len(repl) < _SMALL_RESULT
    ):
        made = regexp.host(cx, string).sub(repl, string, count)
        cx.rt.check_memory(len(made))
        return made
    template = read_template(repl, regexp.groups, regexp.names)
    matches = _limited(regexp.find_all(cx, string), count)
    return _substitute(cx, string, ((found, expand(cx, template, found)) for found in matches))


@function("replace", style="M", params=(_STRING, _REGEXP, _REPL, _COUNT))
def replace_in(cx: CodeContext, string: str, regexp: Regex, repl: str, count: int = 0) -> str:
    r"""The text with every match (the first ``count`` unless 0) replaced by ``repl``, in which ``\1`` is group 1."""
    return replace(cx, regexp, string, repl, count)


@function("replaceBy", style="M", params=(_REGEXP, _STRING, _REPL_BY, _COUNT))
def replace_by(cx: CodeContext, regexp: Regex, string: str, repl: Lambda, count: int = 0) -> str:
    """The text with every match (the first ``count`` unless 0) replaced by what ``repl`` makes of it.

    Raises TypeError when that is neither text nor null.
    """

    def text_for(found: RegexMatch) -> str:
        value = _select(found, repl)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise TypeError(f"replaceBy() needs a replacement text, not {describe(value)}")
        return value

    matches = _limited(regexp.find_all(cx, string), count)
    return _substitute(cx, string, ((found, text_for(found)) for found in matches))


@function("replaceBy", style="M", params=(_STRING, _REGEXP, _REPL_BY, _COUNT))
def replace_by_in(cx: CodeContext, string: str, regexp: Regex, repl: Lambda, count: int = 0) -> str:
    """The text with every match (the first ``count`` unless 0) replaced by what ``repl`` makes of it."""
    return replace_by(cx, regexp, string, repl, count)
