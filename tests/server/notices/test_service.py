"""Targets, rules and deliveries through /v2: what is told once, what is told never, whose they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.server.notices.conftest import Notices
from tests.server.notices.receivers import WebReceiver
from vetro.server import setup
from vetro.server.audit.models import AuditRecord
from vetro.server.notices import service
from vetro.server.notices.models import Delivery, Rule, Target
from vetro.server.quotas import limits

pytestmark = pytest.mark.django_db

HOOK = {"name": "ops", "kind": "webhook", "url": "https://ops.example.com/T0/TOKEN"}


def added(person: Any, **fields: Any) -> dict[str, Any]:
    answer = person.post("/v2/notices/targets", {**HOOK, **fields})
    assert answer.status_code == 201, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_target_is_made_shown_changed_and_removed(ann: Any) -> None:
    made = added(ann)
    assert made["secret"].startswith("whsec_") and (made["url"], made["enabled"]) == (HOOK["url"], True)
    (shown,) = ann.get("/v2/notices/targets").json()["items"]
    assert "secret" not in shown and shown["secrets"] == 1
    changed = ann.patch(f"/v2/notices/targets/{made['id']}", {"name": "new", "enabled": False, "language": "de"}).json()
    assert (changed["name"], changed["enabled"], changed["language"]) == ("new", False, "de")
    assert ann.delete(f"/v2/notices/targets/{made['id']}").status_code == 204
    assert ann.get(f"/v2/notices/targets/{made['id']}").status_code == 404
    actions = list(AuditRecord.objects.order_by("id").values_list("action", flat=True))
    assert actions == ["notice.target.added", "notice.target.changed", "notice.target.removed"]


def test_who_changes_a_target_keeps_the_secret_that_somebody_makes_meanwhile(
    ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The secret that was exchanged, because it was known, was valid again, and the new one was not."""
    made, new = added(ann), []

    def name(text: str) -> str:
        new.append(service.rotate_secret(ann.caller, made["id"], 0))
        return text

    monkeypatch.setattr(service, "_name", name)
    assert ann.patch(f"/v2/notices/targets/{made['id']}", {"name": "new"}).json()["name"] == "new"
    assert Target.objects.get().keys[0]["key"] == new[0]


