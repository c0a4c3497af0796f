"""Tables of the watcher. What it found is encrypted as models are: it names servers and addresses."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from vetro.server.environments.models import Environment
from vetro.server.secrets.encryption import EncryptedJSON


class Health(models.Model):
    """How a component of an environment is, or (``component`` is empty) the environment as a whole."""

    environment = models.ForeignKey(Environment, models.CASCADE, related_name="health", db_constraint=False)
    #: Id of the application.
    component = models.CharField(max_length=255, blank=True, default="")
    #: `vetro.engine.watching.states.State`; empty: there is nothing of it that could be watched.
    state = models.CharField(max_length=16, blank=True, default="")
    #: Since when it is in this state.
    since = models.DateTimeField()
    #: {text, texts, checks: [{key, name, state, text, reached, guessed}]}
    detail = EncryptedJSON(null=True)
    #: The `WatchMark` by which this may be believed: that of who looked at it.
    label = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "component"], name="one_health_a_component")
        ]


class HealthChange(models.Model):
    """That a component, or an environment, came into another state. Dropped after a while."""

    environment = models.ForeignKey(Environment, models.CASCADE, related_name="health_changes", db_constraint=False)
    component = models.CharField(max_length=255, blank=True, default="")
    state = models.CharField(max_length=16)
    #: The state that it was in; empty: none.
    before = models.CharField(max_length=16, blank=True, default="", db_default="")
    at = models.DateTimeField(db_index=True)
    #: {text, texts}
    detail = EncryptedJSON(null=True)
    #: Whether those who want to know are still to be told (`vetro.server.notices.changes`).
    pending = models.BooleanField(default=False, db_default=False)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["environment", "-id"], name="health_of_an_environment"),
            models.Index(fields=["id"], condition=models.Q(pending=True), name="health_changes_to_be_told"),
        ]


class MetricSamples(models.Model):
    """What the servers of an environment used in the last hour."""

    environment = models.OneToOneField(
        Environment, models.CASCADE, primary_key=True, related_name="metrics", db_constraint=False
    )
    #: When it was written last.
    at = models.DateTimeField(db_index=True)
    #: Id of a server -> [[time, processors, memory, its limit, disk]], the oldest first.
    samples = EncryptedJSON()


class Inventory(models.Model):
    """What the cloud of an environment has of it: as it was first seen after its last task, and as it was seen last."""

    environment = models.OneToOneField(Environment, models.CASCADE, related_name="inventory", db_constraint=False)
    #: The environment's version at which ``first`` was seen.
    version = models.BigIntegerField()
    #: {stacks: {name: digest}, servers: {id: [name, state]}}
    first = EncryptedJSON(null=True)
    last = EncryptedJSON(null=True)
    #: Of ``last``, to see whether it is another without opening it; empty: the cloud did not answer.
    digest = models.CharField(max_length=64, blank=True, default="")
    #: When the cloud answered last.
    looked = models.DateTimeField(null=True)
    #: Why it did not answer the last time: {text, texts}.
    trouble = EncryptedJSON(null=True)


class WatchMark(models.Model):
    """Until when everything that one watcher told is to be believed; later nobody knows."""

    #: One for each process that watches, for each look, and for what is to be looked at anew.
    label = models.CharField(primary_key=True, max_length=64)
    #: The worker that watches; empty: nobody renews it.
    worker = models.CharField(max_length=255)
    until = models.DateTimeField()
