"""A process with Django set up that does what it is told, and forks workers that can be killed at any step.

``python -m tests.faults.server_nursery`` reads orders as lines of JSON and answers each with one. Everything warm is
made once: the zygote of task processes and the forker of effects hosts.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import Any

from vetro.server.setup import config, setup


def halt() -> None:
    """Halts this process at a moment at which none of its threads holds the lock of the database."""
    from vetro.server.sqlite import base

    with ExitStack() as stack:
        for line in base._lines.values():
            stack.enter_context(line._threads)
        os.kill(os.getpid(), signal.SIGSTOP)


class Nursery:
    """Orders are methods."""

    def __init__(self) -> None:
        from django.core.management import call_command

        from vetro.engine.host.forker import HostForker
        from vetro.engine.task.launcher import Launcher
        from vetro.server.sandboxed_workers import compiled_folder

        call_command("migrate", verbosity=0)
        self.launcher = Launcher(cache=compiled_folder(config()))
        self.launcher.start().close()
        self.forker = HostForker()
        self.forker.start()
        self._children: list[int] = []

    def call(self, function: str, **args: Any) -> Any:
        """Calls ``module:function``."""
        from django.db import connections

        module, _, name = function.partition(":")
        try:
            return getattr(import_module(module), name)(**args)
        finally:
            connections.close_all()

    def work(
        self, kill_at: int | None = None, own: bool = False, stop: bool = False, lease: float | None = None
    ) -> int:
        """Forks a worker, which is killed (``stop``: halted, and never heard of before) at its ``kill_at``-th step.

        Its process id is returned.

        Of those that share what is warm only one may run; one with its ``own`` is as workers are everywhere. ``lease``:
        seconds, where it is not that of the installation.
        """
        pid = os.fork()
        if pid:
            self._children.append(pid)
            return pid
        status = 1
        try:
            os.dup2(2, 1)
            status = self._work(kill_at, own, stop, lease)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def start(self, moment: str, number: int, note: str) -> int:
        """Forks a worker with processes of its own that gets a signal at a moment of its start; its process id.

        ``moment``: ``module:function`` (of a class: ``module:Class.function``), which it has called for the first time,
        or ``ready``. The file ``note`` gets the process ids of its children then.
        """
        pid = os.fork()
        if pid:
            self._children.append(pid)
            return pid
        status = 1
        try:
            os.dup2(2, 1)
            status = self._start(moment, number, note)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def _start(self, moment: str, number: int, note: str) -> int:
        from vetro.server.tasks.worker import main

        def strike() -> None:
            found: list[str] = []
            for task in os.listdir("/proc/self/task"):
                with open(f"/proc/self/task/{task}/children") as children:
                    found += children.read().split()
            with open(note, "w") as file:
                file.write(" ".join(found))
            os.kill(os.getpid(), number)

        if moment == "ready":
            return main(config(), ready=strike)
        module, _, path = moment.partition(":")
        *inner, name = path.split(".")
        place = import_module(module)
        for part in inner:
            place = getattr(place, part)
        real = getattr(place, name)

        def struck(*arguments: Any, **named: Any) -> Any:
            setattr(place, name, real)
            answer = real(*arguments, **named)
            strike()
            return answer

        setattr(place, name, struck)
        return main(config())

    def _work(self, kill_at: int | None, own: bool, stop: bool, lease: float | None) -> int:
        from vetro.engine.host.process import HostProcess
        from vetro.server.tasks.pool import WorkerPool
        from vetro.server.tasks.worker import main

        if stop:  # halted while it renews its leases, it would keep the lock of the database
            WorkerPool.beat = lambda self, over: None  # type: ignore[method-assign]
        left = kill_at

        def step(name: str, key: str) -> None:
            nonlocal left
            if left is not None:
                left -= 1
                if left == -1 and stop:
                    halt()
                elif left == -1:
                    os.kill(os.getpid(), signal.SIGKILL)

        given = config() if lease is None else config().changed({"worker.lease_seconds": lease})
        if own:
            return main(given, step=step)
        return main(given, launcher=self.launcher, hosts=partial(HostProcess, forker=self.forker), step=step)

    def together(self, functions: list[dict[str, Any]]) -> list[Any]:
        """Calls functions at the same moment, each in a process of its own; what each returned, or its error."""
        ready, go = os.pipe(), os.pipe()
        results = []
        for order in functions:
            reader, writer = os.pipe()
            if os.fork() == 0:
                try:
                    os.close(go[1])
                    os.write(ready[1], b"x")
                    os.read(go[0], 1)
                    try:
                        said = {"result": self.call(**order)}
                    except Exception as error:
                        said = {"error": f"{type(error).__name__}: {error}"}
                    os.write(writer, json.dumps(said).encode())
                finally:
                    os._exit(0)
            os.close(writer)
            results.append(reader)
        for _ in functions:
            os.read(ready[0], 1)
        for fd in (*ready, *go):
            os.close(fd)
        found = []
        for reader in results:
            with os.fdopen(reader) as file:
                found.append(json.loads(file.read()))
            os.wait()
        return found

    def ended(self, pid: int) -> int | None:
        """The signal that ended a worker, or its status; None while it runs."""
        if pid not in self._children:
            return None
        found, status = os.waitpid(pid, os.WNOHANG)
        if not found:
            return None
        self._children.remove(pid)
        return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def close(self) -> None:
        """Ends everything."""
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.launcher.close()
        self.forker.close()


def main() -> None:
    """Serves until the input ends."""
    setup()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    nursery = Nursery()
    print(json.dumps("ready"), file=answers, flush=True)
    try:
        for line in sys.stdin:
            order = json.loads(line)
            try:
                said = {"answer": getattr(nursery, order.pop("do"))(**order)}
            except Exception:
                said = {"failed": traceback.format_exc()}
            print(json.dumps(said), file=answers, flush=True)
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
