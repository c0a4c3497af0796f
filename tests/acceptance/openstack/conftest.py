"""Needs what script/openstack/with starts: `script/test --openstack` runs these tests, others leave them out."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.acceptance.openstack.place import Catalog, OpenStack
from tests.agent.relay import Relay

FOLDER = os.environ.get("VETRO_OPENSTACK", "")
collect_ignore_glob = [] if FOLDER else ["test_*.py"]
if FOLDER:
    # Who is told to end still ends the services that it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def openstack() -> OpenStack:
    return OpenStack(Path(FOLDER))


@pytest.fixture(scope="session")
def second_region(openstack: OpenStack) -> Iterator[Relay]:
    """The way to the Heat of RegionTwo, which is that of RegionOne."""
    port = urlsplit(openstack.heat).port
    assert port is not None
    with Relay(port) as relay:
        endpoint = openstack.add_region("RegionTwo", relay.port)
        yield relay
        openstack.drop_endpoint(endpoint)


@pytest.fixture(scope="session")
def catalog(openstack: OpenStack, second_region: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A service that acts in the project of demo by a trust, in all others in its own project; for two regions."""
    cloud = {
        "credentials": {openstack.project("demo"): {"trust_id": openstack.trust("demo")}},
        "region": "RegionOne",
        "regions": ["RegionTwo"],
    }
    made = Catalog(openstack, tmp_path_factory.mktemp("openstack"), cloud)
    try:
        for name in ("Hot", "Tower", "Twins"):
            made.upload(f"com.example.vetro.os.{name}")
        yield made
    finally:
        made.end()
    assert openstack.stacks() == [], "a test has left stacks behind"
