"""One environment in two regions of a real OpenStack."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.openstack.place import Catalog, OpenStack, soon
from tests.agent.relay import Relay

pytestmark = pytest.mark.timeout(200)


def twins(word: str) -> dict[str, Any]:
    return {"?": {"type": "com.example.vetro.os.Twins", "id": "d4" * 16}, "word": word}


def test_each_region_has_its_stack(catalog: Catalog, openstack: OpenStack, second_region: Relay) -> None:
    environment = catalog.environment("twins")
    before = second_region.accepted
    for word in ("first", "second"):
        status, app = catalog.deploy(environment, twins(word))
        assert status == "ready", catalog.told(environment)
        assert app["said"] == {"RegionOne": f"{word} in RegionOne", "RegionTwo": f"{word} in RegionTwo"}
        stacks = openstack.stacks()
        regions = sorted(tag for stack in stacks for tag in stack["tags"] if tag.startswith("vetro-region="))
        assert regions == ["vetro-region=RegionOne", "vetro-region=RegionTwo"]
    # The second region was asked at its own address.
    assert second_region.accepted > before
    catalog.delete(environment)
    soon(lambda: openstack.stacks() == [])
