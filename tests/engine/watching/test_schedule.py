"""Many environments watched by one loop: real connections, a cloud that says what it is told to."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import self_signed
from vetro.clouds.drivers.routes import Route
from vetro.clouds.interface import CloudError, Owner, ServerState, StackState
from vetro.engine.watching import inventory, probes, schedule
from vetro.engine.watching.schedule import Watch


class Cloud:
    """Servers by id: their states."""

    def __init__(self) -> None:
        self.there: dict[str, ServerState] = {}
        self.trouble = ""
        self.asked: list[Mapping[Owner, Collection[str]]] = []
        self.listed: list[str] = []
        self.closed = False

    def servers(self, owner: Owner) -> list[ServerState]:
        return list(self.there.values())

    def server(self, id: str, status: str = "ACTIVE", address: str = "127.0.0.1") -> None:
        self.there[id] = ServerState(id, id, "stack", "", status, reachable=(address,))

    def seen_servers(self, servers: Mapping[Owner, Collection[str]]) -> Mapping[Owner, Mapping[str, ServerState]]:
        self.asked.append(servers)
        if self.trouble:
            raise CloudError(self.trouble)
        return {
            owner: {id: self.there[id] for id in ids if id in self.there and owner.environment != "thief"}
            for owner, ids in servers.items()
        }

    def stacks(self, owner: Owner) -> list[StackState]:
        self.listed.append(owner.environment)
        if self.trouble:
            raise CloudError(self.trouble)
        return [StackState("web", "", "CREATE_COMPLETE", "", "")]

    def read_stack(self, owner: Owner, region: str, name: str) -> StackState:
        return StackState(name, region, "CREATE_COMPLETE", "", "digest")

    def close(self) -> None:
        self.closed = True


class Door:
    """A server program: what it answers, and how often it was asked."""

    def __init__(self) -> None:
        self.answer: bytes | None = b"HTTP/1.1 200 OK\r\n\r\n"
        self.asked: list[bytes] = []
        self.open = self.most = 0
        self.slow = 0.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        self.open += 1
        self.most = max(self.most, self.open)
        with connection:
            connection.settimeout(10)
            try:
                self.asked.append(connection.recv(4096))
                time.sleep(self.slow)
                if self.answer is not None:
                    connection.sendall(self.answer)
            except OSError:
                pass
        self.open -= 1

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds are shorter."""
    monkeypatch.setattr(schedule, "LOOK", 0.1)
    monkeypatch.setattr(schedule, "STALE", 0.8)
    monkeypatch.setattr(inventory, "SOON", 0.1)
    monkeypatch.setattr(schedule, "_GUESS_EVERY", 0.1)
    monkeypatch.setattr(schedule.ProbeState, "pause", lambda self, every, now: 0.05)


def environment(id: str = "e1", number: int = 1, **component: Any) -> dict[str, Any]:
    return {
        "id": id,
        "number": number,
        "owner": {"project": "p", "environment": id},
        "cloud": "c",
        "since": 0.0,
        "components": [{"id": "app", "servers": [{"id": "s1", "name": "web"}], **component}],
    }


def check(port: int, **more: Any) -> dict[str, Any]:
    return {
        "object": "o", "name": "page", "kind": "http", "on": ["s1"], "port": port, "path": "/", "expect": [],
        "every": 10, "grace": 0, **more,
    }  # fmt: skip


