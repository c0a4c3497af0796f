"""`Environment`: the object model of one environment, edited as plain data.

The model is what a deployment starts from and ends with (SEMANTICS 11, 12): ``Objects`` is the wanted state,
``ObjectsCopy`` the one that was deployed, ``Attributes`` what objects remember.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

ENVIRONMENT = "io.murano.Environment"
NETWORK = "io.murano.resources.NeutronNetwork"


class Environment:
    """One model. `model` is plain data, ready for a `Task`; methods change it in place."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.model: dict[str, Any] = copy.deepcopy(dict(model))

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
        for test in (_id_of, _name_of, _class_of, _shown_as):
            found = [app for app in self.applications if test(app) == wanted]
            if len(found) == 1:
                return found[0]
        return None

    def add(self, application: Mapping[str, Any]) -> None:
        """Adds an application."""
        self.applications.append(copy.deepcopy(dict(application)))

    def remove(self, application: dict[str, Any]) -> None:
        """Takes an application out; the next deployment destroys it."""
        self.applications.remove(application)

    def deployed(self) -> Environment:
        """What the next deployment starts from: the present state is the copy to compare with."""
        made = Environment(self.model)
        made.model["ObjectsCopy"] = copy.deepcopy(made.model.get("Objects"))
        return made

    def emptied(self) -> Environment:
        """The model whose deployment destroys everything."""
        made = self.deployed()
        made.model["Objects"] = None
        return made

    def objects(self) -> Iterator[dict[str, Any]]:
        """All objects of the wanted state, owners before what they own."""
        stack: list[Any] = [self.root]
        while stack:
            item = stack.pop()
            if isinstance(item, dict):
                if isinstance(item.get("?"), dict):
                    yield item
                stack.extend(reversed(list(item.values())))
            elif isinstance(item, list):
                stack.extend(reversed(item))

    def versions(self) -> dict[str, set[str]]:
        """Of which packages, in which versions, the objects are, as far as their types say so."""
        found: dict[str, set[str]] = {}
        for item in self.objects():
            _, version, package = type_of(item)
            if version and package:
                found.setdefault(package, set()).add(version)
        return found


def type_of(obj: Mapping[str, Any]) -> tuple[str, str, str]:
    """Class, version and package of an object's header; '' for what it does not say."""
    written = str((obj.get("?") or {}).get("type") or "")
    full, _, package = written.partition("@")
    name, _, version = full.partition("/")
    return name, version, package


def class_of(obj: Mapping[str, Any]) -> str:
    """The class name of an object's header, without version and package."""
    return type_of(obj)[0]


def _id_of(obj: Mapping[str, Any]) -> Any:
    return (obj.get("?") or {}).get("id")


def _name_of(obj: Mapping[str, Any]) -> Any:
    return (obj.get("?") or {}).get("name") or obj.get("name")


def _shown_as(obj: Mapping[str, Any]) -> Any:
    return _name_of(obj) or class_of(obj).rsplit(".", 1)[-1]


_class_of = class_of
