"""Why an environment has its packages, and why not others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.environments.conftest import garden_package, new_garden
from tests.server.environments.test_packages import app, lib, thing
from tests.server.layers import People, layer
from vetro.server.catalog.models import Package
from vetro.server.catalog.service import import_packages
from vetro.server.environments import explanation
from vetro.server.environments.errors import NotYours
from vetro.server.environments.models import State
from vetro.server.errors import Invalid, NotFound
from vetro.server.tasks.worker import run_queued


@layer(garden_package)
def garden(people: People) -> Any:
    """Application 'Old' with library 1.0.0."""
    made = new_garden(people("ann").caller, run_queued)
    import_packages(made.caller, [lib("1.0.0"), app("Old", "1")])
    session = made.open()
    made.put(session, thing("Old", "o"))
    made.deploy(session)
    return made


def test_from_the_object_to_the_version(garden: Any) -> None:
    told = explanation.why(garden.caller, garden.id, "test.lib")
    (item,) = told.found
    (reason,) = item.reasons
    assert [one.name for one in reason.objects] == ["o"]
    assert [choice.chosen for choice in reason.choices] == ["test.Old/1.0.0", "test.lib/1.0.0"]
    assert {item.package.name for item in explanation.why(garden.caller, garden.id).found} == {"test.Old", "test.lib"}
    assert explanation.why(garden.caller, garden.id, "test.lib", "1").obstacle is None


def test_obstacles_in_their_order(garden: Any) -> None:
    def obstacle(version: str, package: str = "test.lib") -> explanation.Obstacle:
        found = explanation.why(garden.caller, garden.id, package, version).obstacle
        assert found is not None
        return found

    assert (obstacle("1.5.0").kind, str(obstacle("1.5.0").text)) == (
        "absent", "the catalog does not have it; there is 1.0.0",
    )  # fmt: skip
    import_packages(garden.caller, [lib("1.5.0"), lib("2.0.0"), app("Old", "1", "1.1.0")])
    found = obstacle("2.0.0")
    # Line 5 of the manifest of the application.
    assert (found.kind, found.who, found.spec) == ("requirement", "test.Old/1.0.0", "1")
    assert (found.file, found.line) == ("manifest.yaml", 5)
    assert obstacle("1.5.0").kind == "lock"
    held = obstacle("1.1.0", "test.Old")
    assert held.kind == "object" and "'o' (test.Old) was deployed in version 1.0.0" in str(held.text)
    Package.objects.filter(fqn="test.lib", version="1.5.0").update(enabled=False)
    assert obstacle("1.5.0").kind == "disabled"
    Package.objects.filter(fqn="test.lib", version="1.5.0").update(enabled=True, usable=False)
    assert obstacle("1.5.0").kind == "unusable"
    import_packages(garden.caller, [app("Old", "2", "1.2.0")])
    Package.objects.filter(fqn="test.lib", version="2.0.0").update(enabled=False)
    found = obstacle("1.2.0", "test.Old")
    assert found.kind == "dependency" and "test.lib" in str(found.text)


def test_a_lock_of_an_earlier_version_is_explained_by_choosing_again(garden: Any) -> None:
    from vetro.packages.lock import Lock
    from vetro.server.environments import packages

    lock = packages.lock_of(garden.id)
    assert lock is not None
    State.objects.filter(environment_id=garden.id).update(lock=packages.store(Lock.made(lock.packages)))
    (item,) = explanation.why(garden.caller, garden.id, "test.lib").found
    assert [choice.chosen for choice in item.reasons[0].choices] == ["test.Old/1.0.0", "test.lib/1.0.0"]


def test_what_cannot_be_explained(garden: Any, planting: Any, eve: Any) -> None:
    for package, version in (("com.example.nope", ""), ("com.example.nope", "1.0.0")):
        with pytest.raises(NotFound, match=r"does not use package 'com\.example\.nope'"):
            explanation.why(garden.caller, garden.id, package, version)
    with pytest.raises(Invalid):
        explanation.why(garden.caller, garden.id, "test.lib", "no version")
    with pytest.raises(NotFound, match="no lock of state 0"):
        explanation.why(garden.caller, planting(name="bare").id)
    with pytest.raises(NotYours):
        explanation.why(eve.caller, garden.id)
    with pytest.raises(NotYours):
        explanation.lock_of(eve.caller, garden.id)
    # Versions that only another project has are as if there were none.
    import_packages(eve.caller, [lib("1.7.0")])
    found = explanation.why(garden.caller, garden.id, "test.lib", "1.7.0").obstacle
    assert found is not None and "1.7.0" not in str(found.text) and found.kind == "absent"
