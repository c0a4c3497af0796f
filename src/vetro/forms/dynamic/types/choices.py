"""A list to choose from: choice, and what all lists have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.diagnostics import Text
from vetro.forms.dynamic.attributes import text
from vetro.forms.dynamic.types.base import FieldType, Refused, Resolved, sent_text
from vetro.forms.model import Choice, Kind
from vetro.yaql.values import FDict

if TYPE_CHECKING:
    from vetro.forms.dynamic.resolve import Look


def read_choices(value: Any) -> Sequence[Choice]:
    """``[[value, label], …]`` with groups ``[heading, [[value, label], …]]``, or ``{value: label}``.

    Values become text. Raises ValueError.
    """
    if value is None:
        return ()
    if isinstance(value, FDict):
        return [Choice(_key(key), text(label)) for key, label in value.items()]
    if not isinstance(value, tuple):
        raise ValueError(Text("must be a list of [value, label] pairs or a mapping of values and labels"))
    found: list[Choice] = []
    for item in value:
        first, second = _pair(item)
        if isinstance(second, tuple):
            found += [Choice(_key(key), text(label), group=text(first)) for key, label in map(_pair, second)]
        else:
            found.append(Choice(_key(first), text(second)))
    return found


def _pair(item: Any) -> tuple[Any, Any]:
    if not isinstance(item, tuple) or len(item) != 2:
        raise ValueError(Text("must hold [value, label] pairs"))
    return item[0], item[1]


def _key(value: Any) -> str:
    if isinstance(value, (tuple, dict)):
        raise ValueError(Text("must have texts or numbers as values"))
    return text(value)


class Select(FieldType):
    """One of several texts. Anything that is not offered is refused, and so is what is offered but disabled."""

    kind: ClassVar[Kind] = "choice"
    widget = "select"

    def shown(self, value: Any, field: Resolved) -> Any:
        return None if value is None or isinstance(value, (tuple, dict)) else value

    def clean(self, raw: Any, field: Resolved) -> Any:
        value = sent_text(raw, field)
        if value == "" or is_offered(value, field.choices):
            return value
        raise not_offered(value, field)

    def received(self, raw: Any, field: Resolved) -> Any:
        try:
            return sent_text(raw, field)
        except Refused:
            return self.nothing()


def is_offered(value: Any, choices: Iterable[Choice]) -> bool:
    """Whether ``value`` may be chosen."""
    return any(choice.value == value and not choice.disabled for choice in choices)


def not_offered(value: Any, field: Resolved) -> Refused:
    """The error for a value that may not be chosen."""
    if field.unavailable:
        return Refused("unavailable", field.unavailable)
    shown = str(value)
    shown = shown if len(shown) <= 100 else shown[:100] + "…"
    message = Text("Select a valid choice. {shown} is not one of the available choices.", shown=shown)
    return Refused("invalid_choice", message, value=shown)


class ChoiceType(Select):
    """Choices that the definition names or computes."""

    own = frozenset({"choices"})
    conversions: ClassVar[Mapping[str, Any]] = {"choices": read_choices}

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        field.choices = values.get("choices") or ()
