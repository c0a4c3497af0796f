"""What tasks do: a function of task and answers, and how they fail (issue 3, Running a task)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import NATIVES, TIMEOUT, Play, counting, main_class, model, run, start, write_package
from vetro.engine.task.launcher import Exit, Launcher, TaskProcess
from vetro.engine.task.task import Task


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
