"""What is measured about deployments; scenarios give plain figures (seconds, bytes), `benchmarks.deploy` judges."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.deployments.clocks import process_seconds
from benchmarks.deployments.fleet import Bench, Run, model, task
from vetro.engine.task.launcher import Launcher, TaskProcess
from vetro.engine.worker.journal import Journal

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "deploy"

Figures = dict[str, Any]


class BenchmarkWrong(RuntimeError):
    """What was measured did not do its work, so its figures say nothing."""


def checked(run: Run, servers: int) -> Run:
    """The run, if it is done and every server has its script's answer and one report. Raises `BenchmarkWrong`."""
    outcome = run.outcome
    if outcome.state != "done" or outcome.model is None:
        raise BenchmarkWrong(f"the deployment ended as {outcome.state}: {outcome.error}")
    members = outcome.model["Objects"]["applications"][0]["members"]
    addresses = {address for member in members for address in member["instance"]["ipAddresses"]}
    if len(addresses) != servers or any(member["state"] is None for member in members):
        raise BenchmarkWrong(f"{len(addresses)} of {servers} servers have an address; not all have an answer")
    if len(outcome.reports) != servers:
        raise BenchmarkWrong(f"{len(outcome.reports)} reports of {servers} servers")
    return run


def fleets(sizes: Sequence[int], *, apart: bool, runs: int = 3) -> list[Figures]:
    """Deploys fleets of these sizes on recorded servers; of the runs of each size the one with the least time counts.

    ``apart``: each server is pushed on its own, else one push has them all. The sizes take turns.
    """
    best: dict[int, Run] = {}
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder, Bench(Path(folder)) as bench:
        for number in range(runs):
            for size in sizes:
                run = checked(bench.run(model(size, apart=apart), f"fleet-{size}-{number}"), size)
                if size not in best or run.cpu_s < best[size].cpu_s:
                    best[size] = run
    return [_fleet(size, best[size]) for size in sizes]


def _fleet(size: int, run: Run) -> Figures:
    return {
        "servers": size,
        "cpu_s": run.cpu_s,
        "task_s": run.task_s,
        "worker_s": run.worker_s,
        "host_s": run.host_s,
        "host_start_s": run.host_start_s,
        "wall_s": run.wall_s,
        "pipe_bytes": run.outcome.pipe_bytes,
        "journal_bytes": run.outcome.journal_bytes,
    }


class _Killed(BaseException):
    """Stands for SIGKILL of the worker: nothing after it runs but the kernel's and SQLite's part."""


def replay(servers: int) -> Figures:
    """Kills the worker just before it writes the end of a deployment; what running it again from the journal takes."""
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder, Bench(Path(folder)) as bench:

        def kill(name: str, key: str) -> None:
            if name == "before end":
                raise _Killed

        began = time.monotonic()
        try:
            bench.run(model(servers), "fleet", step=kill)
        except _Killed:
            first = time.monotonic() - began
        else:
            raise BenchmarkWrong("the worker was not killed")
        again = checked(bench.run(model(servers), "fleet"), servers)
    return {
        "servers": servers,
        "first_wall_s": first,
        "wall_s": again.wall_s,
        "task_s": again.task_s,
        "worker_s": again.worker_s,
        "host_s": again.host_s,
    }


def checkpoint(objects: int, runs: int = 3) -> Figures:
    """A checkpoint of a model of so many objects: while the task waits for a stack, from asking to the commit.

    ``task_s`` and ``worker_s`` are processor time, ``wall_s`` is what a person waits at most.
    """
    with (
        tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder,
        Bench(Path(folder)) as bench,
        Launcher() as launcher,
        launcher.start() as process,
        closing(bench.journal("checkpoint")) as journal,
    ):
        waiting = task(model(things=objects), "action", method="wait", object_id="fleet").as_json()
        journal.begin(waiting, "bench", 0.0)
        journal.commit()
        process.send({"t": "task", "task": waiting})
        _until_it_waits(process)
        found = [_checkpoint(process, journal, objects) for _ in range(runs)]
    return {
        "objects": objects,
        **{key: statistics.median(f[key] for f in found) for key in ("task_s", "worker_s", "wall_s", "bytes")},
    }


def _until_it_waits(process: TaskProcess) -> None:
    """Lets the objects initialise themselves; returns when the action waits for its stack."""
    while (message := process.receive(60.0)) is not None:
        if message["t"] != "effect":
            raise BenchmarkWrong(f"the task did not wait: {message.get('error')}")
        if message["kind"] == "stack.read":
            return
        if message["kind"] == "network":  # which extensions the cloud's networks have
            process.send({"t": "answer", "key": message["key"], "answer": [{"alias": "security-group"}]})
    raise BenchmarkWrong("the task says nothing")


