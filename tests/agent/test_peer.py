"""Guests that break the rules of the local socket: each ends alone, and nothing is lost or stored for them."""

from __future__ import annotations

import json
import os
import random
import resource
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.agentworld import OWNER, PATIENCE, QUEUE, RESULTS, wait_for
from tests.agent.rawpeer import RawPeer
from vetro.agent import hub, peer
from vetro.agent.guest.framing import LARGEST
from vetro.agent.sockets import SocketChannel
from vetro.clouds.messages import Message

OTHER = "eenv1-hother"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[SocketChannel, Path, Path]]:
    """A channel and the sockets of two servers."""
    folders = {QUEUE: tmp_path / "a", OTHER: tmp_path / "b"}
    for folder in folders.values():
        folder.mkdir()
    channel = SocketChannel(tmp_path / "cloud", OWNER, folders)
    sockets = [folder / "agent.sock" for folder in folders.values()]
    for path in sockets:
        wait_for(path.exists)
    yield channel, sockets[0], sockets[1]
    channel.close()


World = tuple[SocketChannel, Path, Path]


def still_works(channel: SocketChannel, path: Path, queue: str = OTHER) -> None:
    """Another server gets its plan and answers."""
    id = os.urandom(8).hex()
    with_peer = RawPeer(path).greet(queue)
    try:
        channel.send(queue, Message(id, "{}"))
        frame = with_peer.receive()
        assert (frame["t"], frame["id"]) == ("deliver", id)
        with_peer.send(t="ack", id=id)
        with_peer.send(t="publish", queue=RESULTS, id=id, reply_to=None, body=json.dumps({"SourceID": id}))
        assert with_peer.receive() == {"t": "stored", "id": id}
        message = channel.receive(RESULTS, PATIENCE)
        assert message is not None
        assert message.id == id
        channel.acknowledge(RESULTS, id)
    finally:
        with_peer.close()


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        struct.pack(">I", LARGEST + 1),
        struct.pack(">I", 4) + b"null",
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 2) + b"{}",
        struct.pack(">I", 3) + b"{]}",
        struct.pack(">I", 9) + b'{"t": 12}',
        struct.pack(">I", 2) + b"\xff\xfe",
        struct.pack(">I", 100_000) + b"[" * 100_000,
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_malformed_frames_end_the_connection(world: World, data: bytes) -> None:
    channel, path, other = world
    guest = RawPeer(path)
    guest.sock.sendall(data)
    assert guest.closed()
    guest.close()
    still_works(channel, other)
    still_works(channel, path, QUEUE)


@pytest.mark.parametrize(
    "frame",
    [
        {"t": "ack", "id": "1"},
        {"t": "publish", "queue": RESULTS, "id": "1", "body": "{}"},
        {"t": "hello", "queue": OTHER},
        {"t": "hello", "queue": ["x"]},
    ],
)
def test_a_server_is_who_its_socket_says(world: World, frame: dict[str, object]) -> None:
    channel, path, other = world
    channel.send(OTHER, Message("secret", "{}"))
    guest = RawPeer(path)
    guest.send(**frame)
    assert guest.closed()
    guest.close()
    rightful = RawPeer(other).greet(OTHER)
    assert rightful.receive()["id"] == "secret"
    rightful.close()


