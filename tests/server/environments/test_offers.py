"""What is newer is kept with environments: it follows what is deployed and what the catalog gets and loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.environments.conftest import Garden, archive
from vetro.server.catalog import service as catalog
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.environments import offers
from vetro.server.environments.models import Environment, UpgradeOffer

pytestmark = pytest.mark.django_db

PLANT = {"?": {"type": "test.Plant/1.0.0", "id": "p1"}, "name": "fern"}


@pytest.fixture
def garden(planting: Callable[..., Garden]) -> Garden:
    """Deployed with version 1.0.0 of its package."""
    made = planting(name="garden")
    session = made.open()
    made.put(session, PLANT)
    assert made.deploy(session).state == "done"
    return made


def newer(id: str) -> list[tuple[str, str, str, str]]:
    return [(one.package, one.used, one.to, one.bump) for one in offers.of_environments([id]).get(id, ())]


def test_offers_follow_the_catalog(garden: Garden, ann: Any, eve: Any, root: Any) -> None:
    assert newer(garden.id) == []
    import_packages(eve.caller, [archive("3.0.0")])  # which ann's project does not see
    assert newer(garden.id) == []
    (minor,) = import_packages(ann.caller, [archive("1.1.0")]).packages
    assert newer(garden.id) == [("test.garden", "1.0.0", "1.1.0", "minor")]
    (major,) = import_packages(ann.caller, [archive("2.0.0")]).packages
    assert newer(garden.id) == [("test.garden", "1.0.0", "2.0.0", "breaking")]
    catalog.change(ann.caller, major, enabled=False)
    assert newer(garden.id) == [("test.garden", "1.0.0", "1.1.0", "minor")]
    catalog.change(root.caller, Package.objects.get(version="3.0.0"), is_public=True)
    assert newer(garden.id) == [("test.garden", "1.0.0", "3.0.0", "breaking")]
    catalog.delete(root.caller, Package.objects.get(version="3.0.0"))
    assert newer(garden.id) == [("test.garden", "1.0.0", "1.1.0", "minor")]
    catalog.delete(ann.caller, minor)
    assert newer(garden.id) == []


def test_offers_follow_deployments(garden: Garden, ann: Any) -> None:
    import_packages(ann.caller, [archive("2.0.0")])
    assert newer(garden.id) != []
    session = garden.open()
    garden.put(session, {**PLANT, "?": {"type": "test.Plant/2.0.0", "id": "p1"}})
    assert garden.deploy(session).state == "done"
    assert newer(garden.id) == []
    import_packages(ann.caller, [archive("2.0.1")])
    assert newer(garden.id) == [("test.garden", "2.0.0", "2.0.1", "patch")]
    session = garden.open()
    garden.put(session)
    assert garden.deploy(session).state == "done"
    assert newer(garden.id) == []


def test_what_an_earlier_version_deployed_is_filled_in_once(garden: Garden, ann: Any) -> None:
    import_packages(ann.caller, [archive("2.0.0")])
    UpgradeOffer.objects.all().delete()
    Environment.objects.update(offered=False)
    assert (offers.fill(), offers.fill()) == (1, 0)
    assert newer(garden.id) == [("test.garden", "1.0.0", "2.0.0", "breaking")]


def test_a_list_asks_for_them_once(garden: Garden, ann: Any) -> None:
    import_packages(ann.caller, [archive("2.0.0")])
    (first,) = ann.get("/v2/environments").json()["items"]
    assert [(one["to"], one["bump"], one["verdict"]) for one in first["upgrades"]] == [
        ("2.0.0", "breaking", "compatible")
    ]
    for number in range(5):
        row = Environment.objects.create(project_id=ann.caller.project_id, name=f"more {number}", version=1)
        UpgradeOffer.objects.create(
            environment=row, package="test.garden", lowest="1.0.0", highest="1.0.0", to="2.0.0", bump="breaking"
        )
    for path in ("/v2/environments",):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert len(ann.get(path).json()["items"]) == 6
        assert sum("upgradeoffer" in one["sql"].lower() for one in asked.captured_queries) == 1
