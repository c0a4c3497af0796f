"""The pages for operators: who sees them, what they show, what can be done there; the same through `/v2/admin`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override

from tests.server.messages import has_words
from tests.server.watch.world import app, instance, made
from tests.server.web.test_people import text_of
from vetro.clouds import kinds
from vetro.clouds.images.store import ImageStore
from vetro.clouds.kind_protocols import ExaminesMachine, Place
from vetro.clouds.overview import Overview
from vetro.diagnostics import OK, WARNING, Diagnostic, Text
from vetro.server import setup
from vetro.server.audit.models import AuditRecord
from vetro.server.audit.record import record
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.config.table import SETTINGS
from vetro.server.environments import simulation
from vetro.server.environments.models import Environment
from vetro.server.language import translated
from vetro.server.operations import cloud, cures, examination
from vetro.server.operations.database.backup_file import ACTION
from vetro.server.operations.doctor import checks
from vetro.server.tasks import clock, members
from vetro.server.tasks.models import Task, WorkerProcess
from vetro.server.web import context

Browser = Callable[[Any], Client]
pytestmark = pytest.mark.django_db
PAGES = ("", "doctor", "workers", "queue", "cloud", "disk", "backups", "quotas", "settings")
ROUTES = ("checklist", "workers", "queue", "cloud", "disk", "quotas", "backups", "settings", "doctor")


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    examination.forget()
    yield
    examination.forget()


def worker(name: str = "web1-4711-aa", **more: Any) -> WorkerProcess:
    """A worker that lives."""
    given = {"host": members.this_host(), "pid": 1, "version": "1", "labels": [], "seen": clock.after(), **more}
    return WorkerProcess.objects.create(id=name, **given)


def task(person: Any, **more: Any) -> Task:
    """A task of somebody's project."""
    spec: dict[str, Any] = {"model": {"Objects": None}}
    given = {"project_id": person.caller.project_id, "user_id": person.caller.user_id, "kind": "deploy", **more}
    return Task.objects.create(spec=spec, **given)


def test_they_are_for_operators_only(ann: Any, root: Any, people: Any, browser: Browser) -> None:
    reader = people("rea", "demo", "reader")
    for path in PAGES:
        assert browser(root).get(f"/app/operation/{path}").status_code == 200, path
        assert browser(ann).get(f"/app/operation/{path}").status_code == 403, path
        assert browser(reader).get(f"/app/operation/{path}").status_code == 403, path
    for path in ROUTES:
        assert root.get(f"/v2/admin/{path}").status_code == 200, path
        assert ann.get(f"/v2/admin/{path}").status_code == 403 == reader.get(f"/v2/admin/{path}").status_code, path
    link = 'href="/app/operation/"'
    assert link in browser(root).get("/app/").content.decode()
    assert link not in browser(ann).get("/app/").content.decode()
    assert "Workers" in text_of(browser(root).get("/app/search?q=workers"))
    assert "/app/operation/workers" not in browser(ann).get("/app/search?q=workers").content.decode()


def test_the_checklist_of_a_new_installation_is_done_step_by_step(root: Any, people: Any, browser: Browser) -> None:
    def left() -> set[str]:
        return {step["name"] for step in root.get("/v2/admin/checklist").json()["items"] if not step["done"]}

    assert left() >= {"worker", "account", "backup", "address"}
    page = browser(root).get("/app/operation/").content.decode()
    assert 'data-step="backup"' in page and "/app/people/new" in page
    worker()
    people("second", "operators", "admin")
    record(root.caller, ACTION, bytes=5, archives=1, keys=False)
    assert not left() & {"worker", "account", "backup"}


def test_workers_are_shown_and_asked_to_end(root: Any, browser: Browser) -> None:
    worker(), worker("web2-1-bb", labels=["eu-1"], seen=clock.after(-86400.0))
    said = text_of(browser(root).get("/app/operation/workers"))
    assert "web1-4711-aa" in said and "Silent" in said and "eu-1" in said
    browser(root).post("/app/operation/workers/drain", {"worker": "web1-4711"})
    assert WorkerProcess.objects.get(id="web1-4711-aa").draining
    assert list(AuditRecord.objects.filter(action="worker.drain").values_list("target_name", flat=True)) == [
        "web1-4711-aa"
    ]
    assert root.post("/v2/admin/workers/nobody/drain", {}).status_code == 404
    states = {one["name"]: one["state"] for one in root.get("/v2/admin/workers").json()["items"]}
    assert states == {"web1-4711-aa": "draining", "web2-1-bb": "silent"}


