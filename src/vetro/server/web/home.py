"""`overview`: what somebody sees first: her environments, those in trouble first, and what waits for her.

Everything is bounded, and the number of statements does not depend on how much there is. Only addresses cost more: they
are read from models and classes, so they are found once for each version of an environment (`environment_summary`), and
the page does without until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import F, Q

from vetro.data_classes import dataclass
from vetro.engine.watching.states import State
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.environments import offers, queries, search, simulation
from vetro.server.environments.models import Environment, Session
from vetro.server.environments.queries import ListedEnvironment
from vetro.server.environments.reachable_addresses import Address
from vetro.server.forms import drafts as forms
from vetro.server.tasks.models import Task
from vetro.server.watch import queries as watch
from vetro.server.watch.models import Health
from vetro.server.web.environment_state import states_of
from vetro.server.web.environment_summary import summaries

#: Environments that are shown because they changed last, and of each kind that needs somebody; lines of a list.
RECENT: Final = 8
FEW: Final = 5
_BAD: Final = (State.DOWN, State.DEGRADED)


@dataclass(frozen=True, slots=True)
class Card:
    """An environment on the page."""

    found: ListedEnvironment
    health: watch.HealthStatus | None
    simulated: bool
    #: Applications of it of which there is a newer version.
    updates: int
    #: None: nobody has looked yet.
    addresses: Sequence[Address] | None
    #: Its state, for the filter `badge`.
    state: str

    @property
    def trouble(self) -> bool:
        """Whether somebody should look at it."""
        unwell = self.health is not None and self.health.state in _BAD
        return unwell or self.found.status in ("deploy failure", "delete failure")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that goes on only when the person does something."""

    #: ``decision``, ``changes`` or ``form``.
    kind: str
    name: str
    url: str
    at: datetime


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A step from an empty installation to a running application."""

    name: str
    done: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """The page."""

    cards: list[Card]
    #: Environments of the project.
    total: int
    #: The last tasks of environments that they left in a bad way: {id, kind, action, state, finished, environment_id,
    #: environment}; ``state`` is ``errors`` where the task ended, but with errors.
    failures: list[dict[str, Any]]
    waiting: list[Waiting]
    #: Empty once something was deployed.
    steps: list[FirstStep]

    @property
    def unlooked(self) -> bool:
        """Whether addresses of any of them are still to be found."""
        return any(card.addresses is None for card in self.cards)


def overview(caller: Caller, *, look: bool = False) -> Overview:
    """What the page shows to the caller; ``look``: addresses that nobody has found yet are found now."""
    mine = Environment.objects.filter(project_id=caller.project_id)
    recent = search.part(caller.project_id, sort="-changed", most=RECENT)
    known = {row.id for row in recent}
    unwell = Health.objects.filter(environment__project_id=caller.project_id, component="", state__in=_BAD)
    ids = list(unwell.order_by("-since").values_list("environment_id", flat=True)[:FEW])
    failed = list(mine.exclude(failure="").order_by("-updated").values_list("id", "name", "task_id")[:FEW])
    more = {*ids, *(id for id, _, _ in failed)} - known
    rows = [*recent, *queries.of_ids(sorted(more))]
    cards = sorted(_cards(caller, rows, look), key=lambda card: not card.trouble)  # of equal ones what changed last
    return Overview(
        cards,
        mine.count() if len(recent) == RECENT else len(recent),
        _failures(failed),
        _waiting(caller),
        _steps(caller, mine.filter(version__gt=0).exists(), bool(rows)),
    )


def _cards(caller: Caller, rows: Sequence[ListedEnvironment], look: bool) -> list[Card]:
    ids = [row.id for row in rows]
    told, simulated = watch.of_environments(ids), simulation.of_environments(ids)
    newer = {id: len(several) for id, several in offers.of_environments(ids).items()}
    states, summed = states_of(rows), summaries(caller, rows, look=look)
    return [
        Card(
            row,
            told.get(row.id),
            row.id in simulated,
            0 if row.busy else newer.get(row.id, 0),
            None if (known := summed[row.id]) is None else known.addresses,
            states[row.id],
        )
        for row in rows
    ]


def _failures(failed: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
    names = {task: (id, name) for id, name, task in failed if task}
    rows = Task.objects.filter(id__in=list(names), state__in=Task.FINAL).order_by("-finished")
    return [
        {
            **row,
            "state": "errors" if row["state"] == "done" else row["state"],
            "environment_id": names[row["id"]][0],
            "environment": names[row["id"]][1],
        }
        for row in rows.values("id", "kind", "action", "state", "finished")
    ]


def _waiting(caller: Caller) -> list[Waiting]:
    """Decisions first, then what she began, newest first."""
    tasks = Task.objects.filter(state=Task.NEEDS_PERSON, project_id=caller.project_id).order_by("-created")
    asked = list(tasks.values_list("id", "environment_id", "created")[:FEW]) if allows(caller, "resolve_task") else []
    working = Task.objects.filter(project_id=caller.project_id).exclude(state__in=Task.FINAL)
    drafts = (
        Session.objects.filter(
            user_id=caller.user_id,
            state=Session.OPENED,
            version=F("environment__version"),
            environment__project_id=caller.project_id,
            draft__isnull=False,
        )
        .exclude(environment__task_id__in=working.values("id"))
        .order_by("-updated")
        .values_list("environment_id", "environment__name", "updated")[:FEW]
    )
    begun = forms.begun(caller).values_list("id", "title", "updated")[:FEW]
    names = dict(Environment.objects.filter(id__in=[id for _, id, _ in asked if id]).values_list("id", "name"))
    return [
        *(
            Waiting("decision", names.get(id, ""), f"/app/environments/{id}/tasks/{task}/", at)
            for task, id, at in asked
            if id in names
        ),
        *(Waiting("changes", name, f"/app/environments/{id}/changes", at) for id, name, at in drafts),
        *(Waiting("form", title, f"/app/forms/{id}/", at) for id, title, at in begun),
    ]


def _steps(caller: Caller, deployed: bool, any: bool) -> list[FirstStep]:
    if deployed:
        return []
    seen = Package.objects.filter(Q(is_public=True) | Q(project_id=caller.project_id), type="Application", enabled=True)
    steps = [FirstStep("catalog", seen.exists())]
    if allows(caller, "build_images"):
        steps.append(FirstStep("servers", not simulation.of_service()))
    return [*steps, FirstStep("environment", any), FirstStep("deploy", False)]
