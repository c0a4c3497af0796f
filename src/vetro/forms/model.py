"""The form model: pages of sections of fields, as plain immutable data that any client can show.

Makers of forms: `vetro.forms.dynamic` (UI definitions) and `vetro.forms.generated` (classes and methods).
Readers: the pages, the API (`as_json`), the command line. A form holds no code: what has to be computed again when an
answer changes is computed by its maker, which then gives a new form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass
from typing import Any, Final, Literal

from vetro.data_classes import dataclass
from vetro.diagnostics import ERROR, Diagnostic

#: Members that hold answers: an empty list, text or mapping is one.
_DATA = frozenset({"initial", "value", "values"})
#: The widget of a ``reference`` whose objects are files that the service keeps (`vetro.model.files.STORED_CLASS`).
FILE: Final = "file"
#: What kind of value a field holds. ``choice`` is a value of `Field.choices` of any type; ``reference`` is an object
#: picker (`Field.picker`), or, with the widget `FILE`, a file that people give; ``json`` is any JSON value, for
#: contracts that allow everything.
Kind = Literal[
    "string", "text", "integer", "number", "boolean", "choice", "list", "tuple", "map", "object", "reference", "json"
]


def flaw(path: str, message: str, code: str = "invalid", object_id: str | None = None) -> Diagnostic:
    """One thing that is wrong with an answer.

    ``path`` is a JSON pointer into the answers of the form (``""``: the form as a whole), ``object_id`` the object of
    the model whose property it is, where the form fills several objects.
    """
    return Diagnostic(code, ERROR, message, place=path, subject=object_id)


def flaw_json(found: Diagnostic) -> dict[str, Any]:
    """Plain data, from which `flaw` makes the same again."""
    return {"path": found.place, "message": found.message, "code": found.code, "object_id": found.subject}


@dataclass(frozen=True, slots=True)
class Choice:
    """One value that may be picked. ``group`` is the heading it stands under.

    ``note`` is said beside the label: how large a flavor is. Where people choose, a smaller ``rank`` stands first.
    """

    value: Any
    label: str
    disabled: bool = False
    group: str | None = None
    note: str = ""
    rank: int = 0

    @property
    def noted(self) -> str:
        """The label with what is said beside it."""
        return f"{self.label}: {self.note}" if self.note else self.label


def ranked(choices: Iterable[Choice]) -> list[Choice]:
    """Choices as people see them."""
    return sorted(choices, key=lambda choice: choice.rank)


@dataclass(frozen=True, slots=True)
class Picker:
    """What may stand in a ``reference`` field: objects of a class.

    ``owned``: True, only a new object; False, only one that exists; None, both. ``existing`` and ``types`` hold the
    first page of what can be picked; more comes by search (``more_existing``, ``more_types`` say that there is more).
    """

    type: str
    version: str | None = None
    owned: bool | None = None
    nullable: bool = True
    #: Properties of a `template` contract that are not asked for.
    excluded: Sequence[str] = ()
    existing: Sequence[Choice] = ()
    types: Sequence[Choice] = ()
    more_existing: bool = False
    more_types: bool = False
    #: JSON schemas that the picked object (and its children) must meet besides those of its class.
    contexts: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """One input.

    ``required``: an answer must be given. ``nullable``: "not set" is an answer. ``visible`` False: no control, the
    value travels as it is. ``enabled`` False: shown, but neither required nor checked. ``initial``: what the control
    shows at first; ``value``: what was answered, None when nothing was (see ``answered``). Values of secret fields
    never leave the server: ``answered`` says that there is one.
    """

    name: str
    kind: Kind
    label: str
    description: str = ""
    description_title: str = ""
    help: str = ""
    placeholder: str = ""
    required: bool = False
    nullable: bool = False
    visible: bool = True
    enabled: bool = True
    read_only: bool = False
    secret: bool = False
    #: How the kind of control is called where the kind does not say it: textarea, select, password, ipv4, names, …
    widget: str = ""
    initial: Any = None
    value: Any = None
    answered: bool = False
    #: What a client can check by itself: keywords of JSON Schema and of our vocabulary (`vocabulary`).
    constraints: Mapping[str, Any] = field(default_factory=dict)
    choices: Sequence[Choice] = ()
    #: Name of a source of choices that is searched page by page; empty: `choices` is all there is.
    choices_source: str = ""
    #: Answers (paths) whose change makes this field (choices, visibility, limits) be computed again.
    depends_on: Sequence[str] = ()
    #: Own texts by code: required, invalid, min_length, max_length, minimum, maximum, invalid_choice.
    messages: Mapping[str, str] = field(default_factory=dict)
    #: Name of the field of which this one is the confirmation.
    confirms: str = ""
    #: Items of a list; values of a map; None otherwise.
    items: Field | None = None
    #: Leading items of a tuple.
    leading: Sequence[Field] = ()
    #: Keys of a map: a text field with its limits.
    keys: Field | None = None
    #: Fields of a nested object.
    sections: Sequence[Section] = ()
    picker: Picker | None = None
    #: Whether it belongs to the simple form ("basic") or only to the full one ("advanced").
    level: Literal["basic", "advanced"] = "basic"
    #: Extra HTML attributes and files of the definition's author (`widgetAttrs`, `widgetMedia`).
    attributes: Mapping[str, str] = field(default_factory=dict)
    media: Mapping[str, Any] = field(default_factory=dict)
    problems: Sequence[Diagnostic] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """Fields under one heading. The section without a name has no heading."""

    name: str = ""
    title: str = ""
    description: str = ""
    fields: Sequence[Field] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """One step of a wizard. ``intro``: paragraphs above the inputs."""

    name: str
    title: str
    sections: Sequence[Section] = ()
    intro: Sequence[str] = ()
    problems: Sequence[Diagnostic] = ()

    def fields(self) -> Iterator[Field]:
        """All fields of the page in order, without those nested in other fields."""
        for section in self.sections:
            yield from section.fields


@dataclass(frozen=True, slots=True)
class Preset:
    """Named values by which a form can be filled in; ``default``: those that a new one begins with."""

    name: str
    title: str
    description: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    default: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A form or, with several pages, a wizard.

    ``source`` says what made it. ``schema`` is the JSON Schema 2020-12 of the answers, with the UI vocabulary of
    docs/forms, where the form was made from a class or method.
    """

    title: str
    source: Literal["definition", "class", "method"]
    pages: Sequence[Page] = ()
    description: str = ""
    help: str = ""
    schema: Mapping[str, Any] | None = None
    problems: Sequence[Diagnostic] = ()
    presets: Sequence[Preset] = ()
    #: Name of the preset whose values the form holds; empty: it has values of its own.
    preset: str = ""

    def as_json(self) -> dict[str, Any]:
        """The form as plain JSON; members that have their default are left out."""
        found = _plain(self)
        assert isinstance(found, dict)
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, Diagnostic):
        told = flaw_json(value).items()
        return {name: item for name, item in told if (name, item) not in (("code", "invalid"), ("object_id", None))}
    if is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Any] = {}
        for item in fields(value):
            given = getattr(value, item.name)
            default = item.default_factory() if item.default_factory is not MISSING else item.default
            if item.name in _DATA:
                if given is not None:
                    found[item.name] = _plain_data(given)
            elif not (given == default and type(given) is type(default)):
                found[item.name] = _plain(given)
        return found
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return _plain_data(value)


def _plain_data(value: Any) -> Any:
    """Answers and schemas: nothing in them is left out."""
    if isinstance(value, Mapping):
        return {str(key): _plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_data(item) for item in value]
    return value
