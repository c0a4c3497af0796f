"""Language commands take a bounded amount of memory, and say so when it is too little."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import write_package

GREEDY = "range(900000).select(str($) * 150).toList()"
ERROR = "error: this needs more than {} MiB of memory\nhint: build less at once, or allow more with --max-memory\n"


# Linux counts for a child what its parent held when it forked: only the child of a small process tells its own memory.
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], timeout=300)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(done.returncode)
"""


def start(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-S", "-c", MEASURED, sys.executable, "-m", "vetro", *args]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=330)
    done.stderr, most = done.stderr.rstrip("\n").rpartition("\n")[0] + "\n", int(done.stderr.split()[-1])
    assert most <= 700 << 10  # KiB
    return done


@pytest.mark.attack("language", "L: memory of a command")
def test_an_expression_takes_no_more_than_it_may() -> None:
    done = start("eval", "--max-memory", "64", GREEDY)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", ERROR.format(64))


@pytest.mark.campaign
@pytest.mark.attack("language", "L: memory of a command")
def test_the_default_is_half_a_gibibyte() -> None:
    done = start("eval", GREEDY)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", ERROR.format(512))


@pytest.mark.attack("language", "L: memory of a command")
def test_packages_take_no_more_either(tmp_path: Path) -> None:
    body = "Name: t.Main\nMethods:\n  run:\n    Scope: Public\n    Body:\n      - Return: " + GREEDY + "\n"
    write_package(tmp_path / "p", {"t.Main": body})
    (tmp_path / "m.yaml").write_text("?: {type: t.Main, id: m}\n")
    done = start("run", "p", "-m", "m.yaml", "--method", "run", "--max-memory", "64", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert ERROR.format(64) in done.stderr


def test_the_limit_ends_with_the_command(vetro: Callable[..., Result]) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert vetro("eval", "1 + 1").stdout == "2\n"
    assert resource.getrlimit(resource.RLIMIT_AS) == before
