"""Upgrades one by one that fail and are killed: all of it, or what went before, or nothing, and never between."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.server.procedures.kills import CALLER, MOST, Forks, Kill, Killer, Service, forks, in_process, state, work
from tests.server.procedures.test_kills import nothing, own_databases, recorded, seen
from tests.server.tasks import shop
from tests.support.installation import prepared
from vetro.engine.watching.states import State
from vetro.model.tree import by_id

__all__ = ["own_databases"]

#: A shop with a word of its own in the stack; a new version makes it longer.
STALL = """\
Name: Shop
Namespaces: {=: test, std: io.murano}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  fail: {Contract: $.bool().notNull(), Default: false}
Methods:
  deploy:
    Body:
      - $stack: $.find(std:Environment).stack
      - $word: dict(type => 'OS::Heat::RandomString', properties => dict(length => %d))
      - $stack.updateTemplate(dict(heat_template_version => '2013-05-23', resources => dict($.title => $word)))
      - $stack.push()
      - If: $.fail
        Then: [{Throw: Failed, Message: closed}]
"""
KINDS = ("fine", "fails", "health")
#: The phases of an update, and about how many statements are made in each.
PHASES = {"begin": 140, "make": 76, "deploy": 94, "look": 120, "restore": 63, "drop": 40, "between": 30}


def version(number: int) -> bytes:
    """The archive of a version."""
    manifest = f"{shop.MANIFEST}Version: {number}.0.0\n".replace("MuranoPL/1.3", "1.4")
    return shop.archive({"Classes/Shop.yaml": STALL % (8 * number)}, manifest)


def prepare(service: Service, forked: Forks, write: int) -> None:
    """Deploys two shops of version 1; version 2 is in the catalog."""
    from vetro.server.environments import deploy, drafts, sessions
    from vetro.server.environments import service as environments
    from vetro.server.environments.models import Environment
    from vetro.server.local import database

    with ExitStack() as stack:
        config = service.opened(stack)
        database.prepare(config)
        shop.add_package(CALLER, version(1))
        environments.create(CALLER, {"name": "market"})
        id = Environment.objects.get().id
        session = sessions.open_session(CALLER, id).id
        two = [{"?": {"type": "test.Shop", "id": name, "name": name}, "title": name} for name in ("one", "two")]
        drafts.put_services(CALLER, id, session, (), two)
        task = deploy.deploy(CALLER, id, session)
        work(config, forked, Killer((), write), lambda row: {})
        task.refresh_from_db()
        assert task.state == "done", task.error
        shop.add_package(CALLER, version(2))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Forks]]:
    """A data folder with two shops that are deployed, and what processes are forked from."""
    folder = tmp_path_factory.mktemp("chains") / "data"
    prepared(folder)
    with forks(folder / "cache" / "code", "record") as forked:
        assert in_process(partial(prepare, recorded(folder), forked))[0]
        yield folder, forked


def process(service: Service, forked: Forks, kind: str, together: bool, kills: list[Kill], write: int) -> None:
    """One process of the service, which is killed, or comes to the end and says how everything stands."""
    from django.db import connection

    from vetro.server.environments.models import Environment, Session
    from vetro.server.environments.upgrades import Request
    from vetro.server.procedures import chains
    from vetro.server.procedures.models import Procedure
    from vetro.server.procedures.service import Guard

    killer = Killer(kills, write)

    def health(row: Any) -> dict[str, State]:
        second = row.record["part"] == 1
        return {"two": State.DOWN} if kind == "health" and second else {"two": State.SIMULATED}

    with ExitStack() as stack:
        config = service.opened(stack)
        with connection.execute_wrapper(killer.statement):
            killer.enter("begin")
            if not Procedure.objects.exists():
                answers = {"two": {"fail": True}} if kind == "fails" else {}
                wanted = Request(to={"test.shop": "2.0.0"}, answers=answers)
                guard = Guard(True, settle=30.0)
                chains.begin(CALLER, Environment.objects.get().id, wanted, guard, together=together)
            work(config, forked, killer, health)
        opened = Session.objects.filter(state=Session.OPENED, upgrade__isnull=False, version__gt=1).count()
        killer.say(state={**state(service), "files": None, "opened": opened})


def drawn(chance: random.Random) -> list[Kill]:
    """The kills of a case."""
    phases = [chance.choice(list(PHASES)) for _ in range(chance.randint(1, 4))]
    kills = [Kill(phase, "self", chance.randint(1, PHASES[phase])) for phase in phases]
    if chance.random() < 0.4:
        kills.append(Kill("deploy", chance.choice(("host", "task")), chance.randint(1, 60)))
    return kills


def versions(told: dict[str, Any]) -> list[str]:
    """The versions of the two, as deployed."""
    found = by_id(told["model"]["Objects"])
    return [found[name]["?"]["type"].partition("/")[2].partition(".")[0] for name in ("one", "two")]


def verdict(kind: str, together: bool, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is not as it has to be."""
    if after["step"] not in ("kept", "restored") or not after["final"]:
        return [f"it stays between: {after['step']}"]
    wrong = []
    if after["open"] or after["reserved"] or after["opened"] or after["cloud"]["snapshots"]:
        wrong.append("a task, a draft, a snapshot or the reservation is left")
    if after["tasks"].count("deploy") > 2:
        wrong.append("deployed again")
    went_well = after["step"] == "kept" and after["reason"] in ("", "None")
    if went_well != (versions(after) == ["2", "2"]) or (went_well and kind != "fine"):
        wrong.append(f"{kind} is {after['step']} with {versions(after)}: {after['reason']}")
    whole = versions(after) == ["1", "1"]
    if together and not went_well and not whole:
        wrong.append("not all went back")
    if not went_well and not whole and versions(after) != ["2", "1"]:
        wrong.append("what was not to go first went first")
    if whole:
        for name in ("model", "lock", "answers", "packages", "failure", "stopped"):
            if before[name] != after[name]:
                wrong.append(f"{name} is not as before")
        for table, rows in before["cloud"]["rows"].items():
            if rows != after["cloud"]["rows"][table]:
                wrong.append(f"{table} of the cloud are not as before")
    return wrong


