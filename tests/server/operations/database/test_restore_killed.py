"""`vetro db restore`, killed again and again: at any step, it can be begun again (issue 13, M3)."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.server.operations.database.kit import Installation, once
from tests.server.operations.database.test_backup import rows_of, saved

pytestmark = [once, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.attack("data", "M3")]
New = Callable[[], str]


def killed_at(step: int, target: Installation, *words: str, begun: bool = False) -> str:
    """What ``vetro WORDS`` said that was killed before a step; empty: it was. ``begun``: it may be done."""
    done = target._python("tests.server.operations.database.killed", str(step), *words)
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
    assert rows_of(target, database) == rows_of(source, source.environment.get("VETRO_DATABASE__URL", "")), steps
    assert (source.data / "keys").read_text() in (target.data / "keys").read_text()
    again = target.run("db", "restore", str(file), status=1)
    assert "SRV592" in again.stderr and "was restored here already" in again.stderr
    return target


def on_postgresql(installation: Installation, url: str) -> Installation:
    """The same installation, moved there."""
    installation.run("db", "move", "--to", url)
    return Installation(installation.data, VETRO_DATABASE__URL=url)


def test_of_sqlite(installation: Installation, tmp_path: Path) -> None:
    restored_in_spite_of([5, 40, 90, 130, 60], installation, tmp_path)


@pytest.mark.campaign
def test_of_postgresql(installation: Installation, tmp_path: Path, postgresql: New) -> None:
    restored_in_spite_of([60, 90, 130], on_postgresql(installation, postgresql()), tmp_path, postgresql())


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_at_many_steps(installation: Installation, tmp_path: Path, postgresql: New, kind: str) -> None:
    chance = random.Random(13)
    source = on_postgresql(installation, postgresql()) if kind == "postgresql" else installation
    for _ in range(12):
        steps = [chance.randrange(1, 160) for _ in range(chance.randrange(1, 5))]
        restored_in_spite_of(steps, source, tmp_path, postgresql() if kind == "postgresql" else "")
        shutil.rmtree(tmp_path / "target")


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_after_all_rows_were_written(installation: Installation, tmp_path: Path, postgresql: New, kind: str) -> None:
    """What is left then: changes of a newer version, statistics, the note in the audit. Until restoring has ended
    nothing else begins on the database, which the new restoring fills once more."""
    source = on_postgresql(installation, postgresql()) if kind == "postgresql" else installation
    file = saved(source, tmp_path / "a.tar", "--with-keys")
    before = rows_of(source, source.environment.get("VETRO_DATABASE__URL", ""))

    def empty(name: str) -> Installation:
        return Installation(tmp_path / name, **({"VETRO_DATABASE__URL": postgresql()} if kind == "postgresql" else {}))

    steps = int(killed_at(0, empty("whole"), "db", "restore", str(file)).splitlines()[-1])
    refused = 0
    for step in range(steps, 0, -8):
        here = empty(f"killed-{step}")
        done = here._python("tests.server.operations.database.killed", str(step), "db", "restore", str(file))
        assert done.returncode == -signal.SIGKILL
        began = here._python("vetro.cli.main", "db", "migrate")
        again = here._python("vetro.cli.main", "db", "restore", str(file))
        if again.returncode:  # it was killed when all was done but what it says
            assert "was restored here already" in again.stderr
        elif began.returncode:
            assert "SRV593" in began.stderr and "has not ended" in began.stderr
            assert rows_of(here, here.environment.get("VETRO_DATABASE__URL", "")) == before
            refused += 1
        if refused:
            break
    assert refused, "no restoring had written all rows when it was killed"


@pytest.mark.campaign
def test_moving_is_begun_again(installation: Installation, tmp_path: Path) -> None:
    before = installation.dump()
    target = f"sqlite:///{tmp_path / 'moved.db'}"
    for step in (60, 300, 100):
        assert not killed_at(step, installation, "db", "move", "--to", target)
    installation.run("db", "move", "--to", target)
    assert installation.dump(target) == before
