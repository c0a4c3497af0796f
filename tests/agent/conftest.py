from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.agentworld import OWNER, QUEUE, AgentProcess
from tests.agent.broker import Broker, start_broker
from vetro.agent.build import build_agent
from vetro.agent.sockets import SocketChannel


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed agent."""
    return build_agent(tmp_path_factory.mktemp("agent"))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A RabbitMQ of our own on free ports of this machine, with and without TLS."""
    with start_broker(tmp_path_factory.mktemp("broker")) as found:
        yield found


@pytest.fixture
def socket_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "server" / "socket"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def channel(tmp_path: Path, socket_folder: Path) -> Iterator[SocketChannel]:
    """The local channel of an environment with one server."""
    found = SocketChannel(tmp_path / "cloud", OWNER, {QUEUE: socket_folder})
    yield found
    found.close()


@pytest.fixture
def make_agent(tmp_path: Path, socket_folder: Path, program: Path) -> Iterator[Callable[..., AgentProcess]]:
    """Starts agents on the local socket; settings of ``[DEFAULT]`` by keyword."""
    made: list[AgentProcess] = []

    def make(**settings: object) -> AgentProcess:
        host = {"host": f"unix:{socket_folder}/agent.sock"}
        made.append(AgentProcess(tmp_path / "server" / "agent", program, host, **settings))
        return made[-1].start()

    yield make
    for agent in made:
        agent.stop()
