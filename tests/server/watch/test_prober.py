"""Commands and methods that say how an environment is: a real task process, an agent that answers what it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from tests.server.tasks import shop
from tests.support.host_thread import HostThread
from vetro.clouds.interface import Owner
from vetro.clouds.messages import Message
from vetro.engine.host.performer import EffectsHost
from vetro.engine.worker.ports import HostUnavailable
from vetro.server import sandboxed_workers
from vetro.server.environments.models import Environment as Row
from vetro.server.environments.models import EnvironmentPackage, Session, State
from vetro.server.setup import config
from vetro.server.tasks import clock
from vetro.server.tasks.models import Event, Task
from vetro.server.watch import prober as probing
from vetro.server.watch.prober import Prober, verdict

pytestmark = pytest.mark.django_db

SHOP = """\
Name: Shop
Namespaces: {=: test, std: io.murano, res: io.murano.resources, sys: io.murano.system, conf: io.murano.configuration,
  forms: io.murano.metadata.forms}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  count: {Contract: $.int(), Default: 0, Usage: InOut}
  password: {Contract: $.string(), Default: none, Meta: {forms:Secret: {}}}
  instance: {Contract: $.class(res:Instance).notNull()}
Methods:
  well: {Body: [{Return: true}]}
  ill: {Body: [{Return: false}]}
  slow: {Body: [{Return: {state: Degraded, text: 'lag of 90 s'}}]}
  gone: {Body: [{Return: {state: down}}]}
  odd: {Body: [{Return: {state: great}}]}
  tells: {Body: [{Return: {state: Degraded, text: $.password}}]}
  blurts: {Body: [{Throw: Broken, Message: $.password}]}
  throws: {Body: [{Throw: Broken, Message: no replica}]}
  loops: {Body: [{While: 1 < 2, Do: [{$x: 1}]}]}
  huge:
    Body:
      - Return: {state: Degraded, text: $.title * 100000}
  counts:
    Body:
      - $.count: $.count + 1
      - Return: {state: Degraded, text: str($.count)}
  asks:
    Body:
      - Return: conf:Linux.runCommand($.instance.agent, 'lag').exitCode = 0
  pushes:
    Body:
      - $.find(std:Environment).stack.updateTemplate({resources => {}})
      - $.find(std:Environment).stack.push()
  routes:
    Body:
      - new(sys:NetworkExplorer, $.find(std:Environment)).getDefaultRouter()
      - Return: true
"""


class Channel:
    """Agents: what they answer to a command, and the plans that they got."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.dropped: list[str] = []
        self.complaint = "first\nno such table\n"
        self._answers: SimpleQueue[Message] = SimpleQueue()

    def send(self, queue: str, message: Message) -> None:
        plan = json.loads(message.body)
        (file,) = plan["Files"].values()
        command = file["Body"]
        self.commands.append(command)
        if "hang" in command:
            return
        code = int(command.rpartition(" ")[2]) if command.startswith("exit") else 0
        body = {"exitCode": code, "stdout": "", "stderr": self.complaint if code else ""}
        told = {"FormatVersion": "2.0.0", "SourceID": message.id, "ErrorCode": 0, "Body": body}
        self._answers.put(Message("not asked here", json.dumps({**told, "SourceID": "another task's plan"})))
        self._answers.put(Message(message.id, json.dumps(told)))

    def receive(self, queue: str, timeout: float) -> Message | None:
        try:
            return self._answers.get(timeout=min(timeout, 0.1))
        except Empty:
            return None

    def acknowledge(self, queue: str, id: str) -> None:
        self.dropped.append(id)

    def connected(self, queue: str) -> bool:
        return True

    def close(self) -> None:
        """Nothing is open."""


class Cloud:
    """One that is asked for nothing."""

    name = "nothing"

    def close(self) -> None:
        """Nothing is open."""


