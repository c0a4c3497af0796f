"""A plan is true: what is planned is what is then done. Histories are generated: servers end, are stopped, replaced."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.clouds.interface import Owner
from vetro.clouds.stacks.cloud import StackCloud
from vetro.engine.host.config import cloud_of
from vetro.model.differences import diff
from vetro.model.environment import deployed_objects
from vetro.server.config import cloud_settings
from vetro.server.environments import deploy, drafts, history, plan, power, queries, sessions
from vetro.server.environments.errors import Busy
from vetro.server.environments.models import Environment
from vetro.server.tasks.models import Task

SHOP = """\
Name: Shop
Namespaces: {=: test, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Extends: std:Application
Properties:
  instance: {Contract: $.class(res:Instance).notNull()}
  uses: {Contract: $.class(Shop)}
  text: {Contract: $.string().notNull(), Default: first}
  page: {Contract: $.string(), Usage: Out}
Methods:
  deploy:
    Body:
      - If: $.uses != null
        Then: [$.uses.deploy()]
      - $.instance.deploy()
      - If: $.getAttr(text) != $.text
        Then:
          - conf:Linux.runCommand($.instance.agent, format('echo {0}', $.text), format('Write {0}', $.text))
          - $.setAttr(text, $.text)
      - $.page: format('http://{0}/{1}', $.instance.ipAddresses.first(nowhere), $.text)
"""
_ID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
#: Histories, and steps of each.
SEEDS, STEPS = (range(40), 6) if os.environ.get("VETRO_TEST_ALL") else (range(1), 3)


class Town:
    """An environment on the recorder, and what was done to it."""

    def __init__(self, caller: Any, drain: Callable[..., int]) -> None:
        self.caller, self.drain = caller, drain
        shop.add_package(caller, shop.archive({"Classes/Shop.yaml": SHOP}))
        from vetro.server.environments import service

        self.id = str(service.create(caller, {"name": "town"})["id"])
        self.owner = Owner(caller.project_id, self.id)
        self.made = 0

    def cloud(self) -> StackCloud:
        from vetro.server.setup import config

        found = cloud_of(cloud_settings.cloud(config()), self.owner)
        assert isinstance(found, StackCloud)
        return found

    def ran(self, task: Task, *states: str) -> Any:
        self.drain()
        task.refresh_from_db()
        assert task.state in (states or ("done",)), task.error
        return task

    def shop(self, **more: Any) -> dict[str, Any]:
        self.made += 1
        id = f"shop-{self.made}"
        instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"i-{id}"}, "name": f"{id}-1",
                    "image": "debian-12-murano", "flavor": "m1.small", "assignFloatingIp": False}  # fmt: skip
        return {"?": {"type": "test.Shop", "id": id, "name": id}, "instance": instance, **more}

    def draft(self, change: Callable[[list[dict[str, Any]]], None]) -> str:
        """A session in which the applications are changed."""
        session = str(sessions.open_session(self.caller, self.id).id)
        services = drafts.show(self.caller, self.id, session)["services"]
        change(services)
        drafts.put_services(self.caller, self.id, session, (), services)
        return session

    def objects(self) -> Any:
        return deployed_objects(queries.get(self.caller, self.id, model=True).model or {})

    def seen(self) -> dict[str, Any]:
        """All that a plan speaks of, as it is now."""
        with closing(self.cloud()) as cloud:
            made = {
                state.name: (state.id, state.properties)
                for states in cloud.resources_of(self.owner).values()
                for state in states
            }
            servers = cloud.servers(self.owner)
            return {
                "resources": made,
                "servers": {server.id: (server.name, server.status) for server in servers},
                "scripts": self.scripts(cloud),
                "starts": self.starts(cloud),
                "objects": self.objects(),
            }

    def scripts(self, cloud: StackCloud) -> dict[Any, tuple[str, str]]:
        """What ran until now, in its order, each under a key of its own: its server, its plan."""
        driver: Any = cloud.driver
        return dict(enumerate((sent.server, sent.name) for sent in driver.plans(self.owner)))

    def starts(self, cloud: StackCloud) -> dict[Any, str]:
        """Each start of a server until now, under a key of its own: the server's id."""
        driver: Any = cloud.driver
        return dict(enumerate(driver.started()))

    def end(self, number: int, status: str = "ERROR") -> None:
        """Servers end by themselves."""
        with closing(self.cloud()) as cloud:
            ids = sorted(server.id for server in cloud.servers(self.owner))
            driver: Any = cloud.driver
            driver.store.run("UPDATE servers SET status = ? WHERE id = ?", (status, ids[number % len(ids)]))

    def planned_and_done(self, session: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a plan says, and what the deployment of the same draft then did, in the same words."""
        planned = self.ran(plan.plan(self.caller, self.id, session), "done", "failed")
        before = self.seen()
        deployed = self.ran(deploy.deploy(self.caller, self.id, session), planned.state)
        if planned.state == "failed":  # servers were shut down from inside; the same is in the way of both
            assert planned.error["message"] == deployed.error["message"]
            self.ran(power.change(self.caller, self.id, "start"))
            return self.planned_and_done(str(sessions.open_session(self.caller, self.id).id))
        result: Any = planned.result
        after = self.seen()
        said = {
            "resources": {r["name"]: (r["what"], r["properties"]) for s in result["stacks"] for r in s["resources"]},
            "servers": [(s["name"], s["was"]) for s in result["servers"]],
            "scripts": [(s["server"], s["plan"]) for s in result["scripts"]],
            "objects": result["objects"],
        }
        return _comparable(said), _comparable(_done(before, after))


def _comparable(told: dict[str, Any]) -> dict[str, Any]:
    """With the ids that follow from the id of the task as numbers, in the order in which they come, and without the
    part of addresses that follows from these."""
    numbers: dict[str, str] = {}
    text = re.sub(r"10\.0\.\d+\.", "10.0.#.", json.dumps([told["objects"], sorted(told["servers"]), told["scripts"]]))
    objects, servers, scripts = json.loads(_ID.sub(lambda id: numbers.setdefault(id[0], f"#{len(numbers)}"), text))
    resources = sorted([_ID.sub("#", name), list(rest)] for name, rest in told["resources"].items())
    return {"objects": objects, "servers": servers, "scripts": scripts, "resources": resources}


def _done(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    resources = {}
    for name in {*before["resources"], *after["resources"]}:
        old, new = before["resources"].get(name), after["resources"].get(name)
        if old == new:
            continue
        if old is None or new is None:
            resources[name] = ("created" if old is None else "deleted", [])
            continue
        differing = sorted(key for key in {*old[1], *new[1]} if old[1].get(key) != new[1].get(key))
        resources[name] = ("changed" if old[0] == new[0] else "replaced", differing)
    started = dict.fromkeys(id for key, id in after["starts"].items() if key not in before["starts"])
    servers = [
        (before["servers"][id][0], "stopped" if before["servers"][id][1] == "SHUTOFF" else "ended")
        for id in started
        if id in before["servers"] and id in after["servers"] and before["servers"][id][1] != "ACTIVE"
    ]
    return {
        "resources": resources,
        "servers": servers,
        "scripts": [ran for key, ran in after["scripts"].items() if key not in before["scripts"]],
        "objects": [item.as_json() for item in diff(before["objects"], after["objects"])],
    }


@pytest.fixture
def town(ann: Any, drain: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    from vetro.server import setup
    from vetro.server.config.config import Config

    given = {"cloud.driver": "record", "cloud.directory": str(tmp_path / "cloud")}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
    yield Town(ann.caller, drain)


def _change(town: Town, chance: random.Random) -> Callable[[list[dict[str, Any]]], None]:
    def change(services: list[dict[str, Any]]) -> None:
        for _ in range(chance.randrange(3)):
            what = chance.choice(("add", "remove", "text", "flavor", "nothing"))
            one = chance.choice(services) if services else None
            if what == "add" or one is None:
                services.append(town.shop(text=chance.choice("abc")))
            elif what == "remove" and all(other.get("uses") != one["?"]["id"] for other in services):
                services.remove(one)
            elif what == "text":
                one["text"] = chance.choice("abc")
            elif what == "flavor":
                one["instance"]["flavor"] = chance.choice(("m1.small", "m1.medium"))

    return change


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_planned_is_what_is_done(town: Town, seed: int) -> None:
    live(town, random.Random(seed), STEPS)


def live(town: Town, chance: random.Random, steps: int) -> None:
    """A history by chance: of each step it was planned what is done."""
    said, done = town.planned_and_done(
        town.draft(lambda services: services.extend([town.shop(), town.shop(uses="shop-1"), town.shop(text="c")]))
    )
    assert said == done
    for _ in range(steps):
        for _ in range(chance.randrange(3)):
            town.end(chance.randrange(9), chance.choice(("ERROR", "ERROR", "SHUTOFF")))
        if chance.randrange(3) == 0 and town.objects()["applications"]:
            town.ran(
                power.change(town.caller, town.id, "stop", chance.choice(town.objects()["applications"])["?"]["id"])
            )
        said, done = town.planned_and_done(town.draft(_change(town, chance)))
        assert said == done


def test_a_healthy_environment_has_nothing_to_plan_and_an_ended_server_is_told(town: Town) -> None:
    town.ran(deploy.deploy(town.caller, town.id, town.draft(lambda services: services.append(town.shop()))))
    nothing: Any = town.ran(plan.plan(town.caller, town.id, "")).result
    assert nothing == {"objects": [], "stacks": [], "servers": [], "scripts": [], "unknown": []}
    town.end(0)
    found: Any = town.ran(plan.plan(town.caller, town.id, "")).result
    assert [(one["name"], one["was"]) for one in found["servers"]] == [("shop-1-1", "ended")]
    assert (found["objects"], found["stacks"]) == ([], [])
    town.ran(power.change(town.caller, town.id, "start"))
    town.ran(power.change(town.caller, town.id, "stop"))
    found = town.ran(plan.plan(town.caller, town.id, "")).result
    assert [(one["name"], one["was"]) for one in found["servers"]] == [("shop-1-1", "stopped")]
    assert Environment.objects.get(id=town.id).stopped


def test_what_replaces_a_server_says_so(town: Town) -> None:
    town.ran(deploy.deploy(town.caller, town.id, town.draft(lambda services: services.append(town.shop()))))

    def other(services: list[dict[str, Any]]) -> None:
        services[0]["instance"]["image"] = "debian-docker-murano"

    said, done = town.planned_and_done(town.draft(other))
    assert said == done
    assert [what for name, (what, _) in said["resources"] if name == "shop-1-1"] == ["replaced"]


def test_a_repair_is_what_it_was_planned_to_be_and_takes_no_draft_away(town: Town) -> None:
    """It deploys what is deployed, not what somebody writes meanwhile; that can be deployed afterwards."""
    town.ran(deploy.deploy(town.caller, town.id, town.draft(lambda services: services.append(town.shop()))))

    def write(services: list[dict[str, Any]]) -> None:
        services[0]["text"] = "mine"
        services.append(town.shop())

    draft = town.draft(write)
    town.end(0)
    planned: Any = town.ran(plan.of_repair(town.caller, town.id)).result
    assert [(one["name"], one["was"]) for one in planned["servers"]] == [("shop-1-1", "ended")]
    assert (planned["objects"], planned["stacks"], planned["scripts"]) == ([], [], [])
    before = town.seen()
    task = town.ran(deploy.repair(town.caller, town.id))
    done = _done(before, town.seen())
    assert done == {"resources": {}, "servers": [("shop-1-1", "ended")], "scripts": [], "objects": []}
    assert history.states(town.caller, town.id)[0]["kind"] == "repair" == task.kind
    assert deploy.repair(town.caller, town.id)  # sent twice: the second one is another, or refused
    with pytest.raises(Busy):
        deploy.repair(town.caller, town.id)
    town.drain()
    town.ran(deploy.deploy(town.caller, town.id, draft))
    assert [(one["?"]["id"], one["text"]) for one in town.objects()["applications"]] == [
        ("shop-1", "mine"),
        ("shop-2", "first"),
    ]
