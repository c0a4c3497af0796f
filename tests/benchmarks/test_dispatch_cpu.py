"""What the benchmark of dispatchers counts: also processes whose time nobody collects."""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.dispatch_cpu import counted
from tests.support.needs import needs

#: Its child, which takes half a second of the processor, is reaped by the kernel, as hosts of effects are.
_PARENT = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
sys.stdin.readline()
if os.fork() == 0:
    while time.process_time() < 0.5:
        pass
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    print("ended", flush=True)
sys.stdin.readline()
"""


@needs(os.geteuid() == 0, "root")
def test_hosts_of_effects_are_counted() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-IS", "-c", _PARENT], stdin=pipe, stdout=pipe, text=True) as parent:
        group = counted(parent.pid)
        assert parent.stdin is not None and parent.stdout is not None
        parent.stdin.write("go\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "ended\n"
        taken = group.usage()[0]
        parent.stdin.close()
    group.remove()
    assert taken is not None and taken >= 0.4


#: A child that is there before anything is counted, as what tasks are forked from; its own child takes half a second.
_BEFORE = """
import os, sys, time
end, go = os.pipe(), os.pipe()
if os.fork() == 0:
    os.read(go[0], 1)
    if os.fork() == 0:
        while time.process_time() < 0.5:
            pass
        os._exit(0)
    os.wait()
    os.write(end[1], b"x")
    os._exit(0)
print("ready", flush=True)
sys.stdin.readline()
os.write(go[1], b"x")
os.read(end[0], 1)
print("ended", flush=True)
sys.stdin.readline()
"""


@needs(os.geteuid() == 0, "root")
def test_what_was_started_before_is_counted() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-IS", "-c", _BEFORE], stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        group = counted(parent.pid)
        parent.stdin.write("go\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "ended\n"
        taken = group.usage()[0]
        parent.stdin.close()
    group.remove()
    assert taken is not None and taken >= 0.4
