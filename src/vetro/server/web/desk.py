"""`Desk`: what all pages about one environment begin with: the environment, the person's draft, what the draft changes.

Secrets are concealed here, before anything reaches a template.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from vetro.server.api.v2 import own
from vetro.server.caller import Caller
from vetro.server.environments import concealed, content, drafts, reading
from vetro.server.environments.diff import Difference, diff
from vetro.server.environments.models import Environment, Session
from vetro.server.web import drafting
from vetro.server.web.model_words import label_of, label_of_type, type_of

#: Kind of a difference -> (colour, icon).
LOOKS = {
    "created": ("success", "plus-lg"),
    "changed": ("info", "pencil"),
    "moved": ("info", "arrow-right"),
    "destroyed": ("danger", "trash"),
    "deleted": ("danger", "trash"),
}


@dataclass
class Desk:
    """One environment as one person works on it."""

    caller: Caller
    found: reading.Found
    session: Session | None
    #: The root object that pages show: the draft, what is being deployed, or what is there.
    root: dict[str, Any] | None
    #: The root object as it exists outside.
    deployed: dict[str, Any] | None
    _secrets: list[Any] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Id of the environment."""
        return self.found.id

    @cached_property
    def secrets(self) -> concealed.Secrets:
        """Which properties are secret, of the classes of both models."""
        return concealed.of_roots(self.caller, self.found, self.root, self.deployed)

    @cached_property
    def changes(self) -> list[Difference]:
        """What deploying would change, secrets masked."""
        if self.root == self.deployed:
            return []
        return [
            item
            for item in diff(self.deployed, self.root, concealed.as_diff(self.secrets))
            # The environment's own object comes into being with the first deployment: nothing that a person did.
            if not (item.place is None and self.deployed is None) and not _only_network(item)
        ]

    @cached_property
    def top_changes(self) -> dict[str, str]:
        """Id of an application -> created, changed or destroyed: itself, or something that it owns."""
        owners: dict[str, str] = {}
        for root in (self.deployed, self.root):
            for service in content.services_of(root):
                top = content.id_of(service)
                for obj in content.objects_in(service):
                    owners[str(content.id_of(obj))] = str(top)
        told: dict[str, str] = {}
        for item in self.changes:
            top = owners.get(item.id)
            if top == item.id:
                told[top] = "changed" if item.what == "moved" else item.what
            elif top is not None:
                told.setdefault(top, "changed")
        return told

    @cached_property
    def services(self) -> list[dict[str, Any]]:
        """The applications."""
        return [item for item in content.services_of(self.root) if isinstance(item, dict) and content.id_of(item)]

    @cached_property
    def removed(self) -> list[dict[str, Any]]:
        """Applications that exist and that the draft takes out."""
        kept = {content.id_of(item) for item in self.services}
        old = content.services_of(self.deployed)
        return [item for item in old if isinstance(item, dict) and content.id_of(item) not in kept]

    def labels(self) -> Mapping[str, str]:
        """Id -> name of every object, of both models."""
        return {
            str(content.id_of(obj)): label_of(obj)
            for root in (self.deployed, self.root)
            for obj in content.objects_in(root)
        }

    def shell(self, tab: str, **more: Any) -> dict[str, Any]:
        """What the templates of all these pages need, and ``more``."""
        from vetro.server.accounts.policy import allows

        return {
            "desk": self,
            "env": self.found,
            "tab": tab,
            "draft": self.session if self.session is not None and self.session.id != self.found.session_id else None,
            "may_change": allows(self.caller, "update_environment"),
            "may_delete": allows(self.caller, "delete_environment"),
            "never": self.found.version == 0,
            **more,
        }


def open_desk(caller: Caller, environment_id: str) -> Desk:
    """The desk of an environment of the caller's project. Raises `NotFound`, also for those of others."""
    found = reading.get(caller, own.environment(caller, environment_id), model=True)
    session = drafting.current(caller, found)
    if session is None and found.session_id:
        session = Session.objects.filter(id=found.session_id).first()
    return Desk(caller, found, session, drafts.root_of(session, found), content.deployed_objects(found.model or {}))


def environment_name(environment_id: str) -> str:
    """Its name; '' when it is gone."""
    return Environment.objects.filter(id=environment_id).values_list("name", flat=True).first() or ""


def shown_changes(items: list[Difference], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Differences as templates show them."""
    return [shown_change(item.as_json(), labels) for item in items]


def shown_change(item: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """One difference (`Difference.as_json`) as templates show it."""
    colour, icon = LOOKS[item["what"]]
    place, before = item.get("place"), item.get("came_from")
    return {
        **item,
        "colour": colour,
        "icon": icon,
        "label": item.get("name") or label_of_type(item["type"]),
        "class_name": type_of(item["type"]),
        "where": (labels.get(place["owner"], ""), place["property"]) if place else None,
        "was": (labels.get(before["owner"], ""), before["property"]) if before else None,
    }


def _only_network(item: Difference) -> bool:
    """Header noise: an object that is called changed without anything to show."""
    return item.what == "changed" and not item.properties and item.came_from is None
