"""`vetro db restore`, killed again and again: at any step, it can be begun again (issue 13, M3)."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.server.dbtools.kit import Installation, once
from tests.server.dbtools.test_backup import rows_of, saved

pytestmark = [once, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.attack("data", "M3")]
New = Callable[[], str]


def killed_at(step: int, target: Installation, *words: str, begun: bool = False) -> str:
    """What ``vetro WORDS`` said that was killed before a step; empty: it was. ``begun``: it may be done."""
    done = target._python("tests.server.dbtools.killed", str(step), *words)
    if begun and done.returncode == 1 and "SRV592" in done.stderr:  # killed when all was done but what it says
        return done.stderr
    assert done.returncode in (0, -signal.SIGKILL), f"step {step}: {done.stderr}"
    return done.stderr if done.returncode == 0 else ""


def restored_in_spite_of(steps: Sequence[int], source: Installation, folder: Path, database: str = "") -> Installation:
    """An installation whose restoring was killed before each of these steps, each time after it was begun again."""
    file = folder / "a.tar"
    if not file.exists():
        saved(source, file, "--with-keys")
    target = Installation(folder / "target", **({"VETRO_DATABASE__URL": database} if database else {}))
    for number, step in enumerate([*steps, 100_000]):  # the last one comes to its end
        if killed_at(step, target, "db", "restore", str(file), begun=number > 0):
            break
    assert rows_of(target, database) == rows_of(source), steps
    assert (source.data / "keys").read_text() in (target.data / "keys").read_text()
    again = target.run("db", "restore", str(file), status=1)
    assert "SRV592" in again.stderr and "was restored here already" in again.stderr
    return target


def test_between_tables_and_rows(installation: Installation, tmp_path: Path) -> None:
    restored_in_spite_of([5, 60, 300, 130, 60], installation, tmp_path)


def test_of_postgresql(installation: Installation, tmp_path: Path, postgresql: New) -> None:
    restored_in_spite_of([200, 300, 80], installation, tmp_path, postgresql())


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_at_many_steps(installation: Installation, tmp_path: Path, postgresql: New, kind: str) -> None:
    chance = random.Random(13)
    for _ in range(12):
        steps = [chance.randrange(1, 700) for _ in range(chance.randrange(1, 5))]
        restored_in_spite_of(steps, installation, tmp_path, postgresql() if kind == "postgresql" else "")
        shutil.rmtree(tmp_path / "target")


def test_after_all_rows_were_written(installation: Installation, tmp_path: Path) -> None:
    """What is left then: changes of a newer version, statistics, the note in the audit."""
    file = saved(installation, tmp_path / "a.tar", "--with-keys")
    empty = Installation(tmp_path / "empty")
    empty.run("db", "migrate")

    def copy(name: str) -> Installation:
        return Installation(Path(shutil.copytree(empty.data, tmp_path / name)))

    steps = int(killed_at(0, copy("whole"), "db", "restore", str(file)).splitlines()[-1])
    before = rows_of(installation)
    finished = 0
    for step in range(steps, 0, -5):
        here = copy(f"killed-{step}")
        done = here._python("tests.server.dbtools.killed", str(step), "db", "restore", str(file))
        assert done.returncode == -signal.SIGKILL
        again = here._python("vetro.cli.main", "db", "restore", str(file))
        assert rows_of(here) == before
        if again.returncode:  # it was killed when all was done but what it says
            assert "was restored here already" in again.stderr
        elif "had been written before" in again.stderr:
            finished += 1
        else:
            break
    assert finished, "no restoring had written all rows when it was killed"


def test_moving_is_begun_again(installation: Installation, tmp_path: Path) -> None:
    before = installation.dump()
    target = f"sqlite:///{tmp_path / 'moved.db'}"
    for step in (60, 300, 100):
        assert not killed_at(step, installation, "db", "move", "--to", target)
    installation.run("db", "move", "--to", target)
    assert installation.dump(target) == before
