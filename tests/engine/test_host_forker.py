"""Effects hosts that are forked: quick, killed with their worker, and the forker is started again when it dies."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.openstack.fake import Fake
from vetro.engine.host.forker import HostForker
from vetro.engine.host.process import HostProcess
from vetro.engine.worker.ports import HostUnavailable
from vetro.frames import Decoder, encode, read


@pytest.fixture(scope="module")
def forker() -> Iterator[HostForker]:
    with HostForker() as made:
        made.start()
        yield made


def config(folder: Path, **more: Any) -> dict[str, Any]:
    cloud = {"kind": "record", "directory": str(folder / "cloud")}
    return {"cloud": cloud, "owner": {"project": "p", "environment": "1"}, **more}


def perform(host: HostProcess, kind: str, args: dict[str, Any], key: str = "0/1") -> Any:
    os.write(host.fileno(), encode({"t": "perform", "key": key, "kind": kind, "args": args}))
    decoder = Decoder()
    while True:
        messages = read(host.fileno(), decoder)
        assert messages is not None
        for message in messages:
            if message["t"] == "answer" and message["key"] == key:
                assert "error" not in message, message
                return message["answer"]


def until_gone(pid: int) -> None:
    until = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_ctrl_c_is_not_for_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """From its first moment: while Python starts, the code loads, and later. The worker cancels in order."""
    begun = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            begun.append(self.pid)
            os.kill(self.pid, signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with HostForker() as made, HostProcess(config(tmp_path), made) as host:
        host.start()
        assert host.pid is not None
        for pid in {*begun, host.pid}:
            os.kill(pid, signal.SIGINT)
        assert perform(host, "identity", {"what": "project", "of": "caller"})["id"] == "p"
        assert len(begun) == 1  # none had to be started again
    assert capfd.readouterr().err == ""


def test_a_forked_host_works_and_ends(forker: HostForker, tmp_path: Path) -> None:
    with HostProcess(config(tmp_path), forker) as host:
        host.start()
        pid = host.pid
        assert pid is not None
        assert perform(host, "identity", {"what": "project", "of": "caller"})["id"] == "p"
        host.start()
        assert host.pid not in (pid, None)
        until_gone(pid)
        last = host.pid
    assert last is not None
    until_gone(last)


def test_it_says_why_it_cannot_begin(forker: HostForker, tmp_path: Path) -> None:
    host = HostProcess(config(tmp_path, nonsense=1), forker)
    with pytest.raises(HostUnavailable, match="no setting 'nonsense'"):
        host.start()
    assert host.pid is None


def test_a_forker_that_died_is_started_again(tmp_path: Path) -> None:
    with HostForker() as forker:
        first = HostProcess(config(tmp_path), forker)
        first.start()
        process: Any = forker._process
        process.kill()
        process.wait()
        assert first.pid is not None
        until_gone(first.pid)  # the kernel ends hosts with the process that forked them
        first.start()
        assert perform(first, "entropy", {"bytes": 2})
        first.stop()


def test_it_outlives_the_thread_that_needed_it(tmp_path: Path) -> None:
    """Places of a worker that drains end one after the other, and the kernel ends a process with the thread that made
    it."""
    with HostForker() as forker, HostProcess(config(tmp_path), forker) as host:
        thread = threading.Thread(target=host.start)
        thread.start()
        thread.join()
        for number in range(3):
            time.sleep(0.05)
            assert perform(host, "entropy", {"bytes": 2}, f"0/{number}")


@pytest.mark.parametrize("whose", ["forker", "worker"])
def test_one_host_that_cannot_be_made_ends_no_others(whose: str, tmp_path: Path) -> None:
    with HostForker() as forker, HostProcess(config(tmp_path), forker) as first:
        first.start()
        second, process = HostProcess(config(tmp_path), forker), forker._process
        assert process is not None
        pid = process.pid if whose == "forker" else 0
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        free = os.dup(0)
        os.close(free)
        # The forker can be sent nothing; here there is room for one end of a pair.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3 if whose == "forker" else free + 1, before[1]))
        try:
            with pytest.raises(HostUnavailable, match="Too many open files"):
                second.start()
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert forker._process is process
        assert perform(first, "entropy", {"bytes": 2})
        with second:
            second.start()
            assert perform(second, "entropy", {"bytes": 2})


def test_hosts_end_with_their_worker(tmp_path: Path) -> None:
    code = (
        "import sys, json, time\nfrom vetro.engine.host.process import HostProcess\n"
        "from vetro.engine.host.forker import HostForker\n"
        "forker = HostForker()\nhost = HostProcess(json.loads(sys.argv[1]), forker)\nhost.start()\n"
        "print(host.pid, forker._process.pid, flush=True)\ntime.sleep(60)\n"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(config(tmp_path))], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    with worker.stdout:
        pids = [int(word) for word in worker.stdout.readline().split()]
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    for pid in pids:
        until_gone(pid)


def test_a_dry_run_waits_for_nothing(forker: HostForker, tmp_path: Path) -> None:
    with HostProcess(config(tmp_path, dry_run=True), forker) as host:
        host.start()
        begun = time.time()
        assert perform(host, "clock", {}, "0/1") < begun + 60
        assert perform(host, "sleep", {"seconds": 3600}, "0/2") is None
        assert perform(host, "clock", {}, "0/3") >= begun + 3600
        assert perform(host, "plugin:x/y", {}, "0/4") is None
        assert perform(host, "entropy", {"bytes": 2}, "0/5")
        assert time.time() < begun + 60


LATE = """
import importlib, json, sys
from vetro.clouds import kinds
from vetro.engine.host import config, forker
for name in (*forker._LOADED, *kinds.modules(sys.argv[1])):
    importlib.import_module(name)
