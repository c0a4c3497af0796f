"""Packages with stacks of a real Heat: deployed, changed, deployed again, broken, mended, deleted."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.acceptance.openstack.place import Catalog, OpenStack, soon
from tests.server.servekit import alive
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(280)


def hot(**values: Any) -> dict[str, Any]:
    kind = {"type": "com.example.vetro.os.Hot", "id": "b2" * 16}
    return {"?": kind, "name": "hot", "templateParameters": values}


def tower(**values: Any) -> dict[str, Any]:
    return {"?": {"type": "com.example.vetro.os.Tower", "id": "c3" * 16}, **values}


def test_a_template_lives_in_heat(catalog: Catalog, openstack: OpenStack) -> None:
    environment = catalog.environment("hot")
    status, app = catalog.deploy(environment, hot(word="one"))
    assert status == "ready", catalog.told(environment)
    assert app["templateOutputs"]["said"] == "one"
    secret = app["templateOutputs"]["secret"]
    (stack,) = openstack.stacks()
    assert stack["stack_status"] == "CREATE_COMPLETE" and "vetro" in stack["tags"]

    status, app = catalog.deploy(environment, {**app, **hot(word="two")})
    assert status == "ready", catalog.told(environment)
    assert app["templateOutputs"] == {"said": "two", "secret": secret}
    before = openstack.stacks()
    assert [row["id"] for row in before] == [stack["id"]]

    # The same again changes nothing.
    status, app = catalog.deploy(environment, app)
    assert status == "ready" and openstack.stacks() == before

    status, _ = catalog.deploy(environment, {**app, **hot(word="three", broken=True)})
    assert status == "deploy failure"
    told = " ".join(catalog.told(environment))
    assert "UPDATE_FAILED" in told and "Test Resource failed test" in told
    status, app = catalog.deploy(environment, {**app, **hot(word="four")})
    assert status == "ready", catalog.told(environment)
    assert app["templateOutputs"] == {"said": "four", "secret": secret}
    catalog.delete(environment)
    assert openstack.stacks() == []


def test_muranopl_pushes_stacks(catalog: Catalog, openstack: OpenStack) -> None:
    environment = catalog.environment("tower")
    status, _ = catalog.deploy(environment, tower(floors=1, broken=True))
    assert status == "deploy failure"
    assert "CREATE_FAILED" in " ".join(catalog.told(environment))
    (failed,) = openstack.stacks()

    status, app = catalog.deploy(environment, tower(floors=2))
    assert status == "ready", catalog.told(environment)
    assert app["outputs"] == {"floor0": "floor0", "floor1": "floor1"} and app["aside"] == {"o": "2 floors"}
    stacks = openstack.stacks()
    assert len(stacks) == 2 and failed["id"] in [row["id"] for row in stacks]
    catalog.delete(environment)
    soon(lambda: openstack.stacks() == [])


def test_a_template_that_heat_refuses_names_what_is_wrong(catalog: Catalog, openstack: OpenStack) -> None:
    environment = catalog.environment("refused")
    status, _ = catalog.deploy(environment, tower(floors=1, kind="OS::No::Such"))
    assert status == "deploy failure"
    assert "The Resource Type (OS::No::Such) could not be found" in " ".join(catalog.told(environment))
    assert openstack.stacks() == []
    catalog.delete(environment)


def test_a_service_killed_while_a_stack_is_made_adopts_it(catalog: Catalog, openstack: OpenStack) -> None:
    environment = catalog.environment(f"killed {uuid.uuid4().hex[:6]}")
    catalog.begin(environment, tower(floors=1, seconds=8))
    soon(lambda: any(row["stack_status"] == "CREATE_IN_PROGRESS" for row in openstack.stacks()))
    (begun,) = openstack.stacks()
    children = catalog.service.everybody()
    catalog.service.process.kill()
    catalog.service.process.wait()
    (same,) = openstack.stacks()
    assert same["stack_status"] == "CREATE_IN_PROGRESS", "Heat was too quick to be seen at work"
    until(lambda: not any(map(alive, children)))

    catalog.start()
    status, app = catalog.settled(environment)
    assert status == "ready", catalog.told(environment)
    assert app["outputs"] == {"floor0": "floor0"}
    (stack,) = [row for row in openstack.stacks() if row["id"] == begun["id"]]
    assert len(openstack.stacks()) == 2  # the other one is the tower's own
    states = openstack.events(stack)
    assert states.count(("floor0", "CREATE_IN_PROGRESS")) == states.count(("floor0", "CREATE_COMPLETE")) == 1
    assert not [state for state in states if state[0] == "floor0" and state[1].startswith("UPDATE")]
    catalog.delete(environment)
    soon(lambda: openstack.stacks() == [])
