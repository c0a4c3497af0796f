"""Hostile packages, templates, guests and neighbours against the deployment side: what once got through."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agentworld import wait_for
from tests.agent.rawpeer import RawPeer
from tests.clouds.stacks.world import OWNER, World, hot
from tests.engine.worker.test_worker import Bench
from tests.support.installation import compiled
from tests.support.servers import free_block, network, real_servers, server
from vetro.agent.limits import MOST_ANSWERS
from vetro.agent.sockets import SocketChannel
from vetro.clouds.interface import CloudError, Conflict, NotFound, Owner, TemplateInvalid
from vetro.clouds.messages import Message
from vetro.clouds.nspawn.driver import NspawnDriver
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.templates.limits import TemplateTooLarge
from vetro.engine.host import agents as agents_module
from vetro.engine.host.answer import BadRequest, Request
from vetro.engine.host.performer import EffectsHost
from vetro.engine.task.launcher import Launcher
from vetro.engine.worker.state import WorkerLimits
from vetro.library.stackdata import digest_of, parts_of

NEIGHBOUR = Owner(OWNER.project, "Env2")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.cloud.close()


def value_of(value: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::Value", "properties": {"value": value}}


# -- templates that grow -----------------------------------------------------------------------------------------------


def group(count: int, of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "OS::Heat::ResourceGroup", "properties": {"count": count, "resource_def": of}}


@pytest.mark.attack("templates", "templates that grow")
def test_files_that_use_files_are_counted_before_they_are_checked(world: World) -> None:
    files = {f"{n}.yaml": json.dumps(hot({f"r{i}": {"type": f"{n + 1}.yaml"} for i in range(60)})) for n in range(3)}
    files["3.yaml"] = json.dumps(hot({"end": value_of(1)}))
    with pytest.raises(TemplateInvalid, match="more than 20,000 resources"):
        world.push(hot({"top": {"type": "0.yaml"}}), files=files)
    assert world.count("resources") == 0


@pytest.mark.attack("templates", "templates that grow")
def test_groups_of_groups_are_refused_before_their_members_are_written_down(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vetro.clouds.stacks.convergence.nested_stacks.MOST_TOGETHER", 100)
    written: list[int] = []
    kind = type(world.cloud._stacks.interpreter.handler("OS::Heat::ResourceGroup"))
    plain = kind.content

    def content(self: Any, call: Any) -> Any:
        written.append(call.props["count"])
        return plain(self, call)

    monkeypatch.setattr(kind, "content", content)
    with pytest.raises(CloudError, match="more than 100 resources"):
        world.push(hot({"g": group(20, group(50, value_of("x")))}))
    # Several members begin at the same time, and none when the environment is full.
    assert 50 in written
    assert written.count(50) <= 10


LONGER = {"str_replace": {"template": "x" * 3000, "params": {"x": "y" * 4000}}}
DOUBLED = {f"r{i}": value_of([{"get_attr": [f"r{i - 1}", "value"]}] * 2) for i in range(1, 40)}


@pytest.mark.attack("templates", "templates that grow")
@pytest.mark.parametrize(
    "resources",
    [
        pytest.param({f"r{i}": value_of({"get_param": "text"}) for i in range(600)}, id="one parameter many times"),
        pytest.param({"r": value_of([{"get_param": "text"}] * 1000)}, id="many times in one list"),
        pytest.param({"r": value_of([{"get_param": ["data", "deep"]}] * 4000)}, id="a part of a mapping"),
        pytest.param({f"r{i}": value_of(LONGER) for i in range(60)}, id="text replaced by longer text"),
        pytest.param({"r0": value_of("x" * 1000), **DOUBLED}, id="each twice the one before"),
    ],
)
def test_what_a_stack_may_produce_is_limited_as_a_whole(world: World, resources: dict[str, Any]) -> None:
    parameters = {"text": {"type": "string"}, "data": {"type": "json"}}
    values = {"text": "x" * 1_000_000, "data": {"deep": ["x" * 1000] * 10}}
    with pytest.raises(CloudError, match="would produce too much"):
        world.push(hot(resources, parameters=parameters), values)
    size = sum(path.stat().st_size for path in world.folder.iterdir() if path.is_file())
    assert size < 300 << 20


@pytest.mark.attack("templates", "templates that grow")
def test_each_change_has_an_allowance_of_its_own(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.clouds.stacks.templates.limits.MOST_PRODUCED_TOGETHER", 5000)
    for number in range(8):
        world.push(hot({"r": value_of({"list_join": ["", ["x" * 1000, str(number)]]})}))
    with pytest.raises(TemplateTooLarge):
        world.push(hot({f"r{i}": value_of({"list_join": ["", ["x" * 1000, str(i)]]}) for i in range(6)}))


# -- one environment against another -----------------------------------------------------------------------------------


def server_with(**properties: Any) -> dict[str, Any]:
    base = {"name": "web", "image": "debian-12-murano", "flavor": "m1.small"}
    return {"type": "OS::Nova::Server", "properties": {**base, **properties}}


PRIVATE, OUTSIDE = StackSettings().private_network, StackSettings().external_network
PORT = {"type": "OS::Neutron::Port", "properties": {"network": PRIVATE}}


def floating(**properties: Any) -> dict[str, Any]:
    return {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": OUTSIDE, **properties}}


def victim(world: World) -> dict[str, str]:
    """A neighbour with a server, a free port and a floating address on its server's port; ids by resource name."""
    port = {"get_resource": "port"}
    resources = {
        "server": server_with(networks=[{"port": port}], user_data="password: 1234", user_data_format="RAW"),
        "port": PORT,
        "spare": PORT,
        "floating": floating(port_id=port),
    }
    world.push(hot(resources), name="victim", owner=NEIGHBOUR)
    return world.ids("victim")


