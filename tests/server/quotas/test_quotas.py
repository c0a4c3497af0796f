"""Quotas of projects through the doors of the service: refused, shown, set, by whom and how often at once."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.server.catalog.archives import archive
from vetro.clouds.quotas import QUOTAS
from vetro.engine.worker.journal import Note
from vetro.server import setup
from vetro.server.audit.models import AuditRecord
from vetro.server.catalog import standard_packages
from vetro.server.environments.models import Environment, Session
from vetro.server.errors import Forbidden
from vetro.server.quotas import enforcement, limits, service
from vetro.server.quotas.models import ProjectQuota
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import JournalNote, Report, Task

pytestmark = [pytest.mark.database, pytest.mark.django_db, pytest.mark.attack("quotas", "H3")]

MIB = 1 << 20


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    limits.forget()
    enforcement.forget()


@pytest.fixture
def allow(root: Any) -> Callable[..., Any]:
    """Sets limits of project demo, as an administrator does."""

    def allow(**quotas: int | None) -> Any:
        answer = root.patch("/v2/admin/projects/demo/quotas", {"quotas": quotas})
        assert answer.status_code == 200, answer.content
        return {row["name"]: row for row in answer.json()["quotas"]}

    return allow


def file(data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("x.zip", data, "application/zip")


def own(person: Any) -> dict[str, Any]:
    return {row["name"]: row for row in person.get("/v2/quotas").json()["quotas"]}


def refused(answer: Any, status: int, quota: str) -> dict[str, Any]:
    """The answer says which quota it was, what is used, and what was asked."""
    assert answer.status_code == status, answer.content
    error: dict[str, Any] = answer.json()["error"]
    assert error["details"]["quota"] == quota
    assert error["message"].startswith(f"Quota '{quota}': project '") and f"{quota}=NUMBER" in error["message"]
    return error["details"]  # type: ignore[no-any-return]


# -- what is refused --


def test_environments(ann: Any, bob: Any, eve: Any, allow: Any) -> None:
    allow(environments=2)
    made = [ann.post("/v2/environments", {"name": f"e{number}"}).json()["id"] for number in range(2)]
    details = refused(bob.post("/v2/environments", {"name": "e3"}), 403, "environments")
    assert details == {"quota": "environments", "used": 2, "asked": 1, "limit": 2, "unit": ""}
    refused(ann.post(f"/v2/environments/{made[0]}/clone", {"name": "e4"}), 403, "environments")
    template = ann.post("/v2/templates", {"name": "t"}).json()["id"]
    refused(ann.post(f"/v2/templates/{template}/create-environment", {"name": "e5"}), 403, "environments")
    archived = ann.get(f"/v2/environments/{made[0]}/export").getvalue()
    answer = ann._client.post("/v2/environments/import", {"archive": file(archived), "name": "e6"})
    refused(answer, 403, "environments")
    assert Environment.objects.count() == 2 and own(ann)["environments"]["used"] == 2
    assert eve.post("/v2/environments", {"name": "theirs"}).status_code == 201
    assert ann.delete(f"/v2/environments/{made[0]}").status_code == 200
    assert ann.post("/v2/environments", {"name": "e7"}).status_code == 201


def test_v1_answers_in_its_form(ann: Any, allow: Any) -> None:
    allow(environments=0)
    answer = ann.post("/v1/environments", {"name": "one"})
    assert (
        answer.status_code == 403 and b"Quota &#x27;environments" in answer.content
    ) or b"Quota 'env" in answer.content


def test_packages_and_their_archives(ann: Any, eve: Any, allow: Any) -> None:
    allow(packages=1)
    standard_packages.ensure()

    def bring(person: Any, name: str) -> Any:
        return person._client.post("/v2/packages", {"archive": [file(archive(name))]})

    assert bring(ann, "com.a.One").status_code == 201
    refused(bring(ann, "com.a.Two"), 403, "packages")
    allow(packages=-1, archives=0)
    refused(bring(ann, "com.a.Two"), 413, "archives")
    assert bring(eve, "com.a.Two").status_code == 201
    allow(archives=1)
    assert bring(ann, "com.a.Three").status_code == 201
    assert own(ann)["packages"]["used"] == 2 and 0 < own(ann)["archives"]["used"] < 1


def big(size: int) -> dict[str, Any]:
    return {"?": {"id": "big", "type": "io.murano.Nothing"}, "text": secrets.token_hex(size)}


def draft_of(person: Any, environment: str) -> str:
    return str(person.post(f"/v2/environments/{environment}/sessions").json()["id"])


def test_states_and_drafts(ann: Any, allow: Any) -> None:
    from vetro.server.environments import drafts, sessions

    made = ann.post("/v2/environments", {"name": "e"}).json()["id"]
    allow(states=1)
    one, two = (sessions.open_session(ann.caller, made).id for _ in range(2))
    drafts.put_services(ann.caller, made, one, (), [big(400_000)])
    with pytest.raises(enforcement.QuotaFull, match=r"has 0.* of 1 MiB"):
        drafts.put_services(ann.caller, made, two, (), [big(400_000)])
    assert Session.objects.get(id=two).draft is None
    drafts.put_services(ann.caller, made, one, (), [big(350_000)])  # less than before is always possible
    drafts.remove_services(ann.caller, made, one, ())
    enforcement.forget()
    drafts.put_services(ann.caller, made, two, (), [big(400_000)])
    allow(states=0)
    with pytest.raises(enforcement.QuotaFull):
        drafts.put_services(ann.caller, made, two, (), [big(450_000)])
    refused(ann.post("/v2/environments", {"name": "more"}), 413, "states")
    refused(ann.post("/v2/templates", {"name": "t"}), 413, "states")


def test_waiting_tasks(ann: Any, eve: Any, allow: Any) -> None:
    from vetro.server.tasks.queue import cancel, enqueue, retry

    allow(tasks=2)
    tasks = [enqueue(ann.caller, "static") for _ in range(2)]
    with pytest.raises(enforcement.QuotaBusy, match="has 2 of 2"):
        enqueue(ann.caller, "static")
    enqueue(eve.caller, "static")
    cancel(ann.caller, tasks[0].id)
    retry(ann.caller, tasks[0].id)
    with pytest.raises(enforcement.QuotaBusy):
        retry(ann.caller, tasks[0].id)
    made = ann.post("/v2/environments", {"name": "e"}).json()["id"]
    draft = ann.post(f"/v2/environments/{made}/sessions").json()["id"]
    details = refused(ann.post(f"/v2/sessions/{draft}/deploy"), 429, "tasks")
    assert details["used"] == 2 and Task.objects.filter(environment_id=made).count() == 0


def note(number: int, size: int, kind: str = "report") -> Note:
    return Note(f"0/{number}", kind, {"id": "o", "text": "x" * size, "level": "error"}, "", 1.0)


def test_reports_are_left_out_with_one_line_that_says_so(ann: Any, eve: Any, allow: Any) -> None:
    allow(logs=1)
    for person, kept in ((ann, 2), (eve, 6)):
        task = Task.objects.create(project_id=person.caller.project_id, user_id="u", kind="static", spec={})
        journal = DbJournal(task.id, Task.objects.filter(id=task.id).update)
        journal.begin({}, "engine", 1.0)
        for number in range(6):
            journal.note(note(number, 400_000))
            journal.note(Note(f"0/t{number}", "track", {"n": number}, "", 1.0))
            journal.commit()
        lines = list(Report.objects.filter(task=task).order_by("seq"))
        said = [line for line in lines if "Quota 'logs'" in str(line.text)]
        assert (len(lines) - len(said), len(said)) == (kept, 0 if person is eve else 1)
        # What counts and what the engine asks for again is all there.
        assert JournalNote.objects.filter(task=task, kind="track").count() == 6
    assert 0.7 < own(ann)["logs"]["used"] < 1 and own(eve)["logs"]["used"] > 2


def test_streams_of_a_project(allow: Any, ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server.requests.streams import event_stream

    allow(streams=2)
    open_ones: list[Any] = [event_stream(lambda: iter([b"x"]), ann.caller.project_id) for _ in range(3)]
    assert [one.streaming for one in open_ones] == [True, True, False]
    for one in open_ones:
        one.close()


def test_limits_reach_the_effects_host_as_numbers(ann: Any, allow: Any) -> None:
    from vetro.server.tasks import plan, spec

    allow(servers=7, disk=-1)
    task = Task(id="t", project_id=ann.caller.project_id, kind="plan", spec={})
    found = spec.host_config(setup.config(), task)["cloud"]["quotas"]
    assert found["servers"] == 7 and found["disk"] == -1 and found["addresses"] == QUOTAS["addresses"].default
    assert "environments" not in found
    planned = plan.host_config(setup.config(), task, "/nowhere")["cloud"]["real"]["quotas"]
    assert planned == found


# -- at once --


@pytest.mark.django_db(transaction=True)
def test_the_last_place_is_taken_once(ann: Any, root: Any) -> None:
    """Eight requests at the same moment, three places."""
    root.patch("/v2/admin/projects/demo/quotas", {"quotas": {"environments": 3}})
    line, answers = threading.Barrier(8), []

    def ask(number: int) -> None:
        try:
            line.wait()
            client = Client(headers={"x-auth-token": ann.token})
            status = 503  # SQLite in memory, as tests have it, lets others not wait
            while status == 503:
                made = client.post("/v2/environments", {"name": f"e{number}"}, content_type="application/json")
                status = made.status_code
            answers.append(status)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [201] * 3 + [403] * 5
    assert Environment.objects.count() == 3


def test_counting_costs_the_same_however_much_there_is(ann: Any) -> None:
    counts = []
    for names in (range(2), range(2, 60)):
        for number in names:
            ann.post("/v2/environments", {"name": f"e{number}"})
        with CaptureQueriesContext(
            connection,
        ) as queries:
            enforcement.check(ann.caller.project_id, "environments")
            enforcement.check_model(ann.caller.project_id, {}, 100)
        counts.append(len([q for q in queries if "advisory" not in q["sql"]]))
    assert counts[1] <= counts[0] <= 2


# -- who sees and sets them --


def test_members_see_their_own_and_administrators_all(ann: Any, eve: Any, root: Any, people: Any) -> None:
    shown = own(people("rea", "demo", "reader"))
    assert set(shown) == set(QUOTAS)
    assert shown["servers"] == {
        "name": "servers", "meaning": "servers", "unit": "", "used": 0, "limit": 500, "default": 500, "own": False,
    }  # fmt: skip
    assert shown["streams"]["used"] is None and shown["memory"]["unit"] == "MiB"
    answer = root.get("/v2/admin/projects/demo/quotas").json()
    assert answer["project"] == "demo" and answer["project_id"] == ann.caller.project_id
    for person in (ann, eve):
        assert person.get("/v2/admin/projects/demo/quotas").status_code == 403
        assert person.get(f"/v2/admin/projects/{eve.caller.project_id}/quotas").status_code == 403
        with pytest.raises(Forbidden):
            service.shown(person.caller, "another")


def test_a_member_does_not_raise_his_own(ann: Any, eve: Any, people: Any) -> None:
    for person in (ann, eve, people("rea", "demo", "reader")):
        for project in ("demo", ann.caller.project_id, "others", "../demo", "nowhere"):
            answer = person.patch(f"/v2/admin/projects/{project}/quotas", {"quotas": {"servers": 9999}})
            assert answer.status_code in (403, 404), (project, answer.status_code)
        assert person.patch("/v2/quotas", {"quotas": {"servers": 9999}}).status_code == 405
    assert ProjectQuota.objects.count() == 0


@pytest.mark.parametrize(
    "body",
    [
        '{"quotas": {"servers": -2}}', '{"quotas": {"servers": 1.5}}', '{"quotas": {"servers": NaN}}',
        '{"quotas": {"servers": Infinity}}', '{"quotas": {"servers": 1e400}}', '{"quotas": {"servers": "many"}}',
        '{"quotas": {"servers": 9007199254740993}}', '{"quotas": {"servers": 1%s}}' % ("0" * 400),
        '{"quotas": {"server": 1}}', '{"quotas": {"servers": true}}', '{"quotas": [1]}', '{"quotas": null}', "{}",
        '{"quotas": {"servers": 5, "": 1}}', '{"quotas": {"servers": 5}, "project": "x"}',
        '{"quotas": {"servers": []}}',
        '{"quotas": {"servers": {"most": 1}}}', '{"quotas": {"__class__": 1}}',
    ],
)  # fmt: skip
def test_limits_that_are_none_are_refused_whole(ann: Any, root: Any, body: str) -> None:
    client = Client(headers={"x-auth-token": root.token})
    answer = client.patch("/v2/admin/projects/demo/quotas", body, content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert ProjectQuota.objects.count() == 0


def test_limits_are_set_unset_and_recorded(ann: Any, root: Any, allow: Any) -> None:
    rows = allow(servers=20, memory=-1)
    assert (rows["servers"]["limit"], rows["servers"]["own"], rows["memory"]["limit"]) == (20, True, None)
    assert own(ann)["servers"]["limit"] == 20 and limits.limit(ann.caller.project_id, "servers") == 20
    rows = allow(servers=None)
    assert (rows["servers"]["limit"], rows["servers"]["own"], rows["memory"]["limit"]) == (500, False, None)
    record = AuditRecord.objects.filter(action="project.quota").order_by("id").first()
    assert record is not None and record.target_id == ann.caller.project_id
    assert record.details == {"servers": 20, "memory": -1}
    assert root.patch("/v2/admin/projects/nowhere/quotas", {"quotas": {"servers": 1}}).status_code == 404


def test_settings_are_the_default(ann: Any, allow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"quotas.environments": 1, "quotas.packages": 3}))
    limits.forget()
    assert own(ann)["packages"]["limit"] == 3
    ann.post("/v2/environments", {"name": "one"})
    refused(ann.post("/v2/environments", {"name": "two"}), 403, "environments")
    allow(environments=-1)
    assert ann.post("/v2/environments", {"name": "two"}).status_code == 201


def test_a_project_that_is_gone_leaves_no_rights(root: Any, people: Any) -> None:
    """Limits go by id: a new project of the same name begins with the defaults."""
    from vetro.server.accounts.models import Project

    people("cleo", "gone")
    root.patch("/v2/admin/projects/gone/quotas", {"quotas": {"environments": 0}})
    Project.objects.filter(name="gone").delete()
    again = people("dan", "gone")
    assert again.post("/v2/environments", {"name": "e"}).status_code == 201


def test_quotas_are_locked_in_one_order(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two transactions of a project that lock them in different orders wait for each other on PostgreSQL."""
    held: list[str] = []
    monkeypatch.setattr(enforcement, "_hold", lambda project, name: held.append(name))
    template = ann.post("/v2/templates", {"name": "t"}).json()["id"]
    made = ann.post("/v2/environments", {"name": "first"}).json()["id"]
    for path, given in (
        ("/v2/environments", {"name": "second"}),
        (f"/v1/templates/{template}/create-environment", {"name": "third"}),
        (f"/v2/environments/{made}/clone", {"name": "fourth"}),
    ):
        enforcement.forget()
        held.clear()
        answer = ann.post(path, given)
        assert answer.status_code in (200, 201), answer.content
        assert list(dict.fromkeys(held)) == ["environments", "states"], path
