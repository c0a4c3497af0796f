"""Tables of impact. What is told of environments is encrypted, as their models are."""

from __future__ import annotations

from typing import ClassVar, Final

from django.db import models

from vetro.packages.lock import LockedPackage
from vetro.server.ids import new_id
from vetro.server.secrets.encryption import EncryptedJSON
from vetro.server.tasks.clock import Stamp

#: Days for which an archive that came with a question is kept.
ARCHIVE_DAYS: Final = 7


class Impact(models.Model):
    """A question: what one version of a package would change. Dropped after `service.DAYS`."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    project_id = models.CharField(max_length=64)
    user_id = models.CharField(max_length=64)
    fqn = models.CharField(max_length=512)
    version = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    #: Bytes of the archive that was sent with it, as long as it is kept; 0: of a package of the catalog.
    size = models.BigIntegerField(default=0, db_default=0)
    #: Whether environments of other projects were looked at, too.
    all_projects = models.BooleanField(default=False)
    engine = models.CharField(max_length=64)
    created = Stamp(db_index=True)

    def locked(self) -> LockedPackage:
        """The archive as a lock names it; no catalog needs to have it."""
        return LockedPackage(self.fqn, self.version, self.digest, "environment")

    class Meta:
        indexes: ClassVar = [models.Index(fields=["project_id", "digest", "-created"], name="impact_of_a_package")]


class Entry(models.Model):
    """What it would change in one environment."""

    impact = models.ForeignKey(Impact, models.CASCADE, related_name="entries")
    #: Plain ids: what was found out outlives the environment.
    environment_id = models.CharField(max_length=32)
    project_id = models.CharField(max_length=64)
    task_id = models.CharField(max_length=32, blank=True, default="")
    #: One of `groups.GROUPS`; empty until it was looked at.
    group = models.CharField(max_length=16, blank=True, default="")
    #: The state that it was looked at in, and the digest of its lock.
    number = models.BigIntegerField(default=0)
    lock = models.CharField(max_length=64, blank=True, default="")
    #: `groups.EnvironmentImpact.detail`.
    detail = EncryptedJSON(null=True)
    #: The plans with the version that it has and with this one: {old, new}.
    plans = EncryptedJSON(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["impact", "environment_id"], name="one_entry_an_environment")
        ]
        indexes: ClassVar = [models.Index(fields=["impact", "group"], name="groups_of_an_impact")]


class PlanCache(models.Model):
    """The plan of an environment as it is; of the same state, packages, engine and cloud it is the same."""

    #: SHA-256 of all that it follows from.
    key = models.CharField(primary_key=True, max_length=64)
    environment_id = models.CharField(max_length=32, db_index=True)
    plan = EncryptedJSON()
    created = Stamp(db_index=True)
