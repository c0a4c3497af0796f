"""Presets of a class (`io.vetro.forms.Preset`) as answers for `vetro deploy`: what its form begins with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vetro.engine.models.usual_values import first_preset
from vetro.model.header import class_of, header_of
from vetro.muranopl.errors import MuranoError
from vetro.yaql.didyoumean import suggest


class NoSuchPreset(MuranoError):
    """The class has no preset of this name; the hint names those that it has."""

    kind = "bad-argument"
    code = "ENG123"


def preset_of(session: Any, type_: Any, name: str | None, existing: Mapping[str, Any] | None) -> tuple[str, Any]:
    """The name and the values of a preset: of ``name``, and without one what a new object begins with, which is the
    default one, else the first. Empty where the class has none, or the object exists. Raises `NoSuchPreset`."""
    if name is None and existing is not None:
        return "", {}
    schema = session.schema(type_.name, f"=={type_.version}", type_.package.name, form=True)[""]
    found = {str(one["name"]): one for one in schema.get("formPresets", ())}
    if name is not None and name not in found:
        close = suggest(name, found)
        hint = (
            f"did you mean '{close}'?" if close else f"there are {', '.join(found)}" if found else "leave --preset out"
        )
        raise NoSuchPreset(f"{type_.name} has no preset '{name}'", hint=hint)
    chosen = found[name] if name is not None else first_preset(found.values(), lambda one: bool(one.get("default")))
    if chosen is None:
        return "", {}
    fields = schema.get("properties", {})
    values = {
        key: _anonymous(value)
        for key, value in chosen["values"].items()
        if not fields.get(key, {"secret": True}).get("secret")
    }
    if existing is not None:
        values = {key: value for key, value in values.items() if fields[key].get("usage") != "Const"}
    return str(chosen["name"]), _kept(values, existing or {})


def under(answers: Any, values: Any) -> Any:
    """Answers, with the values of a preset where they say nothing; an answer of another class replaces an object."""
    if not isinstance(answers, Mapping) or not isinstance(values, Mapping):
        return answers
    if header_of(answers) is not None and class_of(answers) != class_of(values):
        return answers
    return {**values, **{name: under(value, values.get(name)) for name, value in answers.items()}}


def unanswered(values: Any, answers: Any, path: str = "") -> Iterator[str]:
    """Where the texts of a preset are that no answer replaces: ``server.flavor``, ``servers[0].flavor``."""
    if isinstance(values, Mapping):
        there = answers if isinstance(answers, Mapping) else {}
        if header_of(there) is not None and class_of(there) != class_of(values):
            return
        for name, value in values.items():
            if name not in there or isinstance(there[name], Mapping):
                yield from unanswered(value, there.get(name), f"{path}.{name}" if path else str(name))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from unanswered(value, None, f"{path}[{index}]")
    elif isinstance(values, str):
        yield path


def _anonymous(value: Any) -> Any:
    """A value of a preset without ids and names of objects: each that is made of it is one of its own, as in forms."""
    if isinstance(value, list):
        return [_anonymous(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    made = {name: _anonymous(one) for name, one in value.items() if name != "?"}
    kind = header_of(value)
    return made if kind is None or "type" not in kind else {"?": {"type": kind["type"]}, **made}


def _kept(values: Mapping[str, Any], existing: Mapping[str, Any]) -> dict[str, Any]:
    """The values without the classes of objects that are there and are of these classes: they are changed, not made."""
    kept = {}
    for name, value in values.items():
        old = existing.get(name)
        if header_of(value) is not None and isinstance(old, Mapping) and class_of(old) == class_of(value):
            value = _kept({key: part for key, part in value.items() if key != "?"}, old)
        kept[name] = value
    return kept
