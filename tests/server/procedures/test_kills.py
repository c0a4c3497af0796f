"""Guarded updates that fail and are killed: they end kept or restored, never between, and restored is as before.

What a case draws is in its seed: what goes wrong with the update, whom the kills hit, and where. The campaign on record
clouds makes 300 of them; `test_kills_real` looks at files of real servers.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.server.procedures.kills import (
    CALLER,
    MOST,
    Case,
    Forks,
    Kill,
    Killer,
    Service,
    Victim,
    forks,
    in_process,
    state,
    work,
)
from tests.server.tasks import shop
from tests.support.installation import prepared
from vetro.engine.task.launcher import Launcher
from vetro.engine.watching.states import State
from vetro.server.config.config import Config

#: A shop with servers in its stack: another size is changed in place, another name is another server.
FARM = """\
Name: Shop
Namespaces: {=: test, std: io.murano}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  size: {Contract: $.string().notNull(), Default: m1.small}
  fail: {Contract: $.string().notNull(), Default: ''}
Methods:
  deploy:
    Body:
      - $stack: $.find(std:Environment).stack
      - $server: dict(image => 'debian-12-murano', flavor => $.size, user_data_format => RAW, user_data => $.title)
      - $resources:
          host: {type: 'OS::Nova::Server', properties: $server}
          word: {type: 'OS::Heat::RandomString', properties: {length: 8}}
      - If: $.fail = 'before'
        Then: [{Throw: Failed, Message: before}]
      - $stack.updateTemplate(dict(heat_template_version => '2013-05-23', resources => $resources))
      - $stack.push()
      - $.find(std:Environment).reporter.report($this, 'open')
      - If: $.fail = 'reported'
        Then:
          - $.find(std:Environment).reporter.report_error($this, 'something is odd')
      - If: $.fail = 'after'
        Then: [{Throw: Failed, Message: after}]