def test_only_own_plans_are_answered(world: World) -> None:
    channel, path, _ = world
    channel.send(QUEUE, Message("mine", "{}", None, "-execution-results-other"))
    channel.send(OTHER, Message("theirs", "{}"))
    guest = RawPeer(path).greet(QUEUE)
    assert guest.receive()["id"] == "mine"
    cases = [
        (RESULTS, "theirs", "{}", "no plan with this id"),
        (RESULTS, "invented", "{}", "no plan with this id"),
        (RESULTS, "mine", '{"SourceID": "theirs"}', "SourceID"),
        (OTHER, "mine", "{}", "answers go to"),
        (QUEUE, "mine", "{}", "answers go to"),
        ("", "mine", "{}", "answers go to"),
        (RESULTS, "mine", "no json", "not JSON"),
        (RESULTS, "mine", "[" * 200_000, "nested deeper"),
        (RESULTS, "mine", '"\ud800"', "not JSON"),
        (RESULTS, "\ud800", "{}", "not JSON"),
    ]
    for queue, id, body, reason in cases:
        guest.send(t="publish", queue=queue, id=id, reply_to=None, body=body)
        frame = guest.receive()
        assert frame["t"] == "refused", (queue, id, body[:30])
        assert reason in frame["reason"]
    assert channel.receive(RESULTS, 0.05) is None
    for queue in (RESULTS, "-execution-results-other"):
        guest.send(t="publish", queue=queue, id="mine", reply_to=None, body="{}")
        assert guest.receive()["t"] == "stored"
    guest.send(t="publish", queue=RESULTS, id="mine", reply_to=None, body='{"again": true}')
    assert guest.receive()["t"] == "stored"  # dropped: one answer a plan
    message = channel.receive(RESULTS, PATIENCE)
    assert message is not None
    assert message.body == "{}"
    assert channel.receive(RESULTS, 0.05) is None
    guest.close()


@pytest.mark.parametrize(
    "frame",
    [
        {"t": "publish", "queue": 1, "id": "mine", "body": "{}"},
        {"t": "publish", "queue": RESULTS, "id": None, "body": "{}"},
        {"t": "publish", "queue": RESULTS, "id": "mine"},
        {"t": "publish", "queue": "x" * 1000, "id": "mine", "body": "{}"},
        {"t": "deliver"},
        {"t": "hello", "queue": QUEUE},
    ],
)
def test_unexpected_frames_after_the_greeting_end_it(world: World, frame: dict[str, object]) -> None:
    channel, path, other = world
    guest = RawPeer(path).greet(QUEUE)
    guest.send(**frame)
    assert guest.closed()
    guest.close()
    still_works(channel, other)


def test_a_message_stays_until_it_is_acknowledged(world: World) -> None:
    channel, path, _ = world
    channel.send(QUEUE, Message("1", "{}", b"\0\xff", "r"))
    channel.send(QUEUE, Message("2", "{}"))
    guest = RawPeer(path).greet(QUEUE)
    first = guest.receive()
    assert first == {
        "t": "deliver", "queue": QUEUE, "id": "1", "reply_to": "r", "signature": "AP8=", "body": "{}",
    }  # fmt: skip
    guest.send(t="ack", id="2")  # not delivered yet: ignored
    guest.close()
    guest = RawPeer(path).greet(QUEUE)
    assert guest.receive() == first
    guest.send(t="ack", id="1")
    assert guest.receive()["id"] == "2"
    guest.close()


def test_a_restarted_agent_takes_over(world: World) -> None:
    channel, path, _ = world
    before = RawPeer(path).greet(QUEUE)
    after = RawPeer(path).greet(QUEUE)
    assert "took its place" in before.closed()
    channel.send(QUEUE, Message("1", "{}"))
    assert after.receive()["id"] == "1"
    for guest in (before, after):
        guest.close()


def test_connections_are_few(world: World) -> None:
    channel, path, other = world
    guests = [RawPeer(path) for _ in range(3 * hub.MOST_PEERS)]
    assert "too many" in guests[0].closed()
    still_works(channel, other)
    still_works(channel, path, QUEUE)
    for guest in guests:
        guest.close()


def test_who_says_nothing_is_hung_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    channel, path, other = world
    monkeypatch.setattr(peer, "GREETING_TIME", 0.2)
    monkeypatch.setattr(peer, "FRAME_TIME", 0.2)
    silent = RawPeer(path)
    assert "in time" in silent.closed()
    slow = RawPeer(path).greet(QUEUE)
    slow.sock.sendall(struct.pack(">I", 100) + b"{")
    assert "in time" in slow.closed()
    patient = RawPeer(other).greet(OTHER)
    time.sleep(0.5)  # a connection that has greeted may be silent for ever
    channel.send(OTHER, Message("1", "{}"))
    assert patient.receive()["id"] == "1"
    for guest in (silent, slow, patient):
        guest.close()


