"""Tables of notices. Where they go and what they say is encrypted: addresses are often secrets themselves."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from vetro.server.ids import new_id
from vetro.server.secrets.encryption import EncryptedJSON
from vetro.server.tasks.clock import Stamp


def new_delivery_id() -> str:
    """The id of a delivery, as the header ``webhook-id`` has it."""
    return f"msg_{new_id()}"


class Target(models.Model):
    """Where notices of a project go."""

    WEBHOOK, MAIL, CHAT = "webhook", "mail", "chat"
    KINDS: ClassVar = (WEBHOOK, MAIL, CHAT)

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    project_id = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    #: One of `KINDS`.
    kind = models.CharField(max_length=16)
    #: Of a webhook {url}; of mail {to: [address]}; of chat {url, form, template}.
    settings = EncryptedJSON()
    #: Of a webhook: [{key, until}], the newest first; ``until`` (ISO, null: for ever) is the end of a rotation.
    keys = EncryptedJSON(null=True)
    #: Of what is written for people.
    language = models.CharField(max_length=8, blank=True, default="")
    enabled = models.BooleanField(default=True)
    #: Deliveries that failed since one arrived, and until when nothing is sent because of that.
    failures = models.IntegerField(default=0)
    quiet_until = models.DateTimeField(null=True)
    created = Stamp()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project_id", "name"], name="one_target_a_name")]


class Rule(models.Model):
    """What a target is told."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    project_id = models.CharField(max_length=64)
    target = models.ForeignKey(Target, models.CASCADE, related_name="rules", db_constraint=False)
    #: Empty: all of the project. Plain id: an environment may go while its rule stays.
    environment_id = models.CharField(max_length=32, blank=True, default="")
    #: Of `vetro.server.notices.kinds.KINDS`; empty: all.
    kinds = models.JSONField(default=list)
    #: At least how bad: of `vetro.server.notices.kinds.LEVELS`.
    least = models.CharField(max_length=16)
    created = Stamp()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["project_id", "environment_id"], name="rules_of_a_project")]


class Delivery(models.Model):
    """One notice to one target: written in the transaction of what it tells, sent by a worker, kept as history."""

    WAITING, DELIVERED, DEAD, DROPPED = "waiting", "delivered", "dead", "dropped"
    STATES: ClassVar = (WAITING, DELIVERED, DEAD, DROPPED)

    id = models.CharField(primary_key=True, max_length=40, default=new_delivery_id)
    project_id = models.CharField(max_length=64)
    target = models.ForeignKey(Target, models.CASCADE, related_name="deliveries", db_constraint=False, db_index=False)
    environment_id = models.CharField(max_length=32, blank=True, default="")
    component = models.CharField(max_length=255, blank=True, default="")
    kind = models.CharField(max_length=32)
    level = models.CharField(max_length=16)
    #: What is told: `vetro.server.notices.outbox`.
    body = EncryptedJSON()
    #: One of `STATES`. ``dropped``: the project has had its notices for a day.
    state = models.CharField(max_length=16, default=WAITING)
    #: How many changes it tells in one, beyond the first.
    folded = models.IntegerField(default=0)
    created = Stamp()
    #: From when on it may be sent, and when it is tried next.
    begins = models.DateTimeField()
    due = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    #: Who sends it at the moment, and until when nobody else does.
    owner = models.CharField(max_length=64, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    #: {text, texts}: why the last attempt failed.
    problem = models.JSONField(null=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["due"], condition=models.Q(state="waiting"), name="deliveries_that_wait"),
            models.Index(fields=["project_id", "-created", "-id"], name="deliveries_of_a_project"),
            models.Index(fields=["target", "environment_id", "component", "-begins"], name="deliveries_of_a_component"),
            models.Index(fields=["created"], name="deliveries_by_age"),
        ]
