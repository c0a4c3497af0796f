"""`python -m vetro.engine.task.zygote`: loads the engine once, then forks a process for each task.

It never performs a task, has no threads, no secrets and an empty environment. `vetro.engine.task.launcher.Launcher`
starts it, with a socket (SOCK_SEQPACKET) as ``--control``. A request there carries two sockets: the task's pipe, and
one that belongs to the zygote and the launcher: on it the zygote says ``{"pid": n}`` or ``{"error": text}``, and at the
end ``{"exit": status or null, "signal": number or null, "cpu": seconds, "memory": KiB}``; anything that the launcher
writes there, and its end, kills the task. So a task never outlives those who wait for it: when the launcher's process
goes, all its sockets close; when the zygote goes, the kernel kills its children. The request `messages.AHEAD` carries
nothing and is not answered.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys

from vetro.engine.task import sigint

#: Bytes of stack of the task processes: room for `vetro.muranopl.runtime.stacks.RECURSION_LIMIT` frames of every kind.
STACK = 64 << 20


def with_large_stack() -> None:
    """Begins anew when the stack is smaller than it may be: the size counts from the start of a program."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    if soft != resource.RLIM_INFINITY and soft >= wanted:
        return
    resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def main(arguments: list[str]) -> int:
    """Runs the zygote until its launcher is gone; the exit status."""
    # Ctrl-C in a terminal goes to the whole group: whether tasks end is the launcher's decision.
    sigint.ignored()
    parser = argparse.ArgumentParser(prog="vetro.engine.task.zygote")
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--cache")
    parser.add_argument("--natives", action="append", default=[])
    parser.add_argument("--require", action="append", default=[])
    parser.add_argument("--answering", action="append", default=[])
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args(arguments)
    with_large_stack()
    os.nice(options.nice)
    from vetro.engine.task.zygote_service import serve  # not twice: here the program has begun anew

    return serve(options.control, options.cache, options.natives, options.require, options.answering)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
