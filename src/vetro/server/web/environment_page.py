"""`EnvironmentPage`: what all pages about one environment begin with: it, the person's draft, what that changes.

Secrets are concealed here, before anything reaches a template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain
from typing import Any

from vetro.clouds.errors import CloudError
from vetro.data_classes import dataclass
from vetro.model.copies import Classes
from vetro.model.differences import Difference, Property, diff, in_words, tidied
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import class_name, id_of, label_of, label_of_type, type_of
from vetro.model.secrets import SecretNames
from vetro.model.tree import by_id, objects, users
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import as_diff
from vetro.server.environments import (
    drafts,
    fixed_properties,
    limits,
    lookup,
    newer_versions,
    packages,
    power,
    queries,
    redaction,
    sessions,
)
from vetro.server.environments.models import Environment, Session
from vetro.server.environments.power_steps import machines
from vetro.server.procedures import service as procedures
from vetro.server.procedures.way_back import WayBack, offered, way_back
from vetro.server.tasks.models import Event
from vetro.server.watch import queries as watch
from vetro.server.web.environment_state import states_of
from vetro.server.web.model_texts import text_of

#: Lines of two values that are compared line by line; equal ones in a row that are shown.
_LINES, _SAME = 2000, 3
#: Kind of a difference -> (colour, icon).
LOOKS = {
    "created": ("success", "plus-lg"),
    "changed": ("info", "pencil"),
    "moved": ("info", "arrow-right"),
    "destroyed": ("danger", "trash"),
    "deleted": ("danger", "trash"),
    "replaced": ("danger", "arrow-clockwise"),
}


@dataclass
class EnvironmentPage:
    """One environment as one person works on it."""

    caller: Caller
    found: queries.ListedEnvironment
    session: Session | None
    #: The root object that pages show: the draft, what is being deployed, or what is there.
    root: dict[str, Any] | None
    #: The root object as it exists outside.
    deployed: dict[str, Any] | None
    #: Number of the last event before all this was read: pages watch what comes after it.
    seen: int = 0

    @property
    def id(self) -> str:
        """Id of the environment."""
        return self.found.id

    @cached_property
    def secrets(self) -> SecretNames:
        """Which properties are secret, of the classes of both models."""
        return redaction.of_roots(self.caller, self.found, self.root, self.deployed)

    @cached_property
    def classes(self) -> Classes:
        """What the classes of the model that pages show say of their properties."""
        return fixed_properties.classes_for(self.caller, self.found, {"Objects": self.root})

    @cached_property
    def changes(self) -> list[Difference]:
        """What deploying would change, secrets masked."""
        if self.root == self.deployed:
            return []
        limits.check_comparable(self.deployed, self.root)
        found = diff(self.deployed, self.root, as_diff(self.secrets))
        if self.deployed is None:
            # The environment's own object and its network come into being with the first deployment: nobody's doing.
            found = [item for item in found if item.place is not None and item.place[1] != "defaultNetworks"]
        return _with_metadata(tidied(found), self.deployed, self.root)

    @cached_property
    def top_changes(self) -> dict[str, str]:
        """Id of an application -> created, changed or destroyed: itself, or something that it owns."""
        owners: dict[str, str] = {}
        for root in (self.deployed, self.root):
            for service in applications_of(root):
                top = id_of(service)
                for obj in objects(service):
                    owners[str(id_of(obj))] = str(top)
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
        return [item for item in applications_of(self.root) if isinstance(item, dict) and id_of(item)]

    @cached_property
    def removed(self) -> list[dict[str, Any]]:
        """Applications that exist and that the draft takes out."""
        kept = {id_of(item) for item in self.services}
        old = applications_of(self.deployed)
        return [item for item in old if isinstance(item, dict) and id_of(item) not in kept]

    @cached_property
    def missed(self) -> list[dict[str, str]]:
        """Who refers to what the draft takes out: {user, user_id, property, target}."""
        gone = by_id(self.removed)
        found = users(self.root, gone) if gone else ()
        return [
            {"user": label_of(obj), "user_id": str(id_of(obj)), "property": name, "target": label_of(gone[target])}
            for obj, name, target in found
        ]

    @cached_property
    def health(self) -> watch.HealthStatus | None:
        """How it is; None: there is nothing to tell."""
        return watch.of_environment(self.id)

    @cached_property
    def components_health(self) -> list[watch.ComponentHealth]:
        """How its components are of which something is deployed and can be watched."""
        return watch.components(self.id, self.health, self.deployed)

    @cached_property
    def may_power(self) -> bool:
        """Whether the person may start and stop its servers now."""
        return allows(self.caller, "power_environment") and not self.found.busy and self._switchable

    @cached_property
    def _switchable(self) -> bool:
        try:
            return power.able(Environment.objects.only("cloud").get(id=self.id))
        except CloudError:  # a kind that is not there any more
            return False

    @cached_property
    def calls_methods(self) -> bool:
        """Whether packages may have methods that are called before its servers stop and after they start."""
        return packages.uses(self.id, "io.vetro")

    @cached_property
    def server_names(self) -> Mapping[str, Sequence[str]]:
        """Names of the servers of components that have some of their own, by the component's id."""
        names: dict[str, list[str]] = {}
        for machine in chain.from_iterable(machines(self.deployed) if self.found.version else ()):
            names.setdefault(machine.component, []).append(machine.name)
        return names

    @cached_property
    def offers(self) -> dict[str, newer_versions.NewerVersion]:
        """The packages of its objects of which there is a newer release, by name; none while a task works on it."""
        if self.found.busy or not self.found.version:
            return {}
        return {offer.package: offer for offer in newer_versions.offers_of(self.found)}

    @cached_property
    def guard(self) -> dict[str, str] | None:
        """The update with a way back that has not ended: {id, step}."""
        row = procedures.active(self.id)
        return None if row is None else {"id": row.id, "step": row.step}

    def way_back(self) -> WayBack | None:
        """The way back that deploying the person's draft would have; None where nobody can have one. Asks the cloud."""
        draft = self.session
        if draft is None or self.found.busy or not self.found.version or not self.changes:
            return None
        row = Environment.objects.get(id=self.id)
        if not offered(row) and not ((draft.upgrade or {}).get("report") or {}).get("guard"):
            return None
        return way_back(self.caller, self.id, draft.id)

    def labels(self) -> Mapping[str, str]:
        """Id -> name of every object, of both models."""
        return {str(id_of(obj)): label_of(obj) for root in (self.deployed, self.root) for obj in objects(root)}

    @cached_property
    def state(self) -> str:
        """Its state, for the filter `badge`."""
        return states_of([self.found])[self.id]

    def ways(self, wanted: bool = True) -> dict[str, Any]:
        """What templates need to offer one way to deploy the draft before the others: an upgrade with its way back.
        ``wanted``: whether a way back is to be offered here."""
        back = self.way_back() if wanted else None
        able = back is not None and back.able
        upgrades = self.session is not None and bool(self.session.upgrade)
        return {
            "way_back": back,
            "guard_first": able and (upgrades or (back is not None and back.required)),
            "guard_only": able and back is not None and back.required,
        }

    def shell(self, tab: str, **more: Any) -> dict[str, Any]:
        """What the templates of all these pages need, and ``more``."""
        return {
            "env_page": self,
            "env": self.found,
            "health": self.health,
            "tab": tab,
            "draft": self.session if self.session is not None and self.session.id != self.found.session_id else None,
            "may_change": allows(self.caller, "update_environment"),
            "may_delete": allows(self.caller, "delete_environment"),
            "may_power": self.may_power and bool(self.server_names),
            "may_report": allows(self.caller, "report_environment"),
            "may_read_logs": allows(self.caller, "read_server_logs"),
            "missed": self.missed if not self.found.busy else [],
            "never": self.found.version == 0,
            "failed": self.found.status in ("deploy failure", "delete failure"),
            "change_count": len(self.changes) if not self.found.busy else 0,
            **more,
        }


