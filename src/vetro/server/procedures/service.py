"""Updates with a way back, as people ask for them: deploying with a guard, taking back, keeping, how it stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from django.db import transaction

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.engine.procedures.guarded_update import GuardedUpdate
from vetro.engine.watching.states import State as Health
from vetro.model.environment import deployed_objects
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import deploy as deploying
from vetro.server.environments import queries, substitution
from vetro.server.environments.models import Environment, Session
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.server.procedures import store
from vetro.server.procedures.errors import GuardRequired, LossesUnconfirmed, NothingHeld, NoWayBack, StillHeld
from vetro.server.procedures.models import Procedure
from vetro.server.procedures.way_back import WayBack, offered, way_back
from vetro.server.procedures.way_back import required as author_wants
from vetro.server.quotas import enforcement
from vetro.server.setup import config
from vetro.server.tasks.labels import label_of
from vetro.server.tasks.models import Task
from vetro.server.watch import queries as watch
from vetro.server.watch.guesses import guess

#: Seconds that an update may be looked at, and for which it can be taken back afterwards, at most.
MOST_SETTLE, MOST_HOLD = 86_400.0, 30 * 86_400.0
#: Days for which a procedure that has ended is kept.
DAYS = 90
#: Steps in which an update can be taken back, and in which it can be said that it stays.
UNDOABLE: Final = frozenset({"snapshotting", "deploying", "settling", "holding", "stuck"})
KEEPABLE: Final = frozenset({"settling", "drafting", "holding", "stuck"})


@dataclass(frozen=True, slots=True)
class Guard:
    """What somebody says of the way back of a deployment."""

    #: None: with one where the draft is an upgrade and the cloud can, or an author wants it.
    wanted: bool | None = None
    #: Seconds for which it is looked at; None: as authors say.
    settle: float | None = None
    #: Seconds for which it can be taken back afterwards.
    hold: float = 0.0
    #: The losses that somebody was told of and accepts (there may be none): any other is refused, whoever wants the way
    #: back. None: nobody was told of any, and losses are refused where an author wants the way back.
    accepted: Collection[str] | None = None
    #: Whatever does not come back may go.
    accepts_all: bool = False

    @classmethod
    def from_request(
        cls, wanted: bool | None, settle: float | None, hold: float, confirmed: bool | Collection[str]
    ) -> Guard:
        """From the members of a request; ``confirmed`` is true for whatever is lost, or a list of accepted losses."""
        if isinstance(confirmed, bool):
            return cls(wanted, settle, hold, accepts_all=confirmed)
        return cls(wanted, settle, hold, accepted=confirmed)

    @property
    def asked(self) -> bool:
        """Whether somebody said which losses are accepted."""
        return self.accepts_all or self.accepted is not None

    def refused(self, losses: Sequence[str], required: bool) -> list[str]:
        """Those of some losses that keep the deployment from beginning; ``required``: an author wants the way back."""
        if self.accepts_all or not (required or self.asked):
            return []
        return [one for one in losses if one not in (self.accepted or ())]


@dataclass(frozen=True, slots=True)
class Chain:
    """Upgrades of applications one after the other (`vetro.server.procedures.chains`)."""

    #: Each a request as JSON, with the names of its applications.
    parts: tuple[Mapping[str, Any], ...]
    #: Whether all go back where one does not go well.
    together: bool
    #: Whether an author wants a way back, and what authors say would not come back.
    required: bool
    losses: tuple[str, ...]
    target: Mapping[str, str]


def deploy(
    caller: Caller,
    environment_id: str,
    session_id: str,
    guard: Guard | None = None,
    before: Mapping[str, Health] | None = None,
    chain: Chain | None = None,
) -> Task:
    """Starts the deployment of a session's draft, with a way back where that is wanted: the first task of it.

    ``before``: how the components are, where somebody looked just now; else as the watcher says. ``chain``: of which
    the session is the first part; then there is a way back, or nothing is begun. Raises what
    `vetro.server.environments.deploy.check` raises, and `GuardRequired`, `NoWayBack`, `LossesUnconfirmed`, `StillHeld`.
    """
    guard = guard or Guard()
    _check_times(guard)
    environment = queries.get(caller, environment_id, model=True)
    mine = Session.objects.filter(id=session_id, environment_id=environment_id)
    session = mine.first()
    upgrade = session is not None and session.upgrade is not None
    if substitution.migrate_draft(caller, environment, session):
        session = mine.first()
    required = author_wants(caller, environment, session) or (chain is not None and chain.required)
    if required and guard.wanted is False:
        raise GuardRequired(Text("the author of a class allows this update only with a way back"))
    wanted = guard.wanted or required or chain is not None
    if guard.wanted is None and upgrade and not wanted:
        row = Environment.objects.filter(id=environment_id).first()
        wanted = row is not None and row.version > 0 and offered(row)
    if not wanted:
        return deploying.begin(caller, environment_id, session_id)
    queries.get(caller, environment_id).require_free()
    way = way_back(caller, environment_id, session_id)
    if not way.able:
        if guard.wanted is None and not required and chain is None:
            return deploying.begin(caller, environment_id, session_id)
        raise NoWayBack(Text("there would be no way back: {why}", why=way.why), details=way.as_json())
    if chain is not None:
        way = replace(way, losses=tuple(dict.fromkeys([*way.losses, *chain.losses])))
    losses = guard.refused(way.losses, required)
    if losses:
        raise LossesUnconfirmed(
            Text("not all of it would come back: {what}", what="; ".join(losses)[:1000]), details={"losses": losses}
        )
    return _begin(caller, environment_id, session_id, guard, way, before, chain)


def _check_times(guard: Guard) -> None:
    for name, value, most in (("settle", guard.settle, MOST_SETTLE), ("hold", guard.hold, MOST_HOLD)):
        if value is not None and not 0 <= value <= most:
            raise Invalid(Text("'{name}' is 0 to {most} seconds", name=name, most=f"{most:g}"))


@transaction.atomic
def _begin(
    caller: Caller,
    environment_id: str,
    session_id: str,
    guard: Guard,
    found_way: WayBack,
    before: Mapping[str, Health] | None,
    chain: Chain | None,
) -> Task:
    session, found, *_ = deploying.check(caller, environment_id, session_id)
    earlier = active(found.id)
    if earlier is not None:
        raise StillHeld(
            Text("the way back of an earlier update of environment '{name}' is still open", name=found.name),
            details={"procedure_id": earlier.id},
        )
    enforcement.check(found.project_id, "tasks")
    environment = Environment.objects.get(id=found.id)
    health = _health(found) if before is None else before
    row = Procedure(
        project_id=found.project_id,
        user_id=caller.user_id,
        environment_id=found.id,
        step="ready",
        before_state=found.version,
        label=label_of(config(), "snapshot", environment),
        about={
            "caller": {
                "user_id": caller.user_id,
                "user_name": caller.user_name,
                "project_id": caller.project_id,
                "project_name": caller.project_name,
                "roles": list(caller.roles),
                "is_admin": caller.is_admin,
            },
            "environment": found.name,
            "session_id": session.id,
            "upgrade": dict(
                chain.target if chain is not None else ((session.upgrade or {}).get("report") or {}).get("target") or {}
            ),
            "cloud": environment.cloud,
            "region": environment.region,
            "failure": environment.failure,
            "stopped": environment.stopped,
            "losses": list(found_way.losses),
            "ignored": sorted(found_way.ignored),
            "still": found_way.still,
            **({} if chain is None else {"chain": _kept(chain, guard, found_way)}),
        },
        record=GuardedUpdate(
            settle=found_way.settle if guard.settle is None else guard.settle,
            hold=guard.hold,
            by_health=found_way.settle > 0 or guard.settle is not None,
            parts=1 if chain is None else len(chain.parts),
            together=chain is not None and chain.together,
        ).as_json(),
    )
    row.save(force_insert=True)
    record(caller, "environment.guard", found.id, found.name, procedure=row.id, session=session.id)
    store.drive(row, {id: state for id, state in health.items() if id not in found_way.ignored})
    return Task.objects.get(id=row.steps.order_by("created", "id").values_list("task_id", flat=True)[0])


def _kept(chain: Chain, guard: Guard, found_way: WayBack) -> dict[str, Any]:
    """What is known of a chain later: what was told, and whether that was asked for."""
    return {
        "parts": list(chain.parts),
        "losses": list(found_way.losses),
        "asked": guard.asked,
        "settle": guard.settle,
    }


def _health(found: queries.ListedEnvironment) -> dict[str, Health]:
    """How the components are, as the watcher says."""
    told = watch.of_environment(found.id)
    parts = watch.components(found.id, told, deployed_objects(found.model or {}))
    health = {part.id: part.told.state for part in parts}
    for part in parts:
        well = [one for one in part.checks if one["guessed"] and one["state"] == Health.RUNNING.value]
        health |= {guess(part.id, one["name"]): Health.RUNNING for one in well}
    return health


# -- back, and how it stands -------------------------------------------------------------------------------------------


def active(environment_id: str) -> Procedure | None:
    """The procedure of an environment that has not ended."""
    return Procedure.objects.filter(environment_id=environment_id, finished=None).first()


def can_be_undone(row: Procedure) -> bool:
    """Whether it can be taken back now. Between the parts of a chain only what goes back together can."""
    together = row.step == "drafting" and bool(row.record.get("together"))
    return row.finished is None and (row.step in UNDOABLE or together)


def can_be_kept(row: Procedure) -> bool:
    """Whether it can be said now that what there is stays, and that no more is begun."""
    return row.finished is None and row.step in KEEPABLE


def parts_of(row: Procedure) -> list[dict[str, Any]]:
    """The parts of a chain: {names, state}; a state is ``done``, ``now``, ``back`` or ``open``. Of others none."""
    record, done = GuardedUpdate.from_json(row.record), row.finished is not None
    found = []
    for number, part in enumerate((row.about.get("chain") or {}).get("parts") or ()):
        if row.step == "restored" and (record.together or number == record.part) and number <= record.part:
            state = "back"
        elif number < record.part or (number == record.part and row.step in ("drafting", "keeping", "kept")):
            state = "done"
        else:
            state = "now" if number == record.part and not done else "open"
        found.append({"names": part["names"], "state": state})
    return found


def undoable(caller: Caller, environment_id: str) -> Procedure:
    """The update of an environment that can be taken back now. Raises `NothingHeld`, and `Busy` while another task
    works on what it left."""
    found = queries.get(caller, environment_id)
    row = active(found.id)
    if row is None:
        raise NothingHeld(Text("no update of environment '{name}' can be taken back", name=found.name))
    if not can_be_undone(row):
        raise Conflict(Text("the update is {step} already", step=row.step))
    if row.step == "holding":
        found.require_free()
    return row


def undo(caller: Caller, environment_id: str) -> Procedure:
    """Takes the update of an environment back: the procedure that does it. Raises as `undoable`."""
    return _ask(caller, undoable(caller, environment_id), "undo")


def keep(caller: Caller, environment_id: str) -> Procedure:
    """Has what is now stay, and lets go of what is held besides. Raises `NothingHeld`, `Conflict`."""
    found = queries.get(caller, environment_id)
    row = active(found.id)
    if row is None:
        raise NothingHeld(Text("no update of environment '{name}' has a way back", name=found.name))
    if not can_be_kept(row):
        raise Conflict(Text("the update is {step}: it cannot be kept now", step=row.step))
    return _ask(caller, row, "keep")


@transaction.atomic
def _ask(caller: Caller, row: Procedure, asked: Any) -> Procedure:
    done = store.reconcile(row.id, asked=asked)
    if done is None:  # it has ended in this moment
        return Procedure.objects.get(id=row.id)
    record(caller, f"environment.{asked}", row.environment_id, row.about["environment"], procedure=row.id)
    return done


def get(caller: Caller, procedure_id: str) -> Procedure:
    """A procedure of the caller's project. Raises `NotFound`."""
    row = Procedure.objects.filter(id=procedure_id).first()
    if row is None or not caller.sees(row.project_id):
        raise NotFound(Text("There is no procedure {id}.", id=procedure_id))
    return row


def of_environment(environment_id: str, most: int = 100) -> list[Procedure]:
    """The procedures of an environment, the newest first."""
    return list(Procedure.objects.filter(environment_id=environment_id).order_by("-created")[:most])


def forget(before: datetime) -> int:
    """Drops procedures that ended earlier; how many rows."""
    return Procedure.objects.filter(finished__lt=before).delete()[0]


def tasks_of(row: Procedure) -> Sequence[Mapping[str, Any]]:
    """Its tasks, oldest first: {key, kind, task_id, state, error}."""
    steps = list(row.steps.order_by("created", "id"))
    states = dict(Task.objects.filter(id__in=[step.task_id for step in steps]).values_list("id", "state"))
    return [
        {
            "key": step.key,
            "kind": step.kind,
            "task_id": step.task_id or None,
            "state": states.get(step.task_id, "failed" if step.error else "gone"),
            "error": step.error,
        }
        for step in steps
    ]


def until(row: Procedure) -> datetime | None:
    """When the present step is over by itself."""
    at = row.record.get("until")
    return None if at is None or row.finished else datetime.fromtimestamp(at, UTC)
