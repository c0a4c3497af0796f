"""Pages of one environment: what they call properties, and which of its networks the topology shows."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.server.watch.world import app, instance, made
from vetro.server.environments.models import State

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(ann: Any, browser: Any) -> Client:
    client: Client = browser(ann)
    return client


def test_properties_are_called_as_the_form_calls_them(ann: Any, pages: Client) -> None:
    """By the titles of their class, in the language of the page; in words where the class is not to be had."""
    row = made(ann, app("a", instance("i"), listenPort=8080))
    server = pages.get(f"/app/environments/{row.id}/components/i/").content.decode()
    assert '<dt title="flavor">Size</dt>' in server and '<dt title="ipAddresses">IP addresses</dt>' in server
    of_no_package = pages.get(f"/app/environments/{row.id}/components/a/").content.decode()
    assert '<dt title="listenPort">Listen port</dt>' in of_no_package


def network(id: str) -> dict[str, Any]:
    return {"?": {"id": id, "type": "io.murano.resources.NeutronNetwork/0.0.0@io.murano"}, "name": "net"}


def test_the_network_of_an_environment_is_shown_once(ann: Any, pages: Client) -> None:
    """Its regions have copies of it from the first deployment on; until then there is the one that they will be of."""
    row = made(ann, app("a"))
    stored = State.objects.get(environment=row, number=1)

    def shown(root: dict[str, Any], path: str = "topology.json") -> list[str]:
        State.objects.filter(id=stored.id).update(model={"Objects": root})
        nodes = pages.get(f"/app/environments/{row.id}/{path}").json()["nodes"]
        return [node["id"] for node in nodes if node["type"].endswith("Network")]

    root = {**stored.model["Objects"], "defaultNetworks": {"environment": network("pattern"), "flat": None}}
    assert shown(root) == ["pattern"]
    region = {"?": {"id": "r", "type": "io.murano.CloudRegion/0.0.0@io.murano"}, "name": ""}
    root["regions"] = {"": {**region, "defaultNetworks": {"environment": network("copy"), "flat": None}}}
    assert shown(root) == ["copy"]
    assert shown(root, "topology.json?all=1") == ["pattern", "copy"]
