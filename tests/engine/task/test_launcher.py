"""Task processes from the worker's side: what tasks do, how they end, and that they end (issue 3, Running a task)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import NATIVES, TIMEOUT, Play, main_class, model, run, start, write_package
from vetro.engine.task.launcher import Exit, Launcher, LauncherError, TaskProcess, TaskProcessEnded
from vetro.engine.task.task import Budget, Task

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(natives=["hostile_natives:register"], path=[str(NATIVES)]) as made:
        yield made


def gone(pid: int) -> bool:
    """Whether a process ends soon: it is told by the kernel, not by looking again and again."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        import select

        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(TIMEOUT * 1000))
    finally:
        os.close(handle)


def counting(rest: str = "", body: str = "- $.n: $.n + 1\n- Return: $.n") -> dict[str, str]:
    return main_class(body, rest, "  n: {Contract: $.int().notNull(), Usage: InOut, Default: 0}")


def test_ctrl_c_is_not_for_the_zygote(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """From its first moment: while Python starts, the engine loads, and later."""
    with Launcher() as made:
        assert made.pid is not None
        os.kill(made.pid, signal.SIGINT)
        last = run(made, write_package(tmp_path, counting()), model=model(n=1))
        os.kill(made.pid, signal.SIGINT)
        assert (last["t"], made.start().close()) == ("done", None)
    assert capfd.readouterr().err == ""


# -- kinds -------------------------------------------------------------------------------------------------------------


def test_a_deployment_gives_model_and_result(launcher: Launcher, tmp_path: Path) -> None:
    last = run(launcher, write_package(tmp_path, counting()), model=model(n=41))
    assert last["t"] == "done"
    assert last["model"]["Objects"]["n"] == 42
    assert last["model"]["SystemData"]["Packages"]["t"] == ["0.0.0"]


def test_an_empty_model_destroys_what_was(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, main_class("- $", ".destroy: {Body: [sleep(1), now()]}\n"))
    play = start(
        launcher,
        Task(id="x", kind="deploy", packages=[path], model={"Objects": None, "ObjectsCopy": model()["Objects"]}),
        {"clock": 0.0},
    )
    with play.process:
        last = play.play()
    assert last["t"] == "done", last
    assert last["model"]["Objects"] is None
    assert [kind for _, kind in play.effects] == ["sleep", "clock"]


def test_an_action_is_a_public_method_of_an_object(launcher: Launcher, tmp_path: Path) -> None:
    rest = """
  add:
    Scope: Public
    Arguments: [{by: {Contract: $.int().notNull()}}]
    Body: [{$.n: $.n + $by}, {Return: $this}]
  hidden: {Body: $}
"""
    path = write_package(tmp_path, counting(rest))
    last = run(launcher, path, kind="action", method="add", args={"by": 5}, object_id="root", model=model(n=1))
    assert last["model"]["Objects"]["n"] == 6
    assert last["result"]["n"] == 6
    assert run(launcher, path, kind="action", method="hidden")["error"]["code"] == "MPL312"
    assert "needs the name of a method" in run(launcher, path, kind="action")["error"]["message"]
    empty = run(launcher, path, kind="action", method="add", args={"by": 5}, model={"Objects": None})
    assert (empty["error"]["code"], empty["error"]["message"]) == (
        "ENG301",
        "the model is empty: there is no object for action 'add'",
    )


def test_static_methods_builders_calls_and_schemas_leave_no_model(launcher: Launcher, tmp_path: Path) -> None:
    rest = """
  made:
    Usage: Static
    Scope: Public
    Arguments: [{n: {Contract: $.int().notNull()}}]
    Body:
    - Return: new(Main, n => $n)
  inner:
    Body:
    - Return:
      - $.n
      - set(7)
"""
    path = write_package(tmp_path, counting(rest))
    on_class = {"name": "t.Main"}
    for kind in ("static", "builder"):
        last = run(launcher, path, kind=kind, method="made", args={"n": 9}, on_class=on_class)
        assert (last["t"], last["model"], last["result"]["n"]) == ("done", None, 9)
    called = run(launcher, path, kind="call", method="inner", model=model(n=3))
    assert (called["model"], called["result"]) == (None, [3, [7]])
    schema = run(launcher, path, kind="schema", on_class=on_class)["result"]
    assert schema[""]["properties"]["n"]["type"] == "integer"
    assert list(run(launcher, path, kind="schema", on_class=on_class, method="made")["result"]) == ["made"]
    assert run(launcher, path, kind="schema")["error"]["code"] == "ENG301"


def test_settings_and_configurations_reach_the_packages(launcher: Launcher, tmp_path: Path) -> None:
    body = "- Return: $.c + :Attacker.setting(deep)"
    classes = main_class(body, "", "  c: {Contract: $.int(), Usage: Config}")
    path = write_package(tmp_path, {**classes, "Attacker": "Methods: {}\n"})
    configs = [{"class": "t.Main", "values": {"c": 8}}]
    last = run(launcher, path, kind="call", method="run", settings={"deep": 5}, configs=configs)
    assert last.get("result") == 13, last


@pytest.mark.campaign
def test_compiled_code_comes_from_a_cache_that_tasks_only_read(
    launcher: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vetro.cli.compile_cache import code_cache
    from vetro.packages import load_path

    path = write_package(tmp_path, {**main_class("- $"), "Attacker": "Methods: {}\n"})
    folder = tmp_path / "cache"
    monkeypatch.setenv("VETRO_CACHE", str(folder))
    with Launcher(natives=["hostile_natives:register"], path=[str(NATIVES)], cache=folder) as cached:
        asked = {"method": "cached", "args": {"name": "t.Main"}, "on_class": {"name": "t.Attacker"}}
        assert run(cached, path, kind="call", **asked)["result"] is False
        core = run(launcher, path, kind="call", **asked | {"args": {"name": "io.murano.Environment"}})
        assert core["result"] is True  # the zygote has compiled it
        assert code_cache(load_path(path)) is not None  # the import step
    before = sorted(str(file) for file in folder.rglob("*"))
    with Launcher(natives=["hostile_natives:register"], path=[str(NATIVES)], cache=folder) as cached:
        assert run(cached, path, kind="call", **asked)["result"] is True
    assert sorted(str(file) for file in folder.rglob("*")) == before


# -- a function of task and answers ------------------------------------------------------------------------------------

PURE = """
- $.seen: [randomName(), $.rest(1), now().year]
- Parallel:
  - Do:
    - sleep(3)
    - $.seen: $.seen + [[a, id(new(std:Object))]]
  - Do:
    - sleep(1)
    - $.seen: $.seen + [[b, id(new(std:Object))]]
"""
PURE_REST = """
  rest:
    Arguments: [{n: {Contract: $}}]
    Body:
    - Return: set($n, b, c, d, e).select(str($)).toList()
"""


def pure(folder: Path) -> str:
    return write_package(folder, main_class(PURE, PURE_REST, "  seen: {Contract: [], Usage: Out}"))


def played(launcher: Launcher, path: str, order: tuple[str, ...], seed: str = "s", checkpoint: bool = False) -> Play:
    """A run whose sleeps are answered in the given order of branches."""
    play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model(), seed=seed), {"clock": 1.7e9})
    sleeping: dict[str, dict[str, Any]] = {}

    def on_effect(frame: dict[str, Any]) -> bool:
        if frame["kind"] != "sleep":
            return False
        sleeping[frame["key"]] = frame
        if len(sleeping) == len(order):
            if checkpoint:
                play.process.send({"t": "checkpoint"})
                assert play.next()["model"]["Objects"]["seen"]
            for key in order:
                play.answer(sleeping[key])
        return True

    with play.process:
        play.play(on_effect)
    return play


