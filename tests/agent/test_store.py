"""The file of the local channel."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from vetro.agent.store import QueueStore
from vetro.clouds.messages import Message


def test_a_file_of_an_earlier_version_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "channel.db"
    store = QueueStore(path)
    store.put("q", Message("1", "{}", b"s", "r"))
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE messages DROP COLUMN until")
    db.close()
    for _ in range(2):
        store = QueueStore(path)
        found = store.next("q")
        assert found is not None and found.message == Message("1", "{}", b"s", "r", None)
        store.close()
    store = QueueStore(path)
    store.put("q", Message("2", "{}", until=12.5))
    second = store.next("q", after=found.seq)
    assert second is not None and second.message.until == 12.5
    store.close()
