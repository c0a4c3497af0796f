"""What a task waits for, as `/v2` and its page tell it: each reason that docs/waiting.md lists."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.tasks import shop
from tests.server.web.conftest import signed_in
from vetro.diagnostics import Text, encode_messages
from vetro.engine.outcome import OpenEffect, Outcome
from vetro.engine.worker.journal import Ended, Note, RecordedEffect
from vetro.server.tasks import clock, members
from vetro.server.tasks.claim import Lease, claim
from vetro.server.tasks.completion import finish
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Task, WorkerProcess
from vetro.server.tasks.release import release
from vetro.server.tasks.waits import WaitLog

pytestmark = pytest.mark.django_db
DOCS = Path(__file__).parents[3] / "docs" / "waiting.md"
AGENT = Text("the agent of server '{server}', which was asked to run '{plan}'", server="e1-hvm-1", plan="Install")


class World:
    """Tasks of Ann's project and what `/v2` tells of them."""

    def __init__(self, ann: Any) -> None:
        self.ann = ann
        self.count = 0

    def add(self, environment: str = "", **more: Any) -> Task:
        """A task that was enqueued ten seconds ago."""
        self.count += 1
        project = more.pop("project", self.ann.caller.project_id)
        root = {"?": {"id": "e1", "type": "io.murano.Environment"}, "applications": [
            {"?": {"id": "Vm-1", "type": "io.murano.resources.Instance", "name": "web"}}]}  # fmt: skip
        made = Task.objects.create(
            id=f"t{self.count}", project_id=project, user_id="u", environment_id=environment,
            spec={"model": {"Objects": root}}, **{"kind": "deploy", **more},
        )  # fmt: skip
        Task.objects.filter(id=made.id).update(created=clock.after(-10.0 + self.count / 100))
        made.refresh_from_db()
        return made

    def begun(self, seconds: float = 60.0, *, journal: bool = True, **more: Any) -> tuple[Task, Lease]:
        """A task that a worker has."""
        made = self.add(**more)
        lease = claim("me", seconds)
        assert lease is not None and lease.task_id == made.id
        if journal:
            log = DbJournal(made.id, lease.hold)
            log.begin(made.spec, "1.0", time.time())
            log.commit()
        return made, lease

    def waits(self, task: Task) -> list[tuple[str, str]]:
        """Kind and text of each; since when and for how long fit to each other."""
        told = self.ann.get(f"/v2/tasks/{task.id}").json()
        for wait in told["waits"]:
            assert (wait["since"] is None) == (wait["seconds"] is None), wait
            assert wait["seconds"] is None or wait["seconds"] >= 0
        assert (told["waiting"] or "") == "; ".join(wait["text"] for wait in told["waits"])
        assert {wait["kind"] for wait in told["waits"]} <= listed()
        return [(wait["kind"], wait["text"]) for wait in told["waits"]]


def listed() -> set[str]:
    """The kinds in the list for people."""
    return set(re.findall(r"^\| `(\w+)` \|", DOCS.read_text("utf-8"), re.M))


@pytest.fixture
def world(ann: Any) -> World:
    members.join([])
    return World(ann)


def late(task: Task, seconds: float = 1.0) -> None:
    Task.objects.filter(id=task.id).update(lease_until=clock.after(-seconds))


def test_before_it_is_begun(world: World) -> None:
    task = world.add(label="north")
    assert world.waits(task) == [("place", "a free place of a worker: 0 tasks run")]
    WorkerProcess.objects.update(labels=["south"])
    why = "no worker that lives serves 'north': start one with 'vetro worker --label north'"
    assert world.waits(task) == [("worker", f"a worker: {why}")]
    WorkerProcess.objects.all().delete()
    assert world.waits(world.add())[0][0] == "worker"


def test_in_line(world: World) -> None:
    running, _ = world.begun(environment="e")
    second = world.add("e")
    third = world.add("e", kind="power")
    other = world.add("f")
    assert world.waits(second) == [("environment", f"task {running.id} (deploy) of the same environment")]
    assert world.waits(third) == world.waits(second)  # what runs, before what waits
    assert world.waits(other) == [("place", "a free place of a worker: 1 tasks run")]
    world.add("g", project="another")
    assert world.waits(other) == [("turn", "the turn of its project, of which 1 tasks run while others wait")]
    fresh = world.add("h")
    Task.objects.filter(id=fresh.id).update(created=clock.after())
    assert world.waits(fresh) == []  # some worker takes it any moment
    Task.objects.filter(id=running.id).update(state="done")
    assert (
        world.waits(second)
        != world.waits(third)
        == [("environment", f"task {second.id} (deploy) of the same environment")]
    )


