"""Meta objects that tell how a form looks -> schema keywords (SEMANTICS 17.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from vetro.yaql.errors import VetroError
from vetro.yaql.values import thaw

METADATA: Final = "io.murano.metadata."
POSITIONS: Final = frozenset({METADATA + "forms.Position", METADATA + "Position"})
SECTION: Final = METADATA + "forms.Section"
HIDDEN: Final = METADATA + "forms.Hidden"
SECRET: Final = METADATA + "forms.Secret"
CONTROL: Final = METADATA + "forms.Control"
PRESET: Final = "io.vetro.forms.Preset"
_TEXTS: Final = {
    METADATA + "Title": "title",
    METADATA + "Description": "description",
    METADATA + "HelpText": "helpText",
}

#: (index, declaring class) -> sortable rank.
Rank = Callable[[int, Any], int]


class Hint(NamedTuple):
    """One meta object: full name of its class, its property values, and the class whose declaration carries it."""

    name: str
    values: Mapping[str, Any]
    declaring: Any = None


def text_hints(hints: Iterable[Hint]) -> dict[str, Any]:
    """``title``, ``description`` and ``helpText``."""
    return {_TEXTS[hint.name]: hint.values.get("text") for hint in hints if hint.name in _TEXTS}


def field_hints(hints: Iterable[Hint], rank: Rank, declaring: Any) -> dict[str, Any]:
    """Keywords of a property or argument that ``declaring`` declares."""
    hints = list(hints)
    result = text_hints(hints)
    for hint in hints:
        if hint.name == HIDDEN:
            result["visible"] = bool(hint.values.get("visible", False))
        elif hint.name in POSITIONS:
            index, section = hint.values.get("index"), hint.values.get("section")
            if index is not None:
                result["formIndex"] = rank(index, declaring)
            result["formSection"] = section
    return result


def control_hints(hints: Iterable[Hint]) -> dict[str, Any]:
    """Keywords that only the schemas of forms have: ``secret``, ``widget`` and ``level``."""
    result: dict[str, Any] = {}
    for hint in hints:
        if hint.name == SECRET and hint.values.get("secret", True):
            result["secret"] = True
        elif hint.name == CONTROL:
            if hint.values.get("widget"):
                result["widget"] = hint.values["widget"]
            if hint.values.get("level", "basic") != "basic":
                result["level"] = hint.values["level"]
    return result


def form_sections(hints: Iterable[Hint], rank: Rank) -> dict[str, dict[str, Any]]:
    """``formSections``: the nearest declaration of a name wins; those with an index are numbered from 0."""
    nearest: dict[str, tuple[int, Hint]] = {}
    for hint in hints:
        if hint.name != SECTION:
            continue
        name = hint.values.get("name")
        near = rank(0, hint.declaring)
        if name is not None and (name not in nearest or near > nearest[name][0]):
            nearest[name] = (near, hint)
    sections: dict[str, dict[str, Any]] = {}
    ranked: list[tuple[int, str]] = []
    for name, (_, hint) in nearest.items():
        title = hint.values.get("title")
        sections[name] = {"title": name if title is None else title}
        if hint.values.get("index") is not None:
            ranked.append((rank(hint.values["index"], hint.declaring), name))
    for number, (_, name) in enumerate(sorted(ranked)):
        sections[name]["index"] = number
    return sections


def form_presets(hints: Iterable[Hint], rank: Rank) -> list[dict[str, Any]]:
    """``formPresets``: in the order of their declaration, inherited ones first; the nearest of a name counts."""
    nearest: dict[str, tuple[int, Hint]] = {}
    for hint in hints:
        if hint.name == PRESET:
            name, near = str(hint.values.get("name")), rank(0, hint.declaring)
            if name not in nearest or near > nearest[name][0]:
                nearest[name] = (near, hint)
    made = []
    for name, (_, hint) in sorted(nearest.items(), key=lambda item: item[1][0]):
        texts = {key: hint.values[key] for key in ("title", "description") if hint.values.get(key)}
        preset = {"name": name, "title": name, **texts, "values": _exact(thaw(hint.values.get("values") or {}), hint)}
        made.append({**preset, "default": True} if hint.values.get("default") else preset)
    return made


def _exact(value: Any, hint: Hint) -> Any:
    """Values of a preset whose objects name the class that its author means: in the version that the package requires.

    A type without a version is one of version 0 everywhere else, which a library rarely has.
    """
    if isinstance(value, Mapping):
        return {key: _header(part, hint) if key == "?" else _exact(part, hint) for key, part in value.items()}
    return [_exact(part, hint) for part in value] if isinstance(value, list) else value


def _header(header: Any, hint: Hint) -> Any:
    written = header.get("type") if isinstance(header, Mapping) else None
    if not isinstance(written, str) or "/" in written or "@" in written or "classVersion" in header:
        return header
    try:
        meant = hint.declaring.resolve_class(written)
    except VetroError:  # the form leaves the property alone
        return header
    return {**header, "type": f"{meant.name}/{meant.package.version}@{meant.package.name}"}
