"""Needs what script/openstack/with starts: `script/test --openstack` runs these tests, others leave them out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.openstack.place import Catalog, OpenStack

FOLDER = os.environ.get("VETRO_OPENSTACK", "")
collect_ignore_glob = [] if FOLDER else ["test_*.py"]


@pytest.fixture(scope="session")
def openstack() -> OpenStack:
    return OpenStack(Path(FOLDER))


@pytest.fixture(scope="session")
def catalog(openstack: OpenStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A service that acts in the project of demo by a trust, in all others in its own project."""
    cloud = {"credentials": {openstack.project("demo"): {"trust_id": openstack.trust("demo")}}}
    made = Catalog(openstack, tmp_path_factory.mktemp("openstack"), cloud)
    try:
        for name in ("com.example.vetro.os.Hot", "com.example.vetro.os.Tower"):
            made.upload(name)
        yield made
    finally:
        made.end()
    assert openstack.stacks() == [], "a test has left stacks behind"
