"""Sockets of processes on one machine."""

from __future__ import annotations

import socket
from pathlib import Path

from vetro.server.tasks import wakeup


def test_what_the_killed_left_is_removed_and_who_lives_still_hears(tmp_path: Path) -> None:
    with wakeup.Inbox(tmp_path, "worker-living") as inbox:
        for name in ("worker-killed", "wait-killed", "other"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.bind(str(tmp_path / name))
        wakeup.tidy(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "worker-living"]
        assert wakeup.send(tmp_path, wakeup.WORKER, "task") == 1
        assert inbox.wait(5.0) == ["task"]
