"""What operators see and do: workers, queue, cloud, disk, quotas of all projects, backups, settings, findings."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Field, Query, Schema

from vetro.diagnostics import Diagnostic
from vetro.server.api.paging import cursor as cursor_of
from vetro.server.api.paging import page, place
from vetro.server.api.v2.access import who
from vetro.server.api.v2.quotas import QuotaShown
from vetro.server.api.v2.routes import Answer, Routes, accepted
from vetro.server.api.v2.shapes import Given, Page
from vetro.server.config import display
from vetro.server.errors import Invalid
from vetro.server.operations import backups, checklist, cloud, cures, disk, examination, queue, quotas, workers
from vetro.server.retention import by_hand
from vetro.server.setup import config
from vetro.server.tasks import drain, labels

routes = Routes("operation")
_RULE = "operate"


class WorkerShown(Schema):
    """A worker that joined."""

    name: str
    host: str
    pid: int
    version: str
    labels: list[str] = Field(description="Clouds and regions that it serves; empty: all.")
    state: Literal["working", "draining", "silent"]
    tasks: int = Field(description="Tasks that it runs.")
    heard: float = Field(description="Seconds since it was heard of.")
    up: float = Field(description="Seconds since it joined.")


class Workers(Schema):
    """The workers of the installation."""

    items: list[WorkerShown]
    unserved: list[str] = Field(description="Labels of tasks that wait and that no worker serves.")


class WorkerDrain(Given):
    """How a worker is to end."""

    within: float | None = Field(
        None,
        ge=0,
        le=1e9,
        description="Seconds, then others continue what still runs; null: when its tasks have ended.",
    )


class QueueWait(Schema):
    """What a task waits for."""

    kind: str
    text: str
    since: datetime | None
    seconds: float | None
    object_id: str | None


class QueueEntry(Schema):
    """A task that has not ended."""

    id: str
    kind: str
    method: str = Field(description="Of an action, or of a switch of servers.")
    state: Literal["running", "queued", "needs_person"]
    project_id: str
    project: str
    environment_id: str
    environment: str
    user: str
    worker: str = Field(description="Who runs it; empty: nobody.")
    label: str
    created: datetime
    started: datetime | None
    waits: list[QueueWait]


class QueueShown(Page[QueueEntry]):
    """A part of the queue, the oldest tasks first."""

    counts: dict[str, int] = Field(description="State -> how many tasks there are.")


class CloudServer(Schema):
    """A server of the cloud."""

    id: str
    name: str
    status: str
    driver: str
    simulated: bool = Field(description="It was only written down: its driver executes nothing.")
    environment_id: str = Field(description="Empty for one of an environment that there is not.")
    environment: str
    project: str
    addresses: list[str]
    image: str | None
    flavor: str | None


class InstallationCloud(Schema):
    """The cloud as an operator sees it."""

    kind: str
    executes: bool = Field(description="Whether it runs servers.")
    text: str = Field(description="Which cloud, and why.")
    told: bool = Field(description="Whether what it holds is told here.")
    servers: list[CloudServer]
    networks: list[dict[str, Any]]
    images: list[dict[str, Any]]
    quarantined: list[dict[str, Any]]
    orphans: list[str]
    problem: str
    hint: str


class DiskPlace(Schema):
    """Something that takes room."""

    name: Literal["database", "archives", "cloud", "images", "cache"]
    path: str
    bytes: int | None
    whole: bool = Field(description="Whether all of it was counted.")


class DiskShown(Schema):
    """What is used and free."""

    places: list[DiskPlace]
    free: int = Field(description="Bytes, of the file system of the data directory, as `size`.")
    size: int
    archives: int = Field(description="Archives that nothing names: the next cleaning removes them, as `journals`.")
    journals: int
    at: datetime


class ProjectQuotasShown(Schema):
    """The quotas of a project, those that are used most first."""

    id: str
    name: str
    quotas: list[QuotaShown]


class DoctorFinding(Schema):
    """Something that was found."""

    topic: str
    level: Literal["ok", "note", "warning", "error"]
    text: str
    hint: str
    cure: str = Field(description="What mends it; empty: only a person does.")
    done_here: bool = Field(description="`POST …/doctor/cures/{cure}` does it.")


class DoctorFindings(Schema):
    """What `vetro doctor` says of the installation."""

    items: list[DoctorFinding]
    at: datetime


class BackupShown(Schema):
    """A backup that was made."""

    at: datetime
    bytes: int
    archives: int
    keys: bool = Field(description="Whether the keys are in it.")


class BackupsShown(Schema):
    """The backups of the installation, the newest first."""

    well: bool
    finding: DoctorFinding | None
    items: list[BackupShown]


class SettingShown(Schema):
    """A setting of the service."""

    name: str
    value: Any
    source: str = Field(description="`default`, a file, `environment VETRO_…` or `command line`.")
    meaning: str
    default: Any
    murano: str | None


class ChecklistStep(Schema):
    """Something to think of."""

    name: str
    done: bool


class Checklist(Schema):
    """What whoever begins to run an installation has to think of."""

    items: list[ChecklistStep]


@routes.add("GET", "/admin/checklist", "showChecklist", _RULE, Checklist)
def show_checklist(request: HttpRequest) -> Any:
    """What has to be thought of when an installation is new, and what of it is done."""
    return {"items": [asdict(step) for step in checklist.steps(config())]}


@routes.add("GET", "/admin/workers", "listWorkers", _RULE, Workers)
def list_workers(request: HttpRequest) -> Any:
    """The workers that joined, and what they do."""
    return {"items": [worker.as_json() for worker in drain.workers(config())], "unserved": labels.unserved(config())}


@routes.add("POST", "/admin/workers/{worker}/drain", "drainWorker", _RULE, Workers, status=202)
def drain_worker(request: HttpRequest, worker: str, given: WorkerDrain) -> Answer:
    """Asks a worker to take nothing more and to end when its tasks have ended."""
    workers.drain(who(request), worker, within=given.within)
    return accepted(list_workers(request))


@routes.add("GET", "/admin/queue", "listQueue", _RULE, QueueShown)
def list_queue(
    request: HttpRequest,
    state: Literal["running", "queued", "needs_person"] | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Any:
    """Tasks of all projects that have not ended, the oldest first, and what each waits for."""
    after = place(cursor, str, str)
    found = queue.waiting(config(), state=state or "", after=None if after is None else _moment(*after), most=limit)
    last = found.entries[-1] if found.more and found.entries else None
    following = None if last is None else cursor_of(last.created.astimezone(UTC).isoformat(), last.id)
    entries = [entry.as_json(found.now) for entry in found.entries]
    return {**page(entries, sum(found.counts.values()), following), "counts": dict(found.counts)}


@routes.add("GET", "/admin/cloud", "showCloud", _RULE, InstallationCloud)
def show_cloud(request: HttpRequest) -> Any:
    """The cloud, why it is the one, and its servers in all environments."""
    return asdict(cloud.shown(config()))


@routes.add("GET", "/admin/disk", "showDisk", _RULE, DiskShown)
def show_disk(request: HttpRequest) -> Any:
    """What the installation takes on disks, and what can be removed. Counted once a minute."""
    return asdict(disk.used(config()))


@routes.add("POST", "/admin/disk/clean", "cleanDisk", _RULE, dict[str, int])
def clean_disk(request: HttpRequest) -> Any:
    """Drops now what is too old, and archives that nothing names; how many of each."""
    return by_hand.clean(who(request), config())


@routes.add("GET", "/admin/quotas", "listProjectQuotas", _RULE, Page[ProjectQuotasShown])
def list_quotas(
    request: HttpRequest,
    search: Annotated[str, Query(max_length=255)] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Any:
    """The quotas of all projects, by name."""
    after = place(cursor, str)
    found, total = quotas.of_projects(who(request), search=search, after=after[0] if after else "", most=limit)
    full = len(found) == limit
    return page([asdict(one) for one in found], total, cursor_of(found[-1].name) if full else None)


@routes.add("GET", "/admin/backups", "listBackups", _RULE, BackupsShown)
def list_backups(request: HttpRequest) -> Any:
    """The backups that `vetro db backup` made, the newest first."""
    found = backups.made(config())
    finding = None if found.finding is None else _finding(found.finding)
    return {"well": found.well, "finding": finding, "items": [asdict(one) for one in found.made]}


@routes.add("GET", "/admin/settings", "listSettings", _RULE, Page[SettingShown])
def list_settings(request: HttpRequest) -> Any:
    """Every setting, where its value comes from and what it means. Passwords are hidden."""
    rows = display.shown(config())
    return page(rows, len(rows))


@routes.add("GET", "/admin/doctor", "examineInstallation", _RULE, DoctorFindings)
def examine(request: HttpRequest, anew: bool = False) -> Any:
    """What `vetro doctor` says of the installation; at most half a minute old, unless `anew`."""
    found = examination.findings(config(), anew=anew)
    return {"items": [_finding(one) for one in found.findings], "at": found.at}


@routes.add("POST", "/admin/doctor/cures/{cure}", "mendInstallation", _RULE, DoctorFindings)
def mend(request: HttpRequest, cure: str) -> Any:
    """Does what mends a finding, where that can be done at once; the findings after that."""
    cures.done(who(request), config(), cure)
    return examine(request, anew=True)


def _finding(found: Diagnostic) -> dict[str, Any]:
    return {
        "topic": found.code,
        "level": found.severity,
        "text": found.message,
        "hint": found.hint or "",
        "cure": found.cure,
        "done_here": found.cure in cures.DEEDS,
    }


def _moment(at: str, id: str) -> tuple[datetime, str]:
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        raise Invalid("This is no cursor of this list.", hint="leave it out, or give what 'next' said") from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)), id
