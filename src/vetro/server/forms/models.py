"""Tables of the form session."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from vetro.server.ids import new_id
from vetro.server.secrets.encryption import EncryptedJSON


class FormDraft(models.Model):
    """A form that somebody is filling in. It belongs to one person and goes away with its session or environment."""

    #: TRY: as ADD, but nothing is ever made of it. ENDED: it was finished; nothing is left but its id, so that answers
    #: which come once more, to the address that it had before its first ones, do not do the same again.
    ADD, EDIT, ACTION, STATIC, TRY, ENDED = "add", "edit", "action", "static", "try", "ended"

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    project_id = models.CharField(max_length=64)
    user_id = models.CharField(max_length=64)
    environment = models.ForeignKey("environments.Environment", models.CASCADE, null=True, related_name="forms")
    session = models.ForeignKey("environments.Session", models.CASCADE, null=True, related_name="forms")
    purpose = models.CharField(max_length=16)
    title = models.CharField(max_length=255)
    #: {subject, source, sources, reason, base, works: {source: work}}; see `vetro.server.forms.drafts`.
    content = EncryptedJSON()
    #: Rises with each change.
    revision = models.BigIntegerField(default=0)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True, db_index=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["project_id", "user_id", "updated"], name="form_by_person")]
