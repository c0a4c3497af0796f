"""An application from answers: new, changed, unclear. Asked in a task process, as commands and servers do it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import write_package
from tests.support.installation import compiled
from vetro.engine.models import put
from vetro.engine.query.query import AskFailed, ask
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task
from vetro.model.environment import Environment

CLASSES = {
    "Main": """
Extends: std:Application
Properties:
  n:
    Contract: $.int().notNull().check($ > 3)
  label:
    Contract: $.string().notNull()
  part:
    Contract: $.class(Part).notNull()
""",
    "Sized": """
Extends: std:Application
Meta:
  - io.vetro.forms.Preset:
      name: small
      values: {copies: 1, server: {flavor: m1.small}}
  - io.vetro.forms.Preset:
      name: large
      default: true
      values: {copies: 3, server: {flavor: m1.large}}
Properties:
  copies:
    Contract: $.int().notNull()
    Default: 2
  server:
    Contract: $.class("io.murano.resources.LinuxInstance").notNull()
""",
    "Named": """
Extends: std:Application
Meta:
  - io.vetro.forms.Preset:
      name: one
      values:
        part: {'?': {type: t.Part, id: 11111111111111111111111111111111, name: mine}, size: 4}
        parts: [{'?': {type: t.Part, id: '22222222222222222222222222222222'}, size: 5}]
Properties:
  part:
    Contract: $.class(Part).notNull()
  parts:
    Contract: [$.class(Part).notNull()]
""",
    "Part": """
Properties:
  size:
    Contract: $.int().notNull()
  color:
    Contract: $.string()
    Default: red
""",
}


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(cache=compiled()) as made:
        yield made


class World:
    """An environment and its package."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self.launcher = launcher
        self.package = write_package(folder, CLASSES)
        with (Path(self.package) / "manifest.yaml").open("a") as manifest:
            manifest.write("Require:\n  io.vetro: 1\n")
        self.environment = Environment.new("e", "env")

    def ask(self, kind: Any, **more: Any) -> Any:
        task = Task(id="q", kind=kind, packages=[self.package], model=self.environment.model, **more)
        return ask(task, launcher=self.launcher)

    def apply(self, answers: Any, application: str | None = None, seed: str = "s") -> dict[str, Any]:
        args = {"answers": answers, "application": application}
        made: dict[str, Any] = self.ask("suggest", on_class={"name": "t.Main"}, args=args, seed=seed)
        return made


@pytest.fixture
def world(launcher: Launcher, tmp_path: Path) -> World:
    return World(launcher, tmp_path)


def test_a_new_application_is_completed_and_passes_the_check(world: World) -> None:
    made = world.apply({"n": 5, "part": {"color": "blue"}})
    assert (made["new"], made["chosen"]) == (True, {"label": "sample", "part.size": 1})
    assert world.environment.applications == []
    put(world.environment, made)
    (app,) = world.environment.applications
    assert (app["n"], app["label"], app["part"]["color"]) == (5, "sample", "blue")
    assert world.ask("check_model") == {"errors": []}
    app["n"] = 0
    (error,) = world.ask("check_model")["errors"]
    assert (error["objectId"], error["property"]) == (app["?"]["id"], "n")
    assert error["position"]["file"] == f"{world.package}/Classes/Main.yaml"


def test_ids_follow_from_the_seed(world: World) -> None:
    first, again, other = world.apply({}), world.apply({}), world.apply({}, seed="other")
    assert first == again
    assert first["object"]["?"]["id"] != other["object"]["?"]["id"]


def test_answers_change_the_application_that_is_there(world: World) -> None:
    put(world.environment, world.apply({"n": 5}))
    before = world.environment.applications[0]["part"]["?"]["id"]
    made = world.apply({"part": {"size": 9}}, seed="t")
    assert (made["new"], made["applications"], made["chosen"]) == (False, [], {})
    put(world.environment, made)
    (app,) = world.environment.applications
    assert (app["n"], app["part"]["size"], app["part"]["?"]["id"]) == (5, 9, before)


