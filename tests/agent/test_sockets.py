from __future__ import annotations

import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agentworld import (
    OWNER,
    PATIENCE,
    QUEUE,
    RESULTS,
    AgentProcess,
    answer,
    body_plan,
    call,
    message_of,
    script_plan,
    wait_for,
)
from tests.agent.rawpeer import RawPeer
from vetro.agent.errors import ChannelClosed, ChannelStoreError, MessageInvalid
from vetro.agent.sockets import SocketChannel, channel_folder
from vetro.clouds.drivers import agent_sockets
from vetro.clouds.drivers.errors import HelperAway, HostFailed
from vetro.clouds.interface import NotFound, Owner
from vetro.clouds.messages import Channel, Message

MakeAgent = Callable[..., AgentProcess]


def test_it_is_a_channel(channel: SocketChannel) -> None:
    assert isinstance(channel, Channel)


@pytest.mark.attack("agent", "other environments")
def test_queues_of_other_environments_are_not_found(channel: SocketChannel, tmp_path: Path) -> None:
    for queue in ("eenv2-hserver", "-execution-results-x", "", "env1-hserver"):
        with pytest.raises(NotFound, match="eenv1-h"):
            channel.send(queue, Message("1", "{}"))
        with pytest.raises(NotFound):
            channel.add(queue, tmp_path)


def test_a_plan_waits_for_the_server(channel: SocketChannel, make_agent: MakeAgent) -> None:
    channel.send(QUEUE, message_of(body_plan("return 1")))
    assert channel.receive(RESULTS, 0.05) is None
    make_agent()
    assert answer(channel)["Body"] == 1


def test_a_plan_is_answered_at_once(channel: SocketChannel, make_agent: MakeAgent) -> None:
    make_agent()
    call(channel, body_plan("return 1"))
    begin = time.monotonic()
    for n in range(10):
        assert call(channel, body_plan(f"return {n}"))["Body"] == n
    assert time.monotonic() - begin < 5  # 0.2 s; with polling anywhere it would be more than a second


def test_a_message_is_delivered_until_it_is_acknowledged(
    channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path
) -> None:
    make_agent()
    channel.send(QUEUE, message_of(body_plan("return 1")))
    first = channel.receive(RESULTS, PATIENCE)
    assert first is not None
    assert channel.receive(RESULTS, 0.05) is None  # received, not acknowledged
    channel.close()
    again = SocketChannel(tmp_path / "cloud", OWNER)
    try:
        assert again.receive(RESULTS, PATIENCE) == first
        again.acknowledge(RESULTS, first.id)
    finally:
        again.close()
    last = SocketChannel(tmp_path / "cloud", OWNER)
    try:
        assert last.receive(RESULTS, 0.05) is None
    finally:
        last.close()


@pytest.mark.attack("agent", "A1")
def test_an_answer_that_is_too_large_ends_its_call_with_why(channel: SocketChannel, make_agent: MakeAgent) -> None:
    make_agent()
    for body, reason in (
        ("return [[]] * 600_000", "values"),
        ("x = []\nfor _ in range(150): x = [x]\nreturn x", "nested"),
    ):
        said = call(channel, body_plan(body))
        assert said["ErrorCode"] == 1 and reason in said["Body"]["Message"]
    assert call(channel, body_plan("return 'fine'"))["Body"] == "fine"


def test_the_same_message_again_is_dropped(channel: SocketChannel, make_agent: MakeAgent) -> None:
    make_agent()
    message = message_of(body_plan("return 1"))
    channel.send(QUEUE, message)
    channel.send(QUEUE, message)
    assert answer(channel)["Body"] == 1
    channel.send(QUEUE, message)
    assert channel.receive(RESULTS, 0.1) is None


def test_the_agent_comes_back_to_a_new_engine(
    channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path, socket_folder: Path
) -> None:
    agent = make_agent()
    assert call(channel, body_plan("return 1"))["Body"] == 1
    channel.close()
    assert not (socket_folder / "agent.sock").exists()
    again = SocketChannel(tmp_path / "cloud", OWNER)  # it remembers the server's folder
    try:
        assert call(again, body_plan("return 2"))["Body"] == 2
    finally:
        again.close()
    assert agent.stop() == 0


