"""The extension class example.Quotes."""

from __future__ import annotations

import datetime
from typing import Any

from vetro.packages.plugin_api import Context, effect

#: What the package of this distribution requires.
murano_requirements = {"io.murano": "0"}

_QUOTES = {
    "en": ["Well begun is half done.", "Measure twice, cut once."],
    "de": ["Frisch gewagt ist halb gewonnen.", "Erst besinnen, dann beginnen."],
}


@effect(policy="convergent")
def day_of_year() -> int:
    """What only the outside world knows. The journal keeps the answer: a continued task sees the same day."""
    return datetime.datetime.now(datetime.UTC).timetuple().tm_yday


class Quotes:
    """Wise words."""

    def __init__(self, context: Context, language: str = "en") -> None:
        if language not in _QUOTES:
            raise ValueError(f"there are no quotes in '{language}', only in {', '.join(_QUOTES)}")
        context.log("debug", f"quotes in {language}")
        self._quotes = _QUOTES[language]

    def quote(self, number: int) -> str:
        """The quote with this number, from 0; behind the last one they begin again."""
        return self._quotes[number % len(self._quotes)]

    def quote_of_the_day(self) -> str:
        """The quote for today."""
        return self.quote(day_of_year())

    @staticmethod
    def languages() -> list[str]:
        """The languages that there are quotes in."""
        return sorted(_QUOTES)

    def signed(self, this: Any, number: int) -> dict[str, str]:
        """A quote and the name of the class that gives it."""
        return {"text": self.quote(number), "by": this.type_name}