def run_case(template: tuple[Path, Forks], folder: Path, before: dict[str, Any], seed: int) -> Counter[str]:
    """One chain, which has to end well: how it ended, and how many kills hit."""
    chance = random.Random(f"chain {seed}")
    kind, together, kills = chance.choice(KINDS), chance.random() < 0.5, drawn(chance)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template[0], folder)
    service, hit = recorded(folder), []
    for _ in range(MOST):
        alive, said = in_process(partial(process, service, template[1], kind, together, kills))
        for killed in [line for line in said if "killed" in line]:
            kills.remove(Kill(*killed["killed"]))
            hit.append(f"{killed['killed']} {killed['what']}")
        if alive:
            break
    assert alive, (seed, kind, together, hit)
    after = said[-1]["state"]
    wrong = verdict(kind, together, before, after)
    assert not wrong, (seed, kind, together, hit, wrong, after["reason"], after["tasks"], after["errors"])
    print(seed, kind, "together" if together else "each", after["step"], versions(after), hit, flush=True)
    return Counter({"kills": len(hit), f"{after['step']} {'-'.join(versions(after))}": 1})


@pytest.mark.campaign
@pytest.mark.timeout(5400)
def test_forty_killed_chains(template: tuple[Path, Forks], tmp_path: Path) -> None:
    """``VETRO_CASES`` makes other numbers of them."""
    before = seen(recorded(template[0]), nothing)
    counted: Counter[str] = Counter()
    first = int(os.environ.get("VETRO_FIRST", "1"))
    for number in range(int(os.environ.get("VETRO_CASES", "40"))):
        counted += run_case(template, tmp_path / "case", before, first + number)
    print(dict(counted))
