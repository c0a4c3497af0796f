"""The watcher's process and who tells it what to watch: both may write at once, and nothing stops all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from vetro.clouds.interface import CloudError
from vetro.engine.watching import process
from vetro.frames import Decoder, encode


class Cloud:
    """One that is away, and says so at length."""

    def seen_servers(self, servers: Any) -> Any:
        raise CloudError("away " * 90)

    def close(self) -> None:
        pass


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The worker's end."""
    monkeypatch.setattr(process, "cloud_of", lambda settings, owner: Cloud())
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    thread = threading.Thread(target=process.serve, args=(theirs.fileno(),), daemon=True)
    thread.start()
    yield ours
    ours.close()
    thread.join(10)
    theirs.close()
    assert not thread.is_alive()


def put(id: str, components: int = 1) -> dict[str, Any]:
    apps = [{"id": f"a{n}", "servers": [{"id": "s1", "name": "web"}]} for n in range(components)]
    owner = {"project": "p", "environment": id}
    environment = {"id": id, "number": 1, "owner": owner, "cloud": "c", "since": 0, "components": apps}
    return {"t": "put", "environment": environment}


CLOUD = {"t": "cloud", "key": "c", "settings": {}}


def heard(worker: socket.socket, wanted: set[str]) -> Mapping[str, list[dict[str, Any]]]:
    """What was told of each environment, once something was told of all that are wanted."""
    decoder, found = Decoder(), dict[str, list[dict[str, Any]]]()
    while not wanted <= set(found):
        for message in decoder.feed(worker.recv(1 << 20)):
            for item in message["environments"] if message["t"] == "changes" else ():
                found.setdefault(item["id"], []).extend(item["components"])
    return found


@pytest.mark.attack("processes", "an environment that cannot be watched")
def test_an_environment_that_cannot_be_watched_is_unknown_and_stops_nobody(worker: socket.socket) -> None:
    bad = put("bad")
    bad["environment"]["components"][0]["checks"] = [{"kind": "http", "port": "eighty", "on": ["s1"]}]
    worker.sendall(encode(CLOUD) + encode(bad) + encode(put("good")))
    found = heard(worker, {"bad", "good"})
    assert found["bad"][0]["state"] == "unknown" and found["good"][0]["state"] == "unknown"
    assert "cannot be watched" in str(found["bad"][0]["text"]) and "away" in str(found["good"][0]["text"])


def test_both_may_write_at_once(worker: socket.socket) -> None:
    """The process has more to tell than a socket holds, while the worker writes and does not read."""
    ids = {f"e{n}" for n in range(60)}
    worker.sendall(encode(CLOUD) + b"".join(encode(put(id, 60)) for id in ids))
    threading.Event().wait(2.5)  # now it has told what fits
    for number in range(60):
        worker.sendall(encode({"t": "drop", "ids": [f"{number}-none" * 10_000]}))
    found = heard(worker, ids)
    assert all(len(components) >= 60 for components in found.values())
