"""Tables of procedures. What they know of environments is encrypted as models are: it names servers."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from vetro.server.ids import new_id
from vetro.server.secrets.encryption import EncryptedJSON
from vetro.server.tasks.clock import Stamp


class Procedure(models.Model):
    """One procedure: all that is known of it, besides its tasks. It outlives its environment until nothing is held."""

    GUARDED_UPDATE = "guarded-update"

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    kind = models.CharField(max_length=32, default=GUARDED_UPDATE)
    project_id = models.CharField(max_length=64)
    user_id = models.CharField(max_length=64)
    #: Plain id, as tasks have it.
    environment_id = models.CharField(max_length=32)
    #: `vetro.engine.procedures.guarded_update.Step`, as ``record`` has it.
    step = models.CharField(max_length=16)
    #: `vetro.engine.procedures.procedure.Intervention`, until it was done.
    asked = models.CharField(max_length=16, blank=True, default="")
    #: `vetro.engine.procedures.guarded_update.GuardedUpdate`.
    record = EncryptedJSON()
    #: {caller, session_id, cloud, region, failure, stopped, losses, ignored, still, held, reason, since, chain}: see
    #: `vetro.server.procedures.store` and `vetro.server.procedures.chains`.
    about = EncryptedJSON()
    #: The state before, the one that the update left, and the one that took it back.
    before_state = models.BigIntegerField()
    update_state = models.BigIntegerField(null=True)
    undo_state = models.BigIntegerField(null=True)
    #: Which workers may look at its environment (`vetro.server.tasks.labels`).
    label = models.CharField(max_length=64, blank=True, default="")
    #: When it is to be looked at again, and when it was looked at last.
    wake_at = models.DateTimeField(null=True)
    looked = models.DateTimeField(null=True)
    created = Stamp()
    finished = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["environment_id", "-created"], name="procedures_of_environment"),
            models.Index(
                fields=["wake_at"], condition=models.Q(finished__isnull=True), name="procedures_to_be_looked_at"
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment_id"], condition=models.Q(finished__isnull=True), name="one_procedure_at_a_time"
            )
        ]


class ProcedureStep(models.Model):
    """A task of a procedure, under the key that the procedure gave it."""

    procedure = models.ForeignKey(Procedure, models.CASCADE, related_name="steps")
    key = models.CharField(max_length=32)
    #: `vetro.engine.procedures.procedure.TaskKind`.
    kind = models.CharField(max_length=16)
    #: Empty: it could not be begun, ``error`` says why.
    task_id = models.CharField(max_length=32, blank=True, default="", db_index=True)
    #: {message, hint, texts}
    error = EncryptedJSON(null=True)
    created = Stamp()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["procedure", "key"], name="one_task_a_key")]


def of_task(task_id: str) -> str | None:
    """The procedure that a task belongs to."""
    return ProcedureStep.objects.filter(task_id=task_id).values_list("procedure_id", flat=True).first()