def _checkpoint(process: TaskProcess, journal: Journal, objects: int) -> Figures:
    cpu, received = process_seconds(process.pid), process.bytes_received
    worker, began = time.process_time(), time.monotonic()
    process.send({"t": "checkpoint"})
    message = process.receive(60.0)
    if message is None or message["t"] != "checkpoint" or not message.get("model"):
        raise BenchmarkWrong(f"no checkpoint came: {message and message.get('error')}")
    journal.checkpoint(message["model"], 0.0)
    journal.commit()
    figures = {
        "wall_s": time.monotonic() - began,
        "worker_s": time.process_time() - worker,
        "task_s": process_seconds(process.pid) - cpu,
        "bytes": process.bytes_received - received,
    }
    if len(message["model"]["Objects"]["applications"][0]["things"]) != objects:
        raise BenchmarkWrong("the checkpoint does not hold all objects")
    return figures


def start(runs: int = 5) -> Figures:
    """The zygote's start until it can fork, and from the fork of a task until its first effect."""
    zygotes, firsts, cpus = [], [], []
    for _ in range(runs):
        began = time.monotonic()
        with Launcher() as launcher:
            launcher.start().close()
            zygotes.append(time.monotonic() - began)
            assert launcher.pid is not None
            cpus.append(process_seconds(launcher.pid))
            data = task(model(1)).as_json()
            began = time.monotonic()
            with launcher.start() as process:
                process.send({"t": "task", "task": data})
                message = process.receive(60.0)
                firsts.append(time.monotonic() - began)
            if message is None or message["t"] != "effect":
                raise BenchmarkWrong(f"the first frame is no effect: {message}")
    return {
        "zygote_wall_s": statistics.median(zygotes),
        "zygote_s": statistics.median(cpus),
        "first_frame_wall_s": statistics.median(firsts),
    }


def command(runs: int = 5) -> Figures:
    """`vetro deploy` of the web shop example (two servers) on recorded servers, as a person starts it."""
    walls, cpus = [], []
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder:
        for number in range(runs + 1):
            environment = {**os.environ, "VETRO_WORKSPACE": folder, "VETRO_CACHE": str(Path(folder) / "cache")}
            arguments = ["deploy", str(EXAMPLE), "--class", "com.example.vetro.WebShop", "--env", f"shop-{number}"]
            began = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, "-m", "vetro.cli.main", *arguments, "--driver", "record", "--quiet"],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            assert process.stderr is not None
            said = process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stderr.close()
            if process.returncode:
                raise BenchmarkWrong(f"vetro deploy ended with {process.returncode}: {said.decode()[-500:]}")
            if number:  # the first one fills the compile cache and makes the cloud
                walls.append(time.monotonic() - began)
                cpus.append(used.ru_utime + used.ru_stime)
    return {"wall_s": statistics.median(walls), "cpu_s": statistics.median(cpus)}


def real_servers(servers: int) -> Figures:
    """A fleet of nspawn servers: when the first of them has run its script, and the whole deployment.

    The scripts only print a line, so all of it is our time. ``first_s`` counts from the begin of the stack's push.
    """
    with tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder, Bench(Path(folder), "nspawn") as bench:
        try:
            run = checked(bench.run(model(servers), "cloud"), servers)
        finally:
            bench.clean("cloud")
    pushed = _moment(run, "begun", "stack.push")
    return {
        "servers": servers,
        "wall_s": run.wall_s,
        "push_s": _moment(run, "ended", "stack.push") - pushed,
        "first_s": _moment(run, "ended", "agent.call") - pushed,
        "cpu_s": run.cpu_s,
    }


def _moment(run: Run, event: str, kind: str) -> float:
    return next(at for at, news in run.events if news["event"] == event and news.get("kind") == kind)


#: Each gives its figures; True: small sizes and one run, to see that it works.
SCENARIOS: Mapping[str, Callable[[bool], Any]] = {
    "fleet": lambda small: fleets((5, 10) if small else (100, 400), apart=False, runs=1 if small else 3),
    "pushes": lambda small: fleets((5, 10) if small else (100, 200, 400), apart=True, runs=1 if small else 2),
    "replay": lambda small: replay(10 if small else 400),
    "checkpoint": lambda small: checkpoint(100 if small else 10_000, runs=1 if small else 5),
    "start": lambda small: start(1 if small else 5),
    "command": lambda small: command(1 if small else 5),
    "first-server": lambda small: real_servers(1),
    "ten-servers": lambda small: real_servers(2 if small else 10),
}
#: Those that need root and systemd-nspawn with the base image.
REAL = frozenset({"first-server", "ten-servers"})
