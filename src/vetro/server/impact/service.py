"""Questions about impact: what a version of a package would change, in which of the environments that use it.

Everybody asks about the environments of the own project. About others' whoever may (rule ``impact_all_projects``)
gets counts, and places in the package that is asked about: no names, values or messages. Names go by rule
``list_environments_all_tenants``, plans by whose environment it is.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from django.db import transaction
from django.db.models import Case, Count, QuerySet, When

from vetro.diagnostics import Text, decode_messages
from vetro.engine.version import engine_version
from vetro.muranopl.declarations.versions import parse_version, version_key
from vetro.packages.lock import LockedPackage
from vetro.server.accounts.policy import allows, enforce
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Environment, EnvironmentPackage
from vetro.server.environments.simulation import of_environments
from vetro.server.errors import Invalid, NotFound
from vetro.server.ids import stamp
from vetro.server.impact import groups
from vetro.server.impact.models import ARCHIVE_DAYS, Entry, Impact, PlanCache
from vetro.server.queries import delete_in_batches
from vetro.server.quotas import enforcement
from vetro.server.quotas.errors import QuotaBusy, QuotaExceeded
from vetro.server.setup import config
from vetro.server.tasks.labels import label_of
from vetro.server.tasks.models import Task
from vetro.server.tasks.queue import enqueue

#: Days for which what was found out is kept, and plans of environments as they are.
DAYS: Final = 30
_PLAN_DAYS: Final = 7
#: Questions of a project that are under way at once, and that are kept.
MOST_RUNNING, MOST_KEPT = 5, 20
#: Environments of one task, and tasks of a question about very many (one or two more where workers have labels).
TOGETHER, MOST_TASKS = 25, 100
#: Places of tasks, behind all others.
_PRIORITY: Final = -10
#: Environments of one question.
MOST: Final = 20_000
#: Environments of a question that nobody asked for: a minute of two processors, behind everything else.
MOST_AUTOMATIC: Final = 500
#: Environments that are named of a group.
_NAMED: Final = 100
_BATCH: Final = 500


def start(caller: Caller, package: LockedPackage, *, all_projects: bool = False, size: int = 0) -> Impact:
    """Begins to find out what a version would change in environments that have a lower one. Its archive is stored.

    ``size``: bytes of an archive that no catalog has: it counts as those of the project's packages do. Older questions
    of the project go when there are more than `MOST_KEPT`. Raises `Forbidden`, `Invalid` where nobody has it,
    `QuotaBusy` also where `MOST_RUNNING` are under way, `QuotaFull`.
    """
    if all_projects:
        enforce(caller, "impact_all_projects")
    rows = environments(caller, package, all_projects=all_projects)
    if not rows:
        raise Invalid(
            Text("no environment uses a version of {package} below {version}",
                 package=package.name, version=package.version),
            hint=None if all_projects else Text("only environments of your project are looked at"),
        )  # fmt: skip
    with transaction.atomic():
        _check_room(caller, package.digest, size)
        impact = Impact.objects.create(
            project_id=caller.project_id,
            user_id=caller.user_id,
            fqn=package.name,
            version=package.version,
            digest=package.digest,
            size=size,
            all_projects=all_projects,
            engine=engine_version(),
        )
        for label, some in _slices(rows):
            task = enqueue(caller, "plans", priority=_PRIORITY, args={"impact": impact.id}, label=label)
            Entry.objects.bulk_create(
                Entry(impact=impact, environment_id=id, project_id=project, task_id=task.id) for id, project in some
            )
        record(caller, "package.impact", impact.id, package.name, version=package.version, environments=len(rows))
    return impact


def start_automatically(caller: Caller, package: LockedPackage) -> Impact | None:
    """The question about a version that was just published or imported, which is asked without being asked for.

    It is about all projects where the caller may know that, else about the own. None where there is none: the caller
    may not plan, nothing runs an older version, more than `MOST_AUTOMATIC` do, or the project has no room for it now.
    """
    if not allows(caller, "plan_environment"):
        return None
    everywhere = allows(caller, "impact_all_projects")
    if not 0 < len(environments(caller, package, all_projects=everywhere)) <= MOST_AUTOMATIC:
        return None
    last = newest(caller, package.digest)
    if last is not None and tasks(last):
        return last
    try:
        return start(caller, package, all_projects=everywhere)
    except (Invalid, QuotaExceeded):  # somebody can ask later
        return None


def _check_room(caller: Caller, digest: str, size: int) -> None:
    """Raises `QuotaBusy`, `QuotaFull`; drops questions of the project that are too many."""
    own = Impact.objects.filter(project_id=caller.project_id)
    if size and not own.filter(digest=digest, size__gt=0).exists():
        enforcement.check_space(caller.project_id, "archives", size)
    enforcement.check(caller.project_id, "tasks")  # holds the project's lock: no two both take the last place
    newest = list(own.order_by("-created", "-id").values_list("id", flat=True)[: MOST_KEPT * 2])
    running = [one for one in Impact.objects.filter(id__in=newest, entries__group="").distinct() if tasks(one)]
    if len(running) >= MOST_RUNNING:
        raise QuotaBusy(
            Text("{count} questions about impact of this project are under way", count=len(running)),
            hint=Text("ask again when one of them has ended"),
        )
    going = {one.id for one in running}
    old = [id for id in newest[MOST_KEPT - 1 :] if id not in going]
    own.filter(id__in=old).delete()


def _slices(rows: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    """The environments of each task, with the label that its worker must have: as for tasks of these environments."""
    labels: dict[str, list[tuple[str, str]]] = {}
    for first in range(0, len(rows), _BATCH):
        some = rows[first : first + _BATCH]
        known = Environment.objects.in_bulk([id for id, _ in some])
        for row in some:
            labels.setdefault(label_of(config(), "plan", known.get(row[0])), []).append(row)
    together = max(TOGETHER, -(-len(rows) // MOST_TASKS))
    for label, found in sorted(labels.items()):
        for first in range(0, len(found), together):
            yield label, found[first : first + together]


def environments(caller: Caller, package: LockedPackage, *, all_projects: bool) -> list[tuple[str, str]]:
    """(id, project) of the environments in which something was deployed with a lower version, in a fixed order."""
    new = version_key(parse_version(package.version))
    there = EnvironmentPackage.objects.filter(fqn=package.name, environment__version__gt=0)
    if not all_projects:
        there = there.filter(environment__project_id=caller.project_id)
    rows = there.values_list("environment_id", "environment__project_id", "version")
    found = {(id, project) for id, project, version in rows if version_key(parse_version(version)) < new}
    return sorted(found, key=lambda one: (one[1], one[0]))[:MOST]


def get(caller: Caller, impact_id: str) -> Impact:
    """A question of the caller's project. Raises `NotFound`."""
    found = Impact.objects.filter(id=impact_id).first() if known_id(impact_id) else None
    if found is None or not caller.sees(found.project_id):
        raise NotFound(Text("There is no impact '{id}'.", id=impact_id[:80]))
    return found


