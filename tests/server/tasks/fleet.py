"""An installation with real workers, each a process of `vetro worker`, also of versions that there never were."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.waiting import until

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0
#: `vetro`, of the version that is its first argument.
_VETRO = """
import sys
import vetro
vetro.__version__ = sys.argv.pop(1)
from vetro.cli.main import main
main(prog_name="vetro")
"""


@contextmanager
def database(cluster: str) -> Iterator[str]:
    """The address of an empty database of a PostgreSQL."""
    import psycopg

    parts = urlsplit(cluster)
    name = f"vetro_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(cluster, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield f"postgresql://{parts.username}@/{name}?host={dict(parse_qsl(parts.query)).get('host') or parts.hostname}"
    finally:
        with psycopg.connect(cluster, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Fleet:
    """``environment``: VETRO_… variables; ``site``: where a plug-in is installed. What is in ``folder`` goes on."""

    def __init__(self, folder: Path, environment: Mapping[str, str], site: Path | None = None) -> None:
        self.data = folder / "data"
        new = not self.data.exists()
        self.data.mkdir(exist_ok=True)
        (self.data / "vetro.toml").write_text('[cloud]\ndriver = "record"\n[worker]\nlease_seconds = 4.0\n')
        kept = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        path = os.pathsep.join(filter(None, [str(ROOT), str(site or ""), kept.get("PYTHONPATH", "")]))
        self.environment = {
            **kept, **environment, "VETRO_DATA": str(self.data), "PYTHONPATH": path,
            "DJANGO_SETTINGS_MODULE": "vetro.server.settings",
        }  # fmt: skip
        self.workers: list[subprocess.Popen[bytes]] = []
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server_nursery"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment, cwd=ROOT,
        )  # fmt: skip
        try:
            assert self._read() == "ready"
            if new:
                self.look("prepare")
        except BaseException:
            self.close()
            raise

    def _read(self) -> Any:
        assert self._nursery.stdout is not None
        line = self._nursery.stdout.readline()
        assert line, "the nursery died; see its standard error"
        return json.loads(line)

    def look(self, order: str, /, **args: Any) -> Any:
        """One of the functions below, or ``module:function``, in the nursery."""
        assert self._nursery.stdin is not None
        line = {"do": "call", "function": order if ":" in order else f"{__name__}:{order}", **args}
        print(json.dumps(line), file=self._nursery.stdin, flush=True)
        said = self._read()
        assert "failed" not in said, said["failed"]
        return said["answer"]

    def begin(self, name: str, count: int = 1, wait: int = 0, region: str = "") -> list[str]:
        """Deployments, each of a new environment, that report and then sleep for so many seconds; their ids."""
        found: list[str] = self.look("begin", name=name, count=count, wait=wait, region=region)
        return found

    def work(self, *words: str, version: str = "", **environment: str) -> subprocess.Popen[bytes]:
        """A worker that has joined."""
        program = ["-c", _VETRO, version] if version else ["-m", "vetro.cli.main"]
        worker = subprocess.Popen(
            [sys.executable, *program, "worker", *words], env={**self.environment, **environment}, cwd=ROOT
        )
        self.workers.append(worker)
        until(lambda: worker.poll() is not None or worker.pid in self.look("joined"))
        assert worker.poll() is None, "the worker ended at once"
        return worker

    def states(self, ids: list[str]) -> list[str]:
        """Of tasks."""
        return [str(self.look("of", id=id)["state"]) for id in ids]

    def until_asleep(self, id: str, attempts: int = 1) -> None:
        """Waits until a task runs, for the so many-th time, and only waits itself."""

        def asleep() -> bool:
            row = self.look("of", id=id)
            return row["state"] == "running" and row["attempts"] == attempts and bool(row["texts"])

        until(asleep)

    def until_ended(self, ids: list[str], wanted: str = "done") -> None:
        """Waits for tasks."""
        until(lambda: not {"queued", "running"} & set(self.states(ids)))
        assert self.states(ids) == [wanted] * len(ids), [self.look("of", id=id)["error"] for id in ids]

    def cancel(self, id: str) -> None:
        """Ends a task that sleeps."""
        self.look("cancel", id=id)
        self.until_ended([id], "cancelled")

    def kill(self) -> None:
        """Ends all workers."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait(20)
        self.workers.clear()
        self.look("forget_workers")

    def close(self) -> None:
        """Ends everything."""
        for worker in self.workers:
            worker.kill()
            worker.wait(20)
        if self._nursery.stdin is not None:
            self._nursery.stdin.close()
        self._nursery.wait(20)
        if self._nursery.stdout is not None:
            self._nursery.stdout.close()


def joined() -> list[int]:
    """Process ids of the workers that joined."""
    from vetro.server.tasks.models import WorkerProcess

    return list(WorkerProcess.objects.values_list("pid", flat=True))


def forget_workers() -> None:
    """Those that were killed."""
    from vetro.server.tasks.models import WorkerProcess

    WorkerProcess.objects.all().delete()


def listed() -> list[dict[str, Any]]:
    """The workers as `vetro worker list` knows them."""
    from vetro.server.setup import config
    from vetro.server.tasks.drain import workers

    return [worker.as_json() for worker in workers(config())]


def _caller() -> Any:
    from vetro.server.caller import Caller

    return Caller("ann", "ann", "demo", "demo")


def prepare() -> None:
    """A catalog with one package."""
    from tests.server.tasks import shop

    shop.add_package(_caller())


def begin(name: str, count: int, wait: int, region: str) -> list[str]:
    """See `Fleet.begin`."""
    from tests.server.tasks import shop
    from vetro.server.catalog.models import Package

    package, found = Package.objects.get(fqn="test.shop"), []
    for number in range(count):
        environment = shop.add_environment(_caller(), f"{name} {number}")
        environment.region = region
        environment.save()
        found.append(str(shop.deploy(_caller(), environment, package, wait=wait).id))
    return found


def of(id: str) -> dict[str, Any]:
    """The row of a task, and its reports after the first one, which is there before it runs."""
    from vetro.server.tasks.models import Task

    task = Task.objects.get(id=id)
    row = {name: getattr(task, name) for name in ("state", "owner", "engine", "attempts", "label", "error")}
    return {**row, "texts": list(task.reports.order_by("seq").values_list("text", flat=True))[1:]}


def cancel(id: str) -> None:
    """Cancels a task."""
    from vetro.server.tasks.queue import cancel

    cancel(_caller(), id)


def retry(id: str) -> str:
    """Does a task again."""
    from vetro.server.tasks.queue import retry

    return str(retry(_caller(), id).id)


def health() -> dict[str, Any]:
    """Of the dispatcher."""
    from vetro.server.tasks.dispatch import dispatcher

    return dispatcher().health()


def drain(names: list[str]) -> list[str]:
    """Asks workers to end."""
    from vetro.server.tasks.drain import drain

    return drain(names)
