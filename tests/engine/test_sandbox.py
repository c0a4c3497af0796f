"""A hostile package cannot reach the host: it is the operating system that refuses (issue 3, Must show)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.natives import hostile_natives as hostile
from tests.engine.taskworld import NATIVES, attack, main_class, model, run, write_package
from tests.support.installation import compiled
from vetro.engine.sandbox import LAYERS, packages_unreadable
from vetro.engine.sandbox.identity import TASK_ID
from vetro.engine.task.launcher import Launcher

pytestmark = pytest.mark.attack("processes", "walls of tasks")

ROOT = Path(__file__).parents[2]
#: Somebody who owns nothing here, and is not the user of tasks.
STRANGER = 64_123
TRIED = [*hostile.IN_FOLDER, *hostile.INSIDE]
REGISTER = "hostile_natives:register"


def secrets(folder: Path) -> Path:
    """A folder like the engine's own, with a journal in it; readable for everybody, so that modes forbid nothing."""
    made = folder / "engine"
    made.mkdir()
    made.chmod(0o777)
    (made / "journal.db").write_text("the secret of another tenant")
    (made / "journal.db").chmod(0o666)
    return made


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(cache=compiled(), natives=[REGISTER], path=[str(NATIVES)]) as made:
        yield made


@pytest.fixture
def package(tmp_path: Path) -> str:
    return write_package(tmp_path, {"Attacker": "Methods: {}\n"})


@pytest.mark.parametrize("name", sorted(hostile.IN_FOLDER))
def test_what_is_refused_inside_works_outside(name: str, tmp_path: Path) -> None:
    """Otherwise the tests below would prove nothing."""
    folder = secrets(tmp_path)
    assert hostile.attempt(name, str(folder)).startswith("done"), name


def test_what_is_tried_on_processes_works_outside() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as own:
        assert own.stdin is not None
        for name in sorted(hostile.ON_PROCESS):
            assert hostile.attempt(name, str(own.pid)).startswith("done"), name
        own.stdin.close()


def test_everything_is_refused_inside(launcher: Launcher, package: str, tmp_path: Path) -> None:
    folder = secrets(tmp_path)
    last = attack(launcher, package, "attemptAll", where=str(folder), names=TRIED)
    assert last["t"] == "done", last
    assert set(last["result"]) == set(TRIED)
    assert {name: said for name, said in last["result"].items() if not said.startswith("refused E")} == {}
    assert os.listdir(folder) == ["journal.db"]
    assert (folder / "journal.db").read_text() == "the secret of another tenant"


@pytest.mark.parametrize("whose", ["the worker", "the zygote", "another task"])
def test_other_processes_are_out_of_reach(launcher: Launcher, package: str, whose: str) -> None:
    with launcher.start() as victim:
        pid = {"the worker": os.getpid(), "the zygote": launcher.pid, "another task": victim.pid}[whose]
        last = attack(launcher, package, "attemptAll", where=str(pid), names=sorted(hostile.ON_PROCESS))
        assert last["t"] == "done", last
        assert {name: said for name, said in last["result"].items() if not said.startswith("refused E")} == {}
        assert victim.wait(0) is None


@pytest.mark.parametrize("name", sorted(hostile.DEADLY))
def test_the_worst_is_deadly(launcher: Launcher, package: str, name: str) -> None:
    from tests.engine.taskworld import start
    from vetro.engine.task.launcher import TaskProcessEnded
    from vetro.engine.task.task import Task

    args = {"what": name, "where": str(os.getpid())}
    on_class = {"name": "t.Attacker"}
    play = start(
        launcher, Task(id="x", kind="call", method="attempt", on_class=on_class, args=args, packages=[package])
    )
    with play.process:
        with pytest.raises(TaskProcessEnded):
            play.play()
        end = play.process.wait(30)
    assert end is not None and end.signal == signal.SIGSYS


def test_modules_that_nobody_had_loaded_can_be_loaded(launcher: Launcher, package: str) -> None:
    assert attack(launcher, package, "lazyImports")["result"] == "0 wave"