def newest(caller: Caller, digest: str) -> Impact | None:
    """The last question of the caller's project about an archive."""
    rows = Impact.objects.filter(project_id=caller.project_id, digest=digest)
    return rows.order_by("-created", "-id").first()


def tasks(impact: Impact) -> list[str]:
    """Ids of the tasks that are still to be done."""
    ids = impact.entries.filter(group="").order_by("id").values_list("task_id", flat=True)
    waiting = set(Task.objects.filter(id__in=set(ids)).exclude(state__in=Task.FINAL).values_list("id", flat=True))
    return [id for id in dict.fromkeys(ids) if id in waiting]


def describe(caller: Caller, impact: Impact) -> dict[str, Any]:
    """What was found out so far, as the caller may see it: see `vetro.server.api.v2.impact`."""
    # Before what was found out is counted: an end between the two would be told with a part of the environments.
    going = bool(tasks(impact))
    counts = dict(impact.entries.order_by().values_list("group").annotate(Count("id")))
    waiting, total = counts.pop("", 0), sum(counts.values())
    order = sorted(counts, key=lambda name: (-counts[name], groups.GROUPS.index(name)))
    basis = hashlib.sha256(f"{impact.digest} {impact.engine}".encode())
    for row in impact.entries.order_by("project_id", "environment_id").values_list("environment_id", "number", "lock"):
        basis.update(json.dumps(row).encode())
    return {
        "id": impact.id,
        "package": impact.fqn,
        "version": impact.version,
        "digest": impact.digest,
        "engine": impact.engine,
        "created": stamp(impact.created),
        "all_projects": impact.all_projects,
        "state": "running" if waiting and going else "done",
        "done": total,
        "total": total + waiting,
        "basis": basis.hexdigest(),
        "groups": [_group(caller, impact, name, counts[name]) for name in order],
    }