def test_branches_go_on_in_the_order_of_the_answers(launcher: Launcher, tmp_path: Path) -> None:
    path = pure(tmp_path)
    names = {}
    for order in (("0.0/1", "0.1/1"), ("0.1/1", "0.0/1")):
        play = played(launcher, path, order)
        assert play.frames[-1]["t"] == "done", play.frames[-1]
        names[order] = [name for name, _ in play.frames[-1]["model"]["Objects"]["seen"][3:]]
        assert play.effects[1:] == [("0.0/1", "sleep"), ("0.1/1", "sleep")]
    assert list(names.values()) == [["a", "b"], ["b", "a"]]


def test_the_same_answers_give_the_same_run_and_another_seed_another(launcher: Launcher, tmp_path: Path) -> None:
    path, order = pure(tmp_path), ("0.1/1", "0.0/1")
    first, second = played(launcher, path, order), played(launcher, path, order)
    assert first.frames == second.frames
    assert first.frames[-1]["t"] == "done"
    with Launcher() as another:  # another process tree has other addresses and hashes of its own
        assert played(another, path, order).frames == first.frames
    other = played(launcher, path, order, seed="other").frames[-1]["model"]["Objects"]["seen"]
    assert other[0] != first.frames[-1]["model"]["Objects"]["seen"][0]


