"""Servers of an environment are stopped and started: in order, once, noted, and by whom."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.clouds.record.driver import RecordDriver
from vetro.server.audit.models import AuditRecord
from vetro.server.environments import deploy as deploying
from vetro.server.environments import plan, power, queries, sessions
from vetro.server.environments.models import Environment, EnvironmentPackage, Session, State
from vetro.server.errors import Conflict, Forbidden, NotFound
from vetro.server.tasks import queue
from vetro.server.tasks.models import JournalEntry, Task

SHOP = """\
Name: Shop
Namespaces: {=: test, std: io.murano, res: io.murano.resources}
Extends: std:Application
Properties:
  instance: {Contract: $.class(res:Instance).notNull()}
  uses: {Contract: $.class(Shop)}
Methods:
  deploy:
    Body: [$.instance.deploy()]
"""


#: The same, which does nothing when it is deployed for the second time.
ONCE = """\
      - If: not $.getAttr(opened, false)
        Then:
          - $.instance.deploy()
          - $.setAttr(opened, true)
"""


class Street:
    """An environment of two deployed shops on the recorder: ``front`` uses ``back``."""

    def __init__(self, ann: Any, place: Path, drain: Callable[..., int], shops: str = SHOP) -> None:
        self.caller, self.place, self.drain = ann.caller, place, drain
        package = shop.add_package(self.caller, shop.archive({"Classes/Shop.yaml": shops}))
        self.row = shop.add_environment(self.caller, "street")
        start = shop.model(self.row)
        start["Objects"]["applications"] = [self.shop("front", uses="back"), self.shop("back")]
        self.deployed = shop.enqueue(self.caller, self.row, package, start)
        self.ran(self.deployed)
        self.ids = {name: id for id, name in self.calls("create server")}
        assert sorted(self.ids) == ["back-1", "front-1"]

    @staticmethod
    def shop(id: str, **more: Any) -> dict[str, Any]:
        instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"i-{id}"}, "name": f"{id}-1",
                    "image": "debian-12-murano", "flavor": "m1.small", "assignFloatingIp": False}  # fmt: skip
        return {"?": {"type": "test.Shop", "id": id, "name": f"the {id}"}, "instance": instance, **more}

    def ran(self, task: Task, state: str = "done") -> Task:
        self.drain()
        task.refresh_from_db()
        assert task.state == state, task.error
        self.row.refresh_from_db()
        return task

    def driver(self) -> RecordDriver:
        return RecordDriver(self.place)

    def calls(self, *what: str) -> list[tuple[str, str]]:
        driver = self.driver()
        try:
            rows = driver.store.rows("SELECT what, id, name FROM calls ORDER BY place")
            return [(id, name) for said, id, name in rows if said in what]
        finally:
            driver.close()

    def switched(self) -> list[str]:
        """What was done with servers since the last time: 'stop back-1'."""
        names = {id: name for name, id in self.ids.items()}
        driver = self.driver()
        try:
            rows = driver.store.rows("SELECT what, id FROM calls WHERE what IN ('start server', 'stop server')")
            driver.store.run("DELETE FROM calls WHERE what IN ('start server', 'stop server')")
            return [f"{what.split()[0]} {names[id]}" for what, id in rows]
        finally:
            driver.close()

    def states(self) -> dict[str, str]:
        driver = self.driver()
        try:
            seen = driver.statuses(list(self.ids.values()))
            return {name: seen[id] for name, id in self.ids.items()}
        finally:
            driver.close()

    def change(self, action: Any, what: str = "", state: str = "done") -> Task:
        return self.ran(power.change(self.caller, self.row.id, action, what), state)

    def stopped(self) -> dict[str, Any]:
        names = {id: name for name, id in self.ids.items()}
        self.row.refresh_from_db()
        return {names[id]: note["by"] for id, note in self.row.stopped.items()}


@pytest.fixture
def opened(
    ann: Any, drain: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Street]:
    from vetro.server import setup
    from vetro.server.config.config import Config

    place = tmp_path / "cloud"
    given = {"cloud.driver": "record", "cloud.directory": str(place)}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
    return partial(Street, ann, place, drain)


@pytest.mark.parametrize("shops", [SHOP, SHOP.replace("Body: [$.instance.deploy()]\n", "Body:\n" + ONCE)])
def test_a_deployment_starts_what_does_not_run_whether_its_package_does_anything(
    opened: Callable[..., Street], shops: str
) -> None:
    street = opened(shops)
    street.switched()
    for status, word in (("ERROR", "ended"), ("SHUTOFF", "stopped")):
        with closing(street.driver()) as driver:
            driver.store.run("UPDATE servers SET status = ? WHERE name = 'back-1'", (status,))
        planned = street.ran(plan.plan(street.caller, street.row.id, ""))
        assert [(one["name"], one["was"]) for one in planned.result["servers"]] == [("back-1", word)]
        session = sessions.open_session(street.caller, street.row.id)
        task = street.ran(deploying.deploy(street.caller, street.row.id, session.id))
        assert street.switched() == ["start back-1"] and set(street.states().values()) == {"ACTIVE"}
        texts = [report.text for report in task.reports.order_by("seq")]
        assert [text for text in texts if text.startswith("Server")] == ["Server back-1 was started"], "the other runs"
    session = sessions.open_session(street.caller, street.row.id)
    street.ran(deploying.deploy(street.caller, street.row.id, session.id))
    assert street.switched() == []


@pytest.fixture
def street(opened: Callable[..., Street]) -> Street:
    return opened()


def test_an_environment_is_stopped_and_started_in_order(street: Street) -> None:
    version = street.row.version
    draft = sessions.open_session(street.caller, street.row.id)
    task = street.change("stop")
    assert street.switched() == ["stop front-1", "stop back-1"], "who uses another one goes first"
    assert set(street.states().values()) == {"SHUTOFF"}
    assert street.stopped() == {"back-1": street.caller.user_name, "front-1": street.caller.user_name}
    assert all(note["at"] for note in street.row.stopped.values())
    assert [(report.entity_id, report.text) for report in task.reports.order_by("seq")] == [
        ("front", "Server front-1 was stopped"),
        ("back", "Server back-1 was stopped"),
    ]
    street.change("start")
    assert street.switched() == ["start back-1", "start front-1"]
    assert set(street.states().values()) == {"ACTIVE"} and street.stopped() == {}
    street.change("restart")
    assert street.switched() == ["stop front-1", "stop back-1", "start back-1", "start front-1"]
    assert street.stopped() == {}
    assert (street.row.version, State.objects.filter(environment=street.row).count()) == (version, version)
    assert Session.objects.get(id=draft.id).state == "opened", "drafts stay valid"
    assert queries.get(street.caller, street.row.id).status == "pending"
    actions = AuditRecord.objects.filter(target_id=street.row.id).order_by("id").values_list("action", "user_name")
    assert [found for found in actions if found[0] != "environment.deploy"] == [
        (f"environment.{action}", street.caller.user_name) for action in ("stop", "start", "restart")
    ]


@pytest.mark.parametrize(
    "what",
    [
        "back",
        pytest.param("the back", marks=pytest.mark.campaign),
        pytest.param("back-1", marks=pytest.mark.campaign),
        "id",
    ],
)
def test_a_component_or_a_server_by_id_or_name(street: Street, what: str) -> None:
    street.change("stop", street.ids["back-1"] if what == "id" else what)
    assert street.switched() == ["stop back-1"] and list(street.stopped()) == ["back-1"]
    street.change("restart", what if what != "id" else street.ids["back-1"])
    assert street.states()["back-1"] == "ACTIVE" and street.stopped() == {}


def test_what_is_refused(street: Street, bob: Any) -> None:
    with pytest.raises(NotFound):
        power.change(street.caller, street.row.id, "stop", "nobody")
    empty = shop.add_environment(street.caller, "empty")
    with pytest.raises(Conflict, match="has no servers"):
        power.change(street.caller, empty.id, "stop")
    task = power.change(street.caller, street.row.id, "stop")
    assert queries.get(street.caller, street.row.id).busy
    for refused in (
        lambda: power.change(street.caller, street.row.id, "start"),
        lambda: deploying.delete(street.caller, street.row.id),
        lambda: sessions.open_session(street.caller, street.row.id),
    ):
        with pytest.raises(Forbidden):
            refused()
    assert street.ran(task).state == "done"
    with pytest.raises(Conflict, match="has not failed"):
        queue.retry(street.caller, task.id)


def test_a_deployment_starts_what_was_stopped_and_says_so(street: Street) -> None:
    street.change("stop", "back")
    street.switched()
    session = sessions.open_session(street.caller, street.row.id)
    task = street.ran(deploying.deploy(street.caller, street.row.id, session.id))
    assert street.switched() == ["start back-1"] and street.stopped() == {}
    texts = [str(report.text) for report in task.reports.order_by("seq")]
    assert "Server back-1 was started" in texts
    assert texts.index("Server back-1 was started") < texts.index("Deployment finished")


def test_what_was_not_done_is_not_noted(street: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not stop keeps the others from nothing; cancelled before it began, nothing is noted."""
    task = power.change(street.caller, street.row.id, "stop")
    queue.cancel(street.caller, task.id, "no")
    street.row.refresh_from_db()
    assert street.stopped() == {} and not queries.get(street.caller, street.row.id).busy
    # Its server is unknown to the cloud: as if somebody had removed it by hand.
    state = State.objects.filter(environment=street.row).order_by("-number").first()
    assert state is not None
    front = next(item for item in state.model["Objects"]["applications"] if item["?"]["id"] == "front")
    front["instance"]["openstackId"] = "gone"
    state.save()
    task = street.change("stop", state="failed")
    assert (
        task.error is not None and task.error["message"] == "server 'front-1' did not stop: there is no server 'gone'"
    )
    assert street.switched() == ["stop back-1"] and list(street.stopped()) == ["back-1"]
    front["instance"]["openstackId"] = street.ids["front-1"]
    state.save()
    made = queue.retry(street.caller, task.id)
    assert made.kind == "power" and street.ran(made).state == "done"
    assert list(street.stopped()) == ["back-1"], "the one that it was about is not there any more"


