"""Which form is opened: the definition of the package or the one generated from the class.

Adding: the definition where the package has one, else the class; the class form is one click away.
Editing: the same, the definition with its kept answers as long as the stored object is still what these answers
produced: a deployment adds defaults and Out values, which changes nothing; anything else does, and leaves the class.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.forms.answers import unchanged
from vetro.forms.catalog import DescribedClass, Describer
from vetro.model.header import class_of, header_of, id_of, type_of
from vetro.model.paths import is_list

Maker = Literal["definition", "class"]
_DIGITS: Final = 24


@dataclass(frozen=True, slots=True)
class Kept:
    """Answers of a definition, kept beside the object that they produced; the keeper encrypts secret ones."""

    answers: Mapping[str, Any]
    #: `fingerprint` of the object that they produced, made with `salt`.
    fingerprint: Any
    salt: str
    #: Digest of the definition that asked: another version may ask other things.
    definition: str = ""


@dataclass(frozen=True, slots=True)
class OfferedForms:
    """The form to open, others that can be opened, and why the definition is not among them."""

    first: Maker
    others: tuple[Maker, ...] = ()
    reason: str = ""


def for_adding(*, has_definition: bool, has_class: bool = True) -> OfferedForms:
    """The forms for a new object of a package."""
    if has_definition:
        return OfferedForms("definition", ("class",) if has_class else ())
    return OfferedForms("class")


def for_editing(
    stored: Mapping[str, Any], kept: Kept | None, describer: Describer, *, definition: str | None
) -> OfferedForms:
    """The forms for an object of a model. ``definition``: digest of its package's definition, None without one."""
    if definition is None:
        return OfferedForms("class")
    if kept is None:
        return OfferedForms("class", reason=Text("The answers to the package's own form were not kept."))
    if kept.definition != definition:
        return OfferedForms("class", reason=Text("The package's own form has changed since it was filled in."))
    if not still_is(stored, kept.fingerprint, kept.salt, describer):
        return OfferedForms("class", reason=Text("The object has changed since the package's own form was filled in."))
    return OfferedForms("definition", ("class",))


def fingerprint(value: Any, salt: str) -> Any:
    """The shape of an object model with digests in the place of values, so that no secret is kept twice."""
    if isinstance(value, Mapping):
        return {str(key): _header(value) if key == "?" else fingerprint(part, salt) for key, part in value.items()}
    if is_list(value):
        return [fingerprint(part, salt) for part in value]
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(f"{salt}\0{text}".encode()).hexdigest()[:_DIGITS]


def still_is(stored: Any, print_: Any, salt: str, describer: Describer) -> bool:
    """Whether ``stored`` is what ``print_`` was taken of, apart from what a deployment adds by itself."""
    todo = [(stored, print_)]
    while todo:
        value, wanted = todo.pop()
        if isinstance(wanted, Mapping):
            header = wanted.get("?")
            if isinstance(value, str) and isinstance(header, Mapping) and value == header.get("id"):
                continue  # the definition is written where it was met first; here its id is enough
            if not isinstance(value, Mapping) or not _same_object(value, wanted):
                return False
            if not _only_defaults(value, wanted, describer):
                return False
            for key, part in wanted.items():
                if key == "?":
                    continue
                if key not in value:
                    return False
                todo.append((value[key], part))
        elif isinstance(wanted, list):
            if not is_list(value) or len(value) != len(wanted):
                return False
            todo.extend(zip(value, wanted))
        elif isinstance(value, Mapping) or is_list(value) or fingerprint(value, salt) != wanted:
            return False
    return True


def _header(value: Mapping[str, Any]) -> dict[str, Any]:
    """Class, id and name: versions are another matter, the rest is written by the system."""
    return {"type": class_of(value), "id": id_of(value), "name": (header_of(value) or {}).get("name") or None}


def _same_object(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    if "?" not in wanted:
        return True
    was, now = wanted["?"], _header(value)
    if was["type"] and was["type"] != now["type"]:
        return False
    return all(was[key] in (None, now[key]) for key in ("id", "name"))


def _only_defaults(value: Mapping[str, Any], wanted: Mapping[str, Any], describer: Describer) -> bool:
    """Whether what was not answered is what the class gives anyway: a default, null, a value only code writes."""
    more = [key for key in value if key != "?" and key not in wanted]
    if not more:
        return True
    written = type_of(value)
    described: DescribedClass | None = describer.described(written) if written else None
    if described is None:
        # In a plain mapping the contract adds the keys that are missing, as null.
        return not written and all(value[key] is None for key in more)
    for key in more:
        field = described.fields.get(key)
        if field is not None and not field.placeholder and not unchanged(field, value[key]):
            return False
    return True