def _group(caller: Caller, impact: Impact, name: str, count: int) -> dict[str, Any]:
    entries = impact.entries.filter(group=name)
    own = entries.filter(project_id=caller.project_id)
    details = [decode_messages(detail or {}) for detail in own.values_list("detail", flat=True).iterator()]
    others = entries.exclude(project_id=caller.project_id)
    named = own
    if impact.all_projects and allows(caller, "list_environments_all_tenants"):
        named = entries
    return {
        "group": name,
        "count": count,
        "others": others.count(),
        "reasons": groups.reasons(details),
        "places": _places(impact, others.values_list("detail", flat=True)) if name == groups.FAILS else [],
        "environments": _named(caller, named.order_by("id")),
    }


def _named(caller: Caller, entries: QuerySet[Entry]) -> list[dict[str, Any]]:
    """The first of them. Their plans are not read: whoever waits for an answer asks for this again and again."""
    planned = Case(When(plans__isnull=False, then=True), default=False)
    rows = list(entries.values_list("environment_id", "project_id", "number", "lock", planned)[:_NAMED])
    ids = [row[0] for row in rows]
    names, simulated = dict(Environment.objects.filter(id__in=ids).values_list("id", "name")), of_environments(ids)
    return [
        {
            "id": id,
            "name": names.get(id, id),
            "state": number,
            "lock": lock,
            "plan": has_plan and caller.sees(project_id),
            "simulated": id in simulated,
        }
        for id, project_id, number, lock, has_plan in rows
    ]


def _places(impact: Impact, details: Iterable[Any]) -> list[dict[str, Any]]:
    """Where in the package that is asked about it fails for others: [{file, line, count}]. Nothing else of theirs."""
    count: dict[tuple[str, int], int] = {}
    prefix, files = f"{impact.fqn} {impact.version}: ", _files(impact.digest)
    for detail in details:
        position = ((detail or {}).get("error") or {}).get("position") or {}
        file, line = str(position.get("file") or "").removeprefix(prefix), position.get("line")
        if str(position.get("file") or "").startswith(prefix) and isinstance(line, int) and line <= files.get(file, 0):
            count[file, line] = count.get((file, line), 0) + 1
    ordered = sorted(count.items(), key=lambda item: (-item[1], item[0]))
    return [{"file": file, "line": line, "count": number} for (file, line), number in ordered[:20]]


@lru_cache(maxsize=16)
def _files(digest: str) -> Mapping[str, int]:
    """The texts of an archive, with how many lines they have."""
    try:
        with zipfile.ZipFile(blobs.local_file(digest)) as archive:
            return {
                one.filename: archive.read(one).count(b"\n") + 1
                for one in archive.infolist()
                if one.filename.endswith((".yaml", ".yml")) and one.file_size < 1 << 20
            }
    except (OSError, zipfile.BadZipFile, blobs.BlobMissing):
        return {}


def plan(caller: Caller, impact_id: str, environment_id: str) -> dict[str, Any]:
    """What was found out of one environment, with its plans: {group, detail, old, new, name, state, lock}.

    Raises `NotFound`, also for those that the caller may not see.
    """
    impact = get(caller, impact_id)
    entry = impact.entries.filter(environment_id=environment_id).first() if known_id(environment_id) else None
    if entry is None or not caller.sees(entry.project_id):
        raise NotFound(Text("There is no environment '{environment_id}'.", environment_id=environment_id[:80]))
    name = Environment.objects.filter(id=entry.environment_id).values_list("name", flat=True).first()
    return {
        "id": entry.environment_id,
        "name": name or entry.environment_id,
        "state": entry.number,
        "lock": entry.lock,
        "group": entry.group,
        "detail": decode_messages(entry.detail or {}),
        "old": (entry.plans or {}).get("old"),
        "new": (entry.plans or {}).get("new"),
    }


def forget(now: datetime) -> int:
    """Drops what is too old; how many. Archives go first: the garbage collection of the catalog takes them."""
    Impact.objects.filter(created__lt=now - timedelta(days=ARCHIVE_DAYS), size__gt=0).update(size=0)
    count = delete_in_batches(Impact.objects.filter(created__lt=now - timedelta(days=DAYS)), _BATCH)
    return count + delete_in_batches(PlanCache.objects.filter(created__lt=now - timedelta(days=_PLAN_DAYS)), _BATCH)
