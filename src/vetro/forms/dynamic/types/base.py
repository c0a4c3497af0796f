"""What a field type is: the attributes it knows, what it offers, how it takes what was sent (DYNAMIC_UI 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.forms.dynamic.attributes import COMMON, CONVERT, Convert
from vetro.forms.model import Choice, Kind, Picker

if TYPE_CHECKING:
    from vetro.forms.dynamic.definition import FieldDefinition
    from vetro.forms.dynamic.patterns import FormPattern
    from vetro.forms.dynamic.resolve import Look

#: Characters of one answer.
LONGEST_ANSWER = 1_000_000
#: What a client sends for a secret that it was not shown and that stays as it is.
KEPT: Mapping[str, str] = {"secret": "kept"}


class Refused(Exception):
    """A value that the field does not take: code of the message, its text, what the text mentions."""

    def __init__(self, code: str, message: str, **params: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.params = params


@dataclass(slots=True)
class ResolvedRule:
    """A validator whose texts are known. ``condition`` is an expression over the value."""

    message: str
    pattern: FormPattern | None = None
    condition: Any = None
    #: Does what ``pattern`` says, faster.
    test: Callable[[str], bool] | None = None
    #: Whether the text comes from `errorMessages` or the type where the author wrote none.
    stock: bool = False


@dataclass(slots=True)
class Resolved:
    """A field whose attributes are all known, as it is to be shown or checked now."""

    definition: FieldDefinition
    name: str
    label: str = ""
    description: str = ""
    description_title: str = ""
    help: str = ""
    hidden: bool = False
    required: bool = True
    enabled: bool = True
    disabled: bool = False
    initial: Any = None
    messages: Mapping[str, str] = field(default_factory=dict)
    media: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[ResolvedRule] = ()
    min_length: int | None = None
    max_length: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: Sequence[Choice] = ()
    picker: Picker | None = None
    #: A text that stands in place of the input; the widget is ``error-text`` then.
    instead: str = ""
    #: What the person should know of the choices.
    notices: Sequence[str] = ()
    #: Set when the choices could not be read.
    unavailable: str = ""
    #: The field of which this one is the confirmation.
    confirms: str = ""
    confirm: bool = False


class FieldType:
    """A type of field. Instances hold nothing but what the definition says of the type itself."""

    kind: ClassVar[Kind] = "string"
    #: How the control is called; empty where the kind says it.
    widget: ClassVar[str] = ""
    #: Attributes besides the common ones.
    own: ClassVar[frozenset[str]] = frozenset()
    #: Conversions of own attributes.
    conversions: ClassVar[Mapping[str, Convert]] = {}
    #: Whether what it offers depends on more than the definition.
    moving: ClassVar[bool] = False
    secret: ClassVar[bool] = False
    #: The text of a wrong value.
    invalid: ClassVar[str] = Text("Enter a valid value.")
    #: The cleaned value when nothing was sent.
    empty: ClassVar[Any] = ""

    def knows(self, attribute: str) -> bool:
        """Whether the attribute means something here."""
        return attribute in COMMON or attribute in self.own

    def converter(self, attribute: str) -> Convert:
        """How values of the attribute are read."""
        return self.conversions.get(attribute) or CONVERT[attribute]

    def nothing(self) -> Any:
        """The cleaned value when nothing was sent, made anew."""
        return self.empty

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        """Puts into ``field`` what this type has beyond the common attributes, whose ``values`` are known."""

    def shown(self, value: Any, field: Resolved) -> Any:
        """An initial value as the control shows it; None for nothing."""
        if value is None or value.__class__ in (bool, int, float, str):
            return value
        return str(_plain(value)) if value else None

    def received(self, raw: Any, field: Resolved) -> Any:
        """What was sent as the value of a field that is switched off: nothing is checked."""
        return self.nothing() if raw is None else raw

    def answer(self, raw: Any, field: Resolved) -> Any:
        """What was sent, as the control shows it again."""
        return raw

    def clean(self, raw: Any, field: Resolved) -> Any:
        """The value of what was sent. Raises `Refused`. Whether a value is required is not looked at here."""
        raise NotImplementedError

    def is_empty(self, value: Any) -> bool:
        """Whether a cleaned value counts as nothing."""
        return value is None or value == "" or value == [] or value == {}

    def limits(self, value: Any, field: Resolved) -> Sequence[Refused]:
        """What is wrong with the size of a value that is not empty."""
        return ()

    def text_of(self, value: Any) -> str:
        """What regular expressions are tried on."""
        return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def sent_text(raw: Any, field: Resolved) -> str:
    """A text that was sent; numbers and booleans of JSON clients as text. Raises `Refused` for lists and mappings."""
    if raw is None:
        return ""
    if isinstance(raw, str):
        if len(raw) > LONGEST_ANSWER:
            raise Refused(
                "too_long",
                Text("This value is longer than {longest_answer:,} characters.", longest_answer=LONGEST_ANSWER),
            )
        return raw
    if isinstance(raw, (bool, int, float)):
        return str(raw)
    raise Refused("invalid", field.definition.type.invalid)


def length_limits(length: int, field: Resolved) -> Sequence[Refused]:
    """What is wrong with a length."""
    found = []
    if field.min_length is not None and length < field.min_length:
        found.append(_length("min_length", Text("at least"), field.min_length, length))
    if field.max_length is not None and length > field.max_length:
        found.append(_length("max_length", Text("at most"), field.max_length, length))
    return found


def _length(code: str, words: str, limit: int, length: int) -> Refused:
    unit = Text("character") if limit == 1 else Text("characters")
    message = Text(
        "Ensure this value has {words} {limit} {unit} (it has {length}).",
        words=words,
        limit=limit,
        unit=unit,
        length=length,
    )
    return Refused(code, message, limit_value=limit, show_value=length)
