"""Objects whose class is named by a key (``p:Item: {…}``), written with a header wherever their classes are known.

Clients may write models so, as packages do. With a header such an object has a package, marks in the place of its
secrets and an id that is looked at, as all others. Where its class is not in the catalog yet it stays as it is, and is
looked at again by whoever reads the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vetro.model.environment import ENVIRONMENT
from vetro.model.tree import has_class_keys
from vetro.muranopl.tools.definitions import with_headers
from vetro.server.caller import SYSTEM
from vetro.server.catalog.secret_names import engine_of
from vetro.server.environments import packages, queries
from vetro.server.environments.redaction import packages_that_fit
from vetro.server.errors import ServiceError
from vetro.server.ids import new_id
from vetro.yaql.errors import VetroError

#: How often a class with a package of its own may hold another such one.
_ROUNDS = 3


def in_environment(found: queries.Found, root: Any, *, stored: bool = False) -> Any:
    """The root object of an environment, or of a draft of it, with headers.

    ``stored``: it is about to be stored, so that new ids stay what they are, and marks of secrets can come back.
    """
    return _with_headers(root, lambda model: packages.chosen(SYSTEM, found, model), stored)


def in_project(project_id: str, root: Any, *, stored: bool = False) -> Any:
    """The same for a model that is no environment's, as a project's catalog has its classes."""
    return _with_headers(root, lambda model: packages.of_project(project_id, model), stored)


def of_template(project_id: str, services: list[Any], *, stored: bool = False) -> list[Any]:
    """The applications of a template with headers."""
    if not has_class_keys(services):
        return services
    root = {"?": {"id": "template", "type": ENVIRONMENT}, "applications": services}
    found: list[Any] = in_project(project_id, root, stored=stored)["applications"]
    return found


def _with_headers(root: Any, choose: Callable[[Any], Iterable[Any]], stored: bool) -> Any:
    for _ in range(_ROUNDS):
        if root is None or not has_class_keys(root):
            break
        digests = tuple(sorted({row.digest for row in packages_that_fit(choose, root)}))
        try:
            made = with_headers(engine_of(digests), root, new_id if stored else None)
        except ServiceError:
            raise
        except VetroError:  # a package is gone for good, or damaged
            break
        if made == root:
            break
        root = made
    return root
