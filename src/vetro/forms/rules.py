"""What a client checks by itself, as data: the same rules run in the browser and here.

`rules_of` turns fields into plain JSON, `evaluate` applies it. A rule set is a mapping::

    {"name": "size", "types": ["integer"], "required": true, "rules": [{"code": "minimum", "limit": 1}]}

``types`` are JSON types (``integer``: any number without fraction); ``rules`` apply to values of the type they are
about; ``items``, ``leading``, ``keys``, ``fields`` and ``closed`` describe what is inside. docs/forms/schema.md has the
whole table. A text counts its characters (code points, not UTF-16 units).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from vetro.forms.catalog import all_fields
from vetro.forms.filling import ENTRIES
from vetro.forms.model import Field, Form, Problem
from vetro.forms.regexes import found, to_ecmascript
from vetro.forms.secrets import is_marker
from vetro.forms.texts import message_of
from vetro.forms.values import ABSENT, contains, json_type, pointer

Rules = Mapping[str, Any]
_TYPES: Final[Mapping[str, list[str]]] = {
    "string": ["string"],
    "text": ["string"],
    "integer": ["integer"],
    "number": ["number"],
    "boolean": ["boolean"],
    "list": ["array"],
    "tuple": ["array"],
    "object": ["object"],
    "map": ["object"],
    "choice": ["boolean", "number", "string", "array", "object"],
    "json": ["boolean", "number", "string", "array", "object"],
}
_LIMITS: Final = ("min_length", "max_length", "minimum", "maximum", "exclusive_minimum", "exclusive_maximum")
_LENGTHS: Final = frozenset(("min_length", "max_length"))
#: The JSON type that a limit of length is about, by kind of field; texts for all others.
_COUNTED: Final = {"list": "array", "tuple": "array", "map": "object", "object": "object"}


def form_rules(form: Form) -> list[dict[str, Any]]:
    """The rule sets of the fields of a form, in order."""
    return [rules_of(field) for page in form.pages for field in all_fields(page.sections)]


def rules_of(field: Field) -> dict[str, Any]:
    """The rule set of one field and of what is inside."""
    made: dict[str, Any] = {"name": field.name, "types": _types(field)}
    if field.required:
        made["required"] = True
    if field.secret:
        made["secret"] = True
    rules = _limits(field)
    if field.kind == "choice" and not field.choices_source:
        values = [choice.value for choice in field.choices if not choice.disabled]
        rules.append(_rule(field, "invalid_choice", values=values))
    for pattern in field.constraints.patterns:
        rule: dict[str, Any] = {"code": "pattern", "python": pattern.regex}
        regex = to_ecmascript(pattern.regex)
        if regex is not None:
            rule["regex"] = regex
        text = pattern.message or field.messages.get("invalid")
        if text:
            rule["message"] = text
        rules.append(rule)
    if field.constraints.unique:
        rules.append(_rule(field, "unique"))
    if rules:
        made["rules"] = rules
    if field.items is not None:
        made["items"] = rules_of(field.items)
    if field.leading:
        made["leading"] = [rules_of(part) for part in field.leading]
    if field.keys is not None:
        made["keys"] = rules_of(field.keys)
    if field.kind in ("object", "map"):
        sections = [section for section in field.sections if section.name != ENTRIES]
        made["fields"] = [rules_of(part) for part in all_fields(sections)]
        made["closed"] = field.items is None
    elif field.kind in ("list", "tuple"):
        made["closed"] = field.items is None and bool(field.leading)
    return made


def _types(field: Field) -> list[str]:
    if field.picker is not None:
        owned = field.picker.owned
        types = [*(["string"] if owned is not True else ()), *(["object"] if owned is not False else ())]
    else:
        types = list(_TYPES[field.kind])
    return [*types, "null"] if field.nullable else types


def _limits(field: Field) -> list[dict[str, Any]]:
    limits = field.constraints
    made = []
    for name in _LIMITS:
        limit = getattr(limits, name)
        if limit is not None:
            about = {"of": _COUNTED.get(field.kind, "string")} if name in _LENGTHS else {}
            made.append(_rule(field, name, limit=limit, **about))
    if field.picker is not None:
        made.append({"code": "min_length", "limit": 1, "of": "string"})
    return made


def _rule(field: Field, code: str, **more: Any) -> dict[str, Any]:
    rule = {"code": code, **more}
    text = field.messages.get(code.removeprefix("exclusive_")) or field.messages.get("invalid")
    return {**rule, "message": text} if text else rule


def evaluate_form(rules: Iterable[Rules], answers: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the answers to a form, without what only the server can know."""
    rules = list(rules)
    return list(_entries({"fields": rules, "closed": True}, {k: v for k, v in answers.items() if k != "?"}, ""))


