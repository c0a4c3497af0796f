"""Filled-in form -> object model: what was answered is changed, everything else stays as it was stored.

Stored objects keep keys that no form shows (header keys, Out values, attributes, properties of classes that the catalog
lost). A property that was neither stored nor changed from its default stays away, so that opening and saving a form
changes nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vetro.forms.catalog import DescribedClass, Describer, all_fields
from vetro.forms.fill import class_in, shown_header
from vetro.forms.model import Field, Form, Picker
from vetro.forms.values import equivalent, same
from vetro.model.header import id_of, type_of
from vetro.model.paths import ABSENT, child, is_list, pointer
from vetro.model.secrets import is_mark, kept
from vetro.model.tree import by_id
from vetro.yaql.errors import VetroError

_EMPTY: Mapping[str, Any] = {}


class SecretNotKept(VetroError):
    """A client asked to keep a secret that the server does not have; it must be entered again."""

    kind = "bad-argument"
    code = "FRM300"

    def __init__(self, path: str) -> None:
        super().__init__(f"there is no stored secret for {path}")
        self.path = path
        self.hint = "enter it again"


def answers_of(form: Form) -> dict[str, Any]:
    """The answers that a filled-in form shows, secrets as markers: what a client edits and sends back."""
    return {f.name: f.value for page in form.pages for f in all_fields(page.sections) if f.answered}


def object_answers(form: Form, stored: Mapping[str, Any]) -> dict[str, Any]:
    """`answers_of` a form of an object, with its header."""
    return {**shown_header(stored), **answers_of(form)}


class Merger:
    """Puts answers into stored objects. ``new_id`` gives ids for new objects.

    ``fixed``: whether an object took part in a finished deployment, so that its Const properties stay.
    """

    def __init__(
        self, describer: Describer, new_id: Callable[[], str], *, fixed: Callable[[str], bool] = lambda id: False
    ) -> None:
        self._describer = describer
        self._new_id = new_id
        self._fixed = fixed
        self._stored: dict[str, Mapping[str, Any]] = {}

    def merge(
        self, described: DescribedClass, stored: Mapping[str, Any] | None, answers: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The object with the answers; ``stored`` is what it was, None for a new one. Raises `SecretNotKept`.

        Answers must have passed `checking`; unknown ones are ignored. What is not answered stays.
        """
        self._stored = by_id(stored)
        return self._object(described, stored, answers)

    def arguments(self, form: Form, answers: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a method. Unanswered ones are left to their defaults."""
        self._stored = {}
        return {
            f.name: self._value(f, ABSENT, answers[f.name], None, pointer(f.name))
            for page in form.pages
            for f in all_fields(page.sections)
            if f.name in answers
        }

    def _object(
        self, described: DescribedClass, stored: Mapping[str, Any] | None, answers: Mapping[str, Any]
    ) -> dict[str, Any]:
        known = stored if stored is not None else _EMPTY
        result = dict(known)
        header = self._header(described, stored, answers)
        if header is not None:
            result = {"?": header, **{key: value for key, value in result.items() if key != "?"}}
        deployed = stored is not None and self._fixed(id_of(stored) or "")
        properties = described.schema.get("properties", _EMPTY)
        for name, field in described.fields.items():
            if name not in answers:
                continue
            if deployed and properties.get(name, _EMPTY).get("usage") == "Const":
                continue
            before = known.get(name, ABSENT)
            value = self._value(field, before, answers[name], stored, pointer(name))
            if before is ABSENT and unchanged(field, value):
                continue
            result[name] = value
        return result

    def _header(
        self, described: DescribedClass, stored: Mapping[str, Any] | None, answers: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        asked = answers.get("?")
        asked = asked if isinstance(asked, Mapping) else _EMPTY
        if stored is None:
            header = {"type": asked.get("type") or described.type, "id": asked.get("id") or self._new_id()}
            return {**header, "name": asked["name"]} if asked.get("name") else header
        if "?" not in stored:
            return None
        header = dict(stored["?"])
        if asked.get("type") and asked["type"] != type_of(stored):
            header["type"] = asked["type"]
            for key in ("classVersion", "package"):
                header.pop(key, None)
        if "name" in asked and asked["name"] != header.get("name"):
            header["name"] = asked["name"]
        return header

    def _value(self, field: Field, before: Any, answer: Any, around: Mapping[str, Any] | None, path: str) -> Any:
        if field.secret:
            if not is_mark(answer):
                return answer
            found = kept(answer, around, path)
            if found is ABSENT:
                raise SecretNotKept(path)
            return found
        if field.kind in ("list", "tuple") and is_list(answer):
            return self._list(field, before, answer, around, path)
        if field.kind in ("object", "map") and isinstance(answer, Mapping):
            return self._map(field, before, answer, around, path)
        if field.picker is not None and isinstance(answer, Mapping):
            return self._nested(field.picker, before, answer)
        return answer

    def _list(
        self, field: Field, before: Any, answer: Sequence[Any], around: Mapping[str, Any] | None, path: str
    ) -> list[Any]:
        result = []
        for i, item in enumerate(answer):
            part = field.leading[i] if i < len(field.leading) else field.items
            value = child(before, i) if is_list(before) else ABSENT
            result.append(item if part is None else self._value(part, value, item, around, path + pointer(i)))
        return result

    def _map(
        self, field: Field, before: Any, answer: Mapping[str, Any], around: Mapping[str, Any] | None, path: str
    ) -> dict[str, Any]:
        own = {part.name: part for part in all_fields(field.sections)}
        result: dict[str, Any] = {}
        for key, item in answer.items():
            part = own.get(key, field.items)
            value = child(before, key)
            result[key] = item if part is None else self._value(part, value, item, around, path + pointer(key))
        if isinstance(before, Mapping):
            # Entries in the order they were stored, and those that the contract would drop anyway.
            kept_entries = {
                key: result.pop(key) if key in result else before[key]
                for key in before
                if key in result or (key not in own and field.items is None)
            }
            result = {**kept_entries, **result}
        return result

    def _nested(self, picker: Picker, before: Any, answer: Mapping[str, Any]) -> Any:
        described = class_in(self._describer, answer, picker)
        stored = self._stored_for(before, answer)
        if described is None:
            # The catalog lost the class: what is stored stays, whatever the form showed of it.
            return dict(stored) if stored is not None else dict(answer)
        if stored is not None:
            was = class_in(self._describer, stored, picker)
            if was is None or was.name != described.name:
                # An object never changes its class: what replaces it is another object.
                return self._object(described, None, {**answer, "?": {**answer.get("?", {}), "id": self._new_id()}})
        return self._object(described, stored, answer)

    def _stored_for(self, before: Any, answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
        wanted = id_of(answer)
        if wanted is not None:
            return self._stored.get(wanted)
        # Definitions without id are known by their place.
        if isinstance(before, Mapping) and id_of(before) is None:
            return before
        return None


def unchanged(field: Field, value: Any) -> bool:
    """Whether ``value`` is what a property that is not stored has anyway: its default, null, an empty list."""
    if field.required:
        return False
    if field.kind in ("list", "tuple", "map", "object"):
        return equivalent(value, field.initial)
    return same(value, field.initial)
