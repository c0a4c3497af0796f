"""Tables of the environments (API.md 5 to 8, 11, 12). Models, drafts and answers are encrypted."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.functions import Lower

from vetro.server.ids import new_id
from vetro.server.secrets.encryption import EncryptedJSON


class Environment(models.Model):
    """An environment. Its object model is the newest `State`; its status follows from sessions and tasks."""

    #: An action failed: nothing of the last deployment is unfinished.
    ACTION_FAILED = "action failure"
    #: Nothing; somebody is told what a repair would do; servers that do not run are started without asking.
    REPAIRS: ClassVar = ("off", "propose", "auto")

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    project_id = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    #: Rises by one at the end of every task; sessions opened before are stale then.
    version = models.BigIntegerField(default=0)
    description_text = models.TextField(blank=True, default="")
    region = models.CharField(max_length=255, blank=True, default="")
    #: Where its servers are made, where that is not what the settings say: {kind, script}.
    cloud = models.JSONField(default=dict, db_default={})
    #: Servers that somebody stopped: id in the cloud -> {by, at}. Whoever is not among them is to run.
    stopped = models.JSONField(default=dict, db_default={})
    #: What happens when it is not as its last task left it: `REPAIRS`.
    repair = models.CharField(max_length=8, default="propose", db_default="propose")
    #: Whether `UpgradeOffer` has what its objects use; not where an earlier version of Vetro deployed it last.
    offered = models.BooleanField(default=False, db_default=False)
    #: The task that works, or worked last, on it: whether it is deploying is that task's state and nothing else.
    task_id = models.CharField(max_length=32, blank=True, default="")
    #: The procedure whose it is alone (`vetro.server.procedures`); empty: nobody's.
    procedure_id = models.CharField(max_length=32, blank=True, default="", db_default="")
    #: ``deploy failure``, ``delete failure`` or, where all was well before, `ACTION_FAILED` when the last task did not
    #: end well.
    failure = models.CharField(max_length=32, blank=True, default="")
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project_id", "name"], name="one_name_a_project")]
        # As pages list them (`vetro.server.environments.search`).
        indexes: ClassVar = [models.Index("project_id", Lower("name"), "id", name="environments_by_name")]


class Lock(models.Model):
    """Which packages were deployed, and why these: `vetro.packages.lock.Lock`. Environments that agree share it."""

    #: SHA-256 of ``body``.
    digest = models.CharField(primary_key=True, max_length=64)
    #: The document in canonical form.
    body = models.TextField()
    #: When it was last given to a state or session, roughly: what is dropped is looked for by it.
    used = models.DateTimeField(auto_now_add=True, db_index=True)


class State(models.Model):
    """A numbered state of an environment's object model: {Objects, ObjectsCopy, Attributes, SystemData}.

    ``ObjectsCopy`` is only there where what exists outside differs from ``Objects``
    (`vetro.model.environment.deployed_objects`).
    """

    environment = models.ForeignKey(Environment, models.CASCADE, related_name="states", db_index=False)
    #: The environment's version at which it became the state.
    number = models.BigIntegerField()
    model = EncryptedJSON()
    #: Object id -> {package, definition, answers, digest}: what a dynamic form was answered with.
    answers = EncryptedJSON(null=True)
    #: The packages with which it was deployed; None for the first.
    lock = models.ForeignKey(Lock, models.PROTECT, related_name="states", null=True)
    #: What made it; empty for the first.
    task_id = models.CharField(max_length=32, blank=True, default="")
    #: The first of the states that were taken back when it became as the one before that: it is a copy of that one.
    undone_of = models.BigIntegerField(null=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["environment", "number"], name="one_state_a_number")]


class Session(models.Model):
    """A draft: changes of a model that are not deployed yet (API.md 6)."""

    OPENED, DEPLOYING, DEPLOYED, FAILED = "opened", "deploying", "deployed", "deploy failure"
    DELETING, DELETE_FAILED = "deleting", "delete failure"

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    environment = models.ForeignKey(Environment, models.CASCADE, related_name="sessions", db_index=False)
    user_id = models.CharField(max_length=64)
    state = models.CharField(max_length=32, default=OPENED)
    #: The environment's version when it was opened.
    version = models.BigIntegerField()
    #: {Objects}: the model as it is to become; None while nothing was changed: then it is the environment's.
    draft = EncryptedJSON(null=True)
    answers = EncryptedJSON(null=True)
    #: The packages that it is to be deployed with; None: those of the environment, and newer ones for what is new.
    lock = models.ForeignKey(Lock, models.PROTECT, related_name="sessions", null=True)
    #: {report, base, attributes} of a draft that moves objects to other versions (`upgrades`).
    upgrade = EncryptedJSON(null=True)
    #: Rises with each change of the draft: optimistic locking.
    revision = models.BigIntegerField(default=0)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        indexes: ClassVar = [
            # Neither the time of the last change nor the state: where a column of an index changes, PostgreSQL writes
            # all indexes.
            models.Index(fields=["environment", "version"], name="sessions_of_a_version"),
        ]


class EnvironmentPackage(models.Model):
    """A package of the newest lock of an environment: what its next task uses, too, unless it is replaced."""

    environment = models.ForeignKey(Environment, models.CASCADE, related_name="packages")
    fqn = models.CharField(max_length=512)
    version = models.CharField(max_length=128)
    digest = models.CharField(max_length=64, db_index=True)


class UpgradeOffer(models.Model):
    """A package of an environment's objects, and the newest release of it that the project sees (`offers`)."""

    environment = models.ForeignKey(
        Environment, models.CASCADE, related_name="offers", db_index=False, db_constraint=False
    )
    package = models.CharField(max_length=512, db_index=True)
    #: The versions that objects have: the lowest, the highest.
    lowest = models.CharField(max_length=128)
    highest = models.CharField(max_length=128)
    #: What is newer, and its name for people; empty: nothing is.
    to = models.CharField(max_length=128, blank=True, default="")
    name = models.CharField(max_length=255, blank=True, default="")
    #: ``patch``, ``minor`` or ``breaking``, by the numbers; what was found when it came (`catalog.compatibility`).
    bump = models.CharField(max_length=8, blank=True, default="")
    verdict = models.CharField(max_length=16, blank=True, default="")
    #: Whether something that is new since then makes it safer.
    security = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["environment", "package"], name="one_offer_a_package")]


class Template(models.Model):
    """An environment template (API.md 11). ``services`` is the list of its applications."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    project_id = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    version = models.BigIntegerField(default=0)
    is_public = models.BooleanField(default=False)
    description_text = models.TextField(blank=True, default="")
    #: What else was given at creation, and ``services``.
    model = EncryptedJSON()
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project_id", "name"], name="one_template_a_name")]


class InstanceUsage(models.Model):
    """How long an instance was there (API.md 12; effect ``track``)."""

    environment = models.ForeignKey(Environment, models.CASCADE, related_name="usage", db_index=False)
    instance_id = models.CharField(max_length=255)
    instance_type = models.IntegerField(default=0)
    type_name = models.CharField(max_length=255, blank=True, default="")
    type_title = models.CharField(max_length=255, blank=True, default="")
    unit_count = models.IntegerField(null=True)
    tenant_id = models.CharField(max_length=64, blank=True, default="")
    created = models.DateTimeField()
    destroyed = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "instance_id", "created"], name="one_usage")
        ]