def record_of(world: World, kind: Any, id: str) -> dict[str, Any]:
    found = world.cloud._services.things("", OWNER.project).find(kind, id)
    assert found is not None
    return found


@pytest.mark.attack("templates", "neighbours")
def test_servers_ports_and_addresses_of_a_neighbour_cannot_be_named(world: World) -> None:
    ids = victim(world)
    before = {name: record_of(world, kind, ids[name]) for name, kind in (("port", "port"), ("floating", "floatingip"))}

    def associate(address: Any, port: Any) -> dict[str, Any]:
        return {
            "type": "OS::Neutron::FloatingIPAssociation",
            "properties": {"floatingip_id": address, "port_id": port},
        }

    attacks: list[dict[str, Any]] = [
        {"p": PORT, "a": associate(ids["floating"], {"get_resource": "p"})},
        {"f": floating(), "a": associate({"get_resource": "f"}, ids["port"])},
        {"s": server_with(networks=[{"port": ids["spare"]}])},
        {"f": floating(port_id=ids["port"])},
    ]
    for number, resources in enumerate(attacks):
        with pytest.raises(CloudError, match="there is no"):
            world.push(hot(resources), name=f"attack-{number}")
        world.cloud.delete_stack(OWNER, "", f"attack-{number}")
    after = {name: record_of(world, kind, ids[name]) for name, kind in (("port", "port"), ("floating", "floatingip"))}
    assert after == before
    assert [one.status for one in world.cloud.servers(NEIGHBOUR)] == ["ACTIVE"]


@pytest.mark.attack("templates", "neighbours")
def test_user_data_of_other_servers_cannot_be_had_by_its_id(world: World) -> None:
    """Neither a neighbour's nor that of another server of one's own: user data holds passwords."""
    from vetro.clouds.stacks.specs import user_data_id

    stolen = user_data_id(victim(world)["server"])
    for name, owner in (("attack", OWNER), ("attack-2", NEIGHBOUR)):
        world.push(hot({"s": server_with(user_data=stolen, user_data_format="RAW")}), name=name, owner=owner)
        id = user_data_id(world.ids(name)["s"])
        assert record_of(world, "config", id)["config"] == stolen


@pytest.mark.attack("templates", "neighbours")
def test_a_stack_of_a_neighbour_is_neither_seen_nor_taken(world: World) -> None:
    victim(world)
    assert world.cloud.read_stack(OWNER, "", "victim") is None
    with pytest.raises(Conflict, match="another environment"):
        world.push(hot({"r": value_of(1)}), name="victim", whole=True)
    world.cloud.delete_stack(OWNER, "", "victim")
    assert [stack.name for stack in world.cloud.stacks(NEIGHBOUR)] == ["victim"]
    with pytest.raises(NotFound):
        world.cloud.console(OWNER, world.ids("victim")["server"])


