"""Objects without a header, written with one wherever the classes that they stand in are known.

Clients may name the class of an object by a key (``p:Item: {…}``), as packages do. With a header such an object has a
package, marks in the place of its secrets and an id that is looked at, as all others. Where the class around it is not
in the catalog yet it stays as it is, and is looked at again by whoever reads the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vetro.model.environment import ENVIRONMENT
from vetro.model.tree import has_class_keys
from vetro.muranopl.tools.definitions import with_headers
from vetro.server.caller import SYSTEM
from vetro.server.catalog.object_places import places_in
from vetro.server.environments import packages, queries
from vetro.server.environments.redaction import packages_that_fit
from vetro.server.ids import new_id

#: How often a class with a package of its own may hold another such one.
_ROUNDS = 3


def in_environment(found: queries.ListedEnvironment, root: Any, *, stored: bool = False) -> Any:
    """The root object of an environment, or of a draft of it, with headers.

    ``stored``: it is about to be stored, so that new ids stay what they are, and marks of secrets can come back.
    """
    return _with_headers(root, lambda model: packages.chosen(SYSTEM, found, model), stored)


def for_readers(found: queries.ListedEnvironment, root: Any) -> Any:
    """The same for people who may not change it: also objects that leave their class to a contract have headers.

    Who changes a model gets it as it is: a mark in an object without an id could not come back.
    """
    return _with_headers(root, lambda model: packages.chosen(SYSTEM, found, model), False, True)


def in_project(project_id: str, root: Any, *, stored: bool = False) -> Any:
    """The same for a model that is no environment's, as a project's catalog has its classes."""
    return _with_headers(root, lambda model: packages.of_project(project_id, model), stored)


def of_template(project_id: str, services: list[Any], *, stored: bool = False, readers: bool = False) -> list[Any]:
    """The applications of a template with headers; ``readers``: for people who may not change it."""
    if not readers and not has_class_keys(services):
        return services
    root = {"?": {"id": "template", "type": ENVIRONMENT}, "applications": services}
    choose: Callable[[Any], Any] = lambda model: packages.of_project(project_id, model)  # noqa: E731
    found: list[Any] = _with_headers(root, choose, stored, readers)["applications"]
    return found


def _with_headers(root: Any, choose: Callable[[Any], Iterable[Any]], stored: bool, defaults: bool = False) -> Any:
    for _ in range(_ROUNDS):
        if root is None or not (defaults or has_class_keys(root)):
            break
        places = places_in(row.digest for row in packages_that_fit(choose, root))
        made = with_headers(root, places, new_id=new_id if stored else None, defaults=defaults)
        if made == root:
            break
        root = made
    return root
