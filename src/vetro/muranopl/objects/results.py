"""Results of calls as plain data for the outside (SEMANTICS 12.5)."""

from __future__ import annotations

from typing import Any

from vetro.muranopl.objects.serializer import serialize_value
from vetro.yaql.values import HostObject, thaw


def plain_result(session: Any, value: Any) -> Any:
    """``value`` as JSON-like data: objects become their definitions, types their qualified text, sets lists."""
    data = serialize_value(session, value)
    return _listed(thaw(data, session.rt.limits.max_output))


def _listed(value: Any) -> Any:
    """Sets as lists, anything without a JSON form as text."""
    if isinstance(value, dict):
        return {str(k): _listed(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_listed(v) for v in value]
    if isinstance(value, HostObject):
        return str(value)
    return value
