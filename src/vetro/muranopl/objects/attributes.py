"""`AttributeStore`: values that code attaches to objects (SEMANTICS 11.5).

A value belongs to an object id and the name of the class whose code set it. Objects in values are stored as ids.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from vetro.muranopl.objects.plain import with_ids
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.yaql.values import freeze

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, Runtime


class AttributeStore:
    """The attributes of one session's objects."""

    def __init__(self, session: Runtime | None = None) -> None:
        self._session = session
        self._values: dict[str, dict[tuple[str, str], Any]] = {}

    def get(self, obj: MuranoObject, owner: LinkedClass, name: str, default: Any = None) -> Any:
        """What code of class ``owner`` stored on the object under ``name``; ``default`` when nothing is."""
        rows = self._values.get(obj._id)
        return default if rows is None else rows.get((owner.name, name), default)

    def set(self, obj: MuranoObject, owner: LinkedClass, name: str, value: Any) -> None:
        """Stores ``value``; null deletes."""
        if value is None:
            rows = self._values.get(obj._id)
            if rows is not None:
                rows.pop((owner.name, name), None)
            return
        self._values.setdefault(obj._id, {})[owner.name, name] = freeze(with_ids(value))

    def load(self, rows: Iterable[Any]) -> None:
        """Adds the rows ``[id, class, name, value]`` of a model; malformed ones and null values are left out."""
        for row in rows:
            if isinstance(row, (list, tuple)) and len(row) == 4 and row[3] is not None:
                object_id, owner, name, value = row
                if isinstance(object_id, str) and isinstance(owner, str) and isinstance(name, str):
                    self._values.setdefault(object_id, {})[owner, name] = freeze(value)

    def rows(self, ids: Container[str]) -> list[list[Any]]:
        """The rows of the objects with these ids, for the model."""
        return [
            [object_id, owner, name, with_ids(value)]
            for object_id, values in self._values.items()
            if object_id in ids
            for (owner, name), value in values.items()
        ]

    def forget(self, object_id: str) -> None:
        """Drops everything of an object that is gone."""
        self._values.pop(object_id, None)
