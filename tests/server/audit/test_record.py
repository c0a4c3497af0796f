"""Audit records hold whatever name a client sends."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.audit.models import AuditRecord
from vetro.server.audit.record import record
from vetro.server.tasks.models import Task


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sent", "kept"), [("a\0b", "a\ufffdb"), ("a\ud800b", "a?b"), ("x" * 300, "x" * 255), ("ä…😀", "ä…😀")]
)
def test_names_that_no_database_holds(ann: Any, sent: str, kept: str) -> None:
    record(ann.caller, "task.call", "t1", sent)
    assert AuditRecord.objects.get(target_id="t1").target_name == kept


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["a\0b", "\ud800"])
def test_a_static_action_of_such_a_name_is_refused(ann: Any, method: str) -> None:
    body = {"className": "io.murano.Object", "methodName": method, "parameters": {}}
    assert ann.post("/v1/actions", body).status_code == 400
    assert not Task.objects.exists()
    assert not AuditRecord.objects.filter(action="task.call").exists()