def test_an_answer_waits_for_a_new_engine(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    """The engine is gone when the script ends: it runs once and its answer is there for the next engine."""
    make_agent()
    gate = tmp_path / "gate"
    plan = script_plan(f"echo x >> {tmp_path}/runs; while [ ! -e {gate} ]; do sleep 0.02; done; echo end")
    channel.send(QUEUE, message_of(plan))
    wait_for((tmp_path / "runs").exists)
    channel.close()
    gate.touch()
    again = SocketChannel(tmp_path / "cloud", OWNER)
    try:
        again.send(QUEUE, message_of(plan))  # adopted: the same id and stamp
        assert answer(again)["Body"] == "end"
    finally:
        again.close()
    assert (tmp_path / "runs").read_text() == "x\n"


def test_two_processes_share_an_environment(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    """The second cannot serve the sockets while the first does; its plans and answers travel all the same."""
    make_agent()
    call(channel, body_plan("return 0"))
    other = SocketChannel(tmp_path / "cloud", OWNER)
    try:
        assert call(other, body_plan("return 1"))["Body"] == 1
        assert channel.connected(QUEUE)
        assert other.connected(QUEUE) is None  # whoever serves the sockets knows it
        channel.close()
        assert call(other, body_plan("return 2"))["Body"] == 2
        assert other.connected(QUEUE)
    finally:
        other.close()


def test_servers_come_and_go(tmp_path: Path, make_agent: MakeAgent, socket_folder: Path) -> None:
    channel = SocketChannel(tmp_path / "cloud", OWNER)
    try:
        agent = make_agent()
        channel.send(QUEUE, message_of(body_plan("return 1")))
        channel.add(QUEUE, socket_folder)
        assert answer(channel)["Body"] == 1
        channel.remove(QUEUE)
        wait_for(lambda: not (socket_folder / "agent.sock").exists())
        assert not channel.connected(QUEUE)
        agent.stop()
    finally:
        channel.close()


def test_folders_may_be_asked_for_and_come_late(tmp_path: Path, make_agent: MakeAgent) -> None:
    asked = []
    folder = tmp_path / "server" / "socket"

    def find(queue: str) -> Path | None:
        asked.append(queue)
        return folder if len(asked) > 1 else None

    channel = SocketChannel(tmp_path / "cloud", OWNER, find)
    try:
        make_agent()
        channel.send(QUEUE, message_of(body_plan("return 1")))
        channel.send(QUEUE, message_of(body_plan("return 2")))
        channel.send(QUEUE, message_of(body_plan("return 3")))
        folder.mkdir(parents=True, exist_ok=True)
        assert [answer(channel)["Body"] for _ in range(3)] == [1, 2, 3]
        assert asked == [QUEUE, QUEUE]
    finally:
        channel.close()


def test_a_server_folder_that_is_made_anew_is_served_again(
    channel: SocketChannel, make_agent: MakeAgent, socket_folder: Path
) -> None:
    wait_for((socket_folder / "agent.sock").exists)
    (socket_folder / "agent.sock").unlink()
    socket_folder.rmdir()
    socket_folder.mkdir()
    make_agent()
    assert call(channel, body_plan("return 1"))["Body"] == 1


def test_who_opens_sockets_may_be_away_for_a_while(tmp_path: Path, make_agent: MakeAgent, socket_folder: Path) -> None:
    """As a cloud helper that is started anew, or finds the server gone."""
    errors: list[Exception] = [HelperAway("it is away"), HostFailed("no such folder"), NotFound("no such server")]

    def listen(queue: str, folder: Path) -> tuple[Any, int]:
        if errors:
            raise errors.pop()
        return agent_sockets.listen(folder)

    channel = SocketChannel(tmp_path / "cloud", OWNER, {QUEUE: socket_folder}, listen)
    make_agent()
    assert call(channel, body_plan("return 7"))["Body"] == 7 and not errors
    channel.close()


def test_long_paths(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120) / "socket"
    folder.mkdir(parents=True)
    channel = SocketChannel(tmp_path / "cloud", OWNER, {QUEUE: folder})
    try:
        wait_for((folder / "agent.sock").exists)
        assert stat.S_IMODE(wait_for(lambda: (folder / "agent.sock").stat().st_mode)) & 0o222 == 0o222
    finally:
        channel.close()


@pytest.mark.attack("agent", "other environments")
def test_environments_do_not_see_each_other(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    make_agent()
    others = [SocketChannel(tmp_path / "cloud", Owner(*names)) for names in (("project", "env2"), ("other", "env1"))]
    try:
        channel.send(QUEUE, message_of(body_plan("return 1")))
        assert all(other.receive(RESULTS, 0.1) is None for other in others)
        assert answer(channel)["Body"] == 1
    finally:
        for other in others:
            other.close()


def test_messages_that_cannot_be_carried(channel: SocketChannel) -> None:
    with pytest.raises(MessageInvalid, match="too large"):
        channel.send(QUEUE, Message("1", "x" * (17 << 20)))
    with pytest.raises(MessageInvalid, match="too large"):
        channel.send(QUEUE, Message("1", "ж" * (5 << 20)))
    with pytest.raises(MessageInvalid, match="surrogate"):
        channel.send(QUEUE, Message("1", "\ud800"))


def test_close_wakes_who_waits_and_is_final(channel: SocketChannel) -> None:
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            channel.receive(RESULTS, PATIENCE)
        except ChannelClosed as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    channel.close()
    thread.join(PATIENCE)
    assert caught
    channel.close()
    with pytest.raises(ChannelClosed):
        channel.send(QUEUE, Message("1", "{}"))
    with pytest.raises(ChannelClosed):
        channel.receive(RESULTS, 0)


def test_a_store_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ChannelStoreError, match=r"channel\.db"):
        SocketChannel(tmp_path / "file", OWNER)


def test_plans_are_private(channel: SocketChannel, tmp_path: Path) -> None:
    folder = channel_folder(tmp_path / "cloud", OWNER)
    assert stat.S_IMODE((folder / "channel.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_four_hundred_servers(tmp_path: Path) -> None:
    """One thread and one file serve many; a message costs the same with 400 servers as with one."""
    folders = {f"eenv1-h{n}": tmp_path / "s" / str(n) for n in range(400)}
    for folder in folders.values():
        folder.mkdir(parents=True)
    before = set(threading.enumerate())
    channel = SocketChannel(tmp_path / "cloud", OWNER, folders)
    peers: list[RawPeer] = []
    try:
        for queue, folder in folders.items():
            peers.append(first_peer(folder / "agent.sock").greet(queue))
        assert len(set(threading.enumerate()) - before) == 1
        for n, (queue, peer) in enumerate(zip(folders, peers, strict=True)):
            channel.send(queue, Message(f"id{n}", "{}"))
            assert peer.receive()["id"] == f"id{n}"
            peer.send(t="ack", id=f"id{n}")
            peer.send(t="publish", queue=RESULTS, id=f"id{n}", reply_to=None, body="{}")
        got = {answer_id(channel) for _ in range(400)}
        assert got == {f"id{n}" for n in range(400)}
    finally:
        for peer in peers:
            peer.close()
        channel.close()


def first_peer(path: Path) -> RawPeer:
    """Connects as soon as somebody listens, which is a moment after the file is there."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return RawPeer(path)
        except (FileNotFoundError, ConnectionRefusedError):
            assert time.monotonic() < end
            time.sleep(0.01)


def answer_id(channel: SocketChannel) -> str:
    message = channel.receive(RESULTS, PATIENCE)
    assert message is not None
    channel.acknowledge(RESULTS, message.id)
    return message.id