def test_the_queue_tells_who_waits_for_what_across_projects(ann: Any, eve: Any, root: Any, browser: Browser) -> None:
    first = task(ann, state=Task.RUNNING, owner="web1", lease_until=clock.after(60.0), started=clock.after())
    second, third = task(eve, label="eu-9"), task(ann, state=Task.NEEDS_PERSON)
    worker(labels=["eu-1"])
    found = root.get("/v2/admin/queue").json()
    assert [one["id"] for one in found["items"]] == [first.id, second.id, third.id]
    assert found["counts"] == {"running": 1, "queued": 1, "needs_person": 1} and found["total"] == 3
    assert [one["project"] for one in found["items"]] == ["demo", "others", "demo"]
    assert [one["user"] for one in found["items"]] == ["ann", "eve", "ann"]
    waits = [[wait["kind"] for wait in one["waits"]] for one in found["items"]]
    assert waits[1:] == [["worker"], ["person"]] and "eu-9" in found["items"][1]["waits"][0]["text"]
    part = root.get("/v2/admin/queue?limit=2").json()
    rest = root.get(f"/v2/admin/queue?limit=2&cursor={part['next']}").json()
    assert [one["id"] for one in rest["items"]] == [third.id] and rest["next"] is None
    assert root.get("/v2/admin/queue?cursor=WyJ4IiwieSJd").status_code == 400
    only = text_of(browser(root).get("/app/operation/queue?state=queued"))
    assert "eu-9" in only and "others" in only and "Deployment" in only
    assert "Warteschlange" in text_of(browser(root).get("/app/operation/queue", headers={"accept-language": "de"}))