def test_dripping_small_frames_does_not_extend_the_greeting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, path, _ = world
    monkeypatch.setattr(peer, "GREETING_TIME", 0.3)
    guest = RawPeer(path)
    stop = threading.Event()

    def drip() -> None:
        data = struct.pack(">I", 10_000) + b"{" * 9_000
        for byte in data:
            if stop.wait(0.01):
                return
            try:
                guest.sock.sendall(bytes([byte]))
            except OSError:
                return

    thread = threading.Thread(target=drip)
    thread.start()
    begin = time.monotonic()
    guest.closed()
    stop.set()
    thread.join()
    assert time.monotonic() - begin < 10
    guest.close()


def test_memory_for_unfinished_frames_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    channel, path, other = world
    monkeypatch.setattr(hub, "MOST_HELD", 4 << 20)
    guest = RawPeer(path).greet(QUEUE)
    try:
        guest.sock.sendall(struct.pack(">I", LARGEST) + b"{" * (LARGEST - 1))
    except ConnectionError:
        pass
    guest.closed()
    guest.close()
    still_works(channel, other)


def test_a_guest_that_does_not_read_is_not_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers to its messages are not piled up without end; when it reads again it goes on."""
    channel, path, other = world
    monkeypatch.setattr(peer, "MOST_UNSENT", 100_000)
    guest = RawPeer(path).greet(QUEUE)
    data = json.dumps({"t": "publish", "queue": RESULTS, "id": "x" * 300, "body": "{}"}).encode()
    frame = struct.pack(">I", len(data)) + data
    sent = 0
    guest.sock.settimeout(0.5)
    try:
        while sent < 200_000_000:
            sent += guest.sock.send(frame * 100)
    except TimeoutError:
        pass
    assert sent < 50_000_000
    still_works(channel, other)
    guest.close()


def test_two_rivals_do_not_disturb_a_third(world: World) -> None:
    """Large garbage on one socket while another works: the other's time does not suffer."""
    channel, path, other = world
    guest = RawPeer(path).greet(QUEUE)
    blob = json.dumps({"t": "publish", "queue": RESULTS, "id": "x", "body": "y" * 8_000_000}).encode()
    thread = threading.Thread(target=lambda: guest.sock.sendall((struct.pack(">I", len(blob)) + blob) * 3))
    thread.start()
    begin = time.monotonic()
    for _ in range(5):
        still_works(channel, other)
    assert time.monotonic() - begin < 20
    for _ in range(3):
        assert guest.receive()["t"] == "refused"
    thread.join()
    guest.close()


