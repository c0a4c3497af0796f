"""Values against the published schema of a form: the same rules run in the browser (`server/web/static/web/schema.js`).

The schema is that of `vocabulary`: JSON Schema 2020-12 in the keywords that forms use, where ``messages`` and ``regex``
are words of ours. A problem has the place of the value, a code and a text for people. Lengths of texts count characters
(code points, not UTF-16 units). docs/forms/schema.md has the table of codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from vetro.diagnostics import Diagnostic, Text
from vetro.forms.keywords import CODES, Schema
from vetro.forms.model import flaw
from vetro.forms.regexes import found
from vetro.forms.values import contains, json_type
from vetro.model.files import STORED_CLASS
from vetro.model.paths import ABSENT, pointer
from vetro.model.secrets import is_mark

#: Keywords about the length of a value -> the JSON type they are about.
_LENGTHS: Final = {
    "minLength": "string", "minItems": "array", "minProperties": "object",
    "maxLength": "string", "maxItems": "array", "maxProperties": "object",
}  # fmt: skip
_LIMITS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_EXCLUSIVE: Final = {"exclusiveMinimum": "exclusive_minimum", "exclusiveMaximum": "exclusive_maximum"}
_NOTHING: Final[Mapping[str, str]] = {}
_TYPE_NAMES: Final = {
    "string": Text("text"),
    "integer": Text("a whole number"),
    "number": Text("a number"),
    "boolean": Text("yes or no"),
    "array": Text("a list"),
    "object": Text("a group of values"),
}
#: What is missing -> what to do; `message_of` has the words for the rest.
_NOTHING_THERE: Final = {
    "array": Text("Add at least one."),
    "object": Text("Add at least one entry."),
    "choice": Text("Choose one."),
    "reference": Text("Choose one, or make a new one."),
    "file": Text("Choose a file."),
}
#: JSON type -> what there is one of, and several.
_UNITS: Final = {
    "string": (Text("character"), Text("characters")),
    "array": (Text("item"), Text("items")),
    "object": (Text("entry"), Text("entries")),
}


def evaluate_form(schema: Schema, answers: Mapping[str, Any]) -> list[Diagnostic]:
    """What is wrong with the answers to a form, without what only the server can know."""
    given = {key: value for key, value in answers.items() if key != "?"}
    return list(_entries(schema, given, ""))


def evaluate(
    schema: Schema | bool, value: Any, path: str = "", messages: Mapping[str, str] = _NOTHING
) -> Iterator[Diagnostic]:
    """What is wrong with one value. ``messages``: texts of the author for what has none of its own."""
    if isinstance(schema, bool):
        if not schema:
            yield flaw(path, message_of({"code": "extra"}), "extra")
        return
    if "messages" in schema:
        messages = {**messages, **schema["messages"]}
    if schema.get("secret"):
        if not is_mark(value):
            yield from evaluate(schema["anyOf"][0], value, path, messages)
        return
    kind = json_type(value)
    if not _fits(schema, value, kind):
        # Null where a value must be is "nothing entered", not a wrong one.
        code = "required" if value is None else "type"
        yield flaw(path, message_of({"code": code, "types": _types(schema)}, wanted(schema)), code)
        return
    yield from _own(schema, value, kind, path, messages)
    if "anyOf" in schema:
        branch = next(part for part in schema["anyOf"] if _fits(part, value, kind))
        yield from evaluate(branch, value, path, messages)
    for part in schema.get("allOf", ()):
        yield from evaluate(part, value, path, messages)
    if kind == "array":
        if schema.get("uniqueItems") and any(contains(value[:i], item) for i, item in enumerate(value)):
            yield _problem(path, messages, {"code": "unique"}, kind)
        yield from _items(schema, value, path)
    elif kind == "object" and "properties" in schema:
        yield from _entries(schema, value, path)


def _types(schema: Schema) -> list[str]:
    """The JSON types of values that a schema lets through."""
    if "anyOf" in schema:
        return [kind for part in schema["anyOf"] for kind in _types(part)]
    types = schema.get("type", ())
    return [types] if isinstance(types, str) else list(types)


def _fits(schema: Schema, value: Any, kind: str) -> bool:
    if value is None and "enum" in schema:
        return None in schema["enum"]
    types = _types(schema)
    return not types or kind in types or (kind == "integer" and "number" in types)


def _own(schema: Schema, value: Any, kind: str, path: str, messages: Mapping[str, str]) -> Iterator[Diagnostic]:
    """The keywords about the value itself, in the order in which people are told."""
    for keyword, about in _LENGTHS.items():
        limit = schema.get(keyword)
        if limit is None or kind != about:
            continue
        if len(value) < limit if keyword.startswith("min") else len(value) > limit:
            yield _problem(path, messages, {"code": CODES[keyword], "limit": limit}, kind)
    if kind in ("integer", "number"):
        for keyword in _LIMITS:
            limit = schema.get(keyword)
            if limit is not None and not _within(keyword, value, limit):
                yield _problem(path, messages, {"code": _EXCLUSIVE.get(keyword, keyword), "limit": limit}, kind)
    if "enum" in schema and not contains(schema["enum"], value):
        values = [one for one in schema["enum"] if one is not None]
        yield _problem(path, messages, {"code": "invalid_choice", "values": values}, kind)
    if "regex" in schema and kind == "string" and not found(schema["regex"], value):
        yield _problem(path, messages, {"code": "pattern"}, kind)


def _problem(path: str, messages: Mapping[str, str], rule: Mapping[str, Any], kind: str) -> Diagnostic:
    code = str(rule["code"]).removeprefix("exclusive_")
    own = messages.get(code) or ("" if "limit" in rule else messages.get("invalid"))
    return flaw(path, own or message_of(rule, kind), code)


def _within(keyword: str, value: Any, limit: Any) -> bool:
    if keyword == "minimum":
        return bool(value >= limit)
    if keyword == "maximum":
        return bool(value <= limit)
    if keyword == "exclusiveMinimum":
        return bool(value > limit)
    return bool(value < limit)


def limits_in_words(schema: Schema) -> list[str]:
    """What the limits of a value are, for people."""
    told = []
    for keyword in (*_LENGTHS, *_LIMITS):
        if keyword in schema:
            code = _EXCLUSIVE.get(keyword) or CODES[keyword]
            told.append(message_of({"code": code, "limit": schema[keyword]}, _LENGTHS.get(keyword, "")))
    return told


def _items(schema: Schema, values: Any, path: str) -> Iterator[Diagnostic]:
    leading = schema.get("prefixItems", ())
    for i, value in enumerate(values):
        part = leading[i] if i < len(leading) else schema.get("items", True)
        yield from evaluate(part, value, path + pointer(i))


def _entries(schema: Schema, values: Mapping[str, Any], path: str) -> Iterator[Diagnostic]:
    own = schema.get("properties", {})
    required = schema.get("required", ())
    for name, part in own.items():
        value = values.get(name, ABSENT)
        if value is not ABSENT:
            yield from evaluate(part, value, path + pointer(name))
        elif name in required:
            yield flaw(path + pointer(name), message_of({"code": "required"}, wanted(part)), "required")
    others = schema.get("additionalProperties", True)
    for key, value in values.items():
        if key in own:
            continue
        here = path + pointer(key)
        if others is not False and "propertyNames" in schema:
            yield from evaluate(schema["propertyNames"], key, here)
        yield from evaluate(others, value, here)


def wanted(schema: Schema | bool) -> str:
    """What a schema wants, for what is said where nothing is: ``choice``, ``reference``, ``file``, or a JSON
    type."""
    if isinstance(schema, bool):
        return "string"
    if "enum" in schema:
        return "choice"
    if "muranoType" in schema:
        return "file" if schema["muranoType"] == STORED_CLASS else "reference"
    return next((kind for kind in _types(schema) if kind in _NOTHING_THERE), "string")


def message_of(rule: Mapping[str, Any], kind: str = "string") -> str:
    """What is said of a rule that does not hold where the package has no text of its own; ``kind`` is the JSON type of
    the value, or what `wanted` says.
    """
    code, limit = str(rule["code"]), rule.get("limit")
    if code in ("min_length", "max_length"):
        return _length(code, int(limit or 0), kind)
    if code == "type":
        names = [_TYPE_NAMES[t] for t in rule.get("types", ()) if t != "null"]
        return Text("This must be {what}.", what=_either(names)) if names else Text("Nothing may be entered here.")
    if code == "invalid_choice":
        shown = ", ".join(_shown(value) for value in rule.get("values", ())[:10])
        return (
            Text("Choose one of: {shown}.", shown=shown)
            if len(rule.get("values", ())) <= 10
            else Text("Choose one of the offered values.")
        )
    return {
        "required": _NOTHING_THERE.get(kind, Text("Enter a value.")),
        "minimum": Text("This must be {limit} or more.", limit=limit),
        "maximum": Text("This must be {limit} or less.", limit=limit),
        "exclusive_minimum": Text("This must be more than {limit}.", limit=limit),
        "exclusive_maximum": Text("This must be less than {limit}.", limit=limit),
        "pattern": Text("This does not have the form that is wanted."),
        "unique": Text("No value may stand here twice."),
        "extra": Text("There is nothing of this name to enter."),
    }[code]


def _either(names: Sequence[Text]) -> Text:
    found = names[0]
    for name in names[1:]:
        found = Text("{first} or {second}", first=found, second=name)
    return found


def _length(code: str, limit: int, kind: str) -> str:
    if code == "min_length" and limit == 1 and kind == "string":
        return Text("Enter a value.")
    if code == "min_length" and limit == 1 and kind in _UNITS:
        return _NOTHING_THERE[kind]
    one, several = _UNITS.get(kind, _UNITS["string"])
    unit = one if limit == 1 else several
    return (
        Text("Use at least {limit} {unit}.", limit=limit, unit=unit)
        if code == "min_length"
        else Text("Use at most {limit} {unit}.", limit=limit, unit=unit)
    )


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
