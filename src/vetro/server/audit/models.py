"""The table of audit records; `vetro.server.audit.record` writes it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class AuditRecord(models.Model):
    """One write. ``details`` never holds models, passwords or tokens."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    project_id = models.CharField(max_length=64)
    user_id = models.CharField(max_length=64)
    user_name = models.CharField(max_length=255, blank=True, default="")
    #: ``environment.deploy``, ``package.import``, ``token.create``…
    action = models.CharField(max_length=64)
    target_id = models.CharField(max_length=64, blank=True, default="")
    target_name = models.CharField(max_length=255, blank=True, default="")
    address = models.CharField(max_length=64, blank=True, default="")
    details = models.JSONField(default=dict)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["project_id", "at"]),
            models.Index(fields=["target_id", "at"]),
            # A project's newest records, without sorting all of them.
            models.Index(fields=["project_id", "id"], name="audit_of_project"),
        ]
