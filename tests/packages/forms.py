"""What the UI definition of a package puts into its application: initial values and samples in the places of fields.

Only what is simple: literals, ``$.form.field`` and ``$template``. The rest is left out, so that it can be chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from vetro.yaql.errors import VetroError

#: What people type into a field that has to be filled and has no initial value; other types are left out.
SAMPLES: Mapping[str, Any] = {
    "string": "sample",
    "text": "sample",
    "password": "Passw0rd!1",
    "boolean": False,
    "flavor": "m1.small",
    "image": "debian-12-murano",
    "keypair": "default",
    "azone": "nova",
}
#: What only its author's cloud has; whatever the form says, ours are taken.
OF_CLOUD = frozenset({"image", "keypair", "azone"})
CHOSEN = frozenset({"image", "keyname", "availabilityZone"})
LEAVE = object()
DEEPEST = 12


class UiLoader(yaml.SafeLoader):
    """YAML in which the tag of an expression means nothing, and other tags give null."""


UiLoader.add_constructor("!yaql", lambda loader, node: loader.construct_scalar(node))
UiLoader.add_multi_constructor("!", lambda loader, suffix, node: None)


class Form:
    """The UI definition of ``package``; empty when it has none that can be read. ``switches``: all are on."""

    def __init__(self, package: Any, *, switches: bool = False) -> None:
        self._switches = switches
        try:
            read = yaml.load(package.ui or "", UiLoader)
        except (yaml.YAMLError, VetroError, ValueError, RecursionError):
            read = None
        self._ui: dict[Any, Any] = read if isinstance(read, dict) else {}
        #: Fields by form and name.
        self.fields: dict[tuple[str, str], dict[str, Any]] = {}
        for step in _list(self._ui.get("Forms")):
            for form, part in step.items() if isinstance(step, dict) else ():
                for item in _list(part.get("fields")) if isinstance(part, dict) else ():
                    if isinstance(item, dict):
                        self.fields[str(form), str(item.get("name"))] = item

    @property
    def main(self) -> str | None:
        """The class of the application that the form makes."""
        return header_class(self._ui.get("Application"))

    def initial(self) -> dict[str, Any]:
        """Initial values by field name: what its author expects people to leave as it is."""
        found: dict[str, Any] = {}
        for (_, name), item in self.fields.items():
            if isinstance(item.get("initial"), (str, int)):
                found.setdefault(name, item["initial"])
        return found

    def application(self, known: Callable[[str], Any], other: Callable[[str], Any]) -> dict[str, Any] | None:
        """The application as plain data; None without a form for one.

        ``known`` gives the names of a class's properties, or None when it is not at hand; ``other`` an id of an
        application of a class, or None.
        """
        if self.main is None:
            return None
        made = self._value(self._ui["Application"], known, other, {}, 0)
        return made if isinstance(made, dict) else None

    def _value(
        self, value: Any, known: Callable[[str], Any], other: Callable[[str], Any], ids: dict[str, Any], depth: int
    ) -> Any:
        if depth > DEEPEST:
            return LEAVE
        if isinstance(value, str) and "$" in value:
            return self._reference(value.strip(), known, other, ids, depth)
        if isinstance(value, list):
            made = [self._value(v, known, other, ids, depth + 1) for v in value]
            return [v for v in made if v is not LEAVE]
        if isinstance(value, dict):
            kind = header_class(value)
            names = known(kind) if kind else None
            if kind and names is None:
                return LEAVE
            found = {
                key: self._value(v, known, other, ids, depth + 1)
                for key, v in value.items()
                if key != "?" and (names is None or (key in names and (depth == 0 or key not in CHOSEN)))
            }
            if not kind and any(v is LEAVE for v in found.values()):
                return LEAVE  # half a map fits no contract
            return {**({"?": {"type": kind}} if kind else {}), **{k: v for k, v in found.items() if v is not LEAVE}}
        if isinstance(value, str) and ("(" in value and value.endswith(")")):
            return LEAVE  # a function
        return value

    def _reference(
        self, text: str, known: Callable[[str], Any], other: Callable[[str], Any], ids: dict[str, Any], depth: int
    ) -> Any:
        templates = self._ui.get("Templates")
        if isinstance(templates, dict) and text[1:] in templates:
            return self._value(templates[text[1:]], known, other, ids, depth + 1)
        head, _, rest = text.partition(".")
        form, _, name = rest.partition(".")
        field = self.fields.get((form, name)) if head == "$" else None
        if field is None:
            return LEAVE
        if field.get("type") in list(OF_CLOUD):
            return SAMPLES[str(field["type"])]
        if self._switches and field.get("type") == "boolean":
            return True
        if field.get("initial") is not None and not isinstance(field["initial"], (dict, list)):
            return LEAVE if isinstance(field["initial"], str) and "$" in field["initial"] else field["initial"]
        kinds = field.get("type")
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if isinstance(kind, str) and "." in kind:
                if field.get("required", True) is False:
                    return LEAVE
                if text not in ids:
                    ids[text] = other(kind)
                if ids[text] is not None:
                    return ids.get(text)
        if field.get("required", True) is False and kinds != "boolean":
            return LEAVE
        return SAMPLES.get(str(kinds), LEAVE)


def header_class(value: Any) -> str | None:
    """The class in the header of an object, without its version."""
    header = value.get("?") if isinstance(value, dict) else None
    written = header.get("type") if isinstance(header, dict) else None
    return written.partition("/")[0] if isinstance(written, str) and "$" not in written else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
