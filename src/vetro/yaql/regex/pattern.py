"""Compiled regular expressions: one face, three engines.

Python's own ``re`` serves simple patterns that are proved to take linear time (`linear`), RE2 (always linear)
nearly all the others; patterns it cannot do, and the few texts on which it would differ from ``re``, go to the bounded
backtracking engine. Which one runs cannot be told from the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import LimitExceeded
from vetro.yaql.regex.backtrack import Meter, match_at, search
from vetro.yaql.regex.linear import effort
from vetro.yaql.regex.parser import Flags, Pattern, parse
from vetro.yaql.regex.program import Program
from vetro.yaql.regex.re2 import Written, write
from vetro.yaql.types import RegexBase
from vetro.yaql.values import FROZEN

_FLAG_TEXTS = (("ignore_case", "re.IGNORECASE"), ("multi_line", "re.MULTILINE"), ("dot_all", "re.DOTALL"))

#: States of RE2's automaton times bytes of text. RE2 cannot be interrupted; in the worst case this is half a minute.
_MAX_WORK = 2_000_000_000
#: Steps of `re` for one text; it cannot be interrupted either. Longer texts are for the other engines.
_MAX_HOST_WORK = 1 << 24
#: Work on a short text costs no steps of its own: whoever asks for it paid for the call.
_FREE = 4096
#: `re` warns of what may mean something else one day.
_AMBIGUOUS = ("[[", "[^[", "--", "&&", "~~", "||")
_UNSET: Any = object()


class RegexMatch:
    """One match: the text and where each group is, -1 for groups that took no part."""

    __slots__ = ("_slots", "regex", "text")

    def __init__(self, regex: Regex, text: str, slots: tuple[int, ...]) -> None:
        self.regex = regex
        self.text = text
        self._slots = slots

    def span(self, group: int = 0) -> tuple[int, int]:
        """Start and end of a group; ``(-1, -1)`` when it took no part."""
        start, end = self._slots[2 * group], self._slots[2 * group + 1]
        return (start, end) if end >= 0 else (-1, -1)

    def group(self, group: int = 0) -> str | None:
        """Text of a group, None when it took no part."""
        start, end = self.span(group)
        return None if end < 0 else self.text[start:end]


class Regex(RegexBase):
    """A regular expression. Equal when pattern and flags are equal."""

    __slots__ = (
        "_host",
        "_linear",
        "_longest",
        "_pattern",
        "_program",
        "_steps",
        "_written",
        "flags",
        "pattern",
        "short",
        "substitute",
    )

    def __init__(self, pattern: str, flags: Flags) -> None:
        self.pattern = pattern
        self.flags = flags
        self._pattern: Pattern = parse(pattern, flags)
        self._program: Program | None = None
        self._written: Written | None = None
        self._linear: Any = _UNSET
        #: Steps of `re` for each character, and the length of texts it is used for: none where it is not.
        self._steps = effort(self._pattern.tree) or 0
        self._host: re.Pattern[str] | None = _host(pattern, flags) if self._steps else None
        self._longest = _MAX_HOST_WORK // self._steps if self._host is not None else -1
        #: A replacement that costs no steps, for texts of such a length; -1 where there is none.
        self.substitute: Callable[[str, str, int], str] | None = None if self._host is None else self._host.sub
        self.short = -1 if self._host is None else _FREE // self._steps

    @property
    def groups(self) -> int:
        """The number of capturing groups."""
        return self._pattern.groups

    @property
    def names(self) -> dict[str, int]:
        """The numbers of the groups that have names."""
        return self._pattern.names

    def search(self, cx: CodeContext, text: str, pos: int = 0) -> RegexMatch | None:
        """The first match at or after ``pos``; None when there is none.

        Raises `LimitExceeded` when a pattern that RE2 cannot do needs too many steps.
        """
        if len(text) <= self._longest:
            match = self.host(cx, text).search(text, pos)
            return None if match is None else RegexMatch(self, text, tuple(chain.from_iterable(match.regs)))
        slots = self._walk(cx, text).search(pos)
        return None if slots is None else RegexMatch(self, text, slots)

    def found_in(self, cx: CodeContext, text: str) -> bool:
        """True when there is a match anywhere. Raises as `search` does."""
        if len(text) <= self._longest:
            return self.host(cx, text).search(text) is not None
        return self._walk(cx, text).search(0) is not None

    def quick(self) -> tuple[Callable[[str], re.Match[str] | None] | None, int]:
        """A search that costs no steps, and the length of texts it is good for; (None, -1) where there is none."""
        return (None, -1) if self._host is None else (self._host.search, _FREE // self._steps)

    def host(self, cx: CodeContext, text: str) -> re.Pattern[str]:
        """The pattern of `re`, paid for, for a text of which `takes_host` is true."""
        work = len(text) * self._steps
        if work > _FREE:
            cx.rt.charge(work >> 12)
        assert self._host is not None
        return self._host

    def takes_host(self, text: str) -> bool:
        """Whether `re` may be used for this text."""
        return len(text) <= self._longest

    def find_all(self, cx: CodeContext, text: str) -> Iterator[RegexMatch]:
        """All matches from left to right, none overlapping another; lazily. Raises as `search` does."""
        if len(text) <= self._longest:
            for match in self.host(cx, text).finditer(text):
                yield RegexMatch(self, text, tuple(chain.from_iterable(match.regs)))
            return
        walk = self._walk(cx, text)
        pos = 0
        not_empty = False
        while pos <= len(text):
            slots = walk.search_not_empty(pos) if not_empty else walk.search(pos)
            if slots is None:
                return
            yield RegexMatch(self, text, slots)
            pos = slots[1]
            # A second match at the same place must have characters.
            not_empty = slots[0] == slots[1]

    def program(self) -> Program:
        """The pattern for the backtracking engine, compiled when first needed."""
        if self._program is None:
            self._program = Program(self._pattern.tree, self._pattern.groups)
        return self._program

    @property
    def _engine(self) -> Any:
        """The pattern for RE2, compiled when first needed; None where RE2 cannot do it."""
        if self._linear is _UNSET:
            self._written = write(self._pattern.tree, self._pattern.groups)
            self._linear = None if self._written is None else _compile(self._written.text)
        return self._linear

    def _walk(self, cx: CodeContext, text: str) -> _Walk | _LinearWalk:
        engine, written = self._engine, self._written
        if engine is None or written is None:
            return _Walk(self, cx, text)
        if (
            (written.words and not text.isascii())
            or (written.inner_end and text.endswith("\n"))
            or (written.no_word and not text)
        ):
            return _Walk(self, cx, text)
        try:
            data = text.encode()
        except UnicodeEncodeError:  # half characters
            return _Walk(self, cx, text)
        return _LinearWalk(self, cx, text, data, engine, written)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Regex) and (self.pattern, self.flags) == (other.pattern, other.flags)

    def __hash__(self) -> int:
        return hash((self.pattern, self.flags))

    def __repr__(self) -> str:
        flags = [text for name, text in _FLAG_TEXTS if getattr(self.flags, name)]
        return f"re.compile({', '.join([repr(self.pattern), '|'.join(flags)] if flags else [repr(self.pattern)])})"


FROZEN.add(Regex)


class _Walk:
    """A text searched by the backtracking engine; all searches share one bound."""

    def __init__(self, regex: Regex, cx: CodeContext, text: str) -> None:
        self.regex = regex
        self.text = text
        self.meter = Meter(cx, text)

    def search(self, pos: int) -> tuple[int, ...] | None:
        return search(self.regex.program(), self.meter, self.text, pos)

    def search_not_empty(self, pos: int) -> tuple[int, ...] | None:
        """As `search`, but at ``pos`` itself only a match that has characters counts."""
        slots = match_at(self.regex.program(), self.meter, self.text, pos, True)
        return self.search(pos + 1) if slots is None else slots


class _LinearWalk(_Walk):
    """A text searched by RE2, which counts in bytes of UTF-8."""

    def __init__(self, regex: Regex, cx: CodeContext, text: str, data: bytes, engine: Any, written: Written) -> None:
        super().__init__(regex, cx, text)
        self.data = data
        self.engine = engine
        self.written = written
        self.plain = len(data) == len(text)
        # One place known in both counts; searches go from left to right, so it moves with them.
        self.byte = 0
        self.char = 0
        work = len(data) * engine.programsize
        if work > _MAX_WORK:
            raise LimitExceeded(f"a text of {len(text)} characters is too long for this regular expression")
        self.cx = cx
        cx.rt.charge((work >> 12) + 1)

    def search(self, pos: int) -> tuple[int, ...] | None:
        if pos > len(self.text):
            return None
        self.cx.rt.charge((len(self.text) - pos) >> 10)
        found = self.engine.search(self.data, self._to_byte(pos))
        if found is None:
            return None
        slots: list[int] = [*found.span()]
        for number in self.written.groups[1:]:
            slots += found.span(number)
        for number, around in self.written.text_end:
            if found.span(number)[1] >= 0:  # the final line end belongs to `$`, not to what was matched
                for group in (0, *around):
                    if slots[2 * group + 1] == len(self.data):
                        slots[2 * group + 1] -= 1
        return tuple(slots) if self.plain else self._to_chars(slots)

    def search_not_empty(self, pos: int) -> tuple[int, ...] | None:
        return super().search_not_empty(pos) if self.written.prefers_empty else self.search(pos + 1)

    def _to_byte(self, pos: int) -> int:
        if self.plain:
            return pos
        if pos < self.char:
            self.byte = self.char = 0
        self.byte += len(self.text[self.char : pos].encode())
        self.char = pos
        return self.byte

    def _to_chars(self, slots: list[int]) -> tuple[int, ...]:
        known: dict[int, int] = {-1: -1}
        byte, char = self.byte, self.char
        for offset in sorted(set(slots)):
            if offset >= 0:
                char += len(self.data[byte:offset].decode())
                byte = offset
                known[offset] = char
        return tuple(known[offset] for offset in slots)


def _host(pattern: str, flags: Flags) -> re.Pattern[str] | None:
    """The pattern compiled by `re`; None when that would warn of something."""
    if any(text in pattern for text in _AMBIGUOUS):
        return None
    chosen = (re.IGNORECASE if flags.ignore_case else 0) | (re.MULTILINE if flags.multi_line else 0)
    try:
        return re.compile(pattern, chosen | (re.DOTALL if flags.dot_all else 0))
    except (re.error, OverflowError):
        return None


def _compile(text: str) -> Any:
    """The pattern compiled by RE2; None when it would become too large for it."""
    import re2  # many runs need no pattern that `re` may not do

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text.encode(), options)
    except re2.error:
        return None


@lru_cache(maxsize=256)
def _cached(pattern: str, flags: Flags) -> Regex:
    return Regex(pattern, flags)


def compile_regex(pattern: str, ignore_case: bool = False, multi_line: bool = False, dot_all: bool = False) -> Regex:
    """The regular expression ``pattern``, in the syntax of Python 3.11 (YAQL.md 4.7); recent ones are kept.

    Raises ValueError that tells the place of the mistake for a bad pattern, `LimitExceeded` for a monstrous one.
    """
    return _cached(pattern, Flags(ignore_case=ignore_case, multi_line=multi_line, dot_all=dot_all))
