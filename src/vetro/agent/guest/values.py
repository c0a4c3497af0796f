"""Values that bodies of plans see: maps whose members are attributes, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AttributeMap(dict):  # type: ignore[type-arg]
    """A map with attribute access, all the way down."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def with_attributes(value: Any) -> Any:
    """A copy of JSON data whose maps have attribute access."""
    if isinstance(value, Mapping):
        return AttributeMap((key, with_attributes(item)) for key, item in value.items())
    if isinstance(value, list):
        return [with_attributes(item) for item in value]
    return value


def is_on(options: Mapping[str, Any], name: str, default: bool) -> bool:
    """An option of a script; texts count by what they say."""
    value = options.get(name, default)
    if isinstance(value, str):
        return value.strip().lower() not in ("", "0", "no", "false", "off")
    return default if value is None else bool(value)