def test_a_person(world: World) -> None:
    made, lease = world.begun(environment="e")
    journal = DbJournal(made.id, lease.hold)
    journal.intent(RecordedEffect("0/1", "workflow", "d", {"name": "pay"}, 1.0))
    journal.end(Ended("needs_person", at=time.time() - 90))
    journal.commit()
    finish(lease.held, Outcome("needs_person", open=[OpenEffect("0/1", "workflow", {}, 1.0)]))
    assert world.waits(made) == [("person", "a person, who has to say whether something was done")]
    (wait,) = world.ann.get(f"/v2/tasks/{made.id}").json()["waits"]
    assert wait["seconds"] >= 90
    why = f"a person, who has to decide about task {made.id} of the environment"
    assert world.waits(world.add("e")) == [("person", why)]


def test_a_worker_that_is_gone(world: World) -> None:
    made, lease = world.begun()
    assert world.waits(made) == []
    WaitLog(made, lease, DbJournal(made.id)).store([{"kind": "agent", "text": AGENT, "since": time.time(), "id": ""}])
    assert world.waits(made)[0][0] == "agent"
    late(made)  # it was killed
    assert world.waits(made) == [("lease", "another worker to take it over: the last one was not heard of")]
    taken = claim("other", 60.0)
    assert taken is not None
    assert world.waits(made) == []  # what the first one told is over
    Task.objects.filter(id=made.id).update(owner="command-17")
    late(made)
    assert world.waits(made) == [("command", "a command that goes on with it: the one that ran it has ended")]
    release("command-17")
    late(made)
    assert world.waits(made) == [("place", "a worker to go on with it: the last one gave it back")]


def test_the_next_attempt(world: World) -> None:
    made, lease = world.begun()
    assert release("me", lease=lease, pause=20.0, why=Text("the database failed")) == 1
    assert world.waits(made) == [("retry", "the next attempt, after this: the database failed")]
    late(made)
    assert claim("me", 60.0) is not None and world.waits(made) == []


def test_its_processes_and_the_code_of_its_packages(world: World) -> None:
    made, lease = world.begun(journal=False)
    assert world.waits(made) == []  # that takes a moment
    Task.objects.filter(id=made.id).update(started=clock.after(-6.0))
    assert world.waits(made) == [("start", "its worker, which reads its packages and opens its cloud")]
    now = time.time()
    journal = DbJournal(made.id, lease.hold)
    journal.begin(made.spec, "1.0", now - 20)
    journal.note(Note("n", "report", {"text": "hello", "id": "1"}, "d", now - 7))
    journal.intent(RecordedEffect("0/1", "sleep", "d", {}, now - 15))
    journal.commit()
    assert world.waits(made) == [("effect", "the end of 'sleep'")]  # although its host says nothing of it
    journal.result("0/1", None, None, now - 10)
    journal.commit()
    assert world.waits(made) == [("code", "code of its packages, which computes")]
    (wait,) = world.ann.get(f"/v2/tasks/{made.id}").json()["waits"]
    assert 7 <= wait["seconds"] < 60
    journal.note(Note("m", "report", {"text": "I go on", "id": "1"}, "d", time.time()))
    journal.commit()
    assert world.waits(made) == []


def test_what_its_effects_wait_for_is_named_and_written_seldom(world: World) -> None:
    made, lease = world.begun()
    since = time.time() - 12
    one = encode_messages({"kind": "agent", "text": AGENT, "since": since, "id": "vm-1"})
    log = WaitLog(made, lease, DbJournal(made.id))
    with CaptureQueriesContext(connection) as first:
        log.store([one])
    assert len([query for query in first if query["sql"].startswith("UPDATE")]) == 1
    with CaptureQueriesContext(connection) as again:
        log.store([one])
    assert len(again) == 0
    assert world.waits(made) == [("agent", "the agent of server 'web', which was asked to run 'Install'")]
    (wait,) = world.ann.get(f"/v2/tasks/{made.id}").json()["waits"]
    assert wait["object_id"] == "vm-1" and 12 <= wait["seconds"] < 60
    late_writer = WaitLog(made, Lease(made.id, "other", lease.fence - 1, 60.0), DbJournal(made.id))
    late_writer.store([{**one, "kind": "cloud"}])
    assert world.waits(made)[0][0] == "agent"  # who lost the lease writes nothing
    log.store([])
    assert world.waits(made) == []
    assert Task.objects.get(id=made.id).waits is None


