"""Regular expressions of definitions: Python's syntax, searched for; ``/re/flags`` with the letters of `re`.

They run on the engines of the language (RE2, else a bounded one), so no pattern and no text can hang a form.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

from vetro.data_classes import dataclass
from vetro.forms.dynamic.expressions import LIMITS, plain_dialect
from vetro.yaql.context import CodeContext, Execution
from vetro.yaql.errors import LimitExceeded, Stop
from vetro.yaql.regex.pattern import Regex, compile_regex

#: Steps of one evaluation. Only what RE2 cannot do uses many: a second for a hundred thousand at the most.
_STEPS = 100_000
_DELIMITED = re.compile(r"/(.*)/([A-Za-z]*)", re.DOTALL)
_KNOWN_FLAGS = "aimsx"


@dataclass(frozen=True, slots=True)
class FormPattern:
    """A compiled regular expression. ``source`` is what was written between the slashes, where there are some."""

    source: str
    flags: str
    regex: Regex

    @property
    def text(self) -> str:
        """The expression with its flags inside."""
        return f"(?{self.flags}){self.source}" if self.flags else self.source

    def found_in(self, text: str, context: CodeContext) -> bool:
        """Whether it matches anywhere. Raises `TooMuchToCheck`."""
        return _run(self.regex, text, context)

    def begins(self, text: str, context: CodeContext) -> bool:
        """Whether it matches at the beginning. Raises `TooMuchToCheck`."""
        return _run(_compiled(r"\A(?:" + self.source + ")", self.flags).regex, text, context)


class TooMuchToCheck(Exception):
    """The text cannot be checked by this expression within the limits."""


def pattern_context() -> CodeContext:
    """What all the patterns of one evaluation may use together."""
    return CodeContext(Execution(replace(LIMITS, max_steps=_STEPS)), plain_dialect())


def _run(regex: Regex, text: str, context: CodeContext) -> bool:
    try:
        return regex.found_in(context, text)
    except (LimitExceeded, Stop) as error:
        raise TooMuchToCheck(str(error)) from None


def read_pattern(text: Any) -> FormPattern:
    """The pattern written as ``text``. Raises ValueError and `LimitExceeded` for what is none."""
    source = text if isinstance(text, str) else str(text)
    match = _DELIMITED.fullmatch(source) if source.startswith("/") else None
    if match is None:
        return _compiled(source, "")
    letters = match[2].lower()
    return _compiled(match[1], "".join(flag for flag in _KNOWN_FLAGS if flag in letters))


@lru_cache(maxsize=512)
def _compiled(source: str, flags: str) -> FormPattern:
    return FormPattern(source, flags, compile_regex(f"(?{flags}){source}" if flags else source))