def evaluate(rules: Rules, value: Any, path: str = "") -> Iterator[Problem]:
    """What is wrong with one value. `ABSENT` is no value."""
    if value is ABSENT:
        if rules.get("required"):
            yield Problem(path, message_of({"code": "required"}), "required")
        return
    if rules.get("secret") and is_marker(value):
        return
    kind = json_type(value)
    types = rules["types"]
    if kind not in types and not (kind == "integer" and "number" in types):
        # Null where a value must be is "nothing entered", not a wrong one.
        code = "required" if value is None else "type"
        yield Problem(path, message_of({"code": code, "types": types}), code)
        return
    for rule in rules.get("rules", ()):
        if not _holds(rule, value, kind):
            yield Problem(path, rule.get("message") or message_of(rule, kind), _code(rule))
    if kind == "array":
        yield from _items(rules, value, path)
    elif kind == "object" and "fields" in rules:
        yield from _entries(rules, value, path)


def _code(rule: Rules) -> str:
    return str(rule["code"]).removeprefix("exclusive_")


def _items(rules: Rules, values: Any, path: str) -> Iterator[Problem]:
    leading = rules.get("leading", ())
    for i, value in enumerate(values):
        part = leading[i] if i < len(leading) else rules.get("items")
        if part is not None:
            yield from evaluate(part, value, path + pointer(i))
        elif rules.get("closed"):
            yield Problem(path + pointer(i), message_of({"code": "extra"}), "extra")


def _entries(rules: Rules, values: Mapping[str, Any], path: str) -> Iterator[Problem]:
    own = {part["name"]: part for part in rules["fields"]}
    for name, part in own.items():
        yield from evaluate(part, values.get(name, ABSENT), path + pointer(name))
    for key, value in values.items():
        if key in own:
            continue
        here = path + pointer(key)
        if rules.get("closed"):
            yield Problem(here, message_of({"code": "extra"}), "extra")
            continue
        if "keys" in rules:
            yield from evaluate(rules["keys"], key, here)
        yield from evaluate(rules["items"], value, here)


def _holds(rule: Rules, value: Any, kind: str) -> bool:
    """Whether a rule holds; one about another type of values does."""
    code, limit = rule["code"], rule.get("limit")
    if code in _LENGTHS:
        if kind != rule["of"] or limit is None:
            return True
        return bool(len(value) >= limit if code == "min_length" else len(value) <= limit)
    if code == "invalid_choice":
        return value is None or contains(rule["values"], value)
    if code == "pattern":
        return kind != "string" or found(rule["python"], value)
    if code == "unique":
        return kind != "array" or not any(contains(value[:i], item) for i, item in enumerate(value))
    return kind not in ("integer", "number") or _within(code, value, limit)


def _within(code: str, value: Any, limit: Any) -> bool:
    if code == "minimum":
        return bool(value >= limit)
    if code == "maximum":
        return bool(value <= limit)
    if code == "exclusive_minimum":
        return bool(value > limit)
    return bool(value < limit)
