"""The effects host: what each kind answers, one stack at a time, agents' answers kept until they are stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tests.clouds.stacks.world import World as StackWorld
from tests.engine.hosts import LISTENER, Answers, call, change, template
from tests.faults.harness import OWNER, make_host
from tests.faults.world import World, WorldChannel, WorldCloud
from vetro.clouds.interface import (
    CloudError,
    Conflict,
    NotAvailable,
    NotFound,
    Owner,
    ServerState,
    StackFailed,
    Taken,
)
from vetro.clouds.messages import Message
from vetro.engine.effect_kinds import KINDS, Answer
from vetro.engine.host.answer import BadRequest, HostConfigError, NoSuchSecret, Request
from vetro.engine.host.encryption import SecretCipher, derived, key_in
from vetro.engine.host.performer import EffectsHost
from vetro.library.stackdata import EMPTY
from vetro.muranopl.runtime.effects import Effects, UnknownEffect

# -- stacks ------------------------------------------------------------------------------------------------------------


def test_outputs_are_sent_once(host: EffectsHost) -> None:
    first = change("s", template(a=1, b=2))
    assert host.perform("1", "stack.push", first) == {"outputs": {"a": 1, "b": 2}, "gone": [], "whole": True}
    second = change("s", template(a=1, b=3, c=4), known=first["digest"])
    assert host.perform("2", "stack.push", second) == {"outputs": {"b": 3, "c": 4}, "gone": [], "whole": False}
    third = change("s", template(b=3), known=second["digest"])
    assert host.perform("3", "stack.push", third) == {"outputs": {}, "gone": ["a", "c"], "whole": False}
    unknown = change("s", template(b=3), known="0" * 64)
    assert host.perform("4", "stack.push", unknown) == {"outputs": {"b": 3}, "gone": [], "whole": True}


def test_reading_is_knowing(host: EffectsHost) -> None:
    assert host.perform("0", "stack.read", {"name": "s", "region": None}) is None
    first = change("s", template(a=1))
    host.perform("1", "stack.push", first)
    found = host.perform("2", "stack.read", {"name": "s", "region": "", "wait": True})
    assert found["digest"] == first["digest"]
    assert found["template"] == template(a=1)
    assert found["outputs"] == {"a": 1}
    again = change("s", template(a=2), known=found["digest"])
    assert host.perform("3", "stack.push", again) == {"outputs": {"a": 2}, "gone": [], "whole": False}
    host.perform("4", "stack.delete", {"name": "s"})
    assert host.perform("5", "stack.read", {"name": "s"}) is None


def test_a_stack_in_another_state_is_stale(host: EffectsHost, world: World) -> None:
    host.perform("1", "stack.push", change("s", template(a=1)))
    assert host.perform("2", "stack.push", change("s", template(a=2), base=EMPTY)) == {"stale": True}
    assert world.done("push") == ["s"]


@pytest.mark.parametrize(
    "bad",
    [
        {"put": [["a", "b"]]},
        {"put": "x"},
        {"drop": [[1, 2]]},
        {"digest": 7},
        {"base": 1},
        {"name": None},
        {"region": 1},
    ],
)
def test_arguments_that_are_none_are_named(host: EffectsHost, bad: dict[str, Any]) -> None:
    args = {**change("s", template(a=1)), **bad}
    with pytest.raises(BadRequest, match=next(iter(bad))):
        host.perform("1", "stack.push", args)
    answers = Answers()
    host.begin(Request("2", "stack.push", args), answers)
    assert answers.get("2")[1]["code"] == BadRequest.code


def test_failures_keep_their_names(host: EffectsHost) -> None:
    with pytest.raises(StackFailed):
        host.perform("1", "stack.push", change("broken", template(a=1)))
    answers = Answers()
    host.begin(Request("2", "stack.push", change("broken", template(a=1))), answers)
    answer, error = answers.get("2")
    assert answer is None
    assert error["message"] == "stack broken is in state CREATE_FAILED: no valid host"
    assert error["code"] == "CLD101"
    assert error["names"][0] == "StackFailed"


def test_a_stack_that_is_busy_is_tried_again(tmp_path: Path) -> None:
    busy = [2]

    class Busy(WorldCloud):
        def push_stack(self, *args: Any) -> Any:
            busy[0] -= 1
            if busy[0] >= 0:
                raise Conflict("another operation is under way")
            return super().push_stack(*args)

    path = tmp_path / "world.db"
    host = EffectsHost(Busy(path), WorldChannel(path), OWNER, conflict_pauses=(0.0, 0.0))
    host.perform("1", "stack.push", change("s", template(a=1)))
    busy[0] = 3
    with pytest.raises(Conflict):
        host.perform("2", "stack.push", change("s", template(a=2)))
    host.close()


def test_the_stack_of_another_environment_is_not_waited_for(tmp_path: Path) -> None:
    class Theirs(WorldCloud):
        def push_stack(self, *args: Any) -> Any:
            raise Taken("there is a stack 's' of another environment")

    path = tmp_path / "world.db"
    host = EffectsHost(Theirs(path), WorldChannel(path), OWNER)
    request = Request("1", "stack.push", change("s", template(a=1)))
    waited: list[Any] = []
    request.progress = waited.append
    answers = Answers()
    host.begin(request, answers)
    assert answers.get("1")[1]["code"] == "CLD107"
    assert waited == []
    host.close()


def test_one_stack_waits_until_the_result_before_is_stored(host: EffectsHost, world: World) -> None:
    """Else a push that has to be adopted could find the stack in a state that a later push has made."""
    answers = Answers()
    first = change("s", template(a=1))
    second = change("s", template(a=2), base=first["digest"])
    host.begin(Request("1", "stack.push", first), answers)
    host.begin(Request("2", "stack.push", second), answers)
    host.begin(Request("3", "stack.push", change("other", template(a=1))), answers)
    answers.get("1")
    answers.get("3")
    assert "2" not in answers
    assert sorted(world.done("push")) == ["other", "s"]
    host.stored("1")
    assert answers.get("2")[0]["outputs"] == {"a": 2}


def test_one_that_was_abandoned_holds_up_nobody(host: EffectsHost) -> None:
    answers = Answers()
    for key in ("1", "2", "3"):
        host.begin(Request(key, "stack.push", change("s", template(a=int(key)))), answers)
    answers.get("1")
    host.abandon("2")
    host.abandon("1")
    assert answers.get("3")[0]["outputs"] == {"a": 3}
    assert "2" not in answers


# -- small ones --------------------------------------------------------------------------------------------------------


def test_small_effects(host: EffectsHost) -> None:
    record = {"id": "p", "name": "p", "domain": "Default"}
    assert host.perform("1", "identity", {"what": "project", "of": "environment"}) == record
    assert host.perform("2", "clock", {}) > 1.6e9
    assert len(host.perform("3", "entropy", {"bytes": 5})) == 10
    assert host.perform("4", "sleep", {"seconds": 0}) is None
    assert host.perform("5", "network", {"region": None, "query": "router"}) == "router-1"
    assert host.perform("6", "metadef", {"query": "namespaces", "resource_type": "x"}) == []
    assert host.perform("7", "agent.key", {}) is None
    assert host.perform("8", "report", {"text": "x"}) is None
    assert isinstance(host, Effects)


@pytest.mark.parametrize(
    ("kind", "args", "error", "text"),
    [
        ("workflow", {"query": "run"}, NotAvailable, "Mistral"),
        ("secret", {"data": "x"}, NotAvailable, "secrets"),
        ("network", {"query": "cidr"}, NotFound, "cidr"),
        ("entropy", {"bytes": 1 << 20}, BadRequest, "entropy"),
        ("entropy", {"bytes": "x"}, BadRequest, "number"),
        ("sleep", {"seconds": True}, BadRequest, "number"),
        ("identity", {"what": "king", "of": "caller"}, BadRequest, "king"),
        ("agent.call", call("i", listener="other"), BadRequest, "-execution-results-"),
        ("agent.call", call("i", plan="text"), BadRequest, "plan"),
        ("agent.call", call("i", queue="x1-h1"), NotFound, "somebody else"),
        ("strange", {}, UnknownEffect, "strange"),
    ],
)
def test_what_is_refused(host: EffectsHost, kind: str, args: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        host.perform("1", kind, args)


def test_every_kind_is_performed(host: EffectsHost) -> None:
    for kind, (_, answer) in KINDS.items():
        if answer is not Answer.NONE or kind == "agent.listen":
            assert kind in host._handlers


def test_a_sleep_counts_from_its_first_begin(tmp_path: Path) -> None:
    host = make_host(tmp_path, clock=lambda: 1000.0)
    answers = Answers()
    host.begin(Request("1", "sleep", {"seconds": 60}, adopt=True, begun=939.0), answers)
    assert answers.get("1") == (None, None)
    host.begin(Request("2", "sleep", {"seconds": 60}, adopt=True, begun=999.0), answers)
    host.abandon("2")
    host.close(5)
    assert "2" not in answers


@pytest.mark.attack("data", "clock jumps")
def test_a_clock_that_was_set_back_makes_no_wait_longer(tmp_path: Path) -> None:
    """Waits that were begun when it was a year ahead, and one during which it is set back."""
    now = [1_000.0]
    host, answers = make_host(tmp_path, clock=lambda: now[0]), Answers()
    ahead = {"adopt": True, "begun": 1_000.0 + 366 * 86_400}
    host.begin(Request("1", "sleep", {"seconds": 0.1}, **ahead), answers)
    host.begin(Request("2", "agent.call", call("late", "silent", timeout=0.1), **ahead), answers)
    host.begin(Request("3", "sleep", {"seconds": 0.5}, begun=now[0]), answers)
    now[0] -= 366 * 86_400
    assert [answers.get(key) for key in "123"] == [(None, None), ({"timeout": 0.1}, None), (None, None)]
    host.close()


@pytest.mark.attack("data", "clock jumps")
def test_a_clock_that_was_set_forward_ends_no_call_that_begins(tmp_path: Path) -> None:
    """By an hour, between the worker, which says when the call began, and its host."""
    host, answers = make_host(tmp_path, clock=lambda: 10_000.0), Answers()
    host.begin(Request("1", "agent.call", call("i", timeout=3600), begun=10_000.0 - 3600), answers)
    assert answers.get("1")[0]["result"]["Body"] == "ran p"
    host.close()


def test_secrets_are_sealed_for_a_project(tmp_path: Path) -> None:
    keys = derived(key_in(tmp_path / "keys"))
    sealed = SecretCipher(keys, "p").encrypt("geheim\ud800")
    assert "geheim" not in sealed and sealed != SecretCipher(keys, "p").encrypt("geheim\ud800")
    path = tmp_path / "world.db"
    newer = derived([Fernet.generate_key().decode()]) + keys  # a key that came later is in front
    host = EffectsHost(WorldCloud(path), WorldChannel(path), OWNER, cipher=SecretCipher(newer, "p"))
    assert host.perform("1", "secret", {"data": sealed}) == "geheim\ud800"
    with pytest.raises(NoSuchSecret, match="another project"):
        SecretCipher(keys, "other").decrypt(sealed)
    for wrong in ("", "x", "ü", sealed[:-2], keys[0]):
        with pytest.raises(NoSuchSecret):
            host.perform("2", "secret", {"data": wrong})
    host.close()


def test_the_key_of_a_folder_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    assert key_in(folder, make=False) == [] and not folder.exists()
    (key,) = key_in(folder)
    assert key_in(folder) == key_in(folder, make=False) == [key]
    assert [f.name for f in folder.iterdir()] == ["secrets.key"]
    assert (folder / "secrets.key").stat().st_mode & 0o77 == 0
    with pytest.raises(HostConfigError, match="cannot be used"):
        key_in(Path("/proc/nowhere"))


# -- agents ------------------------------------------------------------------------------------------------------------


def test_servers_are_switched_beside_each_other(host: EffectsHost, world: World) -> None:
    assert host.perform("1", "server.power", {"action": "stop", "servers": ["a", "b"]}) == {"failed": {}, "left": []}
    assert sorted(world.done("power")) == ["stop a", "stop b"]
    assert host.perform("2", "server.power", {"action": "stop", "servers": []}) == {"failed": {}, "left": []}
    for args in (
        {"action": "burn", "servers": ["a"]},
        {"action": "stop"},
        {"action": "stop", "servers": "a"},
        {"action": "stop", "servers": [1]},
        {"servers": ["a"]},
    ):
        with pytest.raises(BadRequest):
            host.perform("3", "server.power", args)
    assert len(world.done("power")) == 2


def test_what_cannot_be_switched_is_told_server_by_server(host: EffectsHost, world: World) -> None:
    power = host.cloud.power  # type: ignore[attr-defined]

    def broken(owner: Any, server: str, action: str) -> None:
        if server == "b":
            raise CloudError("its disk is gone")
        power(owner, server, action)

    host.cloud.power = broken  # type: ignore[attr-defined]
    told = host.perform("1", "server.power", {"action": "start", "servers": ["a", "b", "c"]})
    assert told == {"failed": {"b": "its disk is gone"}, "left": []}
    assert sorted(world.done("power")) == ["start a", "start c"]


def test_servers_for_which_there_is_nothing_to_do_are_left_alone(host: EffectsHost, world: World) -> None:
    states = {"a": "ACTIVE", "b": "SHUTOFF", "c": "ERROR", "d": "BUILD"}
    host.cloud.servers = lambda owner: [  # type: ignore[method-assign]
        ServerState(id, id, "stack", "", status) for id, status in states.items()
    ]
    every = [*states, "gone"]
    told = host.perform("1", "server.power", {"action": "start", "servers": every, "off": True})
    assert told == {"failed": {}, "left": ["a", "d", "gone"]} and sorted(world.done("power")) == ["start b", "start c"]
    told = host.perform("2", "server.power", {"action": "start", "servers": ["a", "d"]})
    assert told == {"failed": {}, "left": ["a"]} and world.done("power")[2:] == ["start d"]
    # What was stopped a moment ago is started, whatever was listed before.
    states["a"] = "SHUTOFF"
    assert host.perform("3", "server.power", {"action": "start", "servers": ["a"]})["left"] == []

    def silent(owner: Any) -> Any:
        raise CloudError("it does not answer")

    host.cloud.servers = silent  # type: ignore[method-assign]
    assert host.perform("4", "server.power", {"action": "stop", "servers": ["b"]}) == {"failed": {}, "left": []}


def test_an_environment_is_kept_and_brought_back(tmp_path: Path) -> None:
    """Where the task may ask for it: what waits in queues is dropped with what is undone."""

    def made(name: str) -> dict[str, Any]:
        return {"heat_template_version": "2013-05-23", "resources": {name: {"type": "OS::Heat::RandomString"}}}

    cloud = StackWorld(tmp_path).cloud
    mine = Owner("project", "Env1")
    channel = cloud.channel(mine)
    host = EffectsHost(cloud, channel, mine, snapshots=True)
    host.perform("1", "stack.push", change("s", made("a")))
    assert host.perform("2", "snapshot.make", {"name": "k1"}) == []
    host.perform("3", "stack.push", change("s", made("b")))
    channel.send("eenv1-h1", Message("plan1", '{"Name": "p"}', None, LISTENER))
    host.perform("4", "snapshot.restore", {"name": "k1"})
    assert set(host.perform("5", "stack.read", {"name": "s"})["template"]["resources"]) == {"a"}
    assert [plan.result for plan in cloud.driver.plans(mine)] == [None], "it is never answered"
    assert channel.receive(LISTENER, 0) is None
    for kind in ("snapshot.make", "snapshot.restore", "snapshot.drop"):
        for args in ({}, {"name": 1}, {"name": "../x"}, {"name": ""}):
            with pytest.raises(BadRequest, match="'name'"):
                host.perform("6", kind, args)
    with pytest.raises(NotFound):
        host.perform("7", "snapshot.restore", {"name": "k2"})
    host.perform("8", "snapshot.drop", {"name": "k1"})
    with pytest.raises(NotFound):
        host.perform("9", "snapshot.restore", {"name": "k1"})
    host.close()


@pytest.mark.attack("effects", "a task asks for effects that are not its own")
def test_tasks_that_run_packages_undo_nothing(tmp_path: Path) -> None:
    """Whoever breaks out of the language would undo what other tasks of the environment did."""
    host = make_host(tmp_path, snapshots=False)
    for kind in ("snapshot.make", "snapshot.restore", "snapshot.drop"):
        with pytest.raises(BadRequest, match="this task may not ask for effects of kind"):
            host.perform("1", kind, {"name": "k1"})
    assert World(tmp_path / "world.db").done("snapshot") == []
    host.close()
