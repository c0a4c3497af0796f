"""Values, models and errors of the engine in the notation of the cases."""

from __future__ import annotations

import collections.abc as abc
import datetime
from typing import Any

from vetro.muranopl.objects.plain import describe
from vetro.yaql.errors import kind_of

_SCALARS = (type(None), bool, int, float, str)


class CaseTimeout(BaseException):
    """The case took longer than its limit. No Exception, so that no `Catch` of a package can hold it."""


def convert(value: Any) -> Any:
    """``value`` in the notation of the cases: plain data, and mappings such as ``{$object: id, $type: name}``."""
    if value.__class__ in _SCALARS:
        return value
    described = describe(value)
    if described is not None:
        kind, *rest = described
        return {"$object": rest[0], "$type": rest[1]} if kind == "object" else {f"${kind}": rest[0]}
    if isinstance(value, abc.Mapping):
        if all(key.__class__ in _SCALARS for key in value):
            return {key: convert(item) for key, item in value.items()}
        return {"$map": [[convert(key), convert(item)] for key, item in value.items()]}
    if isinstance(value, abc.Set):
        return {"$set": [convert(item) for item in value]}
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, abc.Iterable) and not isinstance(value, (bytes, bytearray)):
        return [convert(item) for item in value]
    return {"$unknown": f"{type(value).__module__}.{type(value).__qualname__}"}


def convert_error(error: BaseException) -> dict[str, Any]:
    """An error in the notation of the cases; ``text`` is for the reader of a diff and never compared."""
    if isinstance(error, CaseTimeout):
        return {"kind": "timeout", "text": str(error)}
    result: dict[str, Any] = {"kind": kind_of(error)}
    if result["kind"] == "thrown":
        result["names"] = convert(error.names)  # type: ignore[attr-defined]
        result["message"] = convert(error.value)  # type: ignore[attr-defined]
        extra = convert(error.extra)  # type: ignore[attr-defined]
        if extra:
            result["extra"] = extra
        cause = error.cause  # type: ignore[attr-defined]
        if cause is not None:
            result["cause"] = convert_error(cause)
        return result
    location = getattr(error, "location", None)
    if location is not None:
        result["at"] = str(location)
    text = str(error)
    result["text"] = f"{type(error).__name__}: {text[:500]}"
    return result


def convert_model(model: dict[str, Any], form: Any) -> dict[str, Any]:
    """A serialised model as the step's form (True, ``plain``, ``copy``) asks; SystemData is left out."""
    keys = ("Objects", "ObjectsCopy", "Attributes") if form == "copy" else ("Objects", "Attributes")
    result = {key: convert(model.get(key)) for key in keys if key in model}
    return _without_actions(result) if form == "plain" else result


def _without_actions(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_actions(item) for key, item in value.items() if key != "_actions"}
    if isinstance(value, list):
        return [_without_actions(item) for item in value]
    return value
