"""A plan in memory says what a plan by a worker and an effects host says, to the letter."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.impact.fleet import archive, environment, shop
from tests.support.fuzzing import EVERYTHING
from vetro.clouds.interface import Owner
from vetro.engine.host.config import cloud_of
from vetro.engine.planning.memory import image
from vetro.server import sandboxed_workers
from vetro.server.caller import SYSTEM
from vetro.server.catalog.imports import import_packages
from vetro.server.config import cloud_settings
from vetro.server.environments import deploy, drafts, packages, plan, queries, sessions
from vetro.server.environments.models import Environment
from vetro.server.impact.examination import state_of
from vetro.server.impact.planner import Planner
from vetro.server.setup import config
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db(transaction=True)

#: Environments that are planned both ways.
NUMBER = 50 if EVERYTHING else 4


def changed(chance: random.Random, services: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Some applications of a draft: changed, gone, new, and ones that fail."""
    made = [copy.deepcopy(one) for one in services if chance.random() < 0.8]
    for one in made:
        what = chance.randrange(6)
        if what == 0:
            one["text"] = "another text"
        elif what == 1:
            one["instance"]["flavor"] = "m1.medium"
        elif what == 2:
            one["instance"]["name"] = "renamed"
        elif what == 3:
            one["instance"]["flavor"] = "there is no such flavor"
    if chance.random() < 0.4:
        made.append(shop(900 + chance.randrange(50), text="new"))
    return made


def by_worker(caller: Any, id: str, session: str, drain: Callable[..., Any]) -> Task:
    task = plan.plan(caller, id, session)
    drain()
    task.refresh_from_db()
    return task


def in_memory(planner: Planner, id: str, root: Any, lock: Any) -> dict[str, Any]:
    found = queries.get(SYSTEM, id, model=True)
    model = deploy.start_model(found, root, lock)
    chosen = packages.resolved(SYSTEM, found, model, lock=lock)
    row = Environment.objects.get(id=id)
    sent = planner.image(row)
    assert sent is not None
    digests, now = [one.digest for one in chosen.rows], state_of(id)[2]
    with planner.conversation(row, digests) as conversation:
        told = conversation.plan(model, chosen, sent, now)
        served = conversation.served
    if served:  # what other plans left in the process makes no difference
        with planner.conversation(row, digests, alone=True) as conversation:
            assert conversation.plan(model, chosen, sent, now) == told
    return {**told, "served": served}


@pytest.fixture
def planner(cloud: Path) -> Iterator[Planner]:
    with Planner(config(), sandboxed_workers.planner()) as made:
        yield made


@pytest.mark.campaign
def test_it_is_the_same_plan(ann: Any, drain: Callable[..., Any], planner: Planner) -> None:
    """Also in a process that made plans of other environments before."""
    import_packages(ann.caller, [archive("1.0.0")])
    chance = random.Random(5)
    states, most = set(), 0
    for number in range(NUMBER):
        many = [shop(10 * number + place) for place in range(chance.randrange(1, 3))]
        id = environment(ann.caller, drain, f"env-{number}", *many)
        if chance.random() < 0.4:
            end_a_server(ann.caller.project_id, id, chance.choice(["ERROR", "SHUTOFF"]))
        session = ""
        if chance.random() < 0.8:
            session = str(sessions.open_session(ann.caller, id).id)
            services = drafts.show(ann.caller, id, session)["services"]
            drafts.put_services(ann.caller, id, session, (), changed(chance, services))
        task = by_worker(ann.caller, id, session, drain)
        found = queries.get(ann.caller, id, model=True)
        draft = sessions.readable(ann.caller, found, session) if session else None
        told = in_memory(planner, id, drafts.root_of(draft, found), packages.of_session(draft))
        assert (told["state"], told["plan"]) == (task.state, task.result), number
        assert (told["error"] or {}).get("message") == (task.error or {}).get("message"), number
        states.add(task.state)
        most = max(most, told["served"])
    assert "done" in states and most > 0


def end_a_server(project: str, id: str, status: str) -> None:
    owner = Owner(project, id)
    with closing(cloud_of(cloud_settings.cloud(config()), owner)) as cloud:
        ids = sorted(server.id for server in cloud.servers(owner))
        driver: Any = cloud.driver  # type: ignore[attr-defined]
        driver.store.run("UPDATE servers SET status = ? WHERE id = ?", (status, ids[0]))


def test_what_a_recorder_begins_with_says_nothing_of_others(
    ann: Any, eve: Any, drain: Callable[..., Any], cloud: Path
) -> None:
    """The process that runs one environment's packages has nothing of what the neighbours consist of."""
    for person in (ann, eve):
        import_packages(person.caller, [archive("1.0.0")])
    id = environment(ann.caller, drain, "mine", shop(1))
    environment(ann.caller, drain, "beside", shop(2, text="canary-words"))
    foreign = environment(eve.caller, drain, "theirs", shop(3, text="canary-words"))
    sent = image(cloud_settings.cloud(config()), Owner(ann.caller.project_id, id, "system"), {})
    state = sent["state"]
    assert b"server-1" in state
    for word in ("server-2", "server-3", "canary-words", f"{2:032x}", f"{3:032x}", foreign):
        assert word.encode() not in state, word
