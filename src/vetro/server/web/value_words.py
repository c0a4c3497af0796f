"""What may be entered, in words: "text, at least 3 characters". Of a JSON Schema of a form, or a field of a definition.

What no words are found for is left out: a page never shows an expression to whoever wants to use an application.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from vetro.model.header import label_of_type


def gettext_noop(text: str) -> str:
    """Marks a text for translation. Django's own wants settings already when this module is imported, which commands
    that talk of contracts do."""
    return text


#: Choices that are named, and characters of one; how deep lists in lists are told.
_CHOICES, _LONGEST, _DEEP = 8, 40, 3
_TYPES: Final = {
    "string": gettext_noop("text"),
    "integer": gettext_noop("a whole number"),
    "number": gettext_noop("a number"),
    "boolean": gettext_noop("yes or no"),
    "object": gettext_noop("a group of values"),
}
#: Types of fields in definitions.
_FIELDS: Final = {
    "string": gettext_noop("text"),
    "text": gettext_noop("text of several lines"),
    "integer": gettext_noop("a whole number"),
    "boolean": gettext_noop("yes or no"),
    "password": gettext_noop("a password"),
    "clusterip": gettext_noop("an IP address"),
    "floatingip": gettext_noop("whether it gets a floating address"),
    "domain": gettext_noop("a domain"),
    "databaselist": gettext_noop("names of databases"),
    "table": gettext_noop("a table"),
    "choice": gettext_noop("one of several"),
    "multichoice": gettext_noop("any of several"),
    "flavor": gettext_noop("a size of a server"),
    "keypair": gettext_noop("a key pair"),
    "image": gettext_noop("an image"),
    "azone": gettext_noop("an availability zone"),
    "network": gettext_noop("a network"),
    "securitygroup": gettext_noop("a security group"),
    "volume": gettext_noop("a volume"),
}
_CLASS: Final = re.compile(r"[A-Za-z_]\w*(\.\w+)+", re.ASCII)
#: Classes that every application is of.
_ANY: Final = frozenset({"io.murano.Application", "io.murano.Object"})


def of_schema(schema: Any, deep: int = 0, said_as: Callable[[str], str] = str) -> str:
    """What a value has to be; '' where there is nothing to say. ``said_as``: an author's words in the language of
    whoever reads them."""
    if not isinstance(schema, Mapping) or deep > _DEEP:
        return ""
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return _one_of([choice for choice in choices if choice is not None])
    if isinstance(kind := schema.get("muranoType"), str):
        if kind in _ANY:
            return _("another application")
        label = label_of_type(kind)
        return _("a part of it: %s") % label if schema.get("owned") else _("another application: %s") % label
    types = schema.get("type")
    names = [types] if isinstance(types, str) else list(types) if isinstance(types, list) else []
    names = [name for name in names if isinstance(name, str)]
    free = "null" in names
    said = [text for name in names if name != "null" if (text := _of_type(name, schema, deep, said_as))]
    if not said or len(said) > 2:
        return ""
    parts = [_(" or ").join(said)]
    if len(said) == 1:
        parts += _bounds(schema, said_as)
    if free and not deep:
        parts.append(_("may be left empty"))
    return ", ".join(parts)


def of_field(declared: str, choices: list[str]) -> str:
    """The same of a field of a definition."""
    if choices:
        return _one_of(list(choices))
    if text := _FIELDS.get(declared.strip().lower()):
        return _(text)
    # A class: the field takes one of the applications that there are.
    return _("another application: %s") % label_of_type(declared) if _CLASS.fullmatch(declared) else ""


def of_value(value: Any) -> str:
    """A default in words; '' for one that is no plain value, or empty."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, (int, float)):
        return str(value)
    return value[: 2 * _LONGEST] if isinstance(value, str) else ""


def _of_type(name: str, schema: Mapping[str, Any], deep: int, said_as: Callable[[str], str]) -> str:
    if name == "array":
        inner = of_schema(schema.get("items"), deep + 1, said_as)
        return _("a list of: %s") % inner if inner else _("a list")
    if name == "object" and isinstance(parts := schema.get("properties"), Mapping) and parts:
        return _("a group of values: %s") % ", ".join(str(part)[:_LONGEST] for part in list(parts)[:_CHOICES])
    return _(_TYPES[name]) if name in _TYPES else ""


def _bounds(schema: Mapping[str, Any], said_as: Callable[[str], str]) -> list[str]:
    least, most = _whole(schema.get("minLength")), _whole(schema.get("maxLength"))
    said = []
    if least and most and least == most:
        said.append(ngettext("exactly %d character", "exactly %d characters", least) % least)
    else:
        if least and least > 1:
            said.append(ngettext("at least %d character", "at least %d characters", least) % least)
        if most:
            said.append(ngettext("at most %d character", "at most %d characters", most) % most)
    low, high = schema.get("minimum"), schema.get("maximum")
    if _number(low) and _number(high):
        said.append(_("from %(low)s to %(high)s") % {"low": low, "high": high})
    elif _number(low):
        said.append(_("%s or more") % low)
    elif _number(high):
        said.append(_("%s or less") % high)
    if _number(schema.get("exclusiveMinimum")):
        said.append(_("more than %s") % schema["exclusiveMinimum"])
    if _number(schema.get("exclusiveMaximum")):
        said.append(_("less than %s") % schema["exclusiveMaximum"])
    fewest, items = _whole(schema.get("minItems")), _whole(schema.get("maxItems"))
    if fewest:
        said.append(ngettext("at least %d of them", "at least %d of them", fewest) % fewest)
    if items:
        said.append(ngettext("at most %d of them", "at most %d of them", items) % items)
    checks = schema.get("allOf")
    checks = [one for one in checks if isinstance(one, Mapping)] if isinstance(checks, list) else []
    said += [said_as(str(one["message"]))[:200] for one in checks if one.get("message")]  # the author's words
    if "pattern" in schema or any("message" not in one for one in checks):
        said.append(_("in a certain form"))
    return said


def _one_of(choices: list[Any]) -> str:
    shown = [of_value(choice)[:_LONGEST] for choice in choices[:_CHOICES]]
    text = ", ".join(text for text in shown if text) + (", …" if len(choices) > _CHOICES else "")
    return _("one of: %s") % text if text else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 31 else 0


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