def test_packages_are_read_whatever_their_mode_says_and_nothing_beside_them(launcher: Launcher, tmp_path: Path) -> None:
    """The worker may read them, and says so by naming them: as root no mode is in the way."""
    path = Path(write_package(tmp_path, {**main_class("- Return: 5"), "Attacker": "Methods: {}\n"}))
    beside = path / ".." / "beside"
    beside.mkdir()
    (beside / "journal.db").write_text("x")
    for item in (*path.rglob("*"), path):
        item.chmod(0o700 if item.is_dir() else 0o600)
    assert run(launcher, str(path), kind="call", method="run", model=model())["result"] == 5
    refused = attack(launcher, str(path), "attempt", what="read_journal", where=str(beside))
    assert refused["result"] == "refused EACCES"
    (path / "journal.db").symlink_to(beside / "journal.db")
    refused = attack(launcher, str(path), "attempt", what="read_journal", where=str(path))
    assert refused["result"] == "refused EACCES"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have a file system of its own")
def test_without_landlock_a_file_system_of_their_own_does_the_same(tmp_path: Path) -> None:
    """As in containers of systemd-nspawn, where root's programs lie below /root and Landlock is forbidden."""
    closed = tmp_path / "root"
    closed.mkdir(mode=0o700)
    path = Path(write_package(closed, {**main_class("- Return: 5"), "Attacker": "Methods: {}\n"}))
    for item in (*path.rglob("*"), path):
        item.chmod(0o700 if item.is_dir() else 0o600)
    where = secrets(tmp_path)
    with Launcher(
        cache=compiled(), natives=["no_landlock_natives:register", REGISTER], path=[str(NATIVES)]
    ) as launcher:
        layers = {layer["name"]: layer for layer in launcher.layers()}
        assert layers["files"]["active"] and layers["files"]["detail"] == "a file system of its own"
        assert run(launcher, str(path), kind="call", method="run", model=model())["result"] == 5
        assert attack(launcher, str(path), "lazyImports")["result"] == "0 wave"
        last = attack(launcher, str(path), "attemptAll", where=str(where), names=TRIED)
        assert last["t"] == "done", last
        # Its root has nothing but the folders in which that is which it may read.
        root = set(last["result"].pop("list_root").removeprefix("done ").split(","))
        shown = [str(path), "/etc", "/usr", *sys.path, str(ROOT), str(NATIVES)]
        assert root <= {name.split("/")[1] for name in shown if name.startswith("/")}
        assert {name: said for name, said in last["result"].items() if not said.startswith("refused E")} == {}
        (path / "journal.db").symlink_to(where / "journal.db")
        refused = attack(launcher, str(path), "attempt", what="read_journal", where=str(path))
        assert refused["result"] == "refused ENOENT"
    assert (where / "journal.db").read_text() == "the secret of another tenant"
    with open("/proc/self/mounts", encoding="utf-8") as mounts:  # the machine has none of it
        assert not [line for line in mounts if line.startswith("vetro ")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only for root do tasks run as a user of their own")
def test_without_landlock_the_modes_of_files_decide() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = Path(write_package(folder, {**main_class("- Return: 5"), "Attacker": "Methods: {}\n"}))
        where = secrets(folder)
        (where / "journal.db").chmod(0o600)
        weak = ["no_landlock_natives:register", "no_mounts_natives:register", REGISTER]
        with Launcher(cache=compiled(), natives=weak, path=[str(NATIVES)]) as launcher:
            assert [layer["name"] for layer in launcher.layers() if not layer["active"]] == ["files"]
            assert run(launcher, str(path), kind="call", method="run", model=model())["result"] == 5
            last = attack(launcher, str(path), "attemptAll", where=str(where), names=["read_journal", "write_file"])
            assert last["result"] == {"read_journal": "refused EACCES", "write_file": "refused EPERM"}
            with launcher.start() as victim:
                last = attack(
                    launcher, str(path), "attemptAll", where=str(victim.pid), names=sorted(hostile.ON_PROCESS)
                )
                assert {n: said for n, said in last["result"].items() if not said.startswith("refused E")} == {}
            path.chmod(0o700)
            error = run(launcher, str(path), kind="call", method="run", model=model())["error"]
    assert (error["code"], str(path) in error["message"]) == ("ENG305", True)
    assert "not as root" in error["hint"]


def test_whether_root_has_a_way_to_keep_files_from_tasks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("vetro.engine.sandbox.landlock.version", lambda: 0)
    monkeypatch.setattr("vetro.engine.sandbox.kernel.capabilities", lambda: 1 << 21)
    assert not packages_unreadable()  # it may mount
    monkeypatch.setattr("vetro.engine.sandbox.kernel.capabilities", lambda: 0)
    assert packages_unreadable()
    monkeypatch.setattr("vetro.engine.sandbox.landlock.version", lambda: 1)
    assert not packages_unreadable()


def status_of(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def test_the_kernel_says_the_same(launcher: Launcher, tmp_path: Path) -> None:
    from tests.engine.taskworld import start
    from vetro.engine.task.task import Budget, Task

    path = write_package(tmp_path, main_class("- sleep(1)"))
    budget = Budget(cpu_seconds=5, memory_mib=256, grace_seconds=2)
    play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model(), budget=budget))
    with play.process:
        assert play.next()["kind"] == "sleep"  # from here on it waits inside of its walls
        pid = play.process.pid
        status = status_of(pid)
        assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == ("1", "2", "1")
        limits = {line[:25].strip(): line[25:].split() for line in Path(f"/proc/{pid}/limits").read_text().splitlines()}
        assert limits["Max cpu time"][:2] == ["7", "8"]
        assert (
            limits["Max processes"][:2] == limits["Max file size"][:2] == limits["Max core file size"][:2] == ["0", "0"]
        )
        assert 256 << 20 < int(limits["Max address space"][0]) < 1 << 30
        assert os.getsid(pid) == pid
        if os.geteuid() == 0:
            assert status["Uid"].split() == status["Gid"].split() == [str(TASK_ID)] * 4
            assert status["Groups"] == ""
            assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 1 << 2  # CAP_DAC_READ_SEARCH
            assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
            names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in sorted(os.listdir(f"/proc/{pid}/fd"), key=int)]
            assert names[:3] == ["/dev/null"] * 3
            assert len(names) == 4 and names[3].startswith("socket:")
            assert set(Path(f"/proc/{pid}/environ").read_bytes().replace(b"\0", b"\n").decode().split("\n")) >= {
                "TZ=UTC"
            }


