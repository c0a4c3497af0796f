"""Tables of tasks (docs/internals.md, "A task"): what is to do, who does it, the journal, reports, events."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from vetro.server.ids import new_id
from vetro.server.secrets.encryption import EncryptedJSON
from vetro.server.tasks.clock import Stamp


class Task(models.Model):
    """One run. Of an environment at most one is ``running``; deployments of the v1 API are tasks, too."""

    QUEUED, RUNNING = "queued", "running"
    #: States after which nothing happens any more; ``needs_person`` waits for a decision.
    KINDS: ClassVar = ("deploy", "destroy", "action", "static", "builder", "schema", "plan", "power", "repair",
                        "snapshot", "plans")  # fmt: skip
    #: Kinds that are work of the service on many environments (`vetro.server.tasks.hooks.works`): they come last, and
    #: take half of the places of a worker at most.
    BATCHES: ClassVar = ("plans",)
    FINAL = ("done", "failed", "cancelled", "killed", "diverged")
    NEEDS_PERSON = "needs_person"

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    project_id = models.CharField(max_length=64)
    user_id = models.CharField(max_length=64)
    #: Plain id: tasks without environment exist, and tasks outlive theirs for a while (`old_tasks`).
    environment_id = models.CharField(max_length=32, blank=True, default="")
    session_id = models.CharField(max_length=32, blank=True, default="")
    #: One of `KINDS`.
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=16, default=QUEUED)
    #: The engine's task (`vetro.engine.task.task.Task.as_json`); `vetro.server.tasks.spec` says what else is in it.
    spec = EncryptedJSON()
    #: {object_id, method, args} as the v1 API shows it.
    action = EncryptedJSON(null=True)
    result = EncryptedJSON(null=True)
    error = EncryptedJSON(null=True)
    #: Whether reports of level warning or error were written.
    warnings = models.BooleanField(default=False)
    #: Bytes of its reports and log lines, for the quota of its project.
    log_bytes = models.BigIntegerField(default=0, db_default=0)
    errors = models.BooleanField(default=False)
    #: Why somebody wants it to end; empty: nobody does.
    cancel = models.CharField(max_length=255, blank=True, default="")
    priority = models.IntegerField(default=0)
    #: What a worker must have among its labels; empty: nothing (`vetro.server.tasks.labels`).
    label = models.CharField(max_length=64, blank=True, default="")
    #: Version of the engine that began it; empty before.
    engine = models.CharField(max_length=64, blank=True, default="")
    #: The lease: whoever holds ``fence`` may write. It rises with each claim. Of a queued task ``lease_until`` is the
    #: time before which nobody claims it.
    owner = models.CharField(max_length=255, blank=True, default="")
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    #: How often it was claimed, and how often a worker gave it up because something around it failed.
    attempts = models.IntegerField(default=0)
    failures = models.IntegerField(default=0)
    #: What it waits for, as the worker with this ``fence`` told last: {fence, found} (`vetro.server.tasks.waits`).
    waits = EncryptedJSON(null=True)
    #: Says which task of an environment comes first.
    created = Stamp()
    updated = models.DateTimeField(auto_now=True)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["state", "-priority", "created"]),
            models.Index(fields=["environment_id", "-created"]),
            models.Index(fields=["project_id", "-created"]),
            # The next one of each project (`claim_queries`), and those for which places are kept free.
            models.Index(
                fields=["project_id", "-priority", "created", "id"],
                condition=models.Q(state="queued"),
                name="tasks_that_wait",
            ),
            models.Index(fields=["kind"], condition=models.Q(state="queued"), name="kinds_that_wait"),
            # What the logs of a project take, summed without its rows.
            models.Index(
                fields=["project_id", "log_bytes"], condition=models.Q(log_bytes__gt=0), name="log_bytes_of_projects"
            ),
            # What has ended since, counted without its rows (`vetro.server.tasks.counts`).
            models.Index(
                fields=["finished", "kind", "state"],
                condition=models.Q(finished__isnull=False),
                name="tasks_that_ended",
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment_id"],
                condition=models.Q(state="running") & ~models.Q(environment_id=""),
                name="one_running_task_an_environment",
            )
        ]


class JournalTask(models.Model):
    """The head of a task's journal (`vetro.engine.worker.journal.Progress`)."""

    task = models.OneToOneField(Task, models.CASCADE, primary_key=True, related_name="journal")
    digest = models.CharField(max_length=64)
    engine = models.CharField(max_length=64)
    begun = models.FloatField()
    attempts = models.IntegerField(default=0)
    deaths = models.IntegerField(default=0)
    cancelled = models.TextField(null=True)
    #: Nothing writes it any more: the last place of the entries says it. It goes with a later version.
    places = models.IntegerField(default=0)
    ended = EncryptedJSON(null=True)
    #: The newest checkpoint.
    model = EncryptedJSON(null=True)
    model_at = models.FloatField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["begun"], name="journals_by_age")]


