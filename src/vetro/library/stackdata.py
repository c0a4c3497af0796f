"""Stacks as data: parts of a template, a digest that costs as much as the change, and differences between two states.

A push sends only what changed, plus the digest of the whole, so that four hundred servers that
push one after the other cost four hundred times one server. The library (in the task process) makes the changes, the
clouds apply them; both count on this module.

*Parts* of a stack are ``(section, key) -> plain value``: the mappings of a template (``resources``, ``outputs``,
``parameters``, ``conditions``, ``parameter_groups``…) give one part for each of their keys, everything else of the
template is one part with the section ``''`` (``('', 'description')``). Values of parameters, files and the environment
text have sections of their own, `VALUES`, `FILES` and `ENVIRONMENT`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

Part = tuple[str, str]
Parts = dict[Part, Any]

#: Sections of a stack that do not stand in its template. The names cannot be keys of a template: they hold a blank.
VALUES, FILES, ENVIRONMENT = "parameter values", "stack files", "stack environment"

_MODULUS = 1 << 256
#: The digest of a stack without any part.
EMPTY = f"{0:064x}"


def parts_of(
    template: Mapping[str, Any],
    values: Mapping[str, Any] | None = None,
    files: Mapping[str, Any] | None = None,
    environment: str | None = None,
) -> Parts:
    """The parts of a whole stack."""
    made: Parts = {}
    for section, content in template.items():
        if isinstance(content, Mapping) and section:
            made.update({(section, key): value for key, value in content.items()})
        else:
            made["", section] = content
    made.update({(VALUES, key): value for key, value in (values or {}).items()})
    made.update({(FILES, key): value for key, value in (files or {}).items()})
    if environment is not None:
        made[ENVIRONMENT, ""] = environment
    return made


def whole_of(parts: Mapping[Part, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], str | None]:
    """(template, parameter values, files, environment text) of these parts."""
    template: dict[str, Any] = {}
    values: dict[str, Any] = {}
    files: dict[str, Any] = {}
    environment: str | None = None
    for (section, key), value in parts.items():
        if section == VALUES:
            values[key] = value
        elif section == FILES:
            files[key] = value
        elif section == ENVIRONMENT:
            environment = value
        elif section:
            template.setdefault(section, {})[key] = value
        else:
            template[key] = value
    return template, values, files, environment


def part_digest(part: Part, value: Any) -> int:
    """The share of one part in the digest of the whole."""
    text = json.dumps([part[0], part[1], value], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def digest_of(parts: Mapping[Part, Any]) -> str:
    """The digest of a whole stack: the sum of its parts', so that a change costs as much as what changed."""
    return f"{sum(part_digest(part, value) for part, value in parts.items()) % _MODULUS:064x}"


def changed_digest(digest: str, old: Iterable[tuple[Part, Any]], new: Iterable[tuple[Part, Any]]) -> str:
    """The digest after the parts ``old`` went and the parts ``new`` came."""
    value = int(digest, 16)
    value -= sum(part_digest(part, content) for part, content in old)
    value += sum(part_digest(part, content) for part, content in new)
    return f"{value % _MODULUS:064x}"


def difference(old: Mapping[Part, Any], new: Mapping[Part, Any]) -> tuple[list[list[Any]], list[list[str]]]:
    """What makes ``new`` of ``old`` as plain data: ``([[section, key, value], ...], [[section, key], ...])``."""
    missing = object()
    put = [[*part, value] for part, value in new.items() if old.get(part, missing) != value]
    drop = [[*part] for part in old if part not in new]
    return put, drop


def apply(parts: Mapping[Part, Any], put: Iterable[Iterable[Any]], drop: Iterable[Iterable[str]]) -> Parts:
    """The parts after a difference."""
    made = dict(parts)
    for section, key in drop:
        made.pop((section, key), None)
    for section, key, value in put:
        made[section, key] = value
    return made