def test_the_layers_are_told(launcher: Launcher) -> None:
    layers = launcher.layers()
    assert [layer["name"] for layer in layers] == list(LAYERS)
    for layer in layers:
        assert layer["purpose"] and layer["detail"]
        assert (layer["advice"] is None) == layer["active"]


# -- as somebody else --------------------------------------------------------------------------------------------------


def interpreter() -> str | None:
    """A Python of our version that everybody may run: that of the tests may be in a closed home."""
    for found in (sys.executable, shutil.which("python3.11", path="/usr/bin:/usr/local/bin")):
        if found is None:
            continue
        probe = [found, "-c", "import sys; print(sys.version_info[:2])"]
        try:
            said = subprocess.run(probe, user=STRANGER, group=STRANGER, capture_output=True, text=True, check=False)
        except OSError:
            continue
        if said.stdout.strip() == str(sys.version_info[:2]):
            return found
    return None


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become somebody else; all other tests ran as an ordinary user"
)
def test_everything_is_refused_for_an_ordinary_user_too() -> None:
    python = interpreter()
    if python is None:
        pytest.skip("no Python here that ordinary users may run")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        natives = folder / "natives"
        shutil.copytree(NATIVES, natives)
        site = next(path for path in sys.path if path.endswith("site-packages"))
        package = write_package(folder, {"Attacker": "Methods: {}\n"})
        where = secrets(folder)
        runs = [
            [TRIED, str(where)],
            [sorted(hostile.ON_PROCESS), "victim"],
            *([[name], "victim"] for name in sorted(hostile.DEADLY)),
        ]
        request = {"package": package, "natives": REGISTER, "path": [str(natives), site], "runs": runs}
        done = subprocess.run(
            [python, str(ROOT / "tests/engine/ordinary.py"), json.dumps(request)],
            user=STRANGER,
            group=STRANGER,
            extra_groups=[],
            env={"PYTHONPATH": f"{ROOT / 'src'}:{site}", "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        assert told["user"] == STRANGER
        assert {name for name, active in told["layers"].items() if active} >= {"limits", "privileges", "user", "calls"}
        for last in told["results"][:2]:
            assert last["t"] == "done", last
            assert {n: said for n, said in last["result"].items() if not said.startswith("refused E")} == {}
        assert [end["signal"] for end in told["results"][2:]] == [signal.SIGSYS] * len(hostile.DEADLY)
        assert os.listdir(where) == ["journal.db"]
