"""What `vetro worker drain` waits for."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vetro.server.config.config import Config
from vetro.server.tasks import members
from vetro.server.tasks.drain import wait_until_gone
from vetro.server.tasks.models import WorkerProcess


@pytest.mark.django_db
def test_processes_of_this_machine_have_ended(tmp_path: Path) -> None:
    """A worker leaves before its process has ended: whoever waits goes on with files, and the database, to itself."""
    config = Config.load(tmp_path, environ={})
    program = [sys.executable, "-IS", "-c", "import sys; sys.stdin.read()"]
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    with subprocess.Popen(program, stdin=subprocess.PIPE) as process:
        for name, host in (("here", members.this_host()), ("elsewhere", "web2/1/2")):
            WorkerProcess.objects.create(id=name, host=host, pid=process.pid, version="1", seen=long_ago)
        there = wait_until_gone(config, ["here", "elsewhere"], 0, lambda worker: None)
        assert [worker.name for worker in there] == ["here"]
    assert wait_until_gone(config, ["here", "elsewhere"], 0, lambda worker: None) == []