def test_a_checkpoint_leaves_no_trace(launcher: Launcher, tmp_path: Path) -> None:
    """Serialising makes the objects of metadata; ids and keys of what follows must not depend on it."""
    classes = main_class(PURE, PURE_REST, "  seen: {Contract: [], Usage: Out}")
    classes["Main"] = classes["Main"].replace(
        "  run:\n", "  run:\n    Meta: [{Label: {text: !yaql randomName()}}]\n", 1
    )
    classes["Label"] = "Usage: Meta\nApplies: Method\nProperties:\n  text: {Contract: $.string()}\n"
    path, order = write_package(tmp_path, classes), ("0.1/1", "0.0/1")
    plain, watched = played(launcher, path, order), played(launcher, path, order, checkpoint=True)
    assert [f for f in watched.frames if f["t"] == "checkpoint"]
    assert plain.frames == [f for f in watched.frames if f["t"] != "checkpoint"]


def test_time_is_that_of_the_answers(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, main_class("- sleep(100000)\n- Return: now().year"))
    play = start(launcher, Task(id="x", kind="action", method="run", packages=[path], model=model()), {"clock": 0.0})
    with play.process:
        assert play.play()["result"] == 1970
    assert [(f["kind"], f["args"]) for f in play.frames[:-1]] == [("sleep", {"seconds": 100000}), ("clock", {})]


# -- failures ----------------------------------------------------------------------------------------------------------


def test_a_package_catches_the_errors_of_its_effects(launcher: Launcher, tmp_path: Path) -> None:
    body = """
- Try: sleep(1)
  Catch:
    With: cloud.Broken
    As: e
    Do: {$.told: $e.message}
"""
    path = write_package(tmp_path, main_class(body, "", "  told: {Contract: $.string(), Usage: Out}"))
    error = {"error": {"kind": "x", "message": "out of order", "names": ["cloud.Broken"]}}
    text = Path(path, "Classes", "Main.yaml")
    text.write_text(text.read_text().replace("Namespaces: {", "Namespaces: {cloud: cloud, "))
    body_fixed = text.read_text().replace("With: cloud.Broken", "With: cloud:Broken")
    text.write_text(body_fixed)
    assert run(launcher, path, answers={"sleep": error})["model"]["Objects"]["told"] == "out of order"


def test_a_failure_tells_place_calls_and_the_model_so_far(launcher: Launcher, tmp_path: Path) -> None:
    rest = '  fails:\n    Body:\n    - $.n: 7\n    - Throw: Broken\n      Message: "it is broken"\n'
    path = write_package(tmp_path, counting(rest, "- $.fails()"))
    last = run(launcher, path)
    error = last["error"]
    assert (last["t"], error["message"], error["names"]) == ("failed", "it is broken", ["t.Broken"])
    assert [f["method"] for f in error["frames"]] == ["deploy", "run", "fails"]
    innermost = error["frames"][-1]
    assert (innermost["class"], innermost["file"]) == ("t.Main", f"{path}/Classes/Main.yaml")
    lines = Path(innermost["file"]).read_text().splitlines()
    assert "Throw" in lines[innermost["line"] - 1]
    assert error["position"]["line"] == innermost["line"]
    assert last["model"]["Objects"]["n"] == 7


@pytest.mark.parametrize("ending", ["- $", "- Throw: Broken", "- sleep(1)"])
@pytest.mark.parametrize("kind", ["deploy", "call"])
def test_what_was_put_off_is_done_at_the_end_unless_cancelled(
    launcher: Launcher, tmp_path: Path, ending: str, kind: Any
) -> None:
    body = "- :Attacker.putOff(late)\n" + ending
    path = write_package(tmp_path, {**main_class(body), "Attacker": "Methods: {}\n"})
    play = start(launcher, Task(id="x", kind=kind, method="run", packages=[path], model=model()))

    def on_effect(frame: dict[str, Any]) -> bool:
        if frame["kind"] == "sleep":
            play.process.send({"t": "cancel", "reason": "enough"})
        return frame["kind"] == "sleep"

    with play.process:
        last = play.play(on_effect)
    assert last["t"] == ("done" if ending == "- $" else "failed")
    assert [kind for _, kind in play.effects] == (["sleep"] if "sleep" in ending else ["test.late"])