def test_findings_have_buttons_where_something_can_be_done(
    root: Any, ann: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = setup.config().data
    wrong = [
        Diagnostic("folder", WARNING, f"others may look into {data}", cure="private"),
        Diagnostic("backup", WARNING, "never saved", cure="backups"),
        Diagnostic("work", OK, "1 worker"),
    ]
    asked: list[Config] = []
    monkeypatch.setattr(checks, "examine", lambda config, patience=0.0: asked.append(config) or wrong)
    page = browser(root).get("/app/operation/doctor").content.decode()
    assert page.count('data-level="warning"') == 2 and page.count('data-level="ok"') == 1
    assert 'value="private"' in page and 'href="/app/operation/backups"' in page
    browser(root).get("/app/operation/doctor")
    assert len(asked) == 1  # what was found a moment ago is shown again
    data.chmod(0o755)
    assert browser(ann).post("/app/operation/doctor/mend", {"cure": "private"}).status_code == 403
    assert data.stat().st_mode & 0o077
    answer = browser(root).post("/app/operation/doctor/mend", {"cure": "private"}, follow=True)
    assert "That is mended." in text_of(answer) and not data.stat().st_mode & 0o077 and len(asked) == 2
    assert AuditRecord.objects.filter(action="installation.mend", target_name="private").exists()
    assert "no cure" in text_of(browser(root).post("/app/operation/doctor/mend", {"cure": "<x>"}, follow=True))
    assert root.post("/v2/admin/doctor/cures/private", {}).json()["items"][0]["done_here"]


def test_every_cure_that_findings_name_is_known() -> None:
    import vetro.server.operations as operations

    named = set()
    for path in Path(operations.__path__[0]).rglob("*.py"):
        for text in path.read_text("utf-8").split('cure="')[1:]:
            named.add(text.partition('"')[0])
    assert named - {""} <= set(cures.PLACES) | cures.DEEDS and len(named) > 5


def test_settings_say_where_they_come_from_and_hide_passwords(
    root: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = setup.config().changed({"database.url": "postgresql://v:geheim@db/v", "worker.tasks": 7})
    monkeypatch.setattr("vetro.server.web.views.operation.overview.config", lambda: changed)
    page = browser(root).get("/app/operation/settings?changed=1").content.decode()
    assert "geheim" not in page and "postgresql://v:***@db/v" in page and "command line" in page
    every = root.get("/v2/admin/settings").json()
    assert [row["name"] for row in every["items"]] == [setting.name for setting in SETTINGS]


def test_settings_of_options_are_told_as_such_in_child_processes(tmp_path: Path) -> None:
    given = Config.load(tmp_path, None, {"worker.tasks": 7}, {"VETRO_SERVER__THREADS": "5"})
    child = Config.load(environ={**given.as_environment(), "VETRO_SERVER__THREADS": "5"})
    sources = {value.setting.name: value.source for value in child.values() if value.source != "default"}
    assert sources == {"worker.tasks": "command line", "server.threads": "environment VETRO_SERVER__THREADS"}


def test_disk_is_counted_and_cleaned(root: Any, browser: Browser) -> None:
    found = root.get("/v2/admin/disk").json()
    assert [place["name"] for place in found["places"]] == ["database", "archives", "cloud", "images", "cache"]
    assert found["places"][0]["bytes"] > 100_000 and 0 < found["free"] <= found["size"]
    assert "Drop now" in text_of(browser(root).get("/app/operation/disk?anew=1"))
    answer = root.post("/v2/admin/disk/clean", {})
    assert answer.status_code == 200 and "archives" in answer.json()
    assert AuditRecord.objects.filter(action="installation.clean").exists()


def test_backups_are_told_with_how_one_is_made(root: Any, browser: Browser) -> None:
    page = text_of(browser(root).get("/app/operation/backups"))
    assert "vetro db backup" in page and "vetro db restore" in page
    record(root.caller, ACTION, bytes=3 << 20, archives=4, keys=True)
    found = root.get("/v2/admin/backups").json()
    assert found["well"] and found["items"][0]["bytes"] == 3 << 20 and found["items"][0]["keys"]
    assert "3.0" in text_of(browser(root).get("/app/operation/backups"))


def test_quotas_of_all_projects_those_that_are_used_most_first(ann: Any, eve: Any, root: Any, browser: Browser) -> None:
    ann.post("/v2/environments", {"name": "one"})
    root.patch(f"/v2/admin/projects/{ann.caller.project_id}/quotas", {"quotas": {"environments": 1}})
    found = root.get("/v2/admin/quotas").json()
    assert [one["name"] for one in found["items"]] == ["demo", "operators", "others"] and found["total"] == 3
    assert found["items"][0]["quotas"][0]["name"] == "environments"
    part = root.get("/v2/admin/quotas?limit=2").json()
    assert [one["name"] for one in root.get(f"/v2/admin/quotas?cursor={part['next']}").json()["items"]] == ["others"]
    page = browser(root).get("/app/operation/quotas?q=dem").content.decode()
    assert "nearly used up" in page and f"/app/people/projects/{ann.caller.project_id}/quotas" in page
    assert 'data-project="others"' not in page


def test_settings_and_findings_are_told_in_german(root: Any, browser: Browser) -> None:
    client = browser(root)
    german = {"Accept-Language": "de"}
    page = client.get("/app/operation/settings", headers=german).content.decode()
    assert "Adresse, auf der gelauscht wird" in page
    english = [setting.meaning for setting in SETTINGS if f">{setting.meaning}<" in page]
    assert english == []
    found = client.get("/app/operation/settings?q=gelauscht", headers=german).content.decode()
    assert found.count("data-setting=") == 1
    told = client.get("/app/operation/doctor", headers=german).content.decode()
    assert "kein Worker lebt: Nichts wird bereitgestellt" in told and "Schlüssel in" in told
    assert "no worker lives" not in told


def test_the_cloud_and_all_findings_are_told_in_german(
    root: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser(root)
    chosen = cloud_settings.selection(setup.config(), {"kind": "record"})
    line = "Cloud: record - nichts wird ausgeführt, alles wird aufgeschrieben (dieser Umgebung)"
    for module in (context, cloud_settings):
        monkeypatch.setattr(module, "selection", lambda *_: chosen)
    monkeypatch.setattr(simulation, "of_service", lambda: True)
    for path in ("", "doctor", "cloud"):
        page = text_of(client.get(f"/app/operation/{path}", headers={"Accept-Language": "de"}))
        assert chosen.text not in page and line in page, path
        assert chosen.text in text_of(client.get(f"/app/operation/{path}")), path
    findings = examination.findings(setup.config()).findings
    with override("de"):
        english = [
            one.code
            for one in findings
            for text in (one.message, one.hint or "")
            if text and isinstance(text, str) and has_words(text) and not isinstance(text, Text)
        ]
        assert not english and any(translated(one.message) != one.message for one in findings)


@pytest.mark.parametrize("name", ["nspawn", "proot", "record"])
def test_what_a_machine_lacks_for_servers_is_told_in_german(name: str, tmp_path: Path) -> None:
    """Whatever this machine lacks or has: each sentence is known in the other language."""
    kind = kinds.find(name)
    lack = kind.lacks(kind.settings.from_json({}), Place(directory=tmp_path, images=ImageStore(tmp_path / "images")))
    assert isinstance(kind, ExaminesMachine) and (name == "record") == (lack is None)
    told = [kind.title, *((lack.reason, lack.hint) if lack else ())]
    told += [text for remark in kind.examine_machine() for text in (remark.text, remark.hint)]
    with override("de"):
        for text in filter(None, told):
            assert translated(text) != text or re.fullmatch(r"[a-z ]*(apt install|sysctl) .*", text), text


def test_one_server_is_stopped_and_started_from_the_page_of_the_cloud(
    ann: Any, root: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its id: another server, and an application, may have the same name."""
    row = made(ann, app("a", instance("i", name="web")), app("web", instance("j", name="web")), name="shop")
    ids = ["c-i", "c-j"]
    listed = [
        {"id": id, "name": "web", "status": status, "driver": "record", "environment": row.id, "addresses": [],
         "simulated": False}
        for id, status in zip(ids, ("ACTIVE", "SHUTOFF"), strict=True)
    ]  # fmt: skip
    found = Overview("cloud", "record", "because", servers=listed)
    monkeypatch.setattr(cloud, "overview", lambda *args, **more: found)
    client = browser(root)
    page = client.get("/app/operation/cloud").content.decode()
    for id, action in zip(ids, ("stop", "start"), strict=True):
        form = page.partition(f'name="what" value="{id}"')[2].partition("</form>")[0]
        assert f'name="action" value="{action}"' in form
        answer = client.post(f"/app/environments/{row.id}/power", {"what": id, "action": action})
        assert answer.status_code == 302, answer.content
        task = Task.objects.get(kind="power")
        (step,) = task.spec["power"]
        assert step["action"] == action and [server["id"] for server in step["servers"]] == [id]
        task.delete()
        Environment.objects.filter(id=row.id).update(task_id="")


def test_a_server_that_was_only_written_down_is_not_shown_as_running(
    ann: Any, root: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where new environments are real, so that nothing else on the page says it."""
    row = made(ann, app("a", instance("i", name="web")), name="shop")
    server = {"name": "web", "status": "ACTIVE", "environment": row.id, "addresses": ["10.0.42.2"]}
    listed = [{**server, "id": "c-1", "driver": "record", "simulated": True}]
    monkeypatch.setattr(cloud, "overview", lambda *args, **more: Overview("cloud", "nspawn", "because", servers=listed))
    shown = browser(root).get("/app/operation/cloud").content.decode()
    (row_shown,) = re.findall(r'<li data-server="web">.*?</li>', shown, re.DOTALL)
    assert "Simulated" in row_shown and "Running" not in row_shown
    listed[0] |= {"driver": "nspawn", "simulated": False}
    shown = browser(root).get("/app/operation/cloud").content.decode()
    (row_shown,) = re.findall(r'<li data-server="web">.*?</li>', shown, re.DOTALL)
    assert "Simulated" not in row_shown and "Running" in row_shown


def test_deleting_names_applications_and_their_servers(ann: Any, browser: Browser) -> None:
    row = made(ann, app("a", instance("i", name="web"), instance("j", name="spare")), app("b"), name="shop")
    page = text_of(browser(ann).get(f"/app/environments/{row.id}/delete"))
    assert re.search(r"with its 2 servers: (web, spare|spare, web)", page), page
    assert "with its server" not in page
