"""A contract, or a default, in words for people: on one line, as it may be written in a class file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from vetro.muranopl.contracts.model import ContractList, ContractMap
from vetro.muranopl.expressions import Expression, ListTemplate, Literal, MapTemplate


def text_of(value: Any) -> str:
    """The text of a contract, a template or plain data."""
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, Literal):
        return json.dumps(_plain(value.value), ensure_ascii=False)
    if isinstance(value, ContractList):
        bounds = [str(n) for n in (value.minimum, value.maximum) if n is not None]
        return "[" + ", ".join([*map(text_of, value.items), *bounds]) + "]"
    if isinstance(value, ListTemplate):
        return "[" + ", ".join(map(text_of, value.items)) + "]"
    if isinstance(value, ContractMap):
        pairs = [(str(key), item) for key, item in value.entries]
        pairs += [(key.text, item) for key, item in value.rest]
        return _mapping(pairs)
    if isinstance(value, MapTemplate):
        return _mapping([(text_of(key), item) for key, item in value.pairs])
    return json.dumps(_plain(value), ensure_ascii=False)


def _mapping(pairs: Iterable[tuple[str, Any]]) -> str:
    return "{" + ", ".join(f"{key}: {text_of(item)}" for key, item in pairs) + "}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
