"""What is watched of environments, what is written of it, and what is told while nobody looks."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from vetro.clouds.proot.kind import ProotKind
from vetro.engine.task.frames import Decoder, encode
from vetro.engine.watching.states import State
from vetro.server.environments.models import Environment, Session
from vetro.server.environments.models import State as Model
from vetro.server.setup import config
from vetro.server.tasks import clock, members
from vetro.server.tasks.models import Event, Task, WorkerProcess
from vetro.server.watch import queries, service, target_reader, targets, watcher
from vetro.server.watch.models import Health, HealthChange, WatchMark
from vetro.server.watch.prober import Prober
from vetro.server.watch.watcher import Watcher, leads

pytestmark = [pytest.mark.database, pytest.mark.django_db]

REAL, PRETENDED = {"kind": "proot"}, {"kind": "record"}


def instance(id: str, name: str = "web", cloud: str | None = None, **more: Any) -> dict[str, Any]:
    header = {"id": id, "type": "io.murano.resources.LinuxMuranoInstance/0.0.0@io.murano"}
    return {"?": header, "name": name, "flavor": "m1", "openstackId": cloud or f"c-{id}", "ipAddresses": [], **more}


def app(id: str, *parts: Any, **more: Any) -> dict[str, Any]:
    header = {"id": id, "type": "test.App/1.0.0@test.app", "name": f"the {id}"}
    return {"?": header, "instance": list(parts), **more}


def model(*apps: Any) -> dict[str, Any]:
    root = {"?": {"id": "env", "type": "io.murano.Environment"}, "name": "env", "applications": list(apps)}
    return {"Objects": root}


def made(ann: Any, *apps: Any, name: str = "shop", cloud: Mapping[str, str] = REAL, region: str = "") -> Environment:
    row = Environment.objects.create(
        project_id=ann.caller.project_id, name=name, version=1, cloud=dict(cloud), region=region
    )
    Model.objects.create(environment=row, number=1, model=model(*apps))
    return row


def component(id: str, state: str, text: str = "", checks: Any = ()) -> dict[str, Any]:
    return {"id": id, "state": state, "text": text, "checks": list(checks)}


def states(row: Environment) -> list[str]:
    return [one.told.state.value for one in queries.components(row.id, None, None)]


def whole(row: Environment) -> str:
    told = queries.of_environment(row.id)
    return "" if told is None else told.state.value


def working(row: Environment, state: str, lease: float = 60.0) -> Task:
    return Task.objects.create(
        project_id=row.project_id, user_id="u", environment_id=row.id, kind="deploy", state=state, spec={},
        lease_until=clock.read() + timedelta(seconds=lease),
    )  # fmt: skip


def watched(row: Environment, seconds: float = 60.0) -> None:
    service.believe([""], "worker", seconds)


# -- what there is to watch --------------------------------------------------------------------------------------------


def found(*apps: Any, **declared: Any) -> list[targets.Component]:
    return list(targets.components(model(*apps), lambda classes: declared.get("classes", {})))


def test_components_are_applications_with_servers_their_own_or_those_they_lie_on() -> None:
    host = app("host", instance("i1"), instance("i2", "db"))
    guest = app("guest", server="i2", password="i3")
    one, two = found(host, guest, app("nothing", url="http://10.0.0.1/"))
    assert (one.id, one.name, one.servers) == ("host", "the host", {"c-i1": "web", "c-i2": "db"})
    assert (two.id, two.servers) == ("guest", {"c-i2": "db"})


def test_what_is_no_server_and_what_was_never_made_is_not_watched() -> None:
    volume = {"?": {"id": "v", "type": "io.murano.resources.CinderVolume"}, "openstackId": "x", "size": 1}
    assert found(app("a", volume, instance("i", openstackId=None))) == []
    assert list(targets.components({}, lambda classes: {})) == []


def guesses(obj: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    (one,) = targets.components(model(obj), lambda classes: {}, **more)
    return [(guess["name"], guess["path"], guess["on"]) for guess in one.guesses]


def test_addresses_in_properties_are_asked_of_the_server_that_has_them_and_few() -> None:
    one, two = instance("i", ipAddresses=["10.0.0.5"]), instance("j", ipAddresses=[], floatingIpAddress="fd00::1")
    found = guesses(app("a", one, two, url="http://10.0.0.5:80/x", at=["[fd00::1]:22", "see http://a", "x" * 9000]))
    assert set(found) == {("http://10.0.0.5:80", "/x", "c-i"), ("tcp://[fd00::1]:22", "/", "c-j")}
    assert len(guesses(app("a", one, many=[f"http://10.0.0.5:{n}/" for n in range(1, 500)]))) == 8


@pytest.mark.attack("secrets", "H7")
def test_guesses_are_named_by_own_addresses_only_and_no_secret_is_among_them() -> None:
    """A reader learned a webhook, a password in an address and a token in a path as the names of checks."""
    own = instance("i", ipAddresses=["10.0.0.5"])
    kept = {"apiToken": "10.0.0.5:1", "hook": {"password": "10.0.0.5:2"}, "declared": "10.0.0.5:3"}
    urls = {"a": "https://hooks.example.com/T0/TOKEN", "b": "http://u:pw@10.0.0.5:4/TOKEN?k=TOKEN", "c": "10.9.9.9:5"}
    found = guesses(app("a", own, **kept, **urls), secrets=lambda type_text: frozenset({"declared"}))
    assert [name for name, _, _ in found] == ["http://10.0.0.5:4"]


@pytest.mark.attack("quotas", "H4")
def test_servers_that_do_not_exist_make_no_more_probes_than_an_environment_has() -> None:
    """60 components with 200 invented servers each made 96,000 probes."""
    urls = [f"http://10.0.0.5:{n}/" for n in range(1, 9)]
    many = [
        app(f"a{c}", *(instance(f"i{c}.{n}", "n" * 999, ipAddresses=["10.0.0.5"]) for n in range(200)), url=urls)
        for c in range(60)
    ]
    health = {TYPE: {"health": [{"kind": "tcp", "port": n} for n in range(1, 60)]}}
    for declared in ({}, health):
        found = list(targets.components(model(*many), lambda classes, declared=declared: declared))
        probes = sum(len(one.guesses) + sum(len(check["on"]) for check in one.checks) for one in found)
        assert 0 < probes <= 100
        assert sum(len(one.servers) for one in found) <= 2000
        assert max(len(name) for one in found for name in one.servers.values()) == 255


@pytest.mark.attack("database", "H2")
@pytest.mark.parametrize("id", ["x" * 256, "nul\0", "half \ud800"])
def test_ids_that_a_database_refuses_are_kept_as_digests(id: str) -> None:
    (one,) = found(app(id, instance("i", id), instance("j", cloud=id)))
    assert one.id.startswith("sha256:") and len(one.id) < 80 and list(one.servers) == ["c-i"]
    assert all(name.isprintable() and name.encode() and len(name) <= 255 for name in one.servers.values())
    (told,) = checks(app(id, instance("i")), {"kind": "tcp", "port": 1, "name": id})
    assert told["object"] == one.id and told["name"].isprintable() and told["name"].encode()
    ordinary = found(app("é 1", instance("i")))[0]
    assert ordinary.id == "é 1"


TYPE = "test.App/1.0.0@test.app"


def checks(obj: dict[str, Any], *health: dict[str, Any]) -> list[dict[str, Any]]:
    (one,) = found(obj, classes={TYPE: {"health": list(health)}})
    return [dict(check) for check in one.checks]


def test_declared_checks_take_values_of_the_object() -> None:
    told = {"kind": "http", "port": "port", "path": "page", "expect": [200], "every": 60, "grace": 5, "on": "server"}
    obj = app("a", instance("i"), instance("j"), port=8080, page="/up", server="j")
    assert checks(obj, told) == [
        {"object": "a", "name": "http 8080", "kind": "http", "on": ["c-j"], "port": 8080, "path": "/up",
         "expect": [200], "every": 60, "grace": 5}
    ]  # fmt: skip
    (plain,) = checks(obj, {"kind": "https", "name": "page"})
    assert (plain["port"], plain["path"], plain["on"], plain["name"]) == (443, "/", ["c-i", "c-j"], "page")


@pytest.mark.parametrize("port", [None, "x", 0, 70000, True, -1, 1.5, [80]])
def test_a_check_whose_values_make_no_sense_is_not_made(port: Any) -> None:
    assert checks(app("a", instance("i"), port=port), {"kind": "tcp", "port": "port"}) == []
    assert checks(app("a", instance("i")), {"kind": "command", "run": port if isinstance(port, list) else ""}) == []


def test_commands_and_methods_name_the_objects_that_are_asked() -> None:
    told = {"kind": "command", "run": "pg_isready", "on": "server", "every": 30, "grace": 5}
    methods = [{"name": "lag", "every": 10, "grace": 0}]
    obj = app("a", instance("i"), instance("j"), server="j")
    (one,) = found(obj, classes={TYPE: {"health": [told], "methods": methods}})
    assert [dict(check) for check in one.checks] == [
        {"object": "a", "name": "pg_isready", "kind": "command", "on": ["c-j"], "machines": {"c-j": "j"},
         "run": "pg_isready", "every": 60, "grace": 5},
        {"object": "a", "name": "lag", "kind": "method", "on": [], "id": "a", "method": "lag",
         "every": 300, "grace": 0},
    ]  # fmt: skip


def test_checks_have_a_bound_for_a_component_and_for_an_environment() -> None:
    health = {TYPE: {"health": [{"kind": "tcp", "port": n} for n in range(1, 60)]}}
    many = found(*[app(f"a{n}", instance(f"i{n}")) for n in range(9)], classes=health)
    assert [len(one.checks) for one in many] == [20] * 5 + [0] * 4
    methods = {TYPE: {"methods": [{"name": f"m{n}"} for n in range(10_000)]}}
    many = found(*[app(f"a{n}", instance(f"i{n}")) for n in range(9)], classes=methods)
    assert [len(one.checks) for one in many] == [20] * 5 + [0] * 4


# -- what is written ---------------------------------------------------------------------------------------------------


def test_only_changes_are_written_and_the_worst_is_the_environments(ann: Any) -> None:
    row = made(ann)
    watched(row)
    service.record([(row.id, 1, [component("a", "running"), component("b", "running")])], "")
    told = queries.of_environment(row.id)
    assert told is not None and told.state is State.RUNNING and told.since is not None
    assert service.record([(row.id, 1, [component("a", "running")])], "").rows == 0
    service.record([(row.id, 1, [component("b", "down", "server 'x' is gone")])], "")
    told = queries.of_environment(row.id)
    assert told is not None and (told.state, told.text) == (State.DOWN, "server 'x' is gone")
    assert [(one.id, one.told.state) for one in queries.components(row.id, None, None)] == [
        ("a", "running"),
        ("b", "down"),
    ]
    changed = [(c["component_id"], c["state"]) for c in queries.changes(row.id)]
    assert changed == [(None, "down"), ("b", "down"), (None, "running"), ("b", "running"), ("a", "running")]
    events = Event.objects.filter(environment_id=row.id, kind="health").values_list("data", flat=True)
    assert [data["change"] for data in events.order_by("seq")] == ["running", "down"]


def test_the_time_of_a_state_stays_while_only_its_reason_changes(ann: Any) -> None:
    row = made(ann)
    watched(row)
    service.record([(row.id, 1, [component("a", "down", "one")])], "")
    since = queries.components(row.id, None, None)[0].told.since
    service.record([(row.id, 1, [component("a", "down", "two")])], "")
    told = queries.components(row.id, None, None)[0].told
    assert (told.text, told.since) == ("two", since) and HealthChange.objects.filter(component="a").count() == 1


def test_reports_about_another_version_or_of_nobody_are_dropped(ann: Any) -> None:
    row = made(ann)
    watched(row)
    assert (
        service.record([(row.id, 0, [component("a", "down")]), ("0" * 32, 1, [component("a", "down")])], "").rows == 0
    )
    assert queries.components(row.id, None, None) == []


def test_many_changes_take_few_statements(ann: Any) -> None:
    rows = [made(ann, name=f"e{n}") for n in range(60)]
    reports = [(row.id, 1, [component("a", "running"), component("b", "running")]) for row in rows]
    with CaptureQueriesContext(connection) as first:
        assert service.record(reports, "").rows == 60 * 6
    changes = [(id, number, [component("a", "down", "x")]) for id, number, _ in reports]
    with CaptureQueriesContext(connection) as second:
        service.record(changes, "")

    def writes(context: CaptureQueriesContext) -> int:
        told = [query["sql"] for query in context.captured_queries if "dispatch_event" not in query["sql"]]
        return sum(sql.startswith(("INSERT", "UPDATE", "DELETE")) for sql in told)

    assert writes(first) <= 3 and writes(second) <= 3


def test_components_that_went_are_forgotten(ann: Any) -> None:
    row = made(ann)
    watched(row)
    service.record([(row.id, 1, [component("a", "running"), component("b", "down")])], "")
    assert set(service.retarget(row.id, "", ["a"])) == {"a"}
    service.retarget(row.id, "", [])
    assert queries.of_environment(row.id) is None and queries.components(row.id, None, None) == []


def test_history_is_bounded(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_CHANGES", 10)
    row = made(ann)
    now = clock.read()
    for n in range(30):
        at = now - timedelta(days=91 if n < 5 else 0)
        HealthChange.objects.create(environment=row, component="a", state="down", at=at)
    assert service.forget(now - timedelta(days=90)) == 20
    assert HealthChange.objects.filter(environment=row).count() == 10


# -- what is told ------------------------------------------------------------------------------------------------------


def test_nothing_is_green_while_nobody_looks(ann: Any) -> None:
    row = made(ann)
    told = queries.of_environment(row.id)
    assert told is not None and told.state is State.UNKNOWN
    watched(row)
    service.record([(row.id, 1, [component("a", "running")])], "")
    assert queries.of_environments([row.id])[row.id].state is State.RUNNING
    WatchMark.objects.update(until=clock.read() - timedelta(seconds=1))
    told = queries.of_environment(row.id)
    assert told is not None and told.state is State.UNKNOWN and "nobody looks" in told.text
    assert [one.told.state for one in queries.components(row.id, None, None)] == [State.UNKNOWN]
    answer = ann.get(f"/v2/environments/{row.id}").json()
    assert answer["health"]["state"] == "unknown"


def test_what_its_cloud_only_writes_down_is_simulated(ann: Any) -> None:
    row = made(ann, app("a", instance("i")), cloud=PRETENDED)
    watched(row)
    service.record([(row.id, 1, [component("a", "running")])], {})  # whatever anybody says
    answer = ann.get(f"/v2/environments/{row.id}/health").json()
    assert answer["health"]["state"] == "simulated"
    assert [(one["name"], one["health"]["state"]) for one in answer["components"]] == [("the a", "simulated")]
    never = Environment.objects.create(project_id=ann.caller.project_id, name="never", cloud=PRETENDED)
    assert ann.get(f"/v2/environments/{never.id}").json()["health"] is None


def test_lists_tell_it_and_others_learn_nothing(ann: Any, eve: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watched(row)
    failing = {"key": "k", "name": "page", "state": "down", "text": "no answer", "reached": True}
    service.record([(row.id, 1, [component("a", "down", "page: no answer", [failing])])], "")
    (listed,) = ann.get("/v2/environments").json()["items"]
    assert (listed["health"]["state"], listed["health"]["text"]) == ("down", "page: no answer")
    answer = ann.get(f"/v2/environments/{row.id}/health").json()
    (one,) = answer["components"]
    assert one["name"] == "the a" and one["checks"] == [{"name": "page", "state": "down", "text": "no answer"}]
    assert len(answer["changes"]) == 2
    assert eve.get(f"/v2/environments/{row.id}/health").status_code == 404


# -- who watches -------------------------------------------------------------------------------------------------------


def test_the_first_worker_that_lives_watches_for_each_label(ann: Any) -> None:
    first, second = members.join([]), members.join([])
    assert (leads(config(), first), leads(config(), second)) == ({""}, set())
    WorkerProcess.objects.filter(id=first.id).update(seen=clock.read() - timedelta(seconds=31))
    assert (leads(config(), first), leads(config(), second)) == (set(), {""})
    members.beat(first)
    WorkerProcess.objects.filter(id=first.id).update(draining=True)
    assert leads(config(), second) == {""}
    WorkerProcess.objects.all().delete()
    far, near = members.join(["far"]), members.join(["near"])
    made(ann, region="near")
    assert leads(config(), far) == {"", "far"} and leads(config(), near) == {"near"}


class Process:
    """The process that watches, as far as the watcher sees it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        assert settings == {"watch": True}
        self.alive = False

    def start(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        self.alive = True

    def fileno(self) -> int:
        return self.ours.fileno()

    def kill(self) -> None:
        if self.alive:
            self.ours.close()
            self.theirs.close()
        self.alive = False

    def told(self) -> list[dict[str, Any]]:
        try:
            return Decoder().feed(self.theirs.recv(1 << 20))
        except BlockingIOError:
            return []

    def say(self, *messages: dict[str, Any]) -> None:
        self.theirs.sendall(b"".join(map(encode, messages)))


@pytest.fixture
def watching(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[Watcher, list[Process]]]]:
    """Makes watchers that do one round when they are told to."""
    monkeypatch.setattr(watcher, "TARGETS", 0.0)
    monkeypatch.setattr(watcher, "LEAD", 0.0)
    monkeypatch.setattr(watcher, "_COLLECT", 0.0)
    made: list[Watcher] = []

    def make() -> tuple[Watcher, list[Process]]:
        processes: list[Process] = []

        def process(settings: Mapping[str, Any]) -> Process:
            processes.append(Process(settings))
            return processes[-1]

        found = Watcher(config(), members.join([]), None, process)  # type: ignore[arg-type]
        made.append(found)
        return found, processes

    yield make
    for one in made:
        one._end()


