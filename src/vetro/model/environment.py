"""The model of one environment: its root object, its applications, and what of it was deployed.

The model is what a deployment starts from and ends with (SEMANTICS 11, 12): ``Objects`` is the wanted state,
``ObjectsCopy`` the one that was deployed, ``Attributes`` what objects remember. The root object has its applications
under ``applications``. Clients of the API know that list as ``services``: they see a *view* of the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vetro.model.header import class_of, id_of, label_of, name_of, parse_type_text, type_of
from vetro.model.tree import copied, objects

ENVIRONMENT: Final = "io.murano.Environment"
NETWORK: Final = "io.murano.resources.NeutronNetwork"


def view_of(root: Mapping[str, Any] | None) -> dict[str, Any]:
    """The root object as clients see it; shares everything below."""
    return {("services" if key == "applications" else key): value for key, value in (root or {}).items()}


def root_of(view: Mapping[str, Any]) -> dict[str, Any]:
    """The root object from what clients see of it."""
    return {("applications" if key == "services" else key): value for key, value in view.items()}


def applications_of(root: Mapping[str, Any] | None) -> list[Any]:
    """The applications; the list itself where there is one."""
    found = None if root is None else root.get("applications")
    return found if isinstance(found, list) else []


def deployed_objects(model: Mapping[str, Any]) -> dict[str, Any] | None:
    """The root object as it exists outside: what the next task compares with."""
    found: dict[str, Any] | None = model["ObjectsCopy"] if "ObjectsCopy" in model else model.get("Objects")
    return found


class Environment:
    """One model. `model` is plain data, ready for a task; methods change it in place."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.model: dict[str, Any] = copied(model)

    @classmethod
    def new(cls, name: str, id: str) -> Environment:
        """An environment without applications, whose regions get a network of their own (CORE_LIBRARY.md 1)."""
        network = {"?": {"type": NETWORK, "id": f"{id}-network"}, "name": f"{name}-network"}
        root = {
            "?": {"type": ENVIRONMENT, "id": id},
            "name": name,
            "applications": [],
            "defaultNetworks": {"environment": network, "flat": None},
        }
        return cls({"Objects": root})

    @classmethod
    def of_view(cls, view: Mapping[str, Any]) -> Environment:
        """The environment of which clients see ``view``; an empty view is that of an environment without objects."""
        return cls({"Objects": {"applications": [], **root_of(view)} if view else None})

    @property
    def root(self) -> dict[str, Any] | None:
        """The environment object; None after everything was destroyed."""
        found: dict[str, Any] | None = self.model.get("Objects")
        return found

    @property
    def applications(self) -> list[dict[str, Any]]:
        """The applications, in order; a list that may be changed."""
        return [] if self.root is None else self.root.setdefault("applications", [])

    def application(self, wanted: str) -> dict[str, Any] | None:
        """The application with this id, this name (header or property ``name``) or, if there is one only, class.

        Tables call an application without a name by the last word of its class, so that word names it, too.
        """
        for test in (id_of, name_of, class_of, label_of):
            found = [app for app in self.applications if test(app) == wanted]
            if len(found) == 1:
                return found[0]
        return None

    def add(self, application: Mapping[str, Any]) -> None:
        """Adds an application."""
        self.applications.append(copied(application))

    def remove(self, application: dict[str, Any]) -> None:
        """Takes an application out; the next deployment destroys it."""
        self.applications[:] = [other for other in self.applications if other is not application]

    def deployed(self) -> Environment:
        """What the next deployment starts from: the present state is the copy to compare with."""
        made = Environment(self.model)
        made.model["ObjectsCopy"] = copied(made.model.get("Objects"))
        return made

    def emptied(self) -> Environment:
        """The model whose deployment destroys everything."""
        made = self.deployed()
        made.model["Objects"] = None
        return made

    def objects(self) -> Iterator[dict[str, Any]]:
        """All objects of the wanted state, owners before what they own."""
        return objects(self.root)

    def versions(self) -> dict[str, set[str]]:
        """Of which packages, in which versions, the objects are, as far as their types say so."""
        found: dict[str, set[str]] = {}
        for item in self.objects():
            _, version, package = parse_type_text(type_of(item))
            if version and package:
                found.setdefault(package, set()).add(version)
        return found
