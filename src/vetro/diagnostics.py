"""`Text`: a text for people that is still data: a template with named places, and its values.

Whoever says something writes it in English, ``Text("There is no user '{name}'.", name=name)``, and hands it on as
the text that it is. Whoever shows it to somebody may say it in their language: the template is what translations are
found by, the values stay what they are, and messages among them are translated themselves
(`vetro.server.language.translated`). Through JSON a message goes as its English text with its data beside it
(`encode_messages`, `decode_messages`).

`AuthorText`: a text of a package's author, with what the package itself says in other languages.

`Diagnostic`: one thing that was found, with such a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final, Literal, TypeAlias

#: What a value of a message may be; everything else is turned into text.
Value: TypeAlias = "str | int | float | bool | None"
#: The key of a mapping under which `encode_messages` puts templates and values of the messages beside it.
TEXTS: Final = "texts"
_PLAIN: Final = (int, float, bool, type(None))
#: Levels of messages in messages that `decode_messages` follows.
_DEEPEST: Final = 16


class Text(str):
    """The English text, with the ``template`` and the ``values`` it is made of."""

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, /, **values: object) -> Text:
        """Fills the places ``{name}`` of the template. Braces that stand for themselves are doubled."""
        for name, value in values.items():
            if value.__class__ not in _AS_IS:
                values[name] = str(value)
        made = str.__new__(cls, template.format_map(values))
        made.template = template
        made.values = values  # type: ignore[assignment]
        return made

    def __str__(self) -> Text:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.template, dict(self.values))

    def sentence(self) -> Text:
        """The same with a capital letter at its beginning and a full stop at its end."""
        template, values = self.template, dict(self.values)
        _, name, *_ = next(iter(Formatter().parse(template)), ("", None))
        if template.startswith("{") and isinstance(first := values.get(name or ""), str):
            values[name or ""] = _capital(first)
        stop = "" if str.endswith(self, (".", "!", "?")) else "."
        return Text(_capital(template) + stop, **values)

    def filled(self, **values: Value) -> Text:
        """The same with other values."""
        return Text(self.template, **{**self.values, **values})

    def edited(self, edit: Callable[[str], str]) -> str:
        """``edit`` done to the values; a plain text where it would change more than these."""
        values = {name: edited(value, edit) if isinstance(value, str) else value for name, value in self.values.items()}
        made, wanted = Text(self.template, **values), edit(str.__str__(self))
        return made if made == wanted else wanted


def _made(template: str, values: Mapping[str, Any]) -> Text:
    return Text(template, **values)


class AuthorText(str):
    """What the author of a package wrote, with its ``translations``: language -> text.

    It is data from its first letter to its last: no braces in it are places of anything.
    """

    __slots__ = ("translations",)

    translations: Mapping[str, str]

    def __new__(cls, text: str, translations: Mapping[str, str]) -> AuthorText:
        made = str.__new__(cls, text)
        made.translations = translations
        return made

    def __str__(self) -> AuthorText:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return AuthorText, (str.__str__(self), dict(self.translations))

    def edited(self, edit: Callable[[str], str]) -> AuthorText:
        """``edit`` done to the text and to its translations."""
        return AuthorText(edit(str.__str__(self)), {key: edit(text) for key, text in self.translations.items()})


#: Classes of values that are kept; of others the text is.
_AS_IS: Final = frozenset({str, int, float, bool, type(None), Text, AuthorText})


def edited(text: str, edit: Callable[[str], str]) -> str:
    """``edit`` done to a text; of a message to its values, so that it stays one where that gives the same."""
    return text.edited(edit) if isinstance(text, (Text, AuthorText)) else edit(text)


def sentence(text: str) -> str:
    """The text with a capital letter at its beginning and a full stop at its end."""
    if isinstance(text, Text):
        return text.sentence()
    if isinstance(text, AuthorText):
        return text.edited(sentence)
    return _capital(text) + ("" if text.endswith((".", "!", "?")) else ".")


def _capital(text: str) -> str:
    if isinstance(text, Text) and not text.template.startswith("{"):
        return Text(_capital(text.template), **text.values)
    return text[:1].upper() + text[1:]


def unplaced(text: str) -> str:
    """The text without places in front of it: a message whose template has no words of its own, and ends with
    ``{message}``."""
    while isinstance(text, Text) and text.template.endswith("{message}") and not _has_words(text.template):
        text = str(text.values["message"])
    return text


def _has_words(template: str) -> bool:
    return any(character.isalpha() for literal, *_ in Formatter().parse(template) for character in literal)


# -- what was found ----------------------------------------------------------------------------------------------------

Severity: TypeAlias = Literal["ok", "note", "warning", "error"]
OK: Final = "ok"
NOTE: Final = "note"
WARNING: Final = "warning"
ERROR: Final = "error"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing found in a package, in the answers of a form, on this machine, in a database or a service.

    ``code``: one of docs/errors.md, the rule of a form, or the topic of a doctor. ``hint``: what to do about it.
    ``place``: a position in a file, or a JSON pointer into answers. ``subject``: the manifest key, object or name that
    it is about.
    """

    code: str
    severity: Severity
    message: str
    hint: str | None = None
    place: Any = None
    subject: str | None = None
    #: What mends it, by its name in `vetro.server.operations.cures`; empty: only a person does.
    cure: str = ""

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        return f"{text} ({self.hint})" if self.hint else text


