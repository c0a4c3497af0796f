"""`marked_names`: names of environments as pages list them beside other things."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _

from vetro.server.environments import simulation


def marked_names(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(id, name) of environments, in their order; behind the name of one of which nothing exists stands that it is
    simulated. One statement."""
    rows = list(rows)
    simulated = simulation.of_environments([id for id, _name in rows])
    return [(id, marked(name) if id in simulated else name) for id, name in rows]


def marked(name: str) -> str:
    """The name of a simulated environment where nothing beside it says that."""
    return _("%(name)s (simulated)") % {"name": name}
