"""The limits of single projects; all others have those of the settings (``quotas.NAME``)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class ProjectQuota(models.Model):
    """A limit that an administrator set for a project. Plain id: with Keystone projects are in no table."""

    project_id = models.CharField(max_length=64)
    #: Of `vetro.clouds.quotas.QUOTAS`.
    name = models.CharField(max_length=32)
    #: -1: no limit.
    most = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project_id", "name"], name="one_quota_a_project")]