def test_a_package_that_cannot_be_loaded_fails_the_task(launcher: Launcher, tmp_path: Path) -> None:
    last = run(launcher, str(tmp_path / "nothing"))
    assert (last["t"], last["model"]) == ("failed", None)
    assert "nothing" in last["error"]["message"]
    assert last["error"]["kind"] != "defect"


def test_a_message_that_is_no_task_is_a_defect_that_is_told(launcher: Launcher) -> None:
    with launcher.start() as process:
        process.send({"t": "task", "task": {"no": "task"}})
        last = process.receive(TIMEOUT)
        assert last is not None
        assert (last["t"], last["error"]["code"]) == ("failed", "ENG303")
        assert "traceback" in last["error"]
        assert process.wait(TIMEOUT) == Exit(0, None, *last_usage(process))


def last_usage(process: TaskProcess) -> tuple[float, int]:
    end = process.wait(TIMEOUT)
    assert end is not None
    assert end.cpu_seconds > 0 and end.memory_kib > 1000
    return end.cpu_seconds, end.memory_kib


@pytest.mark.attack("processes", "bombs in tasks")
def test_calls_may_be_deep_and_endless_recursion_fails_cleanly(launcher: Launcher, tmp_path: Path) -> None:
    rest = """
  down:
    Arguments: [{n: {Contract: $.int().notNull()}}]
    Body: [{If: $n > 0, Then: {Return: $.down($n - 1) + 1}}, {Return: 0}]
"""
    path = write_package(tmp_path, main_class("- Return: $.down(2000)", rest))
    assert run(launcher, path, kind="call", method="run")["result"] == 2000
    deep = write_package(tmp_path / "deep", main_class("- $.run()"))
    assert run(launcher, deep)["error"]["code"] == "LIM110"


def test_deep_models_and_large_integers_pass_the_pipe(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(
        tmp_path,
        main_class(
            "- $.big: pow(2, 16000)", "", "  big: {Contract: $, Usage: InOut}\n  kid: {Contract: $.class(Main)}"
        ),
    )
    objects: dict[str, Any] = model()["Objects"]
    for depth in range(800):
        objects = {"?": {"type": "t.Main", "id": f"o{depth}"}, "kid": objects}
    task = Task(id="x", kind="deploy", packages=[path]).as_json() | {"model": {"Objects": objects}}
    with launcher.start() as process:
        process.send({"t": "task", **task})
        last = process.receive(TIMEOUT)
    assert last is not None and last["t"] == "done", last
    assert last["model"]["Objects"]["big"] == 2**16000


# -- cancelling --------------------------------------------------------------------------------------------------------


def test_cancelling_runs_finally_blocks_and_refuses_their_effects(launcher: Launcher, tmp_path: Path) -> None:
    body = """
- Try:
  - sleep(5)
  - $.log: $.log + [never]
  Finally:
  - $.note(first)
  - Try: [sleep(1)]
    Finally: $.note(second)
  - $.note(never)
"""
    rest = "  note:\n    Arguments: [{x: {Contract: $}}]\n    Body:\n    - $.log: $.log + [$x]\n"
    path = write_package(tmp_path, main_class(body, rest, "  log: {Contract: [], Usage: Out, Default: []}"))
    play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model()))
    with play.process:
        assert play.next()["kind"] == "sleep"
        play.process.send({"t": "cancel", "reason": "no longer wanted"})
        last = play.next()
        assert play.process.wait(TIMEOUT) is not None
    assert (last["t"], last["error"]["kind"], last["error"]["message"]) == ("failed", "cancelled", "no longer wanted")
    assert last["model"]["Objects"]["log"] == ["first", "second"]