"""
#: What goes wrong with an update: its deployment before and after it changed something, or by what it reports; its
#: components are down afterwards; somebody wants it back; nothing.
KINDS = ("before", "after", "reported", "health", "asked", "fine")
#: Whom kills hit: who works, its effects host, its task process.
VICTIMS: tuple[Victim, ...] = ("self", "self", "host", "task")
#: The phases of an update: how many statements are made in each when nothing is killed, and steps of the engine.
PHASES = {
    "begin": (65, 0),
    "make": (76, 12),
    "deploy": (94, 31),
    "look": (28, 0),
    "restore": (63, 12),
    "drop": (40, 12),
    "between": (26, 0),
}


def _draft(**properties: Any) -> str:
    """A session with the shop as it is to be."""
    from vetro.server.environments import drafts, sessions
    from vetro.server.environments.models import Environment

    environment = Environment.objects.get().id
    session = sessions.open_session(CALLER, environment).id
    one = {"?": {"type": "test.Shop", "id": "shop-1"}, "title": "corner", **properties}
    drafts.put_services(CALLER, environment, session, (), [one])
    return str(session)


def prepare(service: Service, forks: Forks, write: int, farm: str = FARM) -> None:
    """Deploys the shop in a new data folder (`prepared`)."""
    from vetro.server.environments import deploy
    from vetro.server.environments import service as environments
    from vetro.server.environments.models import Environment
    from vetro.server.local import database

    with ExitStack() as stack:
        config = service.opened(stack)
        database.prepare(config)
        shop.add_package(CALLER, shop.archive({"Classes/Shop.yaml": farm}))
        environments.create(CALLER, {"name": "market"})
        task = deploy.deploy(CALLER, Environment.objects.get().id, _draft(**service.properties))
        work(config, forks, Killer((), write), lambda row: {})
        task.refresh_from_db()
        assert task.state == "done", task.error


def _begin(service: Service, kind: str, update: int) -> None:
    """Begins an update, where that was not done."""
    from vetro.server.environments.models import Environment
    from vetro.server.procedures import service as procedures
    from vetro.server.procedures.models import Procedure

    if Procedure.objects.count() == update:
        return
    fail = kind if kind in ("before", "after", "reported") else ""
    session = _draft(**service.properties, title=f"large {update}", fail=fail)
    guard = procedures.Guard(wanted=True, settle=30.0)
    procedures.deploy(CALLER, Environment.objects.get().id, session, guard)


def _ask() -> None:
    """Somebody wants it back, before the first look."""
    from vetro.server.environments.models import Environment
    from vetro.server.errors import ServiceError
    from vetro.server.procedures import service as procedures

    try:
        procedures.undo(CALLER, Environment.objects.get().id)
    except ServiceError:  # it is being taken back
        pass


@pytest.fixture(scope="module", autouse=True)
def own_databases(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Processes of these tests bring databases of their own, which are SQLite's."""
    if connection.vendor != "sqlite":
        pytest.skip("its services have SQLite")  # and what this process knows of the other one they would believe
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder as a new installation has it."""
    folder = tmp_path_factory.mktemp("guarded") / "data"
    prepared(folder)
    return folder


@pytest.fixture(scope="module")
def forked(installed: Path) -> Iterator[Forks]:
    """What all processes of these cases are forked from."""
    with forks(installed / "cache" / "code", "record") as found:
        yield found


@pytest.fixture(scope="module")
def template(installed: Path, forked: Forks) -> Path:
    """The data folder with a shop that is deployed."""
    alive, _ = in_process(partial(prepare, recorded(installed), forked))
    assert alive
    return installed


def nothing(config: Config) -> None:
    """Nothing else is looked at."""


Look = Callable[[Config], Any]


def shown(service: Service, files: Look, write: int) -> None:
    """Says how everything stands; ``files``: what else is to be as before."""
    with ExitStack() as stack:
        config = service.opened(stack)
        Killer((), write).say(state={**state(service), "files": files(config)})


def seen(service: Service, files: Look) -> dict[str, Any]:
    """How everything stands."""
    _, (found,) = in_process(partial(shown, service, files))
    return dict(found["state"])


@dataclass(frozen=True)
class Scene:
    """Where updates are made: what else is to be as before, how components are when somebody looks, what else kills
    hit, and how."""

    service: Service
    forks: Forks
    files: Look = nothing
    health: Callable[[Config, Launcher, Any], dict[str, State]] = lambda *_: {"shop-1": State.SIMULATED}
    servers: Callable[[Victim], None] | None = None


def _process(scene: Scene, kind: str, kills: list[Kill], update: int, write: int) -> None:
    """One process of the service, which is killed or kills, or comes to the end and says how everything stands."""
    from django.db import connection

    service, forks = scene.service, scene.forks
    killer = Killer(kills, write, scene.servers)

    def health(row: Any) -> dict[str, State]:
        return {"shop-1": State.DOWN} if kind == "health" else scene.health(config, forks.launcher, row)

    with ExitStack() as stack:
        config = service.opened(stack)
        with connection.execute_wrapper(killer.statement):
            killer.enter("begin")
            _begin(service, kind, update)
            work(config, forks, killer, health, _ask if kind == "asked" else None)
        if os.environ.get("VETRO_COUNTS"):
            print(kind, killer.counts)
        killer.say(state={**state(service), "files": scene.files(config)})


def drawn(chance: random.Random, kind: str, servers: bool) -> list[Kill]:
    """The kills of a case, in phases that it has. ``servers``: one of a server, too, while an update changes it."""
    passed = ["begin", "make", "deploy", "drop", "between"]
    passed += ["look"] if kind in ("health", "fine") else []
    passed += ["restore"] if kind != "fine" else []
    kills = []
    for _ in range(chance.randint(1, 4)):
        phase = chance.choice(passed)
        statements, steps = PHASES[phase]
        victim = chance.choice(VICTIMS) if steps else "self"
        kills.append(Kill(phase, victim, chance.randint(1, statements if victim == "self" else steps)))
    if servers and chance.random() < 0.5:
        kills.append(Kill("deploy", chance.choice(("keeper", "server")), chance.randint(1, PHASES["deploy"][1])))
    return kills


def run_case(scene: Scene, before: dict[str, Any], seed: int) -> tuple[Case, dict[str, Any]]:
    """One update: what happened, and how everything stood afterwards."""
    chance = random.Random(f"guarded {seed}")
    case, began = Case(seed, chance.choice(KINDS)), time.monotonic()
    kills, after = drawn(chance, case.kind, scene.servers is not None), before
    while case.processes < MOST:
        case.processes += 1
        one = partial(_process, scene, case.kind, kills, before["procedures"] + 1)
        alive, said = in_process(one)
        for killed in [line for line in said if "killed" in line]:
            kills.remove(Kill(*killed["killed"]))
            case.kills.append(f"{' '.join(map(str, killed['killed']))}: {killed['what']}")
        if alive:
            after = said[-1]["state"]
            break
    case.step, case.seconds = str(after["step"]), round(time.monotonic() - began, 2)
    case.standstill = max((one["standstill"] for one in after["held"]), default=0.0)
    return case, after


def verdict(kind: str, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is not as it has to be."""
    wrong = []
    if after["step"] not in ("kept", "restored") or not after["final"]:
        return [f"it stays between: {after['step']}"]
    if (after["step"] == "kept") != (kind == "fine") and not (kind == "fine" and after["step"] == "restored"):
        wrong.append(f"{kind} is {after['step']}")
    if after["open"] or after["reserved"]:
        wrong.append("a task, or the reservation, is left")
    if after["cloud"]["snapshots"]:
        wrong.append("something is still held")
    if after["tasks"].count("deploy") > 1:
        wrong.append("deployed twice")
    if after["step"] == "restored":
        for name in ("model", "lock", "answers", "packages", "failure", "stopped", "files"):
            if before[name] != after[name]:
                wrong.append(f"{name} is not as before")
        for table, rows in before["cloud"]["rows"].items():
            if rows != after["cloud"]["rows"][table]:
                lost = set(rows) ^ set(after["cloud"]["rows"][table])
                wrong.append(f"{table} of the cloud are not as before: {sorted(lost)[:4]}")
    elif after["model"] == before["model"]:
        wrong.append("nothing was deployed")
    return wrong


