"""Templates and states of stacks as `vetro.library.natives.stacks` compares them: merging, JSON data, differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.library.stackdata import ENVIRONMENT, FILES, VALUES, Part, parts_of
from vetro.muranopl.errors import MuranoError
from vetro.yaql.values import FDict, check_depth, thaw

#: Stands for a part that is not there.
MISSING: Final[Any] = object()


class HeatStackError(MuranoError):
    """A template that cannot be pushed, or a stack that did not come into the wanted state."""

    code = "LIB201"
    kind = "invalid-operation"
    aliases = ("murano.engine.system.heat_stack.HeatStackError",)


def merge(base: Any, other: Any) -> Any:
    """Templates merged deeply: mappings by key, lists united, anything else replaced. ``base`` itself if it has all."""
    if base is other:
        return base
    if isinstance(base, dict) and isinstance(other, dict):
        changed: dict[Any, Any] = {}
        for key, value in other.items():
            old = base.get(key, MISSING)
            new = value if old is MISSING else merge(old, value)
            if new is not old:
                changed[key] = new
        return FDict({**base, **changed}) if changed else base
    if isinstance(base, tuple) and isinstance(other, tuple):
        more = tuple(item for item in other if item not in base)
        return base + more if more else base
    return base if base.__class__ is other.__class__ and base == other else other


def plain_part(value: Any) -> Any:
    """A part of a template as JSON data: keys become text, as they would on the way to a cloud.

    Raises `HeatStackError` for what no template can hold.
    """
    check_depth(value)
    return _plain(thaw(value))


def _plain(value: Any) -> Any:
    # The depth was checked, so recursion is safe.
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise HeatStackError(f"a template cannot hold {value!r}", hint="give the text or number that is meant instead")


def with_text_keys(template: Mapping[Any, Any]) -> Mapping[str, Any]:
    """The template itself, or a copy in which the keys of the template and of its sections are text."""
    sections = [value for value in template.values() if isinstance(value, dict)]
    if all(isinstance(key, str) for mapping in (template, *sections) for key in mapping):
        return template
    return FDict(
        (str(name), FDict((str(k), v) for k, v in value.items()) if isinstance(value, dict) else value)
        for name, value in template.items()
    )


@dataclass(slots=True)
class State:
    """A whole stack: what the cloud has, or is to have. The digest is that of all parts."""

    template: Mapping[str, Any]
    values: Mapping[str, Any]
    files: Mapping[str, Any]
    environment: Any
    digest: str
    #: Files, environment text and parameters were sent by this run; those that were only read are not all of them.
    complete: bool = True


#: Sections that are not all known after reading a stack.
NOT_READ = frozenset({VALUES, FILES, ENVIRONMENT})


def plain_parts(state: State) -> dict[Part, Any]:
    """All parts of a state as JSON data."""
    found = parts_of(state.template, state.values, state.files, state.environment)
    return {part: plain_part(value) for part, value in found.items()}


def part_of(state: State, section: str, key: str) -> Any:
    """One part of a state as JSON data, or `MISSING`."""
    if section == VALUES:
        value = state.values.get(key, MISSING)
    elif section == FILES:
        value = state.files.get(key, MISSING)
    elif section == ENVIRONMENT:
        value = MISSING if state.environment is None else state.environment
    elif section:
        content = state.template.get(section)
        value = content.get(key, MISSING) if isinstance(content, dict) else MISSING
    else:
        value = state.template.get(key, MISSING)
        if isinstance(value, dict):
            value = MISSING
    return value if value is MISSING else plain_part(value)


def difference(base: State, target: State, touched: set[Part]) -> tuple[list[list[Any]], list[list[str]]]:
    """What of the touched parts differs, in a stable order."""
    put: list[list[Any]] = []
    drop: list[list[str]] = []
    for section, key in sorted(touched | set(_always(base, target))):
        old, new = part_of(base, section, key), part_of(target, section, key)
        if new is MISSING:
            if old is not MISSING:
                drop.append([section, key])
        elif old is MISSING or old != new or type(old) is not type(new):
            put.append([section, key, new])
    return put, drop


def _always(base: State, target: State) -> Iterator[Part]:
    """Keys that a push itself may add."""
    for key in ("heat_template_version", "description"):
        if base.template.get(key) != target.template.get(key):
            yield ("", key)