def test_which_one_is_meant(world: World) -> None:
    put(world.environment, world.apply({"n": 5}, "one"))
    put(world.environment, world.apply({"n": 6}, "two", seed="t"))
    assert [app["?"]["name"] for app in world.environment.applications] == ["one", "two"]
    with pytest.raises(AskFailed, match=r"has 2 applications of class t\.Main") as caught:
        world.apply({"n": 7})
    assert caught.value.code == "ENG122" and "one, two" in str(caught.value.hint)
    assert world.apply({"n": 7}, "two")["object"]["n"] == 7
    world.environment.applications[0]["?"]["type"] = "t.Part"
    with pytest.raises(AskFailed, match=r"'one' is of class t\.Part, not t\.Main"):
        world.apply({}, "one")


FLAVORS = [{"name": "s2", "vcpus": 2, "ram": 2048, "disk": 20}, {"name": "s4", "vcpus": 4, "ram": 8192, "disk": 80}]


def test_presets_are_what_a_new_application_begins_with(world: World) -> None:
    """The default one unless another is named; in the sizes that the cloud has; answers come before."""

    def sized(answers: Any = None, application: str | None = None, **more: Any) -> dict[str, Any]:
        args = {"answers": answers or {}, "application": application, **more}
        found = world.ask("suggest", on_class={"name": "t.Sized"}, args=args, seed="s")
        assert isinstance(found, dict)
        return found

    made = sized(flavors=FLAVORS, image="debian-of-ours")
    server = made["object"]["server"]
    assert (made["object"]["copies"], server["flavor"], server["image"]) == (3, "s4", "debian-of-ours")
    assert made["chosen"]["preset"] == "large" and made["chosen"]["server.flavor"] == "s4"
    assert sized()["object"]["server"]["flavor"] == "m1.large"  # a cloud that does not tell what it has
    other = sized({"server": {"flavor": "mine"}}, preset="small", flavors=FLAVORS)
    assert (other["object"]["copies"], other["object"]["server"]["flavor"]) == (1, "mine")
    put(world.environment, made)
    there = made["object"]["server"]["?"]["id"]
    again = sized(flavors=FLAVORS)
    assert again["chosen"] == {} and again["object"]["copies"] == 3  # nothing of one that is there changes unasked
    smaller = sized(preset="small", flavors=FLAVORS)
    assert smaller["chosen"] == {"preset": "small", "server.flavor": "s2"}
    assert (smaller["object"]["copies"], smaller["object"]["server"]["flavor"]) == (1, "s2")
    assert smaller["object"]["server"]["?"]["id"] == there
    with pytest.raises(AskFailed, match=r"t\.Sized has no preset 'smal'") as caught:
        sized(preset="smal")
    assert caught.value.code == "ENG123" and "'small'" in str(caught.value.hint)
    with pytest.raises(AskFailed) as caught:
        world.ask("suggest", on_class={"name": "t.Main"}, args={"preset": "small"})
    assert "--preset" in str(caught.value.hint)


@pytest.mark.attack("language", "a preset that gives the objects it makes ids of its own")
def test_objects_of_presets_have_ids_of_their_own(world: World) -> None:
    """Two applications of one preset had parts with the same id, or with a number for one."""
    ids = []
    for seed in "ab":
        made = world.ask("suggest", on_class={"name": "t.Named"}, args={"answers": {}, "application": seed}, seed=seed)
        part, (other,) = made["object"]["part"], made["object"]["parts"]
        assert (part["size"], other["size"], part["?"].get("name")) == (4, 5, None)
        ids += [part["?"]["id"], other["?"]["id"]]
    assert len({*ids}) == 4 and all(isinstance(id, str) and id[:2] not in ("11", "22") for id in ids), ids


def test_wrong_questions_are_refused(world: World) -> None:
    for args, code in (({"answers": {"m": 1}}, "ENG121"), ({"answers": 7}, "ENG301"), ({"application": 7}, "ENG301")):
        with pytest.raises(AskFailed) as caught:
            world.ask("suggest", on_class={"name": "t.Main"}, args=args)
        assert caught.value.code == code
    with pytest.raises(AskFailed, match="needs a class"):
        world.ask("suggest")
