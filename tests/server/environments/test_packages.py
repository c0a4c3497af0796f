"""Which packages an environment uses."""

from __future__ import annotations

from typing import Any

from tests.server.environments.conftest import archive, plant
from vetro.server.environments import packages
from vetro.server.environments.models import Environment, EnvironmentPackage


def test_only_versions_that_the_model_came_from_are_kept(planting: Any) -> None:
    garden = planting()
    row = Environment.objects.get(id=garden.id)
    used = [
        {"fqn": "a", "version": "1.0.0", "digest": "d1"},
        {"fqn": "a", "version": "2.0.0", "digest": "d2"},
        {"fqn": "b", "version": "1.0.0", "digest": "d3"},
    ]
    packages.keep(row, used, {"SystemData": {"Packages": {"a": ["2.0.0"]}}})
    assert packages.pinned(garden.id) == {"a": ("2.0.0", "d2")}
    packages.keep(row, used, {})
    assert EnvironmentPackage.objects.filter(environment_id=garden.id).count() == 3


def test_an_administrator_deploys_with_the_packages_of_the_project(planting: Any, root: Any) -> None:
    from vetro.server.environments import deploy as deploying

    garden = planting()
    session = garden.open()
    garden.put(session, plant())
    task = deploying.deploy(root.caller, garden.id, session)
    garden.drain()
    task.refresh_from_db()
    assert (task.state, task.project_id) == ("done", garden.caller.project_id)


def test_only_packages_that_the_project_sees_are_marked(planting: Any, eve: Any) -> None:
    from vetro.server.catalog.models import Package
    from vetro.server.catalog.service import import_packages

    garden = planting()
    import_packages(eve.caller, [archive()])
    session = garden.open()
    garden.put(session, plant())
    garden.deploy(session)
    marked = Package.objects.filter(fqn="test.garden").values_list("project_id", "deployed")
    assert dict(marked) == {garden.caller.project_id: True, eve.caller.project_id: False}