@pytest.mark.attack("agent", "neighbours")
def test_a_queue_of_a_neighbour_is_no_identity(world: World) -> None:
    queue = f"e{NEIGHBOUR.environment.lower()}-hx"
    world.push(hot({"s": server_with(user_data=f"input_queue = {queue}", user_data_format="RAW")}))
    assert record_of(world, "server", world.ids()["s"])["queue"] is None


@pytest.mark.attack("templates", "neighbours")
def test_what_others_make_meanwhile_is_no_leftover(world: World) -> None:
    """Whoever looks for leftovers has asked for what is known before others made more: it is looked up each time."""
    servers, networks = world.cloud.known()
    made = victim(world)
    assert made["server"] in servers
    assert "another" not in servers
    assert made["server"] not in networks
    assert record_of(world, "server", made["server"])["id"] not in networks
    network = world.cloud._database.row("SELECT id FROM records WHERE kind = 'network'")
    assert network is not None and network[0] in networks


@pytest.mark.attack("networks", "addresses of the machine")
def test_a_plan_of_addresses_avoids_what_the_machine_uses(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workspaces on one machine do not know each other's plans."""

    def plan(network: str) -> Any:
        router = world.cloud.network(OWNER, "", "router", {})
        return world.cloud.network(OWNER, "", "cidr", {"router": router, "network": network, "version": 4})

    first = plan("net")
    monkeypatch.setattr(world.driver, "taken", lambda: [first, "192.168.7.9/32"])
    assert plan("net") != first
    monkeypatch.setattr(world.driver, "taken", lambda: ["10.0.0.0/8"])
    assert plan("other") is not None  # it works within its project, and is not routed here


# -- effects -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def host(world: World, tmp_path: Path) -> Iterator[EffectsHost]:
    made = EffectsHost(world.cloud, SocketChannel(tmp_path / "channels", OWNER), OWNER)
    yield made
    made._agents.close()


def answer(host: EffectsHost, key: str, kind: str, args: dict[str, Any]) -> dict[str, Any] | None:
    """The error of an effect that was performed and stored, or None."""
    done = threading.Event()
    errors: list[dict[str, Any] | None] = []

    def answered(key: str, value: Any, error: dict[str, Any] | None) -> None:
        errors.append(error)
        done.set()

    host.begin(Request(key, kind, args), answered)
    assert done.wait(20), f"effect {key} has no end"
    host.stored(key)
    return errors[0]


@pytest.mark.attack("effects", "arguments")
def test_bad_arguments_of_a_push_do_not_hold_up_those_that_follow(host: EffectsHost) -> None:
    parts = parts_of(hot({"r": value_of(1)}))
    put = [[*part, value] for part, value in parts.items()]
    good = {"name": "s", "region": "", "digest": digest_of(parts), "base": None, "put": put}
    for number, bad in enumerate(({"put": "abc"}, {"digest": 5}, {"base": []}, {"drop": [1]})):
        error = answer(host, f"0/{number}", "stack.push", {**good, **bad})
        assert error is not None and error["code"] == BadRequest.code
    assert answer(host, "0/9", "stack.push", good) is None


@pytest.mark.attack("effects", "arguments")
@pytest.mark.parametrize("name", ["\ud800", "a\udfffb"])
def test_half_of_a_letter_is_refused_by_name(host: EffectsHost, name: str) -> None:
    for change in ({"name": name}, {"region": name}, {"digest": name}, {"put": [["resources", name, {}]]}):
        args = {"name": "s", "region": "", "digest": "d", "base": None, "put": [], **change}
        error = answer(host, f"0/{sorted(change)}", "stack.push", args)
        assert error is not None and error["code"] == BadRequest.code, (change, error)
    assert answer(host, "1", "stack.read", {"name": "s", "region": ""}) is None


@pytest.mark.attack("effects", "arguments")
def test_a_task_cannot_start_threads_without_end(host: EffectsHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents_module, "MOST_LISTENERS", 5)
    before = set(threading.enumerate())
    refused = 0
    for number in range(20):
        try:
            host.perform(str(number), "agent.listen", {"queue": f"-execution-results-{number}", "on": True})
        except BadRequest as error:
            refused += 1
            assert "5 queues" in error.message
    assert refused == 15
    assert len(set(threading.enumerate()) - before) <= 5
    queue = f"e{OWNER.environment.lower()}-hx"
    args = {"queue": queue, "listener": "-execution-results-many", "id": "1", "plan": {}, "timeout": 9}
    with pytest.raises(BadRequest):
        host.perform("x", "agent.call", args)


@pytest.mark.attack("database", "M6")
def test_a_task_cannot_fill_the_disk_with_reports(tmp_path: Path) -> None:
    """Nor with one large report: what is over the limit is not written."""
    root = str(Path(__file__).parents[2])
    loop = ("- For: i", "  In: range(0, 1000)", "  Do:", "    - effect(report, dict(id => $i, text => 'x' * 1000))")
    with Launcher(cache=compiled(), natives=["tests.faults.natives:register"], path=[root]) as launcher:
        bench = Bench(launcher, tmp_path)
        outcome = bench.run(bench.task(*loop), limits=WorkerLimits(note_characters=50_000))
    assert outcome.state == "failed"
    assert outcome.error is not None
    assert outcome.error["code"] == "ENG318"
    assert 40 <= len(outcome.reports) < 50


# -- guests ------------------------------------------------------------------------------------------------------------


@pytest.mark.attack("agent", "neighbours")
def test_one_plan_does_not_fill_the_disk_with_answers(tmp_path: Path) -> None:
    queue, folder = f"e{OWNER.environment.lower()}-hx", tmp_path / "guest"
    folder.mkdir()
    channel = SocketChannel(tmp_path / "cloud", OWNER, {queue: folder})
    try:
        wait_for((folder / "agent.sock").exists)
        guest = RawPeer(folder / "agent.sock").greet(queue)
        channel.send(queue, Message("plan", "{}", None, "-execution-results-0"))
        assert guest.receive()["t"] == "deliver"
        said = []
        for number in range(20):
            target = f"-execution-results-{number}"
            guest.send(t="publish", queue=target, id="plan", reply_to=None, body='"' + "x" * 100_000 + '"')
            said.append(guest.receive()["t"])
        assert said.count("stored") == MOST_ANSWERS
        # An agent that was restarted sends its answer again: that is no new one.
        guest.send(t="publish", queue="-execution-results-0", id="plan", reply_to=None, body="{}")
        assert guest.receive()["t"] == "stored"
        guest.close()
    finally:
        channel.close()


@pytest.mark.attack("processes", "neighbours")
def test_leftovers_are_removed_while_others_make_servers(tmp_path: Path) -> None:
    """Each deployment that begins looks for leftovers of crashes; a server that starts just then is none."""
    images = real_servers()
    driver = NspawnDriver(tmp_path, images=images, boot_timeout=20)
    block = free_block()
    try:
        driver.ensure_network(network(block, "net"))
        over, swept = threading.Event(), []

        def sweep() -> None:
            other = NspawnDriver(tmp_path, images=images)
            while not over.is_set():
                swept.extend(other.sweep(["server-1", "server-2"], ["net"]))

        sweeper = threading.Thread(target=sweep)
        sweeper.start()
        try:
            for number in (1, 2):
                driver.create(server(number, block))
        finally:
            over.set()
            sweeper.join()
        assert swept == []
        assert driver.statuses(["server-1", "server-2"]) == {"server-1": "ACTIVE", "server-2": "ACTIVE"}
        # What a guest says of its own start may be anything.
        found = driver._server("server-1")
        driver.put_file("server-1", "/run/vetro-boot.json", b"[" * 60_000)
        assert found.phase() == ""
        # A server with processes and without its keeper is dead, unless somebody starts it just now.
        watcher = found._running("keeper")
        assert watcher is not None
        watcher.kill()
        watcher.wait(10)
        with found._starting():
            assert driver.sweep(["server-1", "server-2"], ["net"]) == []
            assert found.cgroup.pids()
        assert driver.sweep(["server-1", "server-2"], ["net"]) == ["processes of the dead server server-1"]
        assert not found.cgroup.pids()
    finally:
        driver.clear()