class Asked:
    """An environment with a shop on a server, and what its checks say."""

    def __init__(self, caller: Any) -> None:
        package = shop.add_package(caller, shop.archive({"Classes/Shop.yaml": SHOP}))
        self.row = shop.add_environment(caller)
        Row.objects.filter(id=self.row.id).update(version=1)
        instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "web"}, "name": "web"}
        instance |= {"flavor": "m1", "openstackId": "c-web", "ipAddresses": []}
        deployed = {**shop.model(self.row, instance=instance)}
        del deployed["ObjectsCopy"]
        State.objects.create(environment=self.row, number=1, model=deployed)
        used = {"fqn": package.fqn, "version": package.version, "digest": package.digest}
        EnvironmentPackage.objects.create(environment=self.row, **used)
        self.channel = Channel()
        self.hosts: list[Mapping[str, Any]] = []
        self.prober = Prober(config(), sandboxed_workers.launcher(), self._host)

    def _host(self, settings: Mapping[str, Any]) -> HostThread:
        self.hosts.append(settings)
        owner, own = Owner(**settings["owner"]), settings["own"]
        return HostThread(lambda: EffectsHost(Cloud(), self.channel, owner, own=own))  # type: ignore[arg-type]

    def question(self, *methods: str, commands: tuple[str, ...] = ()) -> dict[str, Any]:
        checks: list[dict[str, Any]] = [
            {"key": name, "kind": "method", "object": "shop-1", "method": name} for name in methods
        ]
        checks += [{"key": c, "kind": "command", "server": "web", "command": c, "name": "n"} for c in commands]
        return {"id": self.row.id, "number": 1, "checks": checks}

    def ask(self, *methods: str, commands: tuple[str, ...] = ()) -> dict[str, tuple[str, str]]:
        results: dict[str, Any] = {}
        self.prober.ask(self.question(*methods, commands=commands), results)
        return {key: (told["state"], str(told["text"])) for key, told in results.items()}


@pytest.fixture
def asked(ann: Any) -> Iterator[Asked]:
    return Asked(ann.caller)


def test_what_methods_and_commands_say(asked: Asked) -> None:
    before = [model.objects.count() for model in (Task, Event, Session, State)]
    methods = ("well", "ill", "slow", "gone", "odd", "huge", "throws", "counts", "asks", "pushes", "routes")
    found = asked.ask(*methods, commands=("true", "exit 3"))
    huge, pushes, routes = (found.pop(name) for name in ("huge", "pushes", "routes"))
    assert found == {
        "well": ("running", ""),
        "ill": ("down", "the answer was no"),
        "slow": ("degraded", "lag of 90 s"),
        "gone": ("down", "it says no reason"),
        "odd": ("degraded", "it gave no answer that a check may give"),
        "throws": ("degraded", "it failed: no replica"),
        "counts": ("degraded", "1"),
        "asks": ("running", ""),
        "true": ("running", ""),
        "exit 3": ("down", "it ended with 3: no such table"),
    }
    assert huge[0] == "degraded" and len(huge[1]) <= 255
    assert pushes[0] == routes[0] == "degraded"
    assert "nothing outside is touched here" in pushes[1] and "networks can only be read" in routes[1]
    assert asked.channel.commands == ["lag", "true", "exit 3"]
    # What another host asked for stays where it is, and nothing of the service knows that anybody was asked.
    assert len(asked.channel.dropped) == 3 and "not asked here" not in asked.channel.dropped
    assert [model.objects.count() for model in (Task, Event, Session, State)] == before
    assert asked.ask("counts") == {"counts": ("degraded", "1")}  # what it changed is forgotten


def test_declared_secrets_are_masked_in_whatever_a_check_says(asked: Asked) -> None:
    model = State.objects.get(environment=asked.row).model
    model["Objects"]["applications"][0]["password"] = "hunter2-hunter2"
    State.objects.filter(environment=asked.row).update(model=model)
    asked.channel.complaint = "denied for hunter2-hunter2"
    found = asked.ask("tells", "blurts", commands=("exit 5",))
    assert "hunter2" not in str(found) and [text[-6:] for _, text in found.values()] == ["\N{BULLET}" * 6] * 3


