"""Guarded updates that fail and are killed: they end kept or restored, never between, and restored is as before.

What a case draws is in its seed: what goes wrong with the update, whom the kills hit, and where. The campaign on record
clouds makes 300 of them; `tests.clouds.nspawn` looks at files of real servers.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.server.procedures.kills import CALLER, MOST, Case, Kill, Service, Victim, chances, in_process, shown, work
from tests.server.tasks import shop
from vetro.engine.watching.states import State

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
KINDS = ("before", "after", "reported", "health", "fine")
VICTIMS: tuple[Victim, ...] = ("self", "self", "host", "task")


def _draft(**properties: Any) -> str:
    """A session with the shop as it is to be."""
    from vetro.server.environments import drafts, sessions
    from vetro.server.environments.models import Environment

    environment = Environment.objects.get().id
    session = sessions.open_session(CALLER, environment).id
    one = {"?": {"type": "test.Shop", "id": "shop-1"}, "title": "corner", **properties}
    drafts.put_services(CALLER, environment, session, (), [one])
    return str(session)


def prepare(service: Service, farm: str = FARM) -> None:
    """Deploys the shop in a new data folder."""
    from vetro.server.environments import deploy
    from vetro.server.environments import service as environments
    from vetro.server.environments.models import Environment
    from vetro.server.local import database
    from vetro.server.tasks.worker import run_queued

    with ExitStack() as stack:
        config = service.config()
        service.folder.mkdir(parents=True, exist_ok=True)
        config = service.opened(stack)
        database.prepare(config)
        shop.add_package(CALLER, shop.archive({"Classes/Shop.yaml": farm}))
        environments.create(CALLER, {"name": "market"})
        task = deploy.deploy(CALLER, Environment.objects.get().id, _draft(**service.properties))
        run_queued(config)
        task.refresh_from_db()
        assert task.state == "done", task.error


def _begin(service: Service, kind: str, kill: Kill, update: int) -> None:
    from django.db import connection

    from vetro.server.environments.models import Environment
    from vetro.server.procedures import service as procedures
    from vetro.server.procedures.models import Procedure

    with ExitStack() as stack:
        service.opened(stack)
        if Procedure.objects.count() == update:
            return
        fail = kind if kind in ("before", "after", "reported") else ""
        session = _draft(**service.properties, title=f"large {update}", fail=fail)
        with connection.execute_wrapper(kill.statement):
            guard = procedures.Guard(wanted=True, settle=30.0)
            procedures.deploy(CALLER, Environment.objects.get().id, session, guard)


@pytest.fixture(scope="module", autouse=True)
def own_databases(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Processes of these tests bring databases of their own."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a shop that is deployed."""
    folder = tmp_path_factory.mktemp("guarded") / "data"
    alive, _ = in_process(lambda _: prepare(Service(folder)))
    assert alive
    return folder


def _process(service: Service, kind: str, victim: Victim, at: int, update: int, begun: bool, write: int) -> None:
    """One process of the service, that is killed or kills."""
    kill = Kill(victim, at, write)
    if not begun:
        _begin(service, kind, kill, update)
    else:
        state = State.DOWN if kind == "health" else State.SIMULATED
        work(service, kill, lambda row: {"shop-1": state})


def nothing(config: Any) -> None:
    """Nothing else is looked at."""


def run_case(service: Service, seed: int, files: Any = nothing) -> tuple[Case, dict[str, Any], dict[str, Any]]:
    """One update: what happened, and how everything stood before and afterwards."""
    case, chance = Case(seed), chances(seed)
    kind = chance.choice(KINDS)
    look = partial(shown, service, files)
    _, (before,) = in_process(look)
    update, left, begun = before["procedures"] + 1, chance.randint(1, 4), False
    after: dict[str, Any] = before
    victim: Victim
    while case.processes < MOST:
        case.processes += 1
        if not begun:
            victim, at = ("self", chance.randint(1, 120)) if left and chance.random() < 0.3 else ("nobody", 0)
        elif left:
            victim = chance.choice(VICTIMS)
            at = chance.randint(1, 400) if victim == "self" else chance.randint(1, 60)
        else:
            victim, at = "nobody", 0
        _, said = in_process(partial(_process, service, kind, victim, at, update, begun))
        killed = [one["killed"] for one in said if "killed" in one]
        case.killed += killed
        case.kills += len(killed)
        left -= len(killed) or int(victim != "nobody")
        _, (after,) = in_process(partial(shown, service, nothing))
        begun = begun or after["procedures"] == update
        if begun and after["final"] and not after["open"]:
            break
    _, (after,) = in_process(look)
    case.step = str(after["step"])
    case.standstill = max((one["standstill"] for one in after["held"]), default=0.0)
    case.killed.insert(0, kind)
    return case, before, after


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


def check(service: Service, seed: int, files: Any = nothing) -> Case:
    """One case, which has to end well."""
    case, before, after = run_case(service, seed, files)
    wrong = verdict(case.killed[0], before, after)
    assert not wrong, (seed, wrong, case.killed, after["reason"], after["tasks"])
    return case


def copied(template: Path, folder: Path) -> Service:
    """A service of its own, with the shop that is deployed."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    return Service(folder)


@pytest.mark.campaign  # kills without processes are tried by `test_store`
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_updates_end_kept_or_restored(template: Path, tmp_path: Path, seed: int) -> None:
    check(copied(template, tmp_path / "case"), seed)


@pytest.mark.campaign
def test_three_hundred_killed_updates(template: Path, tmp_path: Path) -> None:
    """``VETRO_CASES`` makes other numbers of them; what was killed is told at the end."""
    count = int(os.environ.get("VETRO_CASES", "300"))
    first = int(os.environ.get("VETRO_FIRST", "1000"))
    cases = []
    for number in range(count):
        cases.append(check(copied(template, tmp_path / "case"), first + number))
        print(cases[-1], flush=True)
    ends = {step: sum(case.step == step for case in cases) for step in ("kept", "restored")}
    kills = sum(case.kills for case in cases)
    print(f"{count} updates, {kills} kills: {ends}")
    assert sum(ends.values()) == count and kills >= count / 2
