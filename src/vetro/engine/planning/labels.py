"""`Labels`: what resources and scripts of a plan are called for people, whose real names have ids of objects in them.

The cloud knows them by their names; who reads a plan knows the objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from vetro.model.header import id_of, label_of
from vetro.model.tree import objects

#: Ids as they are made: names of people are not taken for one.
_ID: Final = re.compile(r"(?<![0-9a-fA-F])[0-9a-f]{32}(?![0-9a-fA-F])")
#: Characters of an object's name: one that fills a model would come back for each resource.
_LONGEST: Final = 120


class Labels:
    """Knows the objects of the model before and after."""

    def __init__(self, *roots: Any) -> None:
        self._names: dict[str, str] = {}
        for root in roots:
            for obj in objects(root):
                name = label_of(obj)
                name = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
                self._names.setdefault(str(id_of(obj)).lower(), name)

    def text(self, text: str) -> str:
        """A text with the names of objects instead of their ids."""
        return _ID.sub(lambda found: self._names.get(found[0], found[0]), text)

    def resources(self, resources: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Resources of a stack, with ``label`` where that is another one than the name. Two of one type that would be
        called alike keep their names."""
        told = [(item, self.text(str(item["name"]))) for item in resources]
        count = Counter((item["type"], label) for item, label in told)
        return [
            {**item, "label": label} if label != item["name"] and count[item["type"], label] == 1 else dict(item)
            for item, label in told
        ]

    def script(self, script: Mapping[str, Any]) -> dict[str, Any]:
        """A script's run, with ``label`` where its plan has a name with ids."""
        label = self.text(str(script["plan"]))
        return dict(script) if label == script["plan"] else {**script, "label": label}
