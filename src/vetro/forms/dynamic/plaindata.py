"""Values as JSON and back: what a wizard remembers, and what is sent to the API."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Set
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.dynamic.errors import ExpressionFailed
from vetro.yaql.values import SCALARS, FDict, freeze

#: Values of one object model or one set of parameters.
MAX_VALUES = 200_000
_DEEPEST = 400
#: The key of a mapping that has keys other than text: JSON knows only those.
_PAIRS = "\0pairs"


class Writer:
    """Writes frozen values as JSON data. ``header`` may change the mapping under each ``?`` key.

    Raises `ExpressionFailed` for what JSON cannot hold, and for too much of it.
    """

    def __init__(self, position: Any, header: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> None:
        self.position = position
        self.header = header
        self.left = MAX_VALUES

    def write(self, value: Any, depth: int = 0) -> Any:
        """``value`` as JSON data; keys become text, as JSON writes them."""
        self.left -= 1
        if self.left < 0 or depth > _DEEPEST:
            what = (
                Text("more than {max_values:,} values", max_values=MAX_VALUES)
                if self.left < 0
                else Text("more than {deepest} levels", deepest=_DEEPEST)
            )
            raise ExpressionFailed(Text("the result has {what}", what=what), position=self.position)
        cls = value.__class__
        if cls in SCALARS:
            if cls is float and (value != value or value in (float("inf"), float("-inf"))):
                raise ExpressionFailed(
                    Text("the result holds {value}, which JSON cannot", value=value), position=self.position
                )
            return value
        if isinstance(value, dict):
            made: dict[str, Any] = {}
            for key, item in value.items():
                name = key_text(key)
                if name == "?" and isinstance(item, dict) and self.header is not None:
                    inner, self.header = self.header, None
                    made[name] = inner(self.write(item, depth + 1))
                    self.header = inner
                else:
                    made[name] = self.write(item, depth + 1)
            return made
        if isinstance(value, (tuple, list, Set)):
            return [self.write(item, depth + 1) for item in value]
        if isinstance(value, (datetime.date, datetime.timedelta)):
            return value.isoformat() if isinstance(value, datetime.date) else value.total_seconds()
        raise ExpressionFailed(
            Text("the result holds a {name}, which JSON cannot", name=cls.__name__), position=self.position
        )


def key_text(key: Any) -> str:
    """A key as JSON writes it."""
    if isinstance(key, str):
        return key
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def remember(value: Any) -> Any:
    """A frozen value as JSON data from which `recall` makes the same value. Raises `ExpressionFailed`."""
    writer = Writer(None)

    def pack(item: Any) -> Any:
        if isinstance(item, dict):
            if all(isinstance(key, str) for key in item) and _PAIRS not in item:
                return {key: pack(value) for key, value in item.items()}
            return {_PAIRS: [[pack(key), pack(value)] for key, value in item.items()]}
        if isinstance(item, (tuple, list, Set)):
            return [pack(part) for part in item]
        return writer.write(item)

    writer.write(value)  # counts, and refuses what is too much
    return pack(value)


def recall(value: Any) -> Any:
    """The frozen value of JSON data; what `remember` wrote and plain JSON alike."""

    def unpack(item: Any) -> Any:
        if isinstance(item, dict):
            if item.keys() == {_PAIRS}:
                return FDict((unpack(key), unpack(value)) for key, value in item[_PAIRS])
            return FDict((key, unpack(value)) for key, value in item.items())
        if isinstance(item, list):
            return tuple(unpack(part) for part in item)
        return item

    return value if value.__class__ in SCALARS else freeze(unpack(value))
