"""The actions that the objects of an environment offer, as its last deployment wrote them into the model.

Model builders are among them there, as Murano has it; here they are not: they fill in a form, and do nothing else.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from vetro.model.header import id_of, name_of, parse_type_text, type_of
from vetro.model.tree import objects
from vetro.packages.texts import Translations, authored
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.catalog.package_texts import together
from vetro.server.catalog.secret_names import builders_of
from vetro.server.environments import queries
from vetro.server.environments.models import EnvironmentPackage


def actions(caller: Caller, environment_id: str) -> list[dict[str, Any]]:
    """[{id, name, title, description, help, enabled, object_id, object_name, class, version, package}], as modelled."""
    found = queries.get(caller, environment_id, model=True)
    offered: list[dict[str, Any]] = []
    builders = None
    words = _Words(environment_id)
    for obj in objects((found.model or {}).get("Objects")):
        header = obj["?"]
        known = header.get("_actions")
        if not isinstance(known, dict):
            continue
        if builders is None:
            digests = EnvironmentPackage.objects.filter(environment_id=environment_id).values_list("digest", flat=True)
            builders = builders_of(digests)
        left_out = builders(type_of(obj))
        class_name, version, package = parse_type_text(type_of(obj))
        texts = words.of(package, version)
        for id, action in known.items():
            if isinstance(action, dict) and action.get("name") not in left_out:
                offered.append(
                    {
                        "id": id,
                        "name": str(action.get("name") or ""),
                        "title": authored(str(action.get("title") or action.get("name") or ""), texts),
                        "description": authored(action.get("description") or "", texts) or None,
                        "help": authored(action.get("helpText") or "", texts) or None,
                        "enabled": action.get("enabled") is not False,
                        "object_id": id_of(obj) or "",
                        "object_name": name_of(obj),
                        "class": class_name,
                        "version": version,
                        "package": package,
                    }
                )
    return offered


class _Words:
    """What the packages of an environment's last task say in other languages; asked for with the first action."""

    def __init__(self, environment_id: str) -> None:
        self._environment_id = environment_id
        self._known: dict[tuple[str | None, str | None], Translations] = {}

    @cached_property
    def _rows(self) -> dict[tuple[str, str], tuple[Any, Translations]]:
        digests = EnvironmentPackage.objects.filter(environment_id=self._environment_id).values("digest")
        rows = Package.objects.filter(digest__in=digests).exclude(texts={})
        return {
            (n, v): (required, texts)
            for n, v, required, texts in rows.values_list("fqn", "version", "required", "texts")
        }

    def of(self, name: str | None, version: str | None) -> Translations:
        """Those of a package and of what it requires."""
        key = (name, version)
        if key not in self._known:
            required, own = self._rows.get((name or "", version or ""), ((), {}))
            needed = [texts for (fqn, _), (_, texts) in self._rows.items() if fqn in required]
            self._known[key] = together([own, *needed])
        return self._known[key]