def test_half_of_what_a_dead_task_did_is_noted(street: Street) -> None:
    """The journal says what was done, and begun: a server that was off and not noted was started by no deployment."""
    task = power.change(street.caller, street.row.id, "stop")
    JournalEntry.objects.create(
        task=task, key="power0", kind="server.power", digest="", begun=0.0, ended=1.0, result={"answer": {"failed": {}}}
    )
    JournalEntry.objects.create(task=task, key="power1", kind="server.power", digest="", begun=1.0)
    row = Environment.objects.get(id=street.row.id)
    power.settle(row, task)
    assert sorted(street.stopped()) == ["back-1", "front-1"]
    task.spec = {**task.spec, "power": [{**step, "action": "start"} for step in task.spec["power"]]}
    power.settle(row, task)
    assert list(street.stopped()) == ["back-1"], "it may be off as well"
    power.forget(row, {"Objects": None})
    assert street.stopped() == {}


@pytest.mark.campaign
def test_what_is_begun_and_cancelled_is_started_by_the_next_deployment(street: Street) -> None:
    task = power.change(street.caller, street.row.id, "stop", "back")
    JournalEntry.objects.create(task=task, key="power0", kind="server.power", digest="", begun=0.0)
    driver = street.driver()
    driver.stop(street.ids["back-1"])
    driver.close()
    queue.cancel(street.caller, task.id, "no")
    session = sessions.open_session(street.caller, street.row.id)
    street.ran(deploying.deploy(street.caller, street.row.id, session.id))
    assert set(street.states().values()) == {"ACTIVE"}