_CONNECT = """
import os, socket, sys
os.chdir(sys.argv[1])
os.setuid(int(sys.argv[2]))
sock = socket.socket(socket.AF_UNIX)
sock.settimeout(30)
sock.connect("agent.sock")
try:
    sock.sendall(bytes([0, 0, 0, 14]) + b'{"t": "hello"}')
    print(len(sock.recv(4)))
except ConnectionError:
    print(0)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
@pytest.mark.parametrize(("user", "welcome"), [(0, True), (1000, False), (65536 * 7, True), (65536 * 7 + 33, False)])
def test_only_root_of_the_guest_is_the_agent(world: World, user: int, welcome: bool) -> None:
    """A web server inside the guest that was broken into must not read plans or answer them."""
    channel, path, other = world
    command = [sys.executable, "-c", _CONNECT, str(path.parent), str(user)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.strip() == ("4" if welcome else "0"), done.stderr
    still_works(channel, other)


@pytest.mark.attack("agent", "garbage")
@pytest.mark.parametrize("seconds", [2.0, pytest.param(60.0, marks=pytest.mark.campaign)], ids=["some", "all"])
def test_garbage_without_end_costs_no_memory(world: World, seconds: float) -> None:
    """Frames of every kind of nonsense, over connections that come and go: the other server works, nothing piles up."""
    channel, path, other = world
    chance = random.Random(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    descriptors = len(os.listdir("/proc/self/fd"))
    until, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < until or rounds <= 20:
        guest = RawPeer(path)
        try:
            if chance.random() < 0.7:
                guest.greet(QUEUE)
            for _ in range(chance.randrange(20)):
                guest.sock.sendall(_garbage(chance))
        except OSError:
            pass
        guest.close()
        rounds += 1
        if rounds % 50 == 0:
            still_works(channel, other)
    still_works(channel, other)
    still_works(channel, path, QUEUE)
    wait_for(lambda: len(os.listdir("/proc/self/fd")) <= descriptors + 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10  # KiB


def _garbage(chance: random.Random) -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.randrange(1, 10_000))
    if kind == 1:
        return struct.pack(">I", chance.randrange(1 << 32)) + b"{" * chance.randrange(1000)
    if kind == 2:
        body = b"[" * chance.randrange(1, 100_000)
    elif kind == 3:
        body = b"[" + b"[]," * chance.randrange(1, 1_000_000) + b"[]]"
    else:
        word = chance.choice(["ack", "publish", "hello", "deliver", "\0", "error"])
        value = chance.choice(
            [None, "x" * chance.randrange(1000), 10**300, [], {"a": "\ud800"}, "-execution-results-x"]
        )
        body = json.dumps({"t": word, "id": value, "queue": value, "body": value, "reply_to": value}).encode()
    return struct.pack(">I", len(body)) + body


@pytest.mark.attack("quotas", "script output")
def test_who_connects_anew_each_time_fills_no_disk(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces for somebody who does not read them were stored without end."""
    monkeypatch.setattr(peer, "MOST_WAITING", 30)
    channel, path, _ = world
    channel.send(QUEUE, Message("p1", "{}", None, RESULTS, output=True))
    for turn in range(4):
        guest = RawPeer(path).greet(QUEUE)
        assert guest.receive()["id"] == "p1"
        for number in range(peer.MOST_PIECES):
            guest.send(t="output", queue=RESULTS, plan="p1", number=1 + 100 * turn + number, body="{}")
        guest.send(t="publish", queue=RESULTS, id="unknown", reply_to=None, body="{}")
        assert guest.receive()["t"] == "refused"
        guest.close()
    found = 0
    while channel.receive(RESULTS, 0.2) is not None:
        found += 1
    assert found == 30


def test_pieces_of_output_are_measured(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for plans that this server got, to those who wait for them; more than anybody reads is dropped."""
    channel, path, _ = world
    channel.send(QUEUE, Message("p1", "{}", None, RESULTS, output=True))
    guest = RawPeer(path).greet(QUEUE)
    frame = guest.receive()
    assert (frame["id"], frame["output"]) == ("p1", True)
    good = {"t": "output", "queue": RESULTS, "plan": "p1", "number": 1, "body": "{}"}
    for wrong in (
        {"plan": "p2"},
        {"queue": "-execution-results-eenv1-other"},
        {"number": 0},
        {"number": 1 << 40},
        {"body": "x" * (peer.LARGEST_PIECE + 1)},
        {"body": "\ud800"},
    ):
        guest.send(**{**good, **wrong})
    guest.send(**good)
    message = channel.receive(RESULTS, PATIENCE)
    assert message is not None and (message.id, message.body) == ("p1#1", "{}")
    monkeypatch.setattr(peer, "PIECES_A_SECOND", 0.0)
    for number in range(2, 100):
        guest.send(**{**good, "number": number})
    guest.send(t="publish", queue=RESULTS, id="p1", reply_to=None, body=json.dumps({"SourceID": "p1"}))
    assert guest.receive() == {"t": "stored", "id": "p1"}
    found = []
    while not found or found[-1] != "p1":
        message = channel.receive(RESULTS, PATIENCE)
        assert message is not None
        found.append(message.id)
    assert len(found) <= peer.MOST_PIECES + 1
    guest.send(**{**good, "body": 7})
    assert "must be text" in guest.closed()
    guest.sock.close()
