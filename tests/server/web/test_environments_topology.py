"""The topology of an environment: applications, servers, networks; the rest where it is asked for."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from tests.server.environments.conftest import garden_package as garden_package  # fixtures
from tests.server.environments.conftest import plant
from tests.server.environments.conftest import planting as planting
from tests.server.watch.world import app, made
from tests.server.web.environment_kit import POT, at, words
from tests.server.web.environment_kit import client as client
from tests.server.web.environment_kit import garden as garden
from vetro.server.environments import drafts
from vetro.server.environments.models import State


def test_the_topology_has_a_picture_and_an_equal_table(garden: Any, client: Client) -> None:
    drawn = client.get(at(garden, "topology.json?all=1")).json()
    nodes = {node["id"]: node for node in drawn["nodes"]}
    assert {"p1", "pot", garden.id} <= nodes.keys()
    assert nodes["pot"]["owner"] == "p1" and nodes["pot"]["y"] > nodes["p1"]["y"] > nodes[garden.id]["y"]
    table = words(client.get(at(garden, "topology?all=1")))
    assert all(node["label"] in table for node in nodes.values())


def test_the_topology_begins_with_what_people_think_in(planting: Any, client: Client) -> None:
    """Applications, servers, networks; what lies between them belongs to whoever owns it."""
    garden = planting(plant(pot=dict(POT)))
    session = garden.open()
    drafts.add_services(
        garden.caller, garden.id, session, plant("p2", pot={**POT, "?": {"type": "test.Pot", "id": "p2pot"}})
    )
    drawn = client.get(at(garden, "topology.json")).json()
    assert {node["id"] for node in drawn["nodes"] if not node["type"].endswith("Network")} == {garden.id, "p1", "p2"}
    assert {"source": garden.id, "target": "p2", "property": "", "kind": "owns"} in drawn["edges"]
    page = words(client.get(at(garden, "topology")))
    assert re.search(r"Show everything: \d+ objects and resources", page) and "Pot" not in page
    assert "Only applications, servers and networks" in words(client.get(at(garden, "topology?all=1")))


def network(id: str) -> dict[str, Any]:
    return {"?": {"id": id, "type": "io.murano.resources.NeutronNetwork/0.0.0@io.murano"}, "name": "net"}


def test_the_network_of_an_environment_is_shown_once(ann: Any, client: Client) -> None:
    """Its regions have copies of it from the first deployment on; until then there is the one that they will be of."""
    row = made(ann, app("a"))
    stored = State.objects.get(environment=row, number=1)

    def shown(root: dict[str, Any], path: str = "topology.json") -> list[str]:
        State.objects.filter(id=stored.id).update(model={"Objects": root})
        nodes = client.get(f"/app/environments/{row.id}/{path}").json()["nodes"]
        return [node["id"] for node in nodes if node["type"].endswith("Network")]

    root = {**stored.model["Objects"], "defaultNetworks": {"environment": network("pattern"), "flat": None}}
    assert shown(root) == ["pattern"]
    region = {"?": {"id": "r", "type": "io.murano.CloudRegion/0.0.0@io.murano"}, "name": ""}
    root["regions"] = {"": {**region, "defaultNetworks": {"environment": network("copy"), "flat": None}}}
    assert shown(root) == ["copy"]
    assert shown(root, "topology.json?all=1") == ["pattern", "copy"]