@pytest.mark.parametrize("what", [pytest.param("", marks=pytest.mark.campaign), "back"])
def test_a_restart_that_was_cut_off_was_stopped_by_nobody_and_the_next_deployment_starts_it(
    street: Street, what: str
) -> None:
    """Servers of a restart that was cancelled were told as stopped by its caller, or started by no deployment."""
    task = power.change(street.caller, street.row.id, "restart", what)
    names = [server["name"] for step in task.spec["power"][:2] for server in step["servers"]]
    for number, name in enumerate(names):
        end = {} if what else {"ended": 1.0, "result": {"answer": {"failed": {}}}}
        JournalEntry.objects.create(task=task, key=f"power{number}", kind="server.power", digest="", begun=0.0, **end)
        driver = street.driver()
        driver.stop(street.ids[name])
        driver.close()
    queue.cancel(street.caller, task.id, "no")
    assert sorted(street.stopped()) == sorted(names) and power.on_purpose(street.row.stopped) == {}
    session = sessions.open_session(street.caller, street.row.id)
    street.ran(deploying.deploy(street.caller, street.row.id, session.id))
    assert set(street.states().values()) == {"ACTIVE"} and street.stopped() == {}


def test_tasks_are_repeated_by_the_rules_by_which_they_are_begun(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who might not switch servers could have another's stop repeated."""
    task = power.change(street.caller, street.row.id, "stop")
    queue.cancel(street.caller, task.id, "no")
    asked: list[str] = []

    def refuse(caller: Any, rule: str) -> None:
        asked.append(rule)
        raise Forbidden("no")

    monkeypatch.setattr(deploying, "enforce", refuse)
    for kind, rule in (("power", "power_environment"), ("repair", "update_environment")):
        Task.objects.filter(id=task.id).update(kind=kind)
        with pytest.raises(Forbidden):
            queue.retry(street.caller, task.id)
        assert asked == [rule]
        asked.clear()


@pytest.mark.campaign
def test_what_failed_before_servers_were_switched_can_be_done_again(street: Street) -> None:
    """After a machine came back, and its servers were started, nobody could repeat what had failed with it."""
    session = sessions.open_session(street.caller, street.row.id)
    failed = deploying.deploy(street.caller, street.row.id, session.id)
    queue.cancel(street.caller, failed.id, "no")
    street.change("restart")
    made = queue.retry(street.caller, failed.id)
    assert made.kind == "deploy" and street.ran(made).state == "done"
    with pytest.raises(Conflict, match="was changed since"):
        queue.retry(street.caller, failed.id)


def test_a_stopped_server_that_is_gone_holds_no_deployment_up(street: Street) -> None:
    """Whatever was deployed failed before it began, also what would have taken the server away."""
    street.change("stop")
    driver = street.driver()
    driver.store.run("DELETE FROM servers WHERE id = ?", (street.ids["back-1"],))
    driver.close()
    session = sessions.open_session(street.caller, street.row.id)
    task = street.ran(deploying.deploy(street.caller, street.row.id, session.id))
    (warning,) = task.reports.filter(level="warning")
    assert warning.entity_id == "back" and "'back-1' did not start" in str(warning.text)
    assert list(street.stopped()) == ["back-1"] and queries.get(street.caller, street.row.id).status == "ready"
    street.ran(deploying.empty(street.caller, street.row.id))
    assert street.stopped() == {}


METHODS = """\
  flush:
    Meta: {l:Power: {on: stop}}
    Body:
      - $.find(std:Environment).reporter.report($this, format('{0} flushes', $.name))
      - If: $.broken
        Then: [{Throw: Broken, Message: the disk is full}]
  warm:
    Meta: {l:Power: {on: start}}
    Body:
      - $.find(std:Environment).reporter.report($this, format('{0} is warm', $.name))
      - If: $.cold
        Then: [{Throw: Broken, Message: still cold}]
  push:
    Meta: {l:Power: {on: restart}}
    Body:
      - If: $.pushes
        Then:
          - $.find(std:Environment).stack.updateTemplate({resources => {}})
          - $.find(std:Environment).stack.push()
      - $.find(std:Environment).reporter.report($this, format('{0} restarts', $.name))
"""
MORE = """\
  name: {Contract: $.string(), Default: shop}
  broken: {Contract: $.bool(), Default: false}
  cold: {Contract: $.bool(), Default: false}
  pushes: {Contract: $.bool(), Default: false}
"""


@pytest.fixture
def methods(street: Street, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Deploys shops with methods of their own; properties by id."""
    text = SHOP.replace("{=: test,", "{=: test, l: io.vetro.lifecycle,").replace(
        "Methods:\n", f"{MORE}Methods:\n{METHODS}"
    )
    manifest = shop.MANIFEST.replace(
        "Format: MuranoPL/1.3", "Format: MuranoPL/1.4\nVersion: 2.0.0\nRequire: {io.vetro: 1}"
    )
    package = shop.add_package(street.caller, shop.archive({"Classes/Shop.yaml": text}, manifest))

    def deployed(**more: dict[str, Any]) -> None:
        start = shop.model(street.row)
        front = street.shop("front", uses="back", **more.get("front", {}))
        start["Objects"]["applications"] = [front, street.shop("back", **more.get("back", {}))]
        for one in start["Objects"]["applications"]:
            one["?"]["type"] = "test.Shop/2.0.0@test.shop"
            known = {"i-front": "front-1", "i-back": "back-1"}
            one["instance"]["openstackId"] = street.ids[known[one["instance"]["?"]["id"]]]
            one["instance"]["ipAddresses"] = []
        State.objects.filter(environment=street.row).update(
            model={k: v for k, v in start.items() if k != "ObjectsCopy"}
        )
        EnvironmentPackage.objects.filter(environment=street.row).delete()
        used = {"fqn": package.fqn, "version": package.version, "digest": package.digest}
        EnvironmentPackage.objects.create(environment=street.row, **used)

    return deployed


def said(task: Task) -> list[str]:
    return [str(report.text) for report in task.reports.order_by("seq") if report.level == "info"]


def test_methods_are_called_before_servers_stop_and_after_they_start(street: Street, methods: Any) -> None:
    methods(front={"name": "front"}, back={"name": "back"})
    version = street.row.version
    before = ["Calling method flush", "{0} flushes", "Server {0}-1 was stopped"]
    after = ["Server {0}-1 was started", "Calling method warm", "{0} is warm"]
    ways = {
        "stop": [line.format(name) for name in ("front", "back") for line in before],
        "start": [line.format(name) for name in ("back", "front") for line in after],
    }
    instead = ["Calling method push", "{0} restarts", "Server {0}-1 was stopped"]
    ways["restart"] = [line.format(name) for name in ("front", "back") for line in instead] + ways["start"]
    for action, lines in ways.items():
        assert said(street.change(action)) == lines, action
    assert len(street.switched()) == 8 and street.row.version == version


def test_what_fails_before_a_stop_leaves_servers_running_unless_it_is_forced(street: Street, methods: Any) -> None:
    methods(back={"broken": True})
    task = street.change("stop", state="failed")
    assert street.switched() == ["stop front-1"] and set(street.stopped()) == {"front-1"}
    assert task.error["message"] == (
        "method 'flush' of 'the back' failed: the disk is full; its servers were not stopped: force it to do without"
    )
    forced = street.ran(power.change(street.caller, street.row.id, "stop", force=True))
    assert street.switched() == ["stop back-1"] or street.states() == {"back-1": "SHUTOFF", "front-1": "SHUTOFF"}
    assert not any("method" in line for line in said(forced)) and forced.spec["packages"] == []
    (newest, _) = AuditRecord.objects.filter(target_id=street.row.id, action="environment.stop").order_by("-id")
    assert newest.details["force"] is True


@pytest.mark.campaign
def test_what_cannot_be_loaded_is_switched_by_force_only(street: Street, methods: Any) -> None:
    methods(back={"uses": {"?": {"id": "x", "type": "test.Nothing"}}})
    message = street.change("stop", state="failed").error["message"]
    assert message.startswith("methods of applications cannot be called: ") and street.switched() == []
    street.ran(power.change(street.caller, street.row.id, "stop", force=True))
    assert len(street.switched()) == 2


@pytest.mark.campaign
def test_what_fails_after_a_start_keeps_nothing_else_from_starting(street: Street, methods: Any) -> None:
    methods(back={"cold": True}, front={"name": "front"})
    street.change("stop")
    street.switched()
    task = street.change("start", state="failed")
    assert street.switched() == ["start back-1", "start front-1"] and street.stopped() == {}
    assert "front is warm" in said(task) and task.error["message"] == "method 'warm' of 'the back' failed: still cold"


def test_a_method_pushes_no_stacks(street: Street, methods: Any) -> None:
    methods(back={"pushes": True})
    task = street.change("restart", "back", "failed")
    assert "changes no stacks" in task.error["message"] and street.switched() == []