def check(scene: Scene, before: dict[str, Any], seed: int) -> tuple[Case, dict[str, Any]]:
    """One case, which has to end well; and how everything stands then."""
    case, after = run_case(scene, before, seed)
    wrong = verdict(case.kind, before, after)
    assert not wrong, (case, wrong, after["reason"], after["tasks"], after["errors"])
    return case, after


def recorded(folder: Path) -> Service:
    """A service whose cloud writes down what it is told."""
    return Service(folder, **{"cloud.driver": "record"})


def copied(template: Path, folder: Path) -> Service:
    """A service of its own, with the shop that is deployed."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    return recorded(folder)


@pytest.fixture(scope="module")
def before(template: Path) -> dict[str, Any]:
    """How everything stands there."""
    return seen(recorded(template), nothing)


def test_a_killed_update_ends_restored(template: Path, forked: Forks, before: dict[str, Any], tmp_path: Path) -> None:
    case, after = check(Scene(copied(template, tmp_path / "case"), forked), before, 1006)
    assert after["step"] == "restored" and case.kills


@pytest.mark.campaign
@pytest.mark.timeout(5400)  # two seconds a case, and what a busy machine makes of it
def test_three_hundred_killed_updates(template: Path, forked: Forks, before: dict[str, Any], tmp_path: Path) -> None:
    """``VETRO_CASES`` makes other numbers of them; what was killed is told at the end."""
    count = int(os.environ.get("VETRO_CASES", "300"))
    first = int(os.environ.get("VETRO_FIRST", "1000"))
    cases, wrong = [], []
    for number in range(count):
        try:
            case, _ = check(Scene(copied(template, tmp_path / "case"), forked), before, first + number)
        except AssertionError as error:
            wrong.append(error)
            print(error, flush=True)
            continue
        cases.append(case)
        print(case, flush=True)
    tell(cases)
    assert not wrong, wrong
    assert sum(len(case.kills) for case in cases) >= count


def tell(cases: list[Case]) -> None:
    """Prints how many ended how, and where kills hit."""
    ends = Counter(case.step for case in cases)
    phases = Counter(" ".join(kill.split()[:2]) for case in cases for kill in case.kills)
    seconds = sum(case.seconds for case in cases)
    print(f"{len(cases)} updates, {phases.total()} kills, {seconds:.0f} s: {dict(ends)}; {dict(phases)}")