@pytest.mark.parametrize("body", ["- While: $ != null\n  Do: [$x]", "- While: $ != null\n  Do: $.nothing()"])
@pytest.mark.parametrize("branches", [1, 2])
def test_cancelling_ends_a_task_that_computes(launcher: Launcher, tmp_path: Path, body: str, branches: int) -> None:
    if branches == 2:
        indented = "\n".join("    " + line for line in body.split("\n"))
        body = f"- Parallel:\n  - sleep(1)\n  - Do:\n{indented}"
    text = "- new(sys:Logger, $this, name => x).info(begun)\n" + body
    path = write_package(tmp_path, main_class(text, "  nothing: {Body: $}\n"))
    play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model()))
    with play.process:
        assert play.next()["kind"] == "log"
        play.process.send({"t": "cancel", "reason": "stop"})
        while (last := play.next())["t"] == "effect":
            pass
    assert (last["error"]["kind"], last["error"]["message"]) == ("cancelled", "stop")


def test_a_task_cancelled_before_it_begins_does_nothing(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, main_class("- sleep(1)"))
    with launcher.start() as process:
        process.send({"t": "cancel", "reason": "never mind"})
        process.send({"t": "task", "task": Task(id="x", kind="deploy", packages=[path], model=model()).as_json()})
        last = process.receive(TIMEOUT)
    assert last is not None and last["error"]["message"] == "never mind"


# -- budgets -----------------------------------------------------------------------------------------------------------

LITTLE = Budget(cpu_seconds=0.3, memory_mib=96, grace_seconds=0.5)


SMALL = Budget(cpu_seconds=30, memory_mib=96)
MEMORY, TIME = (SMALL, "ENG304"), (LITTLE, "LIM202")


@pytest.mark.attack("processes", "bombs in tasks")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("- $l: []\n- While: $ != null\n  Do:\n  - $l: $l + ['x' * 1000000 + str(len($l))]", MEMORY),
        ("- $l: range(20000000).orderBy(-$).toList()", MEMORY),
        ("- $l: []\n- While: $ != null\n  Do:\n  - $l: $l + [new(Main), range(1000).toList()]", MEMORY),
        ("- While: $ != null\n  Do: [$x]", TIME),
        ("- Try:\n  - While: $ != null\n    Do: [$x]\n  Finally:\n  - While: $ != null\n    Do: [$x]", TIME),
        ("- $l: range(2000000000).select($ mod 2).where($ > 5).toList()", TIME),
    ],
)
def test_bombs_end_in_a_clean_failure_with_the_model(
    launcher: Launcher, tmp_path: Path, body: str, expected: tuple[Budget, str]
) -> None:
    path = write_package(tmp_path, main_class(body))
    budget, code = expected
    last = run(launcher, path, budget=budget)
    assert last["t"] == "failed"
    assert last["error"]["code"] == code
    assert last["error"]["position"]["file"].endswith("Main.yaml")
    assert last["model"]["Objects"]["?"]["id"] == "root"


@pytest.mark.attack("processes", "bombs in tasks")
def test_steps_are_a_budget_too(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, main_class("- While: $ != null\n  Do: [$x]"))
    last = run(launcher, path, budget=Budget(steps=10_000))
    assert (last["error"]["code"], last["model"]["Objects"]["?"]["id"]) == ("LIM201", "root")


@pytest.mark.attack("processes", "bombs in tasks")
def test_code_that_does_not_stop_is_ended_by_the_kernel(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, {"Attacker": "Methods: {}\n"})
    task = Task(id="x", kind="call", method="stubborn", on_class={"name": "t.Attacker"}, packages=[path], budget=LITTLE)
    play = start(launcher, task)
    with play.process:
        with pytest.raises(TaskProcessEnded):
            play.play()
        end = play.process.wait(TIMEOUT)
    assert end is not None
    assert end.signal == signal.SIGXCPU
    assert "processor time" in end.reason


# -- lives and deaths --------------------------------------------------------------------------------------------------


def test_the_zygote_has_one_thread_and_a_large_stack(launcher: Launcher) -> None:
    with launcher.start() as process:
        for pid in (launcher.pid, process.pid):
            assert len(os.listdir(f"/proc/{pid}/task")) == 1
            limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
            stack = next(line for line in limits if line.startswith("Max stack size")).split()[3]
            assert stack == "unlimited" or int(stack) >= 64 << 20