def test_objects_that_the_task_has_made_have_their_names_from_its_checkpoint(world: World) -> None:
    made, lease = world.begun()
    journal = DbJournal(made.id, lease.hold)
    journal.checkpoint({"Objects": {"?": {"id": "NEW", "type": "t.C"}, "name": "worker-7"}}, time.time())
    journal.commit()
    told = WaitLog(made, lease, journal).store([{"kind": "agent", "text": AGENT, "since": 1.0, "id": "new"}])
    assert told[0]["text"] == "the agent of server 'worker-7', which was asked to run 'Install'"
    unknown = WaitLog(made, lease, journal).store([{"kind": "agent", "text": AGENT, "since": 1.0, "id": "nobody"}])
    assert unknown[0]["text"] == AGENT


def test_long_names_are_cut(world: World) -> None:
    made, lease = world.begun()
    told = {"kind": "agent", "text": AGENT.filled(plan="n" * 2000), "since": 1.0, "id": ""}
    (stored,) = WaitLog(made, lease, DbJournal(made.id)).store([told])
    assert len(str(stored)) < 1000 and "nnn…" in stored["text"]


def test_one_that_has_ended_waits_for_nothing(world: World) -> None:
    made, lease = world.begun()
    WaitLog(made, lease, DbJournal(made.id)).store([{"kind": "agent", "text": AGENT, "since": 1.0, "id": ""}])
    finish(lease.held, Outcome("done", model=None))
    assert world.waits(made) == [] and Task.objects.get(id=made.id).waits is None


def test_the_page_shows_it_in_the_language_of_the_reader(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    package, environment = shop.add_package(world.ann.caller), shop.add_environment(world.ann.caller)
    made = shop.deploy(world.ann.caller, environment, package)
    lease = claim("me", 60.0)
    assert lease is not None
    WaitLog(made, lease, DbJournal(made.id)).store([{"kind": "agent", "text": AGENT, "since": 1.0, "id": ""}])
    client, path = signed_in(world.ann), f"/app/environments/{environment.id}/tasks/{made.id}/"
    for language, words in (("en", f"Waits for {AGENT}"), ("de", "Wartet auf den Agenten des Servers 'e1-hvm-1', der")):
        for asked in ({}, {"hx-request": "true", "hx-target": "waits"}, {"hx-request": "true", "hx-target": "live"}):
            text = html.unescape(client.get(path, headers={"accept-language": language, **asked}).content.decode())
            assert words in text and re.search(r'· (begun|begonnen) <time datetime="1970-01-01T00:00:01', text)
            assert 'hx-trigger="every 5s"' in text and 'data-wait="agent"' in text
    finish(lease.held, Outcome("failed", error={"message": "no"}))
    part = client.get(path, headers={"hx-request": "true", "hx-target": "waits"}).content.decode()
    assert "Waits for" not in part and "hx-trigger" not in part


def test_a_task_that_sleeps_tells_it_while_it_runs(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the package through task process, host and worker into the row, and out again when it is over."""
    seen: list[Any] = []
    store = WaitLog.store

    def stored(log: WaitLog, found: Any) -> Any:
        answer = store(log, found)
        seen.append(ann.get(f"/v2/tasks/{made.id}").json()["waits"])
        return answer

    monkeypatch.setattr(WaitLog, "store", stored)
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package, wait=4)
    assert drain() == 1
    assert [(one["kind"], one["text"]) for one in seen[0]] == [
        ("pause", "the end of a pause of 4 s that a package makes")
    ]
    assert 3 <= seen[0][0]["seconds"] < 30
    assert ann.get(f"/v2/tasks/{made.id}").json()["waits"] == []
    assert Task.objects.get(id=made.id).state == "done"
