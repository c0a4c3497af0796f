"""Secrets of a run in what its worker writes and tells: journal, events, outcome, what a host complains about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import HEAD, start, write_package
from tests.faults.harness import OWNER
from tests.faults.world import World, WorldChannel, WorldCloud
from tests.support.file_journal import FileJournal
from tests.support.host_thread import HostThread
from tests.support.installation import compiled
from vetro.engine.effect_kinds import Policy
from vetro.engine.host.answer import Effect
from vetro.engine.host.performer import EffectsHost
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task
from vetro.engine.worker.ports import Policies
from vetro.engine.worker.worker import Worker
from vetro.muranopl.runtime.effects import EffectError
from vetro.yaql.redact import MASK

CANARY = "canary-0123456789-of-a-task"
KINDS = {"test.unsafe": Policy.UNSAFE, "test.quoting": Policy.CONVERGENT}
MAIN = """
Properties:
  password: {Contract: $.string(), Usage: InOut, Meta: {f:Secret: {}}}
Methods:
  deploy: {Body: {$.go(how => report)}}
  go:
    Scope: Public
    Arguments: [{how: {Contract: $.string()}}, {word: {Contract: $.string(), Meta: {f:Secret: {}}}}]
    Body:
      - effect(report, dict(id => x, text => concat('with ', $.password, $word)))
      - If: $how = quoting
        Then:
          - Return: effect('test.quoting', dict(name => $.password))
      - If: $how = unsafe
        Then:
          - Return: effect('test.unsafe', dict(name => $.password))
      - If: $how = caught
        Then:
          Try:
            - effect('test.quoting', dict(name => $.password))
          Catch: {As: e, Do: {Return: $e.message}}
      - If: $how = throw
        Then: {Throw: Broken, Message: $.password, Extra: {details: {stderr: $.password}}}
      - Return: $.password
"""


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    root = str(Path(__file__).parents[2])
    with Launcher(cache=compiled(), natives=["tests.faults.natives:register"], path=[root]) as made:
        yield made


class Bench:
    """Runs the action ``go`` and keeps everything that anybody is told."""

    def __init__(self, launcher: Launcher, folder: Path) -> None:
        self.launcher = launcher
        self.folder = folder
        self.path = write_package(folder / "p", {"Main": "#"})
        text = HEAD.replace("std:", "f: io.murano.metadata.forms, std:") + "Name: Main\n" + MAIN
        (Path(self.path) / "Classes" / "Main.yaml").write_text(text)
        self.events: list[Any] = []

    def task(self, **args: Any) -> Task:
        args.setdefault("word", "")
        objects = {"?": {"type": "t.Main", "id": "1"}, "password": CANARY}
        return Task(
            "t", "action", (self.path,), {"Objects": objects, "ObjectsCopy": None}, method="go", object_id="1",
            args=args, seed="s",
        )  # fmt: skip

    def host(self) -> EffectsHost:
        def perform(args: Mapping[str, Any]) -> Any:
            raise EffectError(f"template {json.dumps(dict(args))} is refused")

        path = self.folder / "world.db"
        World(path)
        effects = {kind: Effect(perform, policy) for kind, policy in KINDS.items()}
        return EffectsHost(WorldCloud(path), WorldChannel(path), OWNER, effects=effects)

    def run(self, **args: Any) -> Any:
        journal = FileJournal(self.folder / "journal.db", "t")
        try:
            worker = Worker(
                self.task(**args), journal, self.launcher, HostThread(self.host), self.events.append,
                policies=Policies(KINDS),
            )  # fmt: skip
            outcome = worker.run()
            written = [*journal.entries(), *journal.notes()]
            return outcome, repr((outcome.error, outcome.reports, outcome.open, written, self.events))
        finally:
            journal.close()


@pytest.fixture
def bench(launcher: Launcher, tmp_path: Path) -> Bench:
    return Bench(launcher, tmp_path)


@pytest.mark.attack("secrets", "M1")
@pytest.mark.parametrize("how", ["quoting", "unsafe", "throw"])
def test_nothing_that_is_told_of_a_failed_task_holds_a_secret(bench: Bench, how: str) -> None:
    outcome, told = bench.run(how=how, word="another-canary-word")
    assert outcome.state == "failed"
    assert MASK in outcome.error["message"]
    assert outcome.reports[0]["text"] == f"with {MASK}{MASK}"
    assert "canary" not in told


@pytest.mark.attack("secrets", "M1")
def test_packages_meet_refusals_without_their_secrets(bench: Bench) -> None:
    outcome, _ = bench.run(how="caught")
    assert outcome.state == "done"
    assert outcome.result == f'template {{"name": "{MASK}"}} is refused'


def test_results_and_models_are_as_the_package_made_them(bench: Bench) -> None:
    outcome, _ = bench.run(how="well")
    assert outcome.result == outcome.model["Objects"]["password"] == CANARY


@pytest.mark.attack("secrets", "M1")
def test_the_worker_knows_a_secret_before_it_hands_an_effect_to_the_host(bench: Bench, launcher: Launcher) -> None:
    play = start(launcher, bench.task(how="quoting"))
    with play.process:
        while (frame := play.next())["t"] != "effect" or frame["kind"] == "report":
            pass
        kinds = [frame["t"] for frame in play.frames]
    assert kinds.index("secrets") < kinds.index("effect")
