"""Environments: create, list, show, rename."""

from __future__ import annotations

from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from vetro.server.environments import drafts, service, sessions
from vetro.server.errors import Conflict, Forbidden, Invalid, NotFound

pytestmark = pytest.mark.database


def names(person: Any, **options: Any) -> list[str]:
    return [name for part in service.list_all(person.caller, **options) for _, name, *_ in part]


def test_what_is_given_is_echoed_and_kept_in_the_model(ann: Any) -> None:
    made = service.create(ann.caller, {"name": "e", "custom": {"a": 1}, "region": "R", "description_text": "d"})
    assert (made["name"], made["custom"], made["region"], made["version"]) == ("e", {"a": 1}, "R", 0)
    assert made["tenant_id"] == ann.caller.project_id
    model = drafts.model(ann.caller, made["id"], ())
    assert model["custom"] == {"a": 1}
    assert model["?"] == {"id": made["id"], "type": "io.murano.Environment", "metadata": {}}


def test_networks_that_are_given_are_kept(ann: Any) -> None:
    made = service.create(ann.caller, {"name": "e", "defaultNetworks": {"environment": None, "flat": None}})
    assert drafts.model(ann.caller, made["id"], ["defaultNetworks"]) == {"environment": None, "flat": None}


@pytest.mark.parametrize(
    "bad",
    [
        {"name": "e", "id": "mine"},
        {"name": "e", "version": 7},
        {"name": "e", "region": 5},
        {"name": "e", "defaultNetworks": 5},
        {"name": "e", "services": 5},
        {"name": "e", "services": [5]},
        {"name": "e", "applications": []},
        {"name": "e", "description_text": ["x"]},
        [],
        "text",
    ],
)
def test_bad_requests_make_nothing(ann: Any, bad: Any) -> None:
    with pytest.raises(Invalid):
        service.create(ann.caller, bad)
    assert names(ann) == []


def test_a_name_is_there_once_in_a_project(ann: Any, eve: Any) -> None:
    service.create(ann.caller, {"name": "e"})
    with pytest.raises(Conflict):
        service.create(ann.caller, {"name": "e"})
    service.create(eve.caller, {"name": "e"})
    other = service.create(ann.caller, {"name": "f"})
    with pytest.raises(Conflict):
        service.rename(ann.caller, other["id"], {"name": "e"})
    assert names(ann) == ["e", "f"]


def test_listing_takes_one_query_however_much_there_is(ann: Any, django_assert_num_queries: Any) -> None:
    for number in range(5):
        made = service.create(ann.caller, {"name": f"e{number}"})
        for _ in range(number):
            sessions.open_session(ann.caller, made["id"])
    with django_assert_num_queries(1):
        listed = [row for part in service.list_all(ann.caller) for row in part]
    assert [row[-1] for row in listed] == ["ready", *["pending"] * 4]


def test_showing_takes_one_query(ann: Any, django_assert_num_queries: Any) -> None:
    made = service.create(ann.caller, {"name": "e"})
    with django_assert_num_queries(1) as queries:
        drafts.show(ann.caller, made["id"])
    assert isinstance(queries, CaptureQueriesContext)


def test_other_projects_are_for_administrators(ann: Any, eve: Any, root: Any) -> None:
    service.create(ann.caller, {"name": "hers"})
    assert names(eve) == []
    for options in ({"all_tenants": True}, {"tenant": ann.caller.project_id}):
        with pytest.raises(Forbidden):
            service.list_all(eve.caller, **options)
        assert names(root, **options) == ["hers"]
    assert names(root) == []


def test_renaming_changes_the_name_and_not_the_model(ann: Any) -> None:
    made = service.create(ann.caller, {"name": "e"})
    assert service.rename(ann.caller, made["id"], {"name": "f", "description": "x"})["name"] == "f"
    assert drafts.model(ann.caller, made["id"], ["name"]) == "e"
    with pytest.raises(NotFound):
        service.rename(ann.caller, made["id"], {})
    for bad in ({"name": " "}, {"name": 5}, {"name": "x" * 256}, [], None):
        with pytest.raises(Invalid):
            service.rename(ann.caller, made["id"], bad)


def test_every_write_is_audited_and_announced(ann: Any) -> None:
    from vetro.server.audit.models import AuditRecord
    from vetro.server.tasks.models import Event

    made = service.create(ann.caller, {"name": "e"})
    service.rename(ann.caller, made["id"], {"name": "f"})
    records = list(AuditRecord.objects.order_by("id").values_list("action", "user_id", "target_id"))
    assert records == [
        ("environment.create", ann.caller.user_id, made["id"]),
        ("environment.rename", ann.caller.user_id, made["id"]),
    ]
    assert [e.data["change"] for e in Event.objects.order_by("seq")] == ["created", "renamed"]
