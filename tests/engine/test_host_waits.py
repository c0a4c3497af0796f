"""What the effects of a task wait for is told: for each kind of effect, of every cloud, and not too often."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.world import OWNER, World, hot
from tests.engine.test_host_silence import Silence
from vetro.clouds.interface import Conflict, PowerAction
from vetro.engine.effect_kinds import KINDS, Answer
from vetro.engine.host import waits
from vetro.engine.host.answer import Request
from vetro.engine.host.performer import EffectsHost
from vetro.engine.host.waits import WaitTeller

LISTENER = "-execution-results-x"
PLAN = {"queue": "eenv-hone", "listener": LISTENER, "id": "1", "plan": {"Name": "Install"}, "timeout": 600}
#: Kind of effect -> its arguments, and what is told: kind, text, object.
EFFECTS: dict[str, tuple[dict[str, Any], tuple[str, str, str]]] = {
    "sleep": ({"seconds": 600}, ("pause", "the end of a pause of 600 s that a package makes", "")),
    "stack.read": ({"name": "s"}, ("cloud", "the cloud slow, which reads stack 's'", "")),
    "stack.push": ({"name": "s", "digest": "d"}, ("cloud", "the cloud slow, which changes stack 's'", "")),
    "stack.delete": ({"name": "s"}, ("cloud", "the cloud slow, which removes stack 's'", "")),
    "server.power": (
        {"action": "stop", "servers": ["i"]},
        ("cloud", "the cloud slow, which starts or stops servers", ""),
    ),
    "snapshot.make": ({"name": "s"}, ("cloud", "the cloud slow, which keeps the environment as it is", "")),
    "snapshot.restore": (
        {"name": "s"},
        ("cloud", "the cloud slow, which brings the environment back as it was", ""),
    ),
    "snapshot.drop": (
        {"name": "s"},
        ("cloud", "the cloud slow, which removes what was kept for the way back", ""),
    ),
    "network": ({"query": "networks"}, ("cloud", "the cloud slow, which tells what it has", "")),
    "metadef": ({"query": "objects"}, ("cloud", "the cloud slow, which tells what it has", "")),
    "agent.call": (PLAN, ("agent", "the agent of server 'eenv-hone', which was asked to run 'Install'", "one")),
    "agent.send": (PLAN, ("agent", "the agent of server 'eenv-hone', which was asked to run 'Install'", "one")),
}


class Slow:
    """A cloud and a channel where everything waits until it is over."""

    name = "slow"

    def __init__(self) -> None:
        self.over = threading.Event()
        self.conflicts = False

    def _wait(self, *args: object, **more: object) -> None:
        if self.conflicts:
            raise Conflict("somebody else changes the stack")
        self.over.wait(60)

    read_stack = push_stack = delete_stack = network = metadef = _wait
    snapshot_report = snapshot = restore = drop = _wait

    def power(self, owner: object, server: str, action: PowerAction) -> None:
        self._wait()

    def servers(self, owner: object) -> tuple[()]:
        return ()

    def close(self) -> None:
        self.over.set()


class SlowChannel(Silence):
    """Plans are not even taken."""

    def __init__(self, cloud: Slow) -> None:
        super().__init__()
        self._cloud = cloud

    def send(self, queue: str, message: Any) -> None:
        self._cloud.over.wait(60)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[EffectsHost, Slow]]:
    monkeypatch.setattr("vetro.engine.host.performer.LONG", 0.0)
    monkeypatch.setattr("vetro.engine.host.agents._LOOK", 0.01)
    cloud = Slow()
    host = EffectsHost(cloud, SlowChannel(cloud), OWNER, conflict_pauses=(60.0,), snapshots=True)  # type: ignore[arg-type]
    yield host, cloud
    cloud.over.set()
    host.close(5.0)


def told(found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(one["kind"], one["text"], one["id"]) for one in found]


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def test_every_kind_of_effect_that_is_waited_for_says_what_for(slow: tuple[EffectsHost, Slow]) -> None:
    host, _ = slow
    waiting = {kind for kind, (_, answer) in KINDS.items() if answer is Answer.WAITS}
    assert waiting - set(EFFECTS) == {"workflow"}  # refused at once
    for number, (kind, (args, said)) in enumerate(EFFECTS.items()):
        name = kind.replace(".", "-")
        request = Request(f"0/{number}", kind, {**args, **({"name": name} if "name" in args else {})})
        request.begun = time.time() - 7
        host.begin(request, lambda *ended: None)
        stack = (said[0], said[1].replace("'s'", f"'{name}'"), said[2])
        until(lambda stack=stack: stack in told(host.waits()))
        (one,) = [one for one in host.waits() if one["since"] == request.begun]
        assert one["texts"]["text"]["template"]  # it can be said in other languages
        host.abandon(request.key)
        if kind in ("sleep", "agent.call"):
            until(lambda stack=stack: stack not in told(host.waits()))


def test_effects_of_plug_ins_are_named(slow: tuple[EffectsHost, Slow]) -> None:
    request = Request("0/1", "plugin:rocket.launch", {})
    assert waits.wait_of(request, "slow") == ("effect", "the end of 'rocket.launch'", "")


def test_operations_on_a_stack_that_others_hold_and_those_in_line(slow: tuple[EffectsHost, Slow]) -> None:
    host, cloud = slow
    cloud.conflicts = True
    for number in (1, 2):
        host.begin(Request(f"0/{number}", "stack.read", {"name": "s"}), lambda *ended: None)
    held = ("stack", "another operation: somebody else changes the stack", "")
    until(lambda: told(host.waits()) == [held, ("turn", "its turn: another part of the task works on stack 's'", "")])
    host.abandon("0/1")
    until(lambda: told(host.waits()) == [held])


def test_an_agent_that_never_came_is_told_as_that_until_it_comes(
    slow: tuple[EffectsHost, Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vetro.engine.host.agent_watch.GLANCE", 0.02)
    monkeypatch.setattr("vetro.engine.host.agent_watch.WAITS", 0.0)
    there = threading.Event()
    monkeypatch.setattr(SlowChannel, "connected", lambda self, queue: there.is_set())
    host, _ = slow
    host.begin(Request("0/1", "agent.call", PLAN), lambda *ended: None)
    absent = ("agent", "the agent of server 'eenv-hone', which has not come yet, to run 'Install'", "one")
    until(lambda: told(host.waits()) == [absent])
    there.set()
    until(lambda: told(host.waits()) == [EFFECTS["agent.call"][1]])


def test_what_is_younger_than_that_is_not_told(slow: tuple[EffectsHost, Slow], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.engine.host.performer.LONG", 60.0)
    slow[0].begin(Request("0/1", "sleep", {"seconds": 600}), lambda *ended: None)
    assert slow[0].waits() == []


# -- local clouds ------------------------------------------------------------------------------------------------------

SERVER: dict[str, Any] = {
    "type": "OS::Nova::Server",
    "properties": {"image": "debian-12-murano", "flavor": "m1.small", "name": "web"},
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.cloud.close()


def test_servers_that_boot_and_stacks_that_are_held(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    over, create, delete = threading.Event(), world.driver.create, world.driver.delete
    monkeypatch.setattr(world.driver, "create", lambda spec: (over.wait(60), create(spec))[1])
    monkeypatch.setattr(world.driver, "delete", lambda server: (over.wait(60), delete(server))[1])

    def seen() -> list[tuple[str, str]]:
        return [(wait.kind, wait.text) for wait in world.cloud.waits(OWNER)]

    pushing = threading.Thread(target=world.push, args=(hot({"s": SERVER}),))
    pushing.start()
    booting = ("server", "server 'web', which is being made and boots")
    until(lambda: seen() == [booting])
    reading = threading.Thread(target=world.cloud.read_stack, args=(OWNER, "", "stack"), kwargs={"settled": True})
    until(lambda: world.cloud.read_stack(OWNER, "", "stack") is not None)
    reading.start()
    until(lambda: seen() == [booting, ("stack", "stack 'stack', which another operation holds")])
    over.set()
    pushing.join(60)
    reading.join(60)
    assert seen() == []
    over.clear()
    deleting = threading.Thread(target=world.cloud.delete_stack, args=(OWNER, "", "stack"))
    deleting.start()
    until(lambda: seen() == [("server", "server 'web', which is being removed")])
    over.set()
    deleting.join(60)
    assert seen() == []


def test_signals_and_other_resources(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.clouds.stacks.types.wait_conditions._LOOK", 0.01)
    monkeypatch.setattr(type(world.driver), "executes", True)
    monkeypatch.setattr(world.driver, "signals", lambda handle, servers: [])
    resources = {
        "h": {"type": "OS::Heat::WaitConditionHandle"},
        "c": {"type": "OS::Heat::WaitCondition", "properties": {"handle": {"get_resource": "h"}, "timeout": 600}},
        "t": {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 600}},
    }

    def push() -> None:
        with pytest.raises(Exception, match="closed"):
            world.push(hot(resources))

    pushing = threading.Thread(target=push)
    pushing.start()
    wanted = {
        ("resource", "signals of servers: 0 of 1 have come"),
        ("resource", "resource 't' (OS::Heat::TestResource), which is being made"),
    }
    until(lambda: {(wait.kind, wait.text) for wait in world.cloud.waits(OWNER)} == wanted)
    world.cloud._services.closing.set()
    pushing.join(60)
    assert world.cloud.waits(OWNER) == []


def test_what_a_cloud_tells_is_told_instead_of_the_effect(
    slow: tuple[EffectsHost, Slow], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _ = slow
    monkeypatch.setattr(Slow, "waits", lambda self, owner: world.cloud.waits(owner), raising=False)
    host.begin(Request("0/1", "stack.push", {"name": "s", "digest": "d"}), lambda *ended: None)
    until(lambda: told(host.waits()) == [("cloud", "the cloud slow, which changes stack 's'", "")])
    with world.cloud._services.waits.on(OWNER, "server", waits.Text("server '{server}'", server="web")):
        assert told(host.waits()) == [("server", "server 'web'", "")]
    assert told(host.waits())[0][0] == "cloud"


# -- how often ---------------------------------------------------------------------------------------------------------


def test_no_more_is_told_than_once_in_a_period_and_nothing_while_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_LOOK", 0.002)
    monkeypatch.setattr(waits, "PERIOD", 0.25)
    told: queue.Queue[tuple[float, list[dict[str, Any]]]] = queue.Queue()
    count = 0

    def find() -> list[dict[str, Any]]:
        nonlocal count
        count += 1
        return [{"number": count}] if going.is_set() else []

    going = threading.Event()
    teller = WaitTeller(find, lambda found: told.put((time.monotonic(), found)))
    try:
        teller.began()
        until(lambda: count > 3)
        assert told.empty()  # nothing waits long enough
        begun = time.monotonic()
        going.set()
        moments = [told.get(timeout=30)[0] for _ in range(3)]
        assert moments[2] - begun >= 2 * 0.25
        teller.ended()
        going.clear()
        while told.get(timeout=30)[1]:
            pass
        looks = count
        time.sleep(0.05)
        assert count <= looks + 1 and told.empty()  # nobody looks any more
        going.set()
        teller.began()
        assert told.get(timeout=30)[1]
    finally:
        teller.close()


def test_what_packages_call_their_plans_is_cut() -> None:
    plan = {**PLAN, "plan": {"Name": "n" * 1_000_000}}
    (told,) = waits.waits_of([Request("1", "agent.call", plan)], (), "slow")
    assert len(str(told)) < 7000 and "nnn…" in told["text"]