# -- as JSON -----------------------------------------------------------------------------------------------------------


def encode_messages(data: Any) -> Any:
    """Plain data with the messages in it as texts. Mappings have what these are made of as ``texts`` beside them:
    key -> ``{template, values}``, and for a list of messages a list of these. The same object where there are none."""
    if isinstance(data, (Text, AuthorText)):
        return str.__str__(data)
    if isinstance(data, Mapping):
        made = {key: encode_messages(value) for key, value in data.items()}
        texts = {key: told for key, value in data.items() if (told := _told(value)) is not None}
        if texts:
            made[TEXTS] = {**texts}
        return made if texts or any(made[key] is not value for key, value in data.items()) else data
    if isinstance(data, (list, tuple)):
        items = [encode_messages(item) for item in data]
        return items if any(new is not old for new, old in zip(items, data, strict=True)) else data
    return data


def _told(value: Any) -> Any:
    if isinstance(value, Text):
        values = {name: _told(item) or item for name, item in value.values.items()}
        return {"template": value.template, "values": values}
    if isinstance(value, AuthorText):
        return {"text": str.__str__(value), "translations": dict(value.translations)}
    if isinstance(value, (list, tuple)):
        told = [_told(item) if isinstance(item, (Text, AuthorText)) else None for item in value]
        return told if any(told) else None
    return None


def plain(data: Any) -> Any:
    """Plain data with nothing but texts where messages are: for programs that take no classes of ours."""
    if isinstance(data, (Text, AuthorText)):
        return str.__str__(data)
    if isinstance(data, Mapping):
        return {key: plain(value) for key, value in data.items()}
    return [plain(item) for item in data] if isinstance(data, (list, tuple)) else data


def decode_messages(data: Any) -> Any:
    """What went through `encode_messages`, with its messages. Text without data of its own stays as it is."""
    if isinstance(data, Mapping):
        texts = data.get(TEXTS)
        made = {key: decode_messages(value) for key, value in data.items()}
        if isinstance(texts, Mapping) and texts and all(key in data for key in texts):
            found = {key: _restored(data[key], told) for key, told in texts.items()}
            made.update({key: text for key, text in found.items() if text is not None})
            if all(text is not None for text in found.values()):
                del made[TEXTS]
        return made
    if isinstance(data, (list, tuple)):
        return [decode_messages(item) for item in data]
    return data


def _restored(text: Any, told: Any) -> Any:
    if isinstance(told, list) and isinstance(text, list) and len(told) == len(text):
        return [item if one is None else _restored(item, one) or item for item, one in zip(text, told, strict=True)]
    found = _message(told, len(text), 0) if isinstance(text, str) else None
    return found if found == text else None


def _message(told: Any, longest: int, depth: int) -> Text | AuthorText | None:
    """The message of this data, which anybody may have written; None where there is none of so many characters."""
    if not isinstance(told, Mapping) or depth > _DEEPEST:
        return None
    if "translations" in told:
        return _authored(told, longest)
    template, values = told.get("template"), told.get("values")
    if not isinstance(template, str) or not isinstance(values, Mapping):
        return None
    kept: dict[str, Any] = {}
    for name, value in values.items():
        kept[name] = _message(value, longest, depth + 1) if isinstance(value, Mapping) else value
        if not isinstance(kept[name], (str, *_PLAIN)):
            return None
    try:
        for literal, name, spec, conversion in Formatter().parse(template):
            longest -= len(literal) + (len(str(kept[name])) if name is not None else 0)
            if longest < 0 or spec not in ("", ",", "g", None) or conversion:
                return None
        return Text(template, **kept)
    except (KeyError, ValueError, TypeError):
        return None


def _authored(told: Mapping[str, Any], longest: int) -> AuthorText | None:
    text, translations = told.get("text"), told["translations"]
    if not isinstance(text, str) or len(text) > longest or not isinstance(translations, Mapping):
        return None
    if not all(isinstance(part, str) for pair in translations.items() for part in pair):
        return None
    return AuthorText(text, dict(translations))
