"""What people type -> JSON values, for pages and the command line, and HTML attributes for native controls.

Text that cannot be read stays text, so that the rules say what is wrong with it, at the field.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from vetro.forms.model import Choice, Field
from vetro.model.paths import ABSENT

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,4000}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_TRUE: Final = frozenset(("true", "yes", "on", "1"))
_FALSE: Final = frozenset(("false", "no", "off", "0"))


def read(field: Field, text: str) -> Any:
    """The value that ``text``, entered into the control of ``field``, stands for; `ABSENT`: nothing was answered.

    Nothing entered means "not set" where that is an answer, else no answer; an empty text is a value only where a
    text need not be given. Lists, maps and objects are read from JSON, as any value of a ``json`` field.
    """
    if text == "" and (field.kind not in ("string", "text") or field.nullable or field.required):
        return None if field.nullable else ABSENT
    if field.kind in ("string", "text", "reference"):
        return _reference(text) if field.kind == "reference" else text
    if field.kind == "choice":
        return _chosen(field, text)
    stripped = text.strip()
    if field.kind == "integer":
        return int(stripped) if _INTEGER.fullmatch(stripped) else text
    if field.kind == "number":
        return _number(stripped, text)
    if field.kind == "boolean":
        word = stripped.lower()
        return True if word in _TRUE else False if word in _FALSE else text
    return _json(text)


def shown(field: Field, value: Any) -> str:
    """What a text control shows for a value: `read` gives the value again. Secrets are never shown."""
    if value is None or value is ABSENT or field.secret:
        return ""
    if field.kind == "choice":
        return choice_key(value)
    if isinstance(value, str) and field.kind != "json":
        return value
    return json.dumps(value, ensure_ascii=False)


def choice_key(value: Any) -> str:
    """The ``value`` of an ``<option>``: text as it is, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def html_attributes(field: Field) -> dict[str, str]:
    """Constraints that native controls know in the same sense; the schema is what counts.

    There is no ``maxlength`` (it counts UTF-16 units) and no ``pattern`` (it wants the whole text).
    """
    made: dict[str, str] = {}
    if field.required and field.enabled and field.kind not in ("boolean", "list", "tuple", "map", "object"):
        made["required"] = ""
    if field.kind in ("integer", "number"):
        limits = field.constraints
        made["step"] = "1" if field.kind == "integer" else "any"
        least, most = limits.get("exclusiveMinimum"), limits.get("exclusiveMaximum")
        low = [limits.get("minimum"), _beyond(least, 1)]
        high = [limits.get("maximum"), _beyond(most, -1)]
        if field.kind == "number":  # just above a limit is nothing that ``min`` can say
            low[1], high[1] = least, most
        lows, highs = [v for v in low if v is not None], [v for v in high if v is not None]
        if lows:
            made["min"] = _written(math.ceil(max(lows)) if field.kind == "integer" else max(lows))
        if highs:
            made["max"] = _written(math.floor(min(highs)) if field.kind == "integer" else min(highs))
    if field.placeholder:
        made["placeholder"] = field.placeholder
    return made


def _beyond(limit: float | int | None, step: int) -> int | None:
    """The first whole number beyond an exclusive limit."""
    if limit is None:
        return None
    return math.floor(limit) + 1 if step > 0 else math.ceil(limit) - 1


def _written(limit: float | int) -> str:
    return json.dumps(int(limit) if float(limit).is_integer() else limit)


def _chosen(field: Field, text: str) -> Any:
    for choice in field.choices:
        if choice_key(choice.value) == text:
            return choice.value
    return text if not field.choices else _by_label(field.choices, text)


def _by_label(choices: Any, text: str) -> Any:
    """On a command line people type labels, too."""
    found: list[Choice] = [choice for choice in choices if choice.label == text]
    return found[0].value if len(found) == 1 else text


def _number(stripped: str, text: str) -> Any:
    if _INTEGER.fullmatch(stripped):
        return int(stripped)
    if not _NUMBER.fullmatch(stripped) or len(stripped) > 400:
        return text
    value = float(stripped)
    return value if math.isfinite(value) else text


def _reference(text: str) -> Any:
    """An id, or the JSON of a new object."""
    if not text.lstrip().startswith("{"):
        return text
    value = _json(text)
    return value if isinstance(value, dict) else text


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