before = set(sys.modules)
host = config.build_host(json.loads(sys.argv[2]))
assert host.perform("0/1", "stack.read", {"name": "web"}) is None
host.close()
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.campaign
def test_the_first_effect_on_an_openstack_loads_hardly_any_code() -> None:
    with Fake() as fake:
        login = {"auth_url": fake.url, "username": "w", "password": fake.password, "project_name": "p"}
        cloud = {"kind": "openstack", "directory": "unused", "settings": login}
        given = {"cloud": cloud, "owner": {"project": "p", "environment": "1"}}
        # Two or three small modules of others come late whatever is done.
        for kind, late in (("openstack", False), ("record", True)):
            command = [sys.executable, "-c", LATE, kind, json.dumps(given)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            assert ("openstack.connection" in found, len(found) > 8) == (late, late), found
        with HostForker("openstack") as made, HostProcess(given, made) as host:
            host.start()
            assert perform(host, "stack.read", {"name": "web"}) is None


def test_it_gets_ready_beside_the_caller_and_forks_when_it_is(tmp_path: Path) -> None:
    with HostForker("record") as forker:
        forker.begin()
        begun = forker._process
        assert begun is not None and begun.poll() is None
        with HostProcess(config(tmp_path), forker) as host:
            host.start()
            assert host.pid
        assert forker._process is begun


def test_a_worker_that_has_gone_is_no_error() -> None:
    """A command that refuses what it was given ends while the process gets ready; nobody is to read a traceback."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.close()
    given = {"--control": its.fileno(), "--parent": os.getpid(), "--cloud": "record"}
    words = [sys.executable, "-P", "-m", "vetro.engine.host", *(str(word) for pair in given.items() for word in pair)]
    done = subprocess.run(words, pass_fds=(its.fileno(),), capture_output=True, text=True, timeout=120, check=False)
    its.close()
    assert (done.returncode, done.stderr) == (0, "")


def test_hosts_load_no_language() -> None:
    """Loading it takes half as long as all the rest; who performs effects runs no package code."""
    code = "import sys, vetro.engine.host.__main__ as m; from vetro.engine.host import forker; import importlib\n"
    code += "for name in forker._LOADED: importlib.import_module(name)\n"
    code += (
        "print([n for n in sys.modules if n.startswith(('vetro.muranopl.session', 'vetro.muranopl.types', 'yaml'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
