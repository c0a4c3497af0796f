"""Complete answers and what was there before: what was emptied goes, secrets that are kept stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vetro.forms.catalog import DescribedClass, Describer
from vetro.model.header import header_of, id_of, type_of
from vetro.model.paths import ABSENT, at, is_list, pointer
from vetro.model.secrets import is_mark, kept
from vetro.model.tree import by_id

Objects = Mapping[str, Mapping[str, Any]]
#: Characters of a class, an id or a name in the header of an answer.
_LONGEST = 512


def emptied(
    describer: Describer,
    described: DescribedClass,
    before: Mapping[str, Any],
    answers: Mapping[str, Any],
    fixed: Callable[[str], bool],
) -> dict[str, Any]:
    """``before`` without what the answers, which are complete, do not mention. Secrets and hidden values stay."""
    answered = by_id(answers)

    def without(value: Any, root: bool) -> Any:
        if is_list(value):
            return [without(item, False) for item in value]
        if not isinstance(value, Mapping):
            return value
        given = answers if root else answered.get(id_of(value) or "")
        written = type_of(value)
        kind = described if root else describer.described(written) if given is not None and written else None
        gone: set[str] = set()
        if given is not None and kind is not None:
            deployed = fixed(id_of(value) or "")
            gone = {name for name in value if name not in given and _may_go(kind, name, deployed)}
        return {key: part if key == "?" else without(part, False) for key, part in value.items() if key not in gone}

    result: dict[str, Any] = without(before, True)
    return result


def _may_go(described: DescribedClass, name: str, deployed: bool) -> bool:
    field = described.fields.get(name)
    if field is None or not field.visible or field.read_only or field.secret:
        return False
    return not (deployed and described.schema.get("properties", {}).get(name, {}).get("usage") == "Const")


def readable(answers: Mapping[str, Any], before: Mapping[str, Any] | None, root: Mapping[str, Any]) -> dict[str, Any]:
    """The answers, with headers that make sense (``root``: the header of the object itself, whose class and id stay as
    they are) and without marks of secrets that there are not."""
    known = by_id(before) if before is not None else {}

    def read(value: Any, around: Any, path: str) -> Any:
        if is_list(value):
            items = [read(item, around, path + pointer(i)) for i, item in enumerate(value)]
            return [None if item is ABSENT else item for item in items]
        if not isinstance(value, Mapping):
            return value
        if is_mark(value):
            return value if kept(value, around, path) is not ABSENT else ABSENT
        if path and header_of(value) is not None:
            id = id_of(value)
            # Definitions without id are known by their place.
            around, path = (known.get(id) if id is not None else _object_at(around, path)), ""
        made = {}
        for key, part in value.items():
            item = _header(part) if key == "?" else read(part, around, path + pointer(key))
            if item is not ABSENT:
                made[str(key)] = item
        return made

    found: dict[str, Any] = read({key: value for key, value in answers.items() if key != "?"}, before, "")
    name = _header(answers.get("?"))
    name = name.get("name") if isinstance(name, dict) else None
    return {"?": {**root, **({"name": name} if name else {})}, **found}


def restored(answers: Any, before: Any) -> Any:
    """The answers with the secrets of ``before`` in the place of their marks; marks that mean nothing are left out."""

    def read(value: Any, path: str) -> Any:
        if is_mark(value):
            return kept(value, before, path)
        if is_list(value):
            items = [read(item, path + pointer(i)) for i, item in enumerate(value)]
            return [None if item is ABSENT else item for item in items]
        if isinstance(value, Mapping):
            parts = {str(key): read(part, path + pointer(key)) for key, part in value.items()}
            return {key: part for key, part in parts.items() if part is not ABSENT}
        return value

    return read(answers, "")


def _object_at(around: Any, path: str) -> Any:
    found = ABSENT if around is None else at(around, path)
    return found if isinstance(found, Mapping) and id_of(found) is None else None


def _header(value: Any) -> Any:
    """Class, id and name of an object in the answers, where they are texts."""
    if not isinstance(value, Mapping):
        return ABSENT
    return {
        key: value[key]
        for key in ("type", "id", "name")
        if isinstance(value.get(key), str) and 0 < len(value[key]) <= _LONGEST
    }