@pytest.mark.attack("quotas", "H3")
def test_a_method_that_never_ends_is_ended_and_the_others_have_their_turn_the_next_time(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "_ANSWER", 1.0)
    found = asked.ask("well", "loops", "ill")
    assert set(found) == {"well", "loops"} and found["loops"][0] == "degraded"
    assert "no result came within 1 seconds" in found["loops"][1]


def test_whoever_answered_is_known_to_the_next_question_and_forgotten_when_silent(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So what an agent needs at a broker is made by the first question only."""
    monkeypatch.setattr(probing, "EFFECT", 1.0)
    for command in ("exit 0", "hang", "exit 1", "exit 0"):
        asked.ask(commands=(command,))
    queue = f"e{asked.row.id}-hweb"
    assert [settings["reached"] for settings in asked.hosts] == [[], [queue], [], [queue]]


def test_an_agent_that_does_not_answer_is_asked_once(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "EFFECT", 1.0)
    found = asked.ask(commands=("hang", "true"))
    assert [state for state, _ in found.values()] == ["down", "down"]
    assert "did not respond within 1 seconds" in found["true"][1] and asked.channel.commands == ["hang"]
    asked.ask()
    assert len(asked.hosts[1]["own"]) == 1  # its late answer is dropped by the next host


def test_what_cannot_be_loaded_says_why_and_what_is_around_it_says_nothing(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = State.objects.get(environment=asked.row).model
    model["Objects"]["applications"][0]["title"] = None
    State.objects.filter(environment=asked.row).update(model=model)
    state, text = asked.ask("well")["well"]
    assert state == "degraded" and text.startswith("it cannot be asked: ")
    model["Objects"]["applications"][0]["title"] = "corner"
    State.objects.filter(environment=asked.row).update(model=model)

    def away(host: HostThread) -> None:
        raise HostUnavailable("no host begins")

    monkeypatch.setattr(HostThread, "start", away)
    assert asked.ask("well", commands=("true",)) == {"well": ("running", "")}


def test_nothing_is_asked_while_a_task_works_or_after_the_next_version(asked: Asked) -> None:
    row = asked.row
    task = Task.objects.create(
        project_id=row.project_id, user_id="u", environment_id=row.id, kind="deploy", state="running", spec={},
        lease_until=clock.read() + timedelta(seconds=60),
    )  # fmt: skip
    assert asked.ask("well") == {}
    # What has begun may go on later, with plans whose stamps are of its begin.
    for state in ("running", "needs_person", "queued"):
        Task.objects.filter(id=task.id).update(state=state, attempts=1, lease_until=clock.read())
        assert asked.ask("well") == {}
    Task.objects.filter(id=task.id).update(state="queued", attempts=0)
    assert set(asked.ask("well")) == {"well"}
    task.delete()
    assert set(asked.ask("well")) == {"well"}
    Row.objects.filter(id=row.id).update(version=2)
    assert asked.ask("well") == {} and len(asked.hosts) == 2


def test_what_is_given_up_ends_soon(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    monkeypatch.setattr(Channel, "send", lambda self, queue, message: asked.prober.give_up([asked.row.id]))
    assert asked.ask(commands=("true", "exit 1")) == {}
    assert time.monotonic() - begun < probing.EFFECT


def test_code_that_computes_is_ended_when_it_is_given_up(asked: Asked) -> None:
    results: dict[str, Any] = {}
    giving = threading.Timer(2.0, asked.prober.give_up)
    giving.start()
    begun = time.monotonic()
    asked.prober.ask(asked.question("loops"), results)
    assert results == {} and time.monotonic() - begun < probing._ANSWER / 2


@pytest.mark.attack("quotas", "H3")
@pytest.mark.parametrize(
    "told", [{}, {"state": 5, "text": 7}, {"state": "stopped"}, {"why": "exit", "code": "x" * 9999, "text": "\0\ud800"}]
)
def test_whatever_a_process_answers_is_a_state_with_a_short_text(told: dict[str, Any]) -> None:
    found = verdict(told)
    assert found["state"] == "degraded" and 0 < len(found["text"]) < 300 and found["text"].isprintable()
    assert found["text"].encode()