class Run:
    """A loop in a thread; `told` is the newest report of each component."""

    def __init__(self, cloud: Cloud, allowed: Callable[[str, str], bool] = lambda address, device: True) -> None:
        self.watch: Watch | None = None
        self._allowed = allowed
        self.cloud = cloud
        self.told: dict[tuple[str, str], dict[str, Any]] = {}
        self.history: list[str] = []
        self.off: list[str] = []
        self.contents: list[dict[str, Any]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()

    @contextmanager
    def going(self) -> Iterator[Run]:
        thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        thread.start()
        assert self._ready.wait(60)
        yield self
        self.call(self._over.set)
        thread.join(60)
        assert not thread.is_alive() and self.cloud.closed is bool(self.cloud.asked)

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self.watch = Watch(lambda key, owner: self.cloud, allowed=self._allowed)  # type: ignore[arg-type, return-value]
        task = self._loop.create_task(self.watch.run())
        self._ready.set()
        while not self._over.is_set():
            for item in self.watch.changes():
                self.off = item["off"]
                for one in item["components"]:
                    self.told[item["id"], one["id"]] = one
                    self.history.append(one["state"])
            self.contents += self.watch.contents()
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def call(self, function: Callable[..., Any], *args: Any) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(function, *args)

    def put(self, data: Mapping[str, Any]) -> None:
        assert self.watch is not None
        self.call(self.watch.put, data)

    def until(self, wanted: str, id: str = "e1", text: str = "") -> dict[str, Any]:
        for _ in range(1500):
            found = self.told.get((id, "app"), {})
            if found.get("state") == wanted and text in found["text"]:
                return found
            time.sleep(0.01)
        raise AssertionError((wanted, self.told, self.history))


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def run(cloud: Cloud, quick: None) -> Iterator[Run]:
    with Run(cloud).going() as made:
        yield made


def test_a_server_that_ends_and_comes_back(cloud: Cloud, run: Run) -> None:
    cloud.server("s1")
    run.put(environment())
    run.until("running")
    cloud.server("s1", "ERROR")
    assert run.until("down")["text"] == "server 'web' has ended by itself"
    del cloud.there["s1"]
    run.until("down", text="is gone")
    cloud.server("s1")
    run.until("running")
    cloud.server("s1", "SHUTOFF")
    run.put(environment(number=2) | {"stopped": {"s1": "ada"}})
    assert run.until("stopped")["text"] == "server 'web' was stopped by ada"


def test_a_check_that_fails_and_what_it_asks(cloud: Cloud, run: Run, door: Door) -> None:
    cloud.server("s1")
    run.put(environment(checks=[check(door.port, path="/health", expect=[200, 204])]))
    run.until("running")
    request = door.asked[0].decode()
    assert request.startswith(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\n")
    assert "authorization" not in request.lower() and "cookie" not in request.lower()
    door.answer = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"
    found = run.until("down")
    assert found["text"] == f"page: 127.0.0.1:{door.port} answers with status 302"
    assert [(c["name"], c["state"]) for c in found["checks"]] == [("page", "down")]
    door.answer = b"HTTP/1.1 204 No Content\r\n\r\n"
    run.until("running")
    assert run.history == ["running", "down", "running"]


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n", b"x" * 200_000, b"HTTP/1.1 9999 x\r\n"])
def test_what_is_no_answer_is_not_well(cloud: Cloud, run: Run, door: Door, answer: bytes) -> None:
    cloud.server("s1")
    door.answer = answer
    run.put(environment(checks=[check(door.port)]))
    run.until("down", text="does not speak HTTP")


def test_nothing_is_well_before_all_was_looked_at(cloud: Cloud, run: Run, door: Door) -> None:
    cloud.server("s1")
    door.slow, door.answer = 0.5, b"HTTP/1.1 500 no\r\n\r\n"
    run.put(environment(checks=[check(door.port)]))
    run.until("down")
    assert "running" not in run.history


def test_nobody_knows_anything_while_the_cloud_does_not_answer(cloud: Cloud, run: Run) -> None:
    cloud.server("s1")
    run.put(environment())
    run.until("running")
    cloud.trouble = "the keystone is away"
    assert run.until("unknown")["text"] == "the cloud does not answer: the keystone is away"
    cloud.trouble = ""
    run.until("running")


def test_addresses_in_properties_are_asked_where_they_are_its_own(cloud: Cloud, run: Run, door: Door) -> None:
    stranger = Door()
    cloud.server("s1", address="127.0.0.2")
    own = socket.create_server(("127.0.0.2", 0))
    port = own.getsockname()[1]
    guesses = [
        {"name": f"{kind}://{at}:{n}", "kind": kind, "address": at, "port": n, "path": "/", "on": "s1"}
        for kind, at, n in (("http", "127.0.0.1", stranger.port), ("tcp", "127.0.0.2", port))
    ]
    run.put(environment(guesses=guesses))
    run.until("running")
    for _ in range(500):
        reached = [c["name"] for c in run.told["e1", "app"]["checks"] if c["reached"]]
        if reached:
            break
        time.sleep(0.01)
    assert reached == [f"tcp://127.0.0.2:{port}"]
    own.close()
    run.until("degraded")
    assert stranger.asked == []
    stranger.close()


def test_of_one_environment_few_are_asked_at_once_and_others_are_not_held_up(
    cloud: Cloud, run: Run, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Door()
    slow.slow = 4.0
    cloud.server("s1")
    run.put(environment("hog", checks=[check(slow.port, name=f"c{n}") for n in range(40)]))
    run.put(environment("e1", checks=[check(door.port)]))
    run.until("running")
    for _ in range(500):
        if slow.most >= schedule.OPEN_EACH:
            break
        time.sleep(0.01)
    time.sleep(0.3)
    # On a busy machine the other side still holds some that were given up.
    assert schedule.OPEN_EACH <= slow.most <= 2 * schedule.OPEN_EACH
    slow.close()


def test_who_names_a_strangers_server_learns_nothing_and_harms_nobody(cloud: Cloud, run: Run, door: Door) -> None:
    cloud.server("s1")
    run.put(environment())
    run.put(environment("thief", checks=[check(door.port)]))
    run.until("running")
    assert run.until("down", "thief")["text"] == "server 'web' is gone"
    assert door.asked == [] and run.told["e1", "app"]["state"] == "running"


def test_an_environment_that_is_dropped_is_asked_no_more(cloud: Cloud, run: Run, door: Door) -> None:
    cloud.server("s1")
    run.put(environment(checks=[check(door.port)]))
    run.until("running")
    assert run.watch is not None
    run.call(run.watch.drop, ["e1"])
    time.sleep(0.3)
    count = len(door.asked)
    time.sleep(0.3)
    assert len(door.asked) == count


def test_who_takes_over_tells_nothing_green_of_what_was_down(cloud: Cloud, run: Run, door: Door) -> None:
    door.answer = b"HTTP/1.1 500 no\r\n\r\n"
    cloud.server("s1")
    run.put(environment(checks=[check(door.port)], was={"o/page/s1": ["down", True]}))
    run.until("down")
    assert run.history == ["down"] or set(run.history) == {"down"}


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("10.0.1.2", True), ("172.24.4.9", True), ("fd00::1", True), ("127.0.0.1", False), ("::1", False),
        ("169.254.169.254", False), ("fe80::1", False), ("0.0.0.0", False), ("224.0.0.1", False), ("shop", False),
        ("::ffff:127.0.0.1", False), ("::ffff:10.0.1.2", False), ("64:ff9b::7f00:1", False), ("0.0.0.1", False),
        ("255.255.255.255", False), ("240.0.0.1", False), ("2002:7f00:1::1", False), ("fd00::1%eth0", False),
    ],
)  # fmt: skip
def test_addresses_that_are_no_servers(address: str, may: bool) -> None:
    assert probes.is_address(address) is may


@pytest.mark.attack("networks", "probes of the host's own networks")
def test_an_address_is_asked_by_the_way_of_its_project_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even one that the cloud calls reachable: the machine's own routes are looked at before each probe."""
    ways = {"10.0.3.7": Route(True, "lo"), "10.0.3.8": Route(False, "eth0"), "10.0.3.9": Route(False, "vt-project")}
    monkeypatch.setattr(probes, "route_to", ways.get)
    assert [probes.allowed(at, "vt-project") for at in ways] == [False, False, True]
    assert [probes.allowed(at, "") for at in ways] == [False, True, True]
    assert not probes.allowed("10.0.3.10", "vt-project") and not probes.allowed("10.0.3.10", "")


@pytest.mark.attack("networks", "probes of the host's own networks")
def test_a_tenants_server_with_an_address_of_the_host_is_not_asked(cloud: Cloud, quick: None, door: Door) -> None:
    """As the cloud believes it is reachable and the kernel knows better: the rule is the service's own here."""
    cloud.server("s1")
    with Run(cloud, probes.allowed).going() as run:
        run.put(environment(checks=[check(door.port)]))
        run.until("down", text="has no address that can be reached from here")
    assert door.asked == []


def test_any_certificate_is_well(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    self_signed(certificate, key, "elsewhere.example.com")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def asked(version: ssl.TLSVersion) -> str | None:
        context.maximum_version = version

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        found = await probes.run(probes.Probe("https", port, expect=(200,)), ["127.0.0.1"])
        server.close()
        await asyncio.sleep(0.05)
        return found

    assert asyncio.run(asked(ssl.TLSVersion.TLSv1_3)) is None
    assert asyncio.run(asked(ssl.TLSVersion.TLSv1_2)) is None


def test_who_speaks_no_tls_is_told_so(door: Door) -> None:
    found = asyncio.run(probes.run(probes.Probe("https", door.port), ["127.0.0.1"]))
    assert found == f"no connection to 127.0.0.1:{door.port}: wrong version number"


@pytest.mark.parametrize("kind", ["http", "https", "tcp"])
def test_a_probe_leaves_by_the_interface_that_is_named(kind: Any) -> None:
    """The socket is bound to it, so a route that changes in between leads nowhere else."""
    found = asyncio.run(probes.run(probes.Probe(kind, 9), ["127.0.0.1"], "vt-none"))
    assert found == "no connection to 127.0.0.1:9: No such device"


def test_nobody_is_asked_while_the_cloud_does_not_answer(cloud: Cloud, run: Run, door: Door) -> None:
    """Its addresses may be somebody else's by then."""
    cloud.server("s1")
    run.put(environment(checks=[check(door.port)]))
    run.until("running")
    cloud.trouble = "away"
    run.until("unknown", text="the cloud does not answer")
    time.sleep(0.2)
    count = len(door.asked)
    time.sleep(0.4)
    assert len(door.asked) == count
    cloud.trouble = ""
    run.until("running")


@pytest.mark.attack("secrets", "texts of exceptions")
def test_of_errors_that_nobody_wrote_for_tenants_nothing_is_told(
    cloud: Cloud, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(servers: Any) -> Any:
        raise OSError("/var/lib/secret: no")

    monkeypatch.setattr(cloud, "seen_servers", broken)
    run.put(environment())
    assert run.until("unknown")["text"] == "the cloud does not answer: nobody knows why"
    cloud.asked.append({})  # it was opened


def test_what_is_watched_anew_is_asked_on(cloud: Cloud, run: Run, door: Door) -> None:
    """A check that is the same after a deployment keeps its result, and its turns."""
    cloud.server("s1")
    for number in range(1, 4):
        run.put(environment(number=number, checks=[check(door.port, every=0.1)]))
        run.until("running")
        count = len(door.asked)
        for _ in range(500):
            if len(door.asked) > count + 2:
                break
            time.sleep(0.01)
        assert len(door.asked) > count + 2


@pytest.mark.attack("quotas", "probes")
def test_projects_take_turns(cloud: Cloud, run: Run, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with many environments of slow servers has its share and no more."""
    monkeypatch.setattr(schedule, "OPEN", 12)
    monkeypatch.setattr(schedule, "OPEN_PROJECT", 5)
    slow = Door()
    slow.slow = 4.0
    cloud.server("s1")
    for number in range(6):
        put = environment(f"hog{number}", checks=[check(slow.port, name=f"c{n}") for n in range(40)])
        run.put(put | {"owner": {"project": "hog", "environment": f"hog{number}"}})
    for _ in range(500):
        if slow.most >= 5:
            break
        time.sleep(0.01)
    run.put(environment("e1", checks=[check(door.port)]))
    run.until("running")
    assert slow.most < 10  # the door counts some that were given up already; without a share there are 12
    slow.close()


@pytest.mark.attack("quotas", "probes")
def test_what_was_not_asked_in_time_is_unknown(
    cloud: Cloud, run: Run, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "OVERDUE", 0.3)
    cloud.server("s1")
    run.put(environment(checks=[check(door.port, every=0.1)]))
    run.until("running")
    monkeypatch.setattr(schedule, "OPEN", 0)
    assert run.until("unknown")["text"] == "page: it was not asked in time"
    monkeypatch.setattr(schedule, "OPEN", 200)
    run.until("running")


@pytest.mark.attack("processes", "handshakes that cost much")
def test_no_server_is_down_because_the_loop_was_late(cloud: Cloud, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    async def late(*args: Any) -> str:
        nonlocal made
        made += 1
        time.sleep(0.2)
        return "no answer"

    monkeypatch.setattr(schedule, "LAG", 0.1)
    monkeypatch.setattr(schedule.probes, "run", late)
    cloud.server("s1")
    run.put(environment(checks=[check(1)], was={"o/page/s1": ["running", True]}))
    for _ in range(1500):
        if made > 6:
            break
        time.sleep(0.01)
    assert made > 6 and set(run.history) == {"running"}


@pytest.mark.attack("processes", "handshakes that cost much")
def test_servers_choose_from_cheap_handshakes_only() -> None:
    ciphers = probes._unverified().get_ciphers()
    assert {found["kea"] for found in ciphers} == {"kx-any", "kx-ecdhe"}  # any: of TLS 1.3, out of our one group


def test_what_is_planned_for_what_is_gone_takes_no_room(cloud: Cloud) -> None:
    watch = Watch(lambda key, owner: cloud)  # type: ignore[arg-type, return-value]
    for number in range(300):
        watch.put(environment(number=number, checks=[check(n, name=f"c{n}", every=86_400) for n in range(1, 51)]))
    assert len(watch._due) < 3000
    watch.drop(["e1"])
    assert len(watch._due) < 3000


@pytest.mark.attack("quotas", "clouds that hang")
def test_clouds_that_hang_hold_nobody_up_and_what_is_not_needed_is_closed(quick: None) -> None:
    clouds: dict[str, Cloud] = {}
    over = threading.Event()

    class Hanging(Cloud):
        def seen_servers(self, servers: Any) -> Any:
            if not over.is_set():
                over.wait(20)
            return super().seen_servers(servers)

    def opened(key: str, owner: Owner) -> Any:
        made = clouds[key] = Hanging() if key.startswith("h") else Cloud()
        made.server("s1")
        return made

    async def watched() -> None:
        watch = Watch(opened)
        task = asyncio.get_running_loop().create_task(watch.run())
        for number in range(40):
            watch.put(environment(f"hog{number}") | {"cloud": f"h{number}"})
        await asyncio.sleep(0.7)
        watch.put(environment())
        for _ in range(500):
            if any(item["id"] == "e1" for item in watch.changes()):
                break
            await asyncio.sleep(0.01)
        assert "c" in clouds and clouds["c"].asked
        over.set()
        watch.drop(["e1"])
        for _ in range(500):
            if clouds["c"].closed:
                break
            await asyncio.sleep(0.01)
        assert clouds["c"].closed
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(watched())


def test_a_probe_costs_little(cloud: Cloud) -> None:
    """5,000 components every 30 s are 167 probes a second: 5 % of a processor are 300 µs each."""
    cloud.server("s1")
    many, counter = 2000, itertools.count()

    async def measured() -> float:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            next(counter)
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        probe = probes.Probe("tcp", port)
        started = time.thread_time()
        for _ in range(many // 100):
            found = await asyncio.gather(*(probes.run(probe, ["127.0.0.1"]) for _ in range(100)))
            assert found == [None] * 100
        spent = time.thread_time() - started
        server.close()
        return spent / many

    # The answering side runs in the same thread: it is counted, too.
    assert asyncio.run(measured()) < 1e-3


def test_servers_that_are_to_run_and_do_not_are_told(cloud: Cloud, run: Run) -> None:
    cloud.server("s1", "ERROR")
    run.put(environment())
    run.until("down")
    assert run.off == ["s1"]
    run.put(environment(number=2) | {"stopped": {"s1": "ada"}})
    run.until("stopped")
    assert run.off == []
    cloud.server("s1", "BUILD")
    run.put(environment(number=3))
    run.until("degraded")
    assert run.off == [], "somebody makes it"


def listed(run: Run, count: int) -> list[dict[str, Any]]:
    for _ in range(1000):
        if len(run.contents) >= count:
            return run.contents
        time.sleep(0.01)
    raise AssertionError(run.contents)


def test_what_a_cloud_has_is_listed_soon_and_again_when_something_goes_down(
    cloud: Cloud, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "LEAST", 0.2)
    cloud.server("s1")
    run.put(environment())
    (first,) = listed(run, 1)
    content = {"stacks": {"web": "digest"}, "servers": {"s1": ["s1", "ACTIVE"]}}
    assert first == {"id": "e1", "number": 1, **content}
    run.until("running")
    assert len(run.contents) == 1
    cloud.server("s1", "ERROR")
    run.until("down")
    assert listed(run, 2)[1]["servers"] == {"s1": ["s1", "ERROR"]}


def test_a_cloud_that_is_away_has_nothing_and_lacks_nothing(cloud: Cloud, run: Run) -> None:
    cloud.server("s1")
    run.put(environment("e0"))
    listed(run, 1)
    cloud.trouble = "it is away"
    run.put(environment())
    assert listed(run, 2)[1] == {"id": "e1", "number": 1, "trouble": "it is away"}


def test_environments_without_servers_are_listed_and_nobody_is_twice_at_once(cloud: Cloud, run: Run) -> None:
    for number in range(30):
        run.put({**environment(f"e{number}"), "components": []})
    assert {item["id"] for item in listed(run, 30)} == {f"e{number}" for number in range(30)}
    assert sorted(cloud.listed) == sorted({f"e{number}" for number in range(30)})