class JournalEntry(models.Model):
    """One effect: intent, then result."""

    id = models.BigAutoField(primary_key=True)
    task = models.ForeignKey(Task, models.CASCADE, related_name="entries", db_index=False)
    key = models.TextField()
    kind = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    about = EncryptedJSON(null=True)
    begun = models.FloatField()
    place = models.IntegerField(null=True)
    #: {answer, error}
    result = EncryptedJSON(null=True)
    ended = models.FloatField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["task", "key"], name="one_effect_a_key")]


class JournalNote(models.Model):
    """One effect that nobody waits for: a report, a log line, statistics."""

    id = models.BigAutoField(primary_key=True)
    task = models.ForeignKey(Task, models.CASCADE, related_name="notes", db_index=False)
    key = models.TextField()
    kind = models.CharField(max_length=255)
    args = EncryptedJSON()
    digest = models.CharField(max_length=64)
    at = models.FloatField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["task", "key"], name="one_note_a_key")]


class Report(models.Model):
    """One line of a task's history, for people. Stored once, under the key of its effect."""

    #: Order, and the position from which readers resume.
    seq = models.BigAutoField(primary_key=True)
    id = models.CharField(max_length=32, default=new_id, unique=True)
    task = models.ForeignKey(Task, models.CASCADE, related_name="reports", db_index=False)
    key = models.TextField()
    #: ``report`` (shown by v1, too), ``log``, or ``output``: of a script (`vetro.server.tasks.script_output`).
    kind = models.CharField(max_length=16, default="report")
    entity_id = models.CharField(max_length=255, blank=True, default="")
    text = EncryptedJSON()
    details = EncryptedJSON(null=True)
    #: Whether text or details are only a part; `ReportPart` has the whole (`vetro.server.tasks.long_lines`).
    cut = models.BooleanField(default=False, db_default=False)
    level = models.CharField(max_length=16, default="info")
    created = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["task", "seq"], name="log_of_a_task")]
        constraints: ClassVar = [models.UniqueConstraint(fields=["task", "key"], name="one_report_a_key")]


class ReportPart(models.Model):
    """A part of a report that is too long for lists."""

    #: Without constraint: programs of the version before drop reports and know of no parts.
    report = models.ForeignKey(
        Report, models.CASCADE, to_field="id", related_name="parts", db_index=False, db_constraint=False
    )
    number = models.IntegerField()
    text = EncryptedJSON()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["report", "number"], name="one_part_a_number")]


class Event(models.Model):
    """What happened, for those who watch (SSE; ``Last-Event-ID`` is ``seq``). Dropped after some days."""

    seq = models.BigAutoField(primary_key=True)
    at = Stamp(db_index=True)
    project_id = models.CharField(max_length=64)
    environment_id = models.CharField(max_length=32, blank=True, default="")
    task_id = models.CharField(max_length=32, blank=True, default="")
    #: ``environment``, ``session``, ``task``, ``report``, ``package``, ``import``.
    kind = models.CharField(max_length=32)
    #: Ids and states only; what has to be protected is read through the API.
    data = models.JSONField(default=dict)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["environment_id", "seq"]), models.Index(fields=["project_id", "seq"])]


class SweepMark(models.Model):
    """One row: the time when what is too old was dropped last (`vetro.server.retention.sweep`)."""

    at = models.DateTimeField()


class WorkerProcess(models.Model):
    """A worker that joined: who it is and when it was heard of last."""

    id = models.CharField(primary_key=True, max_length=255)
    host = models.CharField(max_length=255)
    pid = models.IntegerField()
    version = models.CharField(max_length=64)
    labels = models.JSONField(default=list)
    started = Stamp()
    seen = models.DateTimeField()
    #: It takes no further task: it ends, or is asked to when its tasks have ended, or at ``drain_until``.
    draining = models.BooleanField(default=False)
    drain_until = models.DateTimeField(null=True)
