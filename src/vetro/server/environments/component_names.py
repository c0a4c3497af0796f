"""`find`: components of a project by their name, in the environments that changed last.

Names are in models, which are encrypted, so no database can look for them. They are read once for each state of an
environment, a few environments a search: whoever types goes on searching, and finds the rest then.
"""

from __future__ import annotations

from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.model.environment import applications_of
from vetro.model.header import id_of, label_of
from vetro.server.cache import RecentCache
from vetro.server.environments import search
from vetro.server.environments.models import State

#: Environments that are searched, models that one search reads, names that are kept of one, environments kept.
_MOST: Final = 200
_READ: Final = 10
_NAMES: Final = 500
_names = RecentCache(5000)


@dataclass(frozen=True, slots=True)
class Component:
    """A component, and where it is."""

    id: str
    name: str
    environment_id: str
    environment: str


def find(project_id: str, text: str, most: int) -> list[Component]:
    """The components whose name has the text, by the environment that changed last."""
    wanted, found, read = text.lower(), list[Component](), 0
    for row in search.part(project_id, sort="-changed", most=_MOST):
        key = (row.id, row.version, row.changed)
        named = _names.known(key)
        if named is None and row.version and read < _READ:
            read += 1
            named = _names.get(key, lambda id=row.id: _of(id))  # type: ignore[misc]
        found += [Component(id, name, row.id, row.name) for id, name in named or () if wanted in name.lower()]
        if len(found) >= most:
            break
    return found[:most]


def _of(environment_id: str) -> tuple[tuple[str, str], ...]:
    states = State.objects.filter(environment_id=environment_id).order_by("-number")
    model: Any = states.values_list("model", flat=True).first() or {}
    items = [item for item in applications_of(model.get("Objects")) if id_of(item)]
    return tuple((str(id_of(item)), label_of(item)[:255]) for item in items[:_NAMES])