def test_what_somebody_removes_meanwhile_stays_away(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = added(ann)
    rule = ann.post("/v2/notices/rules", {"target_id": made["id"]}).json()
    fill = service._fill

    def filled(caller: Any, row: Rule, given: Any) -> None:
        service.remove_rule(caller, row.id)
        fill(caller, row, given)

    def name(text: str) -> str:
        service.remove_target(ann.caller, made["id"])
        return text

    monkeypatch.setattr(service, "_fill", filled)
    monkeypatch.setattr(service, "_name", name)
    assert ann.patch(f"/v2/notices/rules/{rule['id']}", {"least": "error"}).status_code == 404
    assert ann.patch(f"/v2/notices/targets/{made['id']}", {"name": "new"}).status_code == 404
    assert not Rule.objects.exists() and not Target.objects.exists()


@pytest.mark.attack("secrets", "notices")
def test_secrets_are_told_once_and_stored_as_ciphertext(ann: Any) -> None:
    made = added(ann)
    room = ann.post("/v2/notices/targets", {"name": "room", "kind": "chat", "url": HOOK["url"]}).json()
    new = ann.post(f"/v2/notices/targets/{made['id']}/secret", {"hours": 1}).json()["secret"]
    assert new.startswith("whsec_") and new != made["secret"]
    assert room["url"] == "https://ops.example.com/…" and room["secret"] is None
    shown = ann.get("/v2/notices/targets").content + ann.get(f"/v2/notices/targets/{room['id']}").content
    shown += ann.get("/v2/audit").content
    assert b"whsec" not in shown and b"TOKEN" not in ann.get(f"/v2/notices/targets/{room['id']}").content
    with connection.cursor() as cursor:
        cursor.execute("SELECT settings, keys FROM notices_target")
        for row in cursor.fetchall():
            for value in row:
                assert value is None or (b"TOKEN" not in bytes(value) and b"whsec" not in bytes(value))


def test_names_are_unique_in_a_project(ann: Any, eve: Any) -> None:
    added(ann)
    assert ann.post("/v2/notices/targets", HOOK).status_code == 409
    added(eve)
    other = added(ann, name="other")
    assert ann.patch(f"/v2/notices/targets/{other['id']}", {"name": "ops"}).status_code == 409


@pytest.mark.attack("routes", "notices")
def test_others_find_nothing(ann: Any, eve: Any, people: Any) -> None:
    target = added(ann)["id"]
    rule = ann.post("/v2/notices/rules", {"target_id": target}).json()["id"]
    notice = ann.post(f"/v2/notices/targets/{target}/test").json()["id"]
    for path in ("targets", "rules", "deliveries"):
        assert eve.get(f"/v2/notices/{path}").json()["items"] == []
        assert people(f"reader-{path}", "demo", "reader").get(f"/v2/notices/{path}").status_code == 403
    tries = [
        eve.get(f"/v2/notices/targets/{target}"), eve.patch(f"/v2/notices/targets/{target}", {"enabled": False}),
        eve.delete(f"/v2/notices/targets/{target}"), eve.post(f"/v2/notices/targets/{target}/test"),
        eve.post(f"/v2/notices/targets/{target}/secret", {}), eve.post("/v2/notices/rules", {"target_id": target}),
        eve.patch(f"/v2/notices/rules/{rule}", {"least": "error"}), eve.delete(f"/v2/notices/rules/{rule}"),
        eve.get(f"/v2/notices/deliveries/{notice}"),
    ]  # fmt: skip
    assert [answer.status_code for answer in tries] == [404] * len(tries)
    assert eve.get("/v2/notices/deliveries", data={"target": target}).json()["items"] == []


@pytest.mark.attack("routes", "notices")
def test_no_rule_listens_to_an_environment_of_others(ann: Any, eve: Any, root: Any) -> None:
    theirs = eve.post("/v2/environments", {"name": "theirs"}).json()["id"]
    for one in (ann, root):
        target = added(one)["id"]
        given = {"target_id": target, "environment_id": theirs}
        assert one.post("/v2/notices/rules", given).status_code == 404
        rule = one.post("/v2/notices/rules", {"target_id": target}).json()["id"]
        assert one.patch(f"/v2/notices/rules/{rule}", {"environment_id": theirs}).status_code == 404


def test_a_rule_is_made_shown_changed_and_removed(ann: Any) -> None:
    target = added(ann)["id"]
    environment = ann.post("/v2/environments", {"name": "shop"}).json()["id"]
    given = {"target_id": target, "environment_id": environment, "kinds": ["health.changed"], "least": "warning"}
    made = ann.post("/v2/notices/rules", given).json()
    assert (made["target"], made["environment"], made["kinds"]) == ("ops", "shop", ["health.changed"])
    changed = ann.patch(f"/v2/notices/rules/{made['id']}", {"environment_id": "", "kinds": []}).json()
    assert (changed["environment_id"], changed["kinds"], changed["least"]) == (None, [], "warning")
    assert ann.get(f"/v2/notices/targets/{target}").json()["rules"] == 1
    assert ann.delete(f"/v2/notices/rules/{made['id']}").status_code == 204
    assert ann.get("/v2/notices/rules").json()["items"] == []
    for wrong in ({"kinds": ["rain"]}, {"least": "bad"}, {"target_id": "x"}):
        assert ann.post("/v2/notices/rules", {"target_id": target, **wrong}).status_code in (400, 404)


def test_with_a_target_go_its_rules_and_deliveries(ann: Any) -> None:
    target = added(ann)["id"]
    ann.post("/v2/notices/rules", {"target_id": target})
    ann.post(f"/v2/notices/targets/{target}/test")
    ann.delete(f"/v2/notices/targets/{target}")
    assert not Rule.objects.exists() and not Delivery.objects.exists()


def test_a_test_is_sent_at_once_also_to_a_target_that_failed(
    ann: Any, receiver: WebReceiver, deliver: Callable[..., int]
) -> None:
    target = added(ann, url=receiver.url)["id"]
    receiver.answer = lambda: 500
    first = ann.post(f"/v2/notices/targets/{target}/test").json()
    deliver()
    assert ann.get(f"/v2/notices/targets/{target}").json()["failing"] == "the receiver answered 500"
    receiver.answer = lambda: 200
    second = ann.post(f"/v2/notices/targets/{target}/test").json()
    deliver()
    assert ann.get(f"/v2/notices/deliveries/{second['id']}").json()["state"] == "delivered"
    assert ann.get(f"/v2/notices/deliveries/{first['id']}").json()["state"] == "waiting"
    assert ann.get(f"/v2/notices/targets/{target}").json()["failing"] is None
    ann.patch(f"/v2/notices/targets/{target}", {"enabled": False})
    assert ann.post(f"/v2/notices/targets/{target}/test").status_code == 409


def test_dead_notices_leave_a_mark_and_who_mends_the_target_has_the_others_tried_at_once(
    notices: Notices, ann: Any, receiver: WebReceiver, deliver: Callable[..., int]
) -> None:
    id = notices.webhook("https://10.0.0.1/")
    notices.task()
    notices.task()
    deliver()
    row = Delivery.objects.order_by("created").first()
    assert row is not None
    Delivery.objects.filter(id=row.id).update(state="dead")
    shown = ann.get(f"/v2/notices/targets/{id}").json()
    assert shown["dead"] == 1 and shown["failing"]
    ann.patch(f"/v2/notices/targets/{id}", {"url": receiver.url})
    assert deliver() == 1
    assert ann.get(f"/v2/notices/targets/{id}").json()["failing"] is None


def test_deliveries_are_listed_in_parts_the_newest_first(notices: Notices, ann: Any) -> None:
    target = notices.webhook("https://ops.example.com/")
    for _ in range(5):
        notices.task()
    found: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": 2, "state": "waiting", "target": target, **({"cursor": cursor} if cursor else {})}
        answer = ann.get("/v2/notices/deliveries", data=query).json()
        found += [item["id"] for item in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            break
    rows = Delivery.objects.order_by("-created", "-id").values_list("id", flat=True)
    assert found == list(rows) and len(found) == 5
    first = ann.get("/v2/notices/deliveries").json()["items"][0]
    assert first["title"] == "Environment 'shop' is deployed"
    assert ann.get("/v2/notices/deliveries", data={"cursor": "x"}).status_code == 400


@pytest.mark.attack("quotas", "notices")
def test_quotas(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {"quotas.notice_targets": 1, "quotas.notice_rules": 1, "quotas.notices": 1}
    monkeypatch.setattr(setup, "_current", setup.config().changed(changed))
    limits.forget()
    target = added(ann)["id"]
    assert ann.post("/v2/notices/targets", {**HOOK, "name": "b"}).json()["error"]["code"] == "SRV550"
    assert ann.post("/v2/notices/rules", {"target_id": target}).status_code == 201
    assert ann.post("/v2/notices/rules", {"target_id": target}).json()["error"]["code"] == "SRV550"
    assert ann.post(f"/v2/notices/targets/{target}/test").status_code == 201
    assert ann.post(f"/v2/notices/targets/{target}/test").json()["error"]["code"] == "SRV550"
    used = {row["name"]: row["used"] for row in ann.get("/v2/quotas").json()["quotas"]}
    assert (used["notice_targets"], used["notice_rules"], used["notices"]) == (1, 1, 1)
    assert Target.objects.count() == 1


def test_mail_needs_a_relay(ann: Any) -> None:
    answer = ann.post("/v2/notices/targets", {"name": "m", "kind": "mail", "to": ["a@example.com"]})
    assert answer.status_code == 400 and "notices.mail_host" in answer.json()["error"]["hint"]
