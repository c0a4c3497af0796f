"""What happened becomes deliveries: rows that are written in the transaction of what they tell, or of the note that it
is to be told (`changes`), or not at all.

A row for each target that a rule sends it to, however many rules do. Nothing is sent here (`deliverer`).

**Flapping.** Of one component a target gets one notice in `FOLD` seconds. What happens in between goes into one that
waits for the end of this time, and tells the newest state and how many changes there were. Where more than `MANY`
components of an environment change at once, or `CROWD` of a project for all its targets, one notice tells it of all of
an environment: whoever looks at all environments waits for what is written here.

**Recovery.** That something runs again is told to whom it was told that it did not, whatever the rule says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q

from vetro.clouds.quotas import UNLIMITED
from vetro.data_classes import dataclass
from vetro.diagnostics import Text, decode_messages, encode_messages
from vetro.engine.watching.states import State
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of, label_of
from vetro.server.config import cloud_settings
from vetro.server.environments.models import Environment
from vetro.server.environments.models import State as Model
from vetro.server.notices.kinds import (
    DECISION,
    ERROR,
    HEALTH,
    INFO,
    LEVELS,
    OF_STATES,
    OF_TASKS,
    OF_UPDATES,
    TEST,
    WARNING,
    reaches,
)
from vetro.server.notices.models import Delivery, Rule, Target
from vetro.server.procedures.models import Procedure
from vetro.server.quotas.limits import limit
from vetro.server.quotas.usage import used
from vetro.server.secrets.key_file import KeysUnusable
from vetro.server.setup import config
from vetro.server.tasks import clock
from vetro.server.tasks.completion import text_of
from vetro.server.tasks.models import Task
from vetro.server.watch.models import HealthChange

#: Seconds within which a target gets one notice of a component; components of one batch that are told one by one: of
#: an environment, and of a project, once for each of its targets.
FOLD, MANY, CROWD = 300.0, 10, 200
#: Characters of a reason that are told.
_REASON = 500


@dataclass(frozen=True, slots=True)
class _Notice:
    """What is told, before it is known to whom."""

    project_id: str
    environment_id: str
    kind: str
    level: str
    body: Mapping[str, Any]
    component: str = ""
    recovered: bool = False


def task_changed(task: Task) -> None:
    """A task has ended, or waits for a person; inside the transaction that says so."""
    about = OF_TASKS.get(task.kind)
    rules = _rules([task.project_id], [task.environment_id]) if about and task.environment_id else []
    if not rules:
        return
    well = task.state == "done" and not task.errors
    if task.state == Task.NEEDS_PERSON:
        kind, level = DECISION, WARNING
    elif well:
        kind, level = f"{about}.done", WARNING if task.warnings else INFO
    else:
        kind, level = f"{about}.failed", WARNING if task.state == "cancelled" else ERROR
    reason = "" if task.error is None else str(text_of(task.error))[:_REASON]
    told = {
        **_about_environment(task.environment_id),
        "task": {"id": task.id, "kind": task.kind, "state": task.state, "action": _action(task)},
        "reason": reason,
    }
    _put(_Notice(task.project_id, task.environment_id, kind, level, told), rules)


def update_settled(row: Procedure) -> None:
    """An update with a way back is kept, taken back, or needs a person; inside the transaction that says so."""
    rules = _rules([row.project_id], [row.environment_id])
    if not rules:
        return
    kind, level = OF_UPDATES[row.step]
    reason = decode_messages(row.about.get("reason") or {}).get("text") or ""
    told = {
        **_about_environment(row.environment_id),
        "update": {"id": row.id, "step": row.step},
        **encode_messages({"reason": reason if len(reason) <= _REASON else str.__str__(reason)[:_REASON]}),
    }
    _put(_Notice(row.project_id, row.environment_id, kind, level, told), rules)


def crowded(changes: Iterable[HealthChange]) -> frozenset[str]:
    """The projects of which so much changes at once that only environments are told, not components."""
    counts = Counter(change.environment_id for change in changes)
    owners = dict(Environment.objects.filter(id__in=list(counts)).values_list("id", "project_id"))
    rules = _rules(set(owners.values()), list(owners)) if owners else []
    wanted: Counter[str] = Counter()
    for id, project in owners.items():
        targets = {rule.target_id for rule in rules if _about(rule, project, id, HEALTH)}
        wanted[project] += counts[id] * len(targets)
    return frozenset(project for project, number in wanted.items() if number > CROWD)


def health_changed(changes: Sequence[HealthChange], crowd: Collection[str]) -> None:
    """Components of one environment have come into other states; inside the transaction that says that this is told.

    ``crowd``: projects of which only environments are told.
    """
    wanted = Environment.objects.filter(id=changes[0].environment_id).only("id", "name", "project_id", "cloud")
    environment = wanted.first()
    if environment is None:
        return
    rules = _rules([environment.project_id], [environment.id])
    mine = [rule for rule in rules if _about(rule, environment.project_id, environment.id, HEALTH)]
    known = [change for change in changes if change.state in OF_STATES]
    if mine and known:
        _health(environment, known, mine, 1 if environment.project_id in crowd else MANY)


def test(target: Target) -> Delivery:
    """A notice that says nothing but that notices arrive."""
    now = clock.read()
    return Delivery.objects.create(
        project_id=target.project_id, target=target, kind=TEST, level=INFO, body={}, begins=now, due=now
    )


def _health(environment: Environment, changes: Sequence[HealthChange], rules: Sequence[Rule], most: int) -> None:
    """``most``: components that are told one by one."""
    about = _environment(environment)
    newest = {change.component: change for change in changes}
    if len(newest) > most:
        worst = max(newest.values(), key=lambda change: LEVELS.index(OF_STATES[change.state]))
        told: dict[str, Any] = {**about, "component": None, "state": worst.state, "components": len(newest)}
        _put(_health_notice(environment, worst, told, ""), rules)
        return
    names = _component_names(environment.id)
    for change in changes:
        text = decode_messages(change.detail or {}).get("text") or ""
        told = {
            **about,
            "component": {"id": change.component, "name": names.get(change.component, change.component)},
            "state": change.state,
            "before": change.before or None,
            **encode_messages({"reason": text if len(text) <= _REASON else str.__str__(text)[:_REASON]}),
        }
        _put(_health_notice(environment, change, told, change.component), rules)


def _health_notice(environment: Environment, change: HealthChange, told: Mapping[str, Any], component: str) -> _Notice:
    recovered = change.state == State.RUNNING
    level = OF_STATES[change.state]
    return _Notice(environment.project_id, environment.id, HEALTH, level, told, component, recovered)


def _put(notice: _Notice, rules: Iterable[Rule]) -> None:
    mine = [rule for rule in rules if _about(rule, notice.project_id, notice.environment_id, notice.kind)]
    targets = {rule.target_id: False for rule in mine}
    for rule in mine:
        targets[rule.target_id] |= reaches(notice.level, rule.least)
    now = clock.read()
    for target_id, wanted in targets.items():
        if notice.kind == HEALTH:
            _put_folded(target_id, notice, now, wanted)
        elif wanted:
            _insert(target_id, notice, now, now)


def _put_folded(target_id: str, notice: _Notice, now: datetime, wanted: bool) -> None:
    health = Delivery.objects.filter(target_id=target_id, environment_id=notice.environment_id, kind=HEALTH)
    health = health.exclude(state=Delivery.DROPPED).order_by("-begins").only("id", "begins", "level", "state")
    last = health.filter(component=notice.component).first()
    if not wanted and notice.recovered:
        told = (health.filter(component__in=[notice.component, ""]) if notice.component else health).first()
        wanted = told is not None and told.level != INFO
    if last is not None and last.state == Delivery.WAITING and last.begins > now:
        # Also what a rule does not want: what waits is not to tell what is no more.
        level = max(last.level, notice.level, key=LEVELS.index)
        waiting = health.filter(id=last.id, state=Delivery.WAITING, attempts=0, owner="")
        if waiting.update(body=_body(notice, now), level=level, folded=F("folded") + 1):
            return
    if wanted:
        # At most so much later: the clock of the database may have been set back.
        end = now + timedelta(seconds=FOLD)
        begins = now if last is None else min(max(now, last.begins + timedelta(seconds=FOLD)), end)
        _insert(target_id, notice, now, begins)


def _insert(target_id: str, notice: _Notice, now: datetime, begins: datetime) -> None:
    row = Delivery(
        project_id=notice.project_id,
        target_id=target_id,
        environment_id=notice.environment_id,
        component=notice.component,
        kind=notice.kind,
        level=notice.level,
        body=_body(notice, now),
        begins=begins,
        due=begins,
    )
    most = limit(notice.project_id, "notices")
    if most != UNLIMITED and used(notice.project_id, "notices") >= most:
        _drop(row)
    else:
        row.save(force_insert=True)


def _drop(row: Delivery) -> None:
    """One row says that a target missed something, and how often."""
    last = Delivery.objects.filter(target_id=row.target_id).order_by("-created", "-id").only("id", "state").first()
    if last is not None and last.state == Delivery.DROPPED:
        Delivery.objects.filter(id=last.id).update(folded=F("folded") + 1)
        return
    row.state, row.ended = Delivery.DROPPED, row.begins
    row.problem = encode_messages({"text": Text("the project has had as many notices today as it may")})
    row.save(force_insert=True)


def _body(notice: _Notice, now: datetime) -> dict[str, Any]:
    return {"level": notice.level, "at": now.isoformat(), **notice.body}


def _rules(projects: Iterable[str], environments: Iterable[str]) -> list[Rule]:
    """What might be asked of these; one statement."""
    rows = Rule.objects.filter(project_id__in=list(projects), target__enabled=True)
    return list(rows.filter(Q(environment_id="") | Q(environment_id__in=list(environments))))


def _about(rule: Rule, project_id: str, environment_id: str, kind: str) -> bool:
    return (
        rule.project_id == project_id
        and rule.environment_id in ("", environment_id)
        and (not rule.kinds or kind in rule.kinds)
    )


def _about_environment(id: str) -> dict[str, Any]:
    found = Environment.objects.filter(id=id).only("id", "name", "cloud").first()
    return {"environment": {"id": id, "name": id}} if found is None else _environment(found)


def _environment(row: Environment) -> dict[str, Any]:
    """``simulated``: nothing of it exists, whatever its tasks and components say."""
    return {"environment": {"id": row.id, "name": row.name, "simulated": cloud_settings.simulated(config(), row.cloud)}}


def _component_names(environment_id: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        row = Model.objects.filter(environment_id=environment_id).order_by("-number").first()
    except KeysUnusable:  # that nobody knows how it is has to be told, too: it stays an id
        return found
    for item in applications_of(deployed_objects(row.model) if row is not None else None):
        id = id_of(item)
        if id is not None:
            found[id] = label_of(item)
    return found


def _action(task: Task) -> str | None:
    try:
        return str(task.action["method"]) if task.action else None
    except KeysUnusable:  # a task of which nothing but its row can be read ends, too
        return None
