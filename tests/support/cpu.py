"""What each test costs in processor time, with all its processes: ``pytest -p tests.support.cpu --cpu FILE``.

FILE gets a line of JSON for each test: seconds of its set-up, of itself and of its tear-down. What a fixture costs is
counted with the first test that asks for it. ``python -m tests.support.cpu FILE...`` adds up, by folder, file and test.

Counted is by a control group of cgroup v1 (``cpuacct``) for each pytest process, so processes that outlive the test
that started them (a service, a zygote) count for the test in which they run. It needs root and such a hierarchy.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HIERARCHY = Path("/sys/fs/cgroup/cpuacct")
PHASES = ("setup", "call", "teardown")


class Accounts:
    """Writes down what each test of this process takes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":cpuacct:" in line)
        self.origin = HIERARCHY / own.split(":", 2)[2].lstrip("/")
        self.group = HIERARCHY / f"vetro-tests-{os.getpid()}"
        self.group.mkdir()
        (self.group / "cgroup.procs").write_text(str(os.getpid()))
        self.spent = dict.fromkeys(PHASES, 0.0)
        self.first = self.last = self.usage()

    def usage(self) -> float:
        return int((self.group / "cpuacct.usage").read_text()) / 1e9

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What passed since the phase before counts for this one too: nothing else happens in this process."""
        try:
            yield
        finally:
            now = self.usage()
            self.spent[name] += now - self.last
            self.last = now

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        with self.phase("setup"):
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None]:
        with self.phase("call"):
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None]:
        with self.phase("teardown"):
            yield

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.write(nodeid)

    def pytest_collection_finish(self) -> None:
        self.spent["setup"] = (now := self.usage()) - self.last
        self.last = now
        self.write("(collection)")

    def pytest_unconfigure(self) -> None:
        with self.phase("teardown"):
            pass
        self.write("(end)")
        (self.origin / "cgroup.procs").write_text(str(os.getpid()))
        for left in (self.group / "cgroup.procs").read_text().split():
            (self.origin / "cgroup.procs").write_text(left)
        self.group.rmdir()

    def write(self, name: str) -> None:
        line = json.dumps({"test": name} | {phase: round(seconds, 3) for phase, seconds in self.spent.items()})
        with self.file.open("a") as out:
            out.write(line + "\n")
        self.spent = dict.fromkeys(PHASES, 0.0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", metavar="FILE", type=Path, help="processor time of each test, with its processes")


def pytest_configure(config: pytest.Config) -> None:
    file: Path | None = config.getoption("--cpu")
    started_workers = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if file is not None and not started_workers:
        config.pluginmanager.register(Accounts(file))


def table(lines: list[dict[str, float | str]]) -> Iterator[str]:
    """Sums by folder and by file, and the tests that take most."""
    totals = {line["test"]: sum(float(line[phase]) for phase in PHASES) for line in lines}
    yield f"{sum(totals.values()):9.1f} s for {len(totals):,} tests"
    for depth, least in ((2, 1.0), (9, 3.0)):
        sums: dict[str, float] = defaultdict(float)
        for test, seconds in totals.items():
            sums["/".join(str(test).split("::")[0].split("/")[:depth])] += seconds
        yield ""
        yield from (
            f"{total:9.1f} {name}" for name, total in sorted(sums.items(), key=lambda pair: -pair[1]) if total >= least
        )
    yield ""
    for line in sorted(lines, key=lambda line: -totals[line["test"]]):
        if totals[line["test"]] >= 0.5:
            yield " ".join(f"{float(line[phase]):7.2f}" for phase in PHASES) + f" {line['test']}"


if __name__ == "__main__":
    print(*table([json.loads(text) for name in sys.argv[1:] for text in Path(name).read_text().splitlines()]), sep="\n")
