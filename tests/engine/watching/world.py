"""What tests of watching share: a cloud that says what it is told to, real servers to be probed, a loop in a thread."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vetro.clouds.interface import CloudError, Owner, ServerState, StackState
from vetro.engine.watching.watch import Watch


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

    def server(self, id: str, status: str = "ACTIVE", address: str = "127.0.0.1", **more: Any) -> None:
        self.there[id] = ServerState(id, id, "stack", "", status, reachable=(address,), **more)

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
        cloud: Any = self.cloud
        self.watch = Watch(lambda key, owner: cloud, allowed=self._allowed, spread=0.2)
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