def round_of(watch: Watcher) -> None:
    watch._over.set()  # it waits for nothing
    watch._round()


def test_a_round_tells_the_process_what_there_is_and_writes_what_it_says(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    cloud, put = process.told()
    assert (
        cloud["t"] == "cloud" and cloud["settings"]["kind"] == "proot" and cloud["key"] == put["environment"]["cloud"]
    )
    assert put["environment"]["owner"] == {"project": row.project_id, "environment": row.id, "user": "system"}
    assert [one["servers"] for one in put["environment"]["components"]] == [[{"id": "c-i", "name": "web"}]]
    process.say({"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "down")]}]})
    round_of(watch)
    told = queries.of_environment(row.id)
    assert told is not None and told.state is State.DOWN
    round_of(watch)
    assert process.told() == []  # nothing is told twice


def test_what_packages_are_asked_is_answered_and_given_up_when_a_task_begins(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, given_up, ended = made(ann, app("a", instance("i"))), list[Any](), threading.Event()
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    process.told()

    def ask(self: Prober, question: Mapping[str, Any], results: dict[str, Any]) -> None:
        results["k"] = {"state": "running", "text": ""}
        assert ended.wait(60)

    monkeypatch.setattr(Prober, "ask", ask)
    question = {"id": row.id, "number": 1, "checks": [{"key": "k"}]}
    process.say({"t": "questions", "environments": [question]})
    round_of(watch)
    assert process.told() == []
    give_up = Prober.give_up
    monkeypatch.setattr(Prober, "give_up", lambda self, *ids: (given_up.append(ids), give_up(self, *ids)))
    task = working(row, "running")
    round_of(watch)
    assert given_up == [((row.id,),)]
    process.say({"t": "questions", "environments": [question]})  # while the first one has not ended
    round_of(watch)
    round_of(watch)
    (refused,) = [told for told in process.told() if told["t"] == "answers"]
    assert refused["results"] == {}
    task.delete()
    ended.set()
    for _ in range(1000):
        round_of(watch)
        if told := [told for told in process.told() if told["t"] == "answers"]:
            break
        time.sleep(0.01)
    assert (told[0]["id"], told[0]["number"], list(told[0]["results"])) == (row.id, 1, ["k"])


def off(row: Environment, *ids: str) -> dict[str, Any]:
    told = {"id": row.id, "number": 1, "components": [component("a", "down")], "off": list(ids)}
    return {"t": "changes", "environments": [told]}


def test_what_does_not_run_when_a_worker_begins_to_watch_is_started_once(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i", uses="j")), app("b", instance("j", "db")), app("c", instance("k", "rest")))
    Environment.objects.filter(id=row.id).update(stopped={"c-k": {"by": "ann", "at": ""}})
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    assert process.told()[1]["environment"]["stopped"] == {"c-k": "ann"}
    process.say(off(row, "c-i", "c-j", "c-k", "c-stranger"))
    round_of(watch)
    (task,) = Task.objects.filter(environment_id=row.id)
    assert (task.kind, task.user_id, task.label) == ("power", "system", "")
    steps = [(step["action"], [server["id"] for server in step["servers"]]) for step in task.spec["power"]]
    assert steps == [("start", ["c-j"]), ("start", ["c-i"])], "in order, and nothing that somebody stopped"
    Task.objects.filter(id=task.id).update(state="done")
    process.say(off(row, "c-i"))
    round_of(watch)
    assert Task.objects.filter(environment_id=row.id).count() == 1, "what ends later is told, not started"
    assert whole(row) == "down"


@pytest.mark.parametrize("why", ["working", "quota"])
def test_what_is_in_the_way_is_waited_for(ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """What a task worked on, and what its project had no room for, was never started."""
    from vetro.server.quotas.models import ProjectQuota

    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    monkeypatch.setattr(watcher, "_LATER", 0.0)
    before = working(row, Task.QUEUED)
    if why == "working":
        Environment.objects.filter(id=row.id).update(task_id=before.id)
    else:
        ProjectQuota.objects.create(project_id=row.project_id, name="tasks", most=1)
    processes[0].say(off(row, "c-i"))
    round_of(watch)
    round_of(watch)
    assert not Task.objects.filter(environment_id=row.id, kind="power").exists()
    Task.objects.filter(id=before.id).update(state="done")
    round_of(watch)
    round_of(watch)
    assert Task.objects.filter(environment_id=row.id, kind="power").count() == 1


def test_what_was_said_is_written_when_the_database_comes_back(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of what the process had said was lost, and what had been told before was believed for ever."""
    from django.db import OperationalError

    rows = [made(ann, app("a", instance(name)), name=name) for name in ("one", "two")]
    watch, processes = watching()
    round_of(watch)

    def away(*values: Any) -> bool:
        raise OperationalError("away")

    with monkeypatch.context() as patch:
        patch.setattr(watcher.recovery, "start", away)
        processes[0].say(off(rows[0], f"c-{rows[0].name}"), off(rows[1]))
        with pytest.raises(OperationalError):
            round_of(watch)
    round_of(watch)
    assert whole(rows[1]) == "down"
    assert Task.objects.filter(environment_id=rows[0].id, kind="power").count() == 1


def test_who_watched_before_a_machine_ended_is_waited_for(ann: Any, watching: Any) -> None:
    """Its leases ended after the minute in which anything was started, where the settings gave it long ones."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    watch._config = config().changed({"worker.lease_seconds": 100.0})
    watch._begun -= 250
    round_of(watch)
    processes[0].say(off(row, "c-i"))
    round_of(watch)
    assert Task.objects.filter(environment_id=row.id, kind="power").count() == 1


def test_one_that_breaks_what_starts_it_is_tried_once(ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    asked = []

    def broken(config: Any, id: str, servers: Any) -> bool:
        asked.append(id)
        raise ValueError("a model that nobody can read")

    monkeypatch.setattr(watcher.recovery, "start", broken)
    processes[0].say(off(row, "c-i"))
    with pytest.raises(ValueError, match="nobody can read"):
        round_of(watch)
    round_of(watch)
    assert asked == [row.id] and whole(row) == "down"


@pytest.mark.parametrize("why", ["new", "working", "elsewhere", "running", "followed", "deleted"])
def test_what_is_not_started(ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    watch, processes = watching()
    if why == "new":  # it came to be under the watcher's eyes
        made(ann, app("z", instance("z")), name="other")
        round_of(watch)
    row = made(ann, app("a", instance("i")))
    if why == "followed":  # another worker watched until now
        watch._begun -= 100
    if why == "elsewhere":
        monkeypatch.setattr(ProotKind, "bound", False)
    round_of(watch)
    (process,) = processes
    if why == "working":
        Environment.objects.filter(id=row.id).update(task_id=working(row, Task.QUEUED).id)
    if why == "deleted":  # somebody wanted that, and some of it could not be
        Environment.objects.filter(id=row.id).update(failure=Session.DELETE_FAILED)
    process.say(off(row, *([] if why == "running" else ["c-i"])))
    round_of(watch)
    assert not Task.objects.filter(environment_id=row.id, kind="power").exists()


def test_while_a_task_works_on_it_nothing_is_told_and_afterwards_it_is_looked_at_anew(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    process.told()
    task = working(row, Task.RUNNING)
    process.say({"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "down")]}]})
    round_of(watch)
    assert process.told() == [{"t": "drop", "ids": [row.id]}]
    assert states(row) == ["unknown"]
    Task.objects.filter(id=task.id).update(state="done")
    round_of(watch)
    assert [message["t"] for message in process.told()] == ["put"]


def test_a_process_that_ended_or_says_nothing_is_started_again_and_nothing_is_believed(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vetro.engine.worker.ports import HostUnavailable

    made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    processes[0].theirs.shutdown(socket.SHUT_RDWR)
    with pytest.raises(HostUnavailable, match="has ended"):
        round_of(watch)
    watch._end()
    round_of(watch)
    monkeypatch.setattr(watcher, "SILENT", 0.0)
    WatchMark.objects.all().delete()
    with pytest.raises(HostUnavailable, match="says nothing"):
        round_of(watch)
    assert len(processes) == 2 and not WatchMark.objects.exists()


def test_who_watches_no_more_writes_no_more(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    first, processes = watching()
    second, others = watching()
    round_of(first)
    round_of(second)
    assert len(processes) == 1 and others == []
    WorkerProcess.objects.filter(id=first._member.id).update(seen=clock.read() - timedelta(seconds=60))
    say = {"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "running")]}]}
    processes[0].say(say)
    first._next["lead"] = float("inf")  # it has not noticed yet
    round_of(first)
    assert states(row) == ["unknown"]
    round_of(second)
    assert len(others) == 1
    others[0].say(say)
    round_of(second)
    assert [one.told.state for one in queries.components(row.id, None, None)] == [State.RUNNING]
    assert not processes[0].alive


def test_what_is_simulated_is_not_asked(ann: Any, watching: Any) -> None:
    made(ann, app("a", instance("i")), cloud=PRETENDED)
    watch, processes = watching()
    round_of(watch)
    assert processes == [] and Health.objects.filter(state="").count() == 1


def test_the_next_watcher_hears_what_was_told_before(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watched(row)
    failing = {"key": "k", "name": "page", "state": "down", "text": "x", "reached": True}
    service.record([(row.id, 1, [component("a", "down", "x", [failing])])], "")
    watch, processes = watching()
    round_of(watch)
    _, put = processes[0].told()
    assert put["environment"]["components"][0]["was"] == {"k": ["down", True]}


def test_who_takes_over_after_an_outage_is_handed_nothing_and_believes_nothing_until_it_was_told(
    ann: Any, watching: Any
) -> None:
    """The label was believed again in the first round, and what was running an hour ago was green at once."""
    row = made(ann, app("a", instance("i")), app("b", instance("j")))
    watched(row)
    well = {"key": "k", "name": "page", "state": "running", "text": "", "reached": True}
    service.record([(row.id, 1, [component(id, "running", "", [well]) for id in "ab"])], "")
    assert whole(row) == "running"
    WatchMark.objects.update(until=clock.read() - timedelta(seconds=1))
    watch, processes = watching()
    round_of(watch)
    round_of(watch)
    assert (whole(row), states(row)) == ("unknown", ["unknown", "unknown"])
    _, put = processes[0].told()
    assert [one["was"] for one in put["environment"]["components"]] == [{}, {}]

    def say(id: str) -> None:
        told = [component(id, "running")]
        processes[0].say({"t": "changes", "environments": [{"id": row.id, "number": 1, "components": told}]})
        round_of(watch)
        watch._next["mark"] = 0.0
        round_of(watch)

    say("a")
    assert (whole(row), states(row)) == ("unknown", ["running", "unknown"])
    say("b")
    assert (whole(row), states(row)) == ("running", ["running", "running"])


def test_what_is_to_be_looked_at_anew_is_believed_for_a_moment_only(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    processes[0].say(
        {"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "running")]}]}
    )
    round_of(watch)
    watch._next["mark"] = 0.0
    round_of(watch)
    assert whole(row) == "running"
    service.retarget(row.id, watch._mark, ["a"])  # as after a deployment
    assert whole(row) == "running"
    WatchMark.objects.exclude(label=watch._mark).update(until=clock.read() - timedelta(seconds=1))
    assert (whole(row), states(row)) == ("unknown", ["unknown"])


@pytest.mark.attack("quotas", "H3")
def test_what_cannot_be_read_of_one_environment_holds_nobody_else_up(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class of another package called io.vetro.lifecycle.Health gave values without types: all watching ended."""
    bad, good = made(ann, app("a", instance("i")), name="bad"), made(ann, app("a", instance("i")), name="good")
    watched(bad)
    service.record([(bad.id, 1, [component("a", "running")])], "")
    watch, processes = watching()
    read = watch._reader.components

    def components(row: Environment) -> Any:
        if row.id == bad.id:
            raise AttributeError("'int' object has no attribute 'startswith'")
        return read(row)

    monkeypatch.setattr(watch._reader, "components", components)
    for _ in range(2):
        round_of(watch)
    assert [m["environment"]["id"] for m in processes[0].told() if m["t"] == "put"] == [good.id]
    assert (whole(bad), states(bad)) == ("unknown", ["unknown"])


@pytest.mark.attack("database", "H2")
def test_what_the_database_refuses_of_one_environment_is_unknown_and_the_others_are_written(
    ann: Any, watching: Any
) -> None:
    """One id was enough that the health of nobody was written any more."""
    bad, good = made(ann, app("a", instance("i")), name="bad"), made(ann, app("a", instance("i")), name="good")
    watch, processes = watching()
    round_of(watch)
    (process,) = processes

    def say(*parts: dict[str, Any]) -> None:
        told = [{"id": row.id, "number": 1, "components": list(parts[:n])} for n, row in ((1, good), (2, bad))]
        process.say({"t": "changes", "environments": told})
        round_of(watch)
        watch._next["mark"] = 0.0
        round_of(watch)

    say(component("a", "running"))
    assert (whole(bad), whole(good)) == ("running", "running")
    say(component("a", "down"), component("half \ud800", "down"))
    assert (whole(bad), states(bad), whole(good)) == ("unknown", ["unknown"], "down")


def test_nothing_is_believed_on_while_nothing_can_be_written(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)

    def fails(*args: Any) -> Any:
        raise OperationalError("no database")

    monkeypatch.setattr(service, "record", fails)
    monkeypatch.setattr(watcher, "_COLLECT", 60.0)
    WatchMark.objects.all().delete()
    processes[0].say(
        {"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "down")]}]}
    )
    with pytest.raises(OperationalError):
        round_of(watch)
    watch._next["mark"] = 0.0
    round_of(watch)
    assert watch._told and not WatchMark.objects.exists()


def test_reports_that_came_too_early_or_too_late_are_asked_for_again(ann: Any, watching: Any) -> None:
    """They were thrown away: what had been told before stayed for ever."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    process.told()
    watch._next["targets"] = float("inf")
    task = working(row, Task.RUNNING)
    say = {"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "down")]}]}
    process.say(say)
    round_of(watch)
    assert [message["t"] for message in process.told()] == ["drop"]
    Task.objects.filter(id=task.id).update(state="done")
    watch._next["targets"] = 0.0
    round_of(watch)
    assert [message["t"] for message in process.told()] == ["put"]
    process.say(say)
    watch._led = {"", "for a moment"}
    watch._next["lead"] = float("inf")
    round_of(watch)
    assert not process.alive and not watch._told and not watch._watched
    watch._led, watch._next["lead"] = None, 0.0
    round_of(watch)
    assert [message["t"] for message in processes[1].told()] == ["cloud", "put"]


@pytest.mark.parametrize(
    ("state", "lease", "rests"),
    [(Task.RUNNING, 60, True), (Task.RUNNING, -60, False), (Task.QUEUED, 60, False), (Task.NEEDS_PERSON, 60, False)],
)
def test_only_a_task_that_runs_keeps_the_watcher_off(
    ann: Any, watching: Any, state: str, lease: float, rests: bool
) -> None:
    """An environment was green for weeks while its task waited for a person."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    processes[0].told()
    working(row, state, lease)
    round_of(watch)
    assert processes[0].told() == ([{"t": "drop", "ids": [row.id]}] if rests else [])


def test_an_environment_whose_checks_cannot_be_read_is_unknown_until_they_can(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None were kept in their place: what the author checks was green by its servers."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    answers: list[Any] = [None, {}]
    monkeypatch.setattr(watch._reader, "_asked", lambda *args: answers.pop(0))
    monkeypatch.setattr(target_reader.packages, "uses", lambda id, package: package == "io.vetro")

    def say(state: str) -> tuple[str, list[str]]:
        told = [{"id": row.id, "number": 1, "components": [component("a", state)]}]
        processes[0].say({"t": "changes", "environments": told})
        round_of(watch)
        watch._next["mark"] = 0.0
        round_of(watch)
        return whole(row), states(row)

    round_of(watch)
    assert say("running") == ("unknown", ["unknown"])
    assert say("down") == ("down", ["down"])
    assert len(answers) == 1  # it is not read again at once
    watch._later.clear()
    round_of(watch)
    assert answers == [] and say("running") == ("running", ["running"])
