"""Processes behind the walls that answer in bytes: what they may read, how they end, what is said without them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import NATIVES
from tests.support.installation import compiled
from vetro.engine.query.sandboxed_worker import sandboxed_worker
from vetro.engine.task import messages
from vetro.engine.task.launcher import Launcher, LauncherError

SETTINGS: dict[str, Any] = {"path": [str(NATIVES)], "answering": ["echo=walled_natives:echo"]}
BUDGET: dict[str, Any] = {"memory_mib": 256, "cpu_seconds": 10}


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(cache=compiled(), **SETTINGS) as made:
        yield made


def said(process: Any, data: bytes) -> bytes:
    process.stream.settimeout(30)
    process.stream.sendall(data)
    return bytes(process.stream.recv(1 << 16))


def test_it_answers_until_nobody_asks(launcher: Launcher) -> None:
    with sandboxed_worker(launcher, "echo", **BUDGET) as process:
        assert said(process, b"one") == b"one"
        assert said(process, b"two") == b"two"
        process.stream.shutdown(1)
        end = process.wait(30)
    assert end is not None and end.status == messages.FINE


def test_it_reads_what_is_named(launcher: Launcher, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    with sandboxed_worker(launcher, "echo", [str(tmp_path / "a"), str(tmp_path / "missing")], **BUDGET) as process:
        assert said(process, os.fsencode(tmp_path / "a")) == b"a"
        assert said(process, os.fsencode(tmp_path / "b")) == b"PermissionError"


@pytest.mark.parametrize(("what", "status"), [(b"memory", messages.OUT_OF_MEMORY), (b"fail", messages.DEFECT)])
def test_what_fails_closes_the_pipe(launcher: Launcher, what: bytes, status: int) -> None:
    with sandboxed_worker(launcher, "echo", **BUDGET) as process:
        assert said(process, what) == b""
        end = process.wait(30)
    assert end is not None and end.status == status


def test_a_function_that_nobody_gave(launcher: Launcher) -> None:
    with pytest.raises(LauncherError, match="other"):
        sandboxed_worker(launcher, "other", **BUDGET)


def test_without_a_layer_that_is_required_there_is_no_process() -> None:
    natives = ["no_network_natives:register"]
    missing = "lacks the protection that its settings ask for: network"
    with (
        Launcher(cache=compiled(), **SETTINGS, natives=natives, require=["network"]) as launcher,
        pytest.raises(LauncherError, match=missing) as caught,
    ):
        sandboxed_worker(launcher, "echo", **BUDGET)
    assert caught.value.hint is not None and "vetro doctor" in caught.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only for root do tasks run as a user of their own")
def test_what_the_user_of_tasks_cannot_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "a").chmod(0o600)
    weak = ["no_landlock_natives:register", "no_mounts_natives:register"]
    with Launcher(cache=compiled(), **SETTINGS, natives=weak) as launcher:
        with sandboxed_worker(launcher, "echo", **BUDGET) as process:  # the layer is left out, as for tasks
            assert said(process, b"one") == b"one"
        with pytest.raises(LauncherError, match="may not read the package") as caught:
            sandboxed_worker(launcher, "echo", [str(tmp_path / "a")], **BUDGET)
    assert "readable for everybody" in str(caught.value.hint)