def open_page(caller: Caller, environment_id: str) -> EnvironmentPage:
    """The page of an environment of the caller's project. Raises `NotFound`, also for those of others."""
    seen = last_event()
    found = queries.get(caller, lookup.environment(caller, environment_id), model=True)
    session = sessions.newest_draft(caller, found)
    if session is None and found.session_id:
        session = Session.objects.filter(id=found.session_id).first()
    root = drafts.shown_root(caller, session, found)
    return EnvironmentPage(caller, found, session, root, deployed_objects(found.model or {}), seen)


def last_event() -> int:
    """Number of the newest event."""
    return Event.objects.order_by("-seq").values_list("seq", flat=True).first() or 0


def shown_changes(items: list[Difference], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Differences as templates show them."""
    return [shown_change(item.as_json(), labels) for item in items]


def shown_change(item: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """One difference (`Difference.as_json`) as templates show it."""
    colour, icon = LOOKS[item["what"]]
    place, before = item.get("place"), item.get("came_from")
    return {
        **item,
        "properties": [
            _shown_property(told, _text(told["old"], labels), _text(told["new"], labels))
            for told in map(in_words, item["properties"])
        ],
        "colour": colour,
        "icon": icon,
        "label": item.get("name") or label_of_type(item["type"]),
        "class_name": class_name(item["type"]),
        "where": (labels.get(place["owner"], ""), place["property"]) if place else None,
        "was": (labels.get(before["owner"], ""), before["property"]) if before else None,
    }


def _shown_property(told: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """A property with its values as texts; lists, mappings and long texts line by line, with what is the same."""
    shown = {**told, "old_text": old, "new_text": new, "lines": []}
    before, after = old.split("\n"), new.split("\n")
    if told["added"] or told["removed"] or max(len(before), len(after)) < 2 or len(before) + len(after) > _LINES:
        return shown
    for what, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            same = before[i1:i2]
            shown["lines"] += [("", line) for line in same] if len(same) <= _SAME else [("same", len(same))]
        else:
            shown["lines"] += [("old", line) for line in before[i1:i2]] + [("new", line) for line in after[j1:j2]]
    return shown


def _text(value: Any, labels: Mapping[str, str]) -> str:
    return labels[value] if isinstance(value, str) and value in labels else text_of(value)


def _with_metadata(found: list[Difference], before: Any, after: Any) -> list[Difference]:
    """The differences with those of ``?/metadata``, which `diff` leaves out."""
    old = by_id(before)
    known = {item.id: place for place, item in enumerate(found)}
    for obj in objects(after):
        id = id_of(obj)
        if id is None:
            continue
        was, now = (old[id]["?"].get("metadata") or {}) if id in old else {}, obj["?"].get("metadata") or {}
        if was == now or (before is None and obj is after):
            continue
        told = Property("metadata", was or None, now or None, added=not was, removed=not now)
        if id in known:
            item = found[known[id]]
            found[known[id]] = replace(
                item, what="changed" if item.what == "moved" else item.what, properties=(*item.properties, told)
            )
        else:
            found.append(Difference("changed", id, type_of(obj), label_of(obj), None, None, (told,)))
    return found