def test_a_task_ends_when_nobody_holds_its_pipe(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, main_class("- sleep(1)"))
    play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model()))
    play.next()
    play.process._pipe.close()
    end = play.process.wait(TIMEOUT)
    play.process.close()
    assert end is not None and (end.status, end.reason) == (3, "its pipe was closed")


def test_closing_kills_a_task_that_computes(launcher: Launcher, tmp_path: Path) -> None:
    path = write_package(tmp_path, {"Attacker": "Methods: {}\n"})
    task = Task(id="x", kind="call", method="stubborn", on_class={"name": "t.Attacker"}, packages=[path])
    play = start(launcher, task)
    play.process.close()
    end = play.process.wait(TIMEOUT)
    assert end is not None and end.signal == signal.SIGKILL
    assert gone(play.process.pid)


def test_a_killed_task_says_so(launcher: Launcher) -> None:
    with launcher.start() as process:
        assert process.wait(0) is None
        assert process.receive(0) is None
        process.kill()
        end = process.wait(TIMEOUT)
        assert end is not None and end.signal == signal.SIGKILL
        assert "killed by signal 9" in end.reason
        with pytest.raises(TaskProcessEnded, match=str(process.pid)):
            process.receive(TIMEOUT)
        with pytest.raises(TaskProcessEnded):
            process.send({"t": "task"})
        process.kill()


def test_when_the_zygote_dies_its_tasks_die_and_the_next_start_works(tmp_path: Path) -> None:
    path = write_package(tmp_path, counting())
    with Launcher() as launcher:
        play = start(launcher, Task(id="x", kind="deploy", packages=[path], model=model()))
        waiting = launcher.start()
        assert play.play()["t"] == "done"
        zygote = launcher.pid
        assert zygote is not None
        os.kill(zygote, signal.SIGKILL)
        end = waiting.wait(TIMEOUT)
        assert end is not None and (end.status, end.signal) == (None, None)
        assert "process that started it died" in end.reason
        assert gone(waiting.pid)
        assert run(launcher, path)["t"] == "done"
        assert launcher.pid != zygote
        play.process.close()
        waiting.close()


def test_when_the_launchers_process_dies_everything_dies(tmp_path: Path) -> None:
    """Also a task that computes and never looks at its pipe."""
    path = write_package(tmp_path, {"Attacker": "Methods: {}\n"})
    program = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from tests.engine.taskworld import NATIVES, start
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task
launcher = Launcher(natives=["hostile_natives:register"], path=[str(NATIVES)])
on_class = {{"name": "t.Attacker"}}
play = start(launcher, Task(id="x", kind="call", method="stubborn", on_class=on_class, packages=[{path!r}]))
idle = launcher.start()
print(launcher.pid, play.process.pid, idle.pid, flush=True)
time.sleep(100)
"""
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with worker:
        assert worker.stdout is not None
        pids = [int(word) for word in worker.stdout.readline().split()]
        assert len(pids) == 3
        worker.kill()
    assert all(gone(pid) for pid in pids)


def test_a_launcher_that_cannot_start_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        Launcher(natives=["no_such_module:register"]) as launcher,
        pytest.raises(LauncherError, match="could not start"),
    ):
        launcher.start()
    assert "no_such_module" in capfd.readouterr().err


@pytest.mark.campaign
def test_a_launcher_leaves_nothing(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with Launcher() as launcher, launcher.start() as process:
        pids = [launcher.pid, process.pid]
    assert all(pid is not None and gone(pid) for pid in pids)
    import gc

    gc.collect()
    assert set(os.listdir("/proc/self/fd")) - before == set()


def test_without_a_layer_that_is_required_no_task_is_started(tmp_path: Path) -> None:
    path = write_package(tmp_path, counting())
    settings: dict[str, Any] = {"natives": ["no_network_natives:register"], "path": [str(NATIVES)]}
    with Launcher(**settings) as launcher:
        assert run(launcher, path)["t"] == "done"
    with Launcher(**settings, require=["network", "calls"]) as launcher:
        error = run(launcher, path)["error"]
    assert error["code"] == "ENG305"
    assert error["message"].endswith("network")
    assert "vetro doctor" in error["hint"]


def test_an_unknown_layer_cannot_be_required(capfd: pytest.CaptureFixture[str]) -> None:
    with Launcher(require=["magic"]) as launcher, pytest.raises(LauncherError):
        launcher.start()
    assert "there is no layer 'magic'" in capfd.readouterr().err
