"""Attributes of fields: their names, their values, what they may be (DYNAMIC_UI 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.dynamic.errors import BadAttribute
from vetro.muranopl.declarations.tree import Position
from vetro.yaql.brief import brief
from vetro.yaql.values import FDict

_WORD_BEGINS = re.compile(r"(.)([A-Z][a-z]+)")
_CAPITAL_AFTER = re.compile(r"([a-z0-9])([A-Z])")

#: Attributes that only say something to people: text that looks like an expression is text there.
PRESENTATION = frozenset(
    {
        *("label", "description", "description_title", "help_text", "error_messages", "message"),
        *("empty_value_message", "widget_media", "widget_attrs"),
    }
)

#: What every type knows.
COMMON = frozenset(
    {
        *("label", "description", "description_title", "help_text", "hidden", "required", "initial", "enabled"),
        *("disabled", "error_messages", "widget_media", "widget_attrs", "validators", "regexp_validator"),
    }
)

#: Extra HTML attributes that can do no harm; besides these ``data-…`` and ``aria-…``.
_SAFE_HTML = frozenset(
    {
        *("size", "rows", "cols", "placeholder", "title", "class", "autocomplete", "autocapitalize", "autocorrect"),
        *("spellcheck", "inputmode", "lang", "dir", "step", "wrap", "tabindex", "enterkeyhint"),
    }
)
_DATA_ATTRIBUTE = re.compile(r"(?:data|aria)-[a-z0-9-]{1,60}")


def fold(name: str) -> str:
    """``minLength``, ``MinLength`` and ``min_length`` are all ``min_length``."""
    return _CAPITAL_AFTER.sub(r"\1_\2", _WORD_BEGINS.sub(r"\1_\2", name)).lower().replace("__", "_")


def usual(name: str) -> str:
    """How authors mostly write an attribute: ``minLength`` for ``min_length``."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def default_label(name: str) -> str:
    """What a field is called that has no label."""
    return name.replace("_", " ").capitalize()


def text(value: Any) -> str:
    """Text for people; null is empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)


def flag(value: Any) -> bool:
    """Yes or no. Words that say it are understood, too. Raises ValueError."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0", ""):
            return False
        raise ValueError(Text("must be true or false"))
    return bool(value)


def truth(value: Any) -> bool:
    """What a condition says: everything but null, false, zero and what is empty holds."""
    return bool(value)


def count(value: Any) -> int | None:
    """A length. Raises ValueError."""
    found = whole(value)
    if found is not None and found < 0:
        raise ValueError(Text("must not be negative"))
    return found


def whole(value: Any) -> int | None:
    """A whole number, also one written as text. Raises ValueError."""
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError(Text("must be a whole number"))
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(Text("must be a whole number"))
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(Text("must be a whole number")) from None


def anything(value: Any) -> Any:
    """Any value."""
    return value


def messages(value: Any) -> Mapping[str, str]:
    """Texts by folded code. Raises ValueError."""
    if value is None:
        return {}
    if not isinstance(value, FDict):
        raise ValueError(Text("must be a mapping of codes and texts"))
    return {fold(str(key)): text(item) for key, item in value.items()}


def media(value: Any) -> Mapping[str, Any]:
    """``{"css": {medium: [file, …]}, "js": [file, …]}``. Raises ValueError."""
    if value is None:
        return {}
    if not isinstance(value, FDict):
        raise ValueError(Text("must be a mapping with js and css"))
    found: dict[str, Any] = {}
    for key, item in value.items():
        kind = fold(str(key))
        if kind == "js":
            found["js"] = _files(item)
        elif kind == "css":
            found["css"] = (
                {str(m): _files(f) for m, f in item.items()} if isinstance(item, FDict) else {"all": _files(item)}
            )
    return found


def _files(value: Any) -> list[str]:
    if value is None:
        return []
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(Text("must name files"))
    return list(names)


def html(value: Any) -> Mapping[str, str]:
    """Those extra HTML attributes that can do no harm. Raises ValueError."""
    if value is None:
        return {}
    if not isinstance(value, FDict):
        raise ValueError(Text("must be a mapping of HTML attributes"))
    return {key: text(item) for key, item in value.items() if isinstance(key, str) and is_safe_html(key)}


def is_safe_html(name: str) -> bool:
    """Whether an author may set this HTML attribute of an input."""
    return name in _SAFE_HTML or _DATA_ATTRIBUTE.fullmatch(name) is not None


Convert = Callable[[Any], Any]

CONVERT: Mapping[str, Convert] = {
    "label": text,
    "description": text,
    "description_title": text,
    "help_text": text,
    "hidden": flag,
    "required": flag,
    "initial": anything,
    "enabled": truth,
    "disabled": flag,
    "error_messages": messages,
    "widget_media": media,
    "widget_attrs": html,
    "min_length": count,
    "max_length": count,
    "min_value": whole,
    "max_value": whole,
    "confirm_input": flag,
    "empty_value_message": text,
    "allow_auto": flag,
    "include_subnets": flag,
    "include_snapshots": flag,
    "include_volumes": flag,
}


def convert(name: str, value: Any, convert_value: Convert, position: Position) -> Any:
    """``value`` as the attribute needs it. Raises `BadAttribute`."""
    try:
        return convert_value(value)
    except ValueError as error:
        raise BadAttribute(
            Text("{name} {error}, not {value}", name=name, error=error, value=brief(value)), position=position
        ) from None
