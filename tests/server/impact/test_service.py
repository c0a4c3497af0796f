"""What a version of a package would change is told before it is used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.conftest import Person
from tests.server.impact.fleet import DEPLOY, HEAD, SERVER, archive, environment, shop
from vetro.packages.lock import LockedPackage
from vetro.server.catalog import blobs
from vetro.server.catalog.imports import import_packages
from vetro.server.errors import Forbidden, Invalid, NotFound
from vetro.server.impact import service

pytestmark = pytest.mark.django_db(transaction=True)  # environments are looked at in threads

CANARY = "kept to ourselves"


def stored(version: str, text: str | None = None) -> LockedPackage:
    """A version whose archive is there, and which no catalog has."""
    return LockedPackage("test.shop", version, blobs.put(archive(version, text)))


def asked(person: Any, drain: Callable[..., Any], package: LockedPackage, **more: Any) -> dict[str, Any]:
    impact = service.start(person.caller, package, **more)
    drain()
    found = service.describe(person.caller, impact)
    assert found["state"] == "done"
    return found


def counted(found: dict[str, Any]) -> dict[str, int]:
    return {one["group"]: one["count"] for one in found["groups"]}


def texts(found: dict[str, Any], group: str) -> list[str]:
    return [str(one["text"]) for told in found["groups"] if told["group"] == group for one in told["reasons"]]


@pytest.fixture
def shops(ann: Any, drain: Callable[..., Any], cloud: Path) -> list[str]:
    """Environments of version 1.0.0; one has values that the others do not have."""
    import_packages(ann.caller, [archive("1.0.0")])
    return [
        environment(ann.caller, drain, "one", shop(1)),
        environment(ann.caller, drain, "two", shop(2, text="fragile", password=CANARY)),
    ]


def test_groups(shops: list[str], ann: Any, drain: Callable[..., Any]) -> None:
    found = asked(ann, drain, stored("1.1.0"))
    assert counted(found) == {"changes": 2}
    assert texts(found, "changes") == ["makes OS::Heat::RandomString"]
    (group,) = found["groups"]
    assert {(one["name"], one["state"], one["plan"]) for one in group["environments"]} == {
        ("one", 1, True),
        ("two", 1, True),
    }
    assert all(len(one["lock"]) == 64 for one in group["environments"])
    told = service.plan(ann.caller, found["id"], shops[0])
    assert told["old"]["stacks"] == [] and [one["what"] for one in told["new"]["stacks"]] == ["changed"]

    again = asked(ann, drain, stored("1.1.0"))
    alike = {name: value for name, value in found.items() if name not in ("id", "created")}
    assert {name: value for name, value in again.items() if name not in ("id", "created")} == alike

    found = asked(ann, drain, stored("1.2.0"))
    assert counted(found) == {"asks": 2}
    assert texts(found, "asks")[0].startswith("test.Shop.port: ")
    assert service.plan(ann.caller, found["id"], shops[0])["new"] is not None  # with a port that was made up

    found = asked(ann, drain, stored("3.0.0"))
    assert counted(found) == {"same": 1, "fails": 1}
    assert texts(found, "fails") == [f"test.shop 3.0.0: Classes/Shop.yaml:14: it says {CANARY}"]


@pytest.mark.campaign
def test_whoever_waits_for_an_answer_reads_no_plans(shops: list[str], ann: Any, drain: Callable[..., Any]) -> None:
    """Pages and commands ask again and again: that is no reason to read plans of a hundred environments."""
    impact = service.start(ann.caller, stored("1.1.0"))
    drain()
    with CaptureQueriesContext(connection) as said:
        found = service.describe(ann.caller, impact)
    assert [one["plan"] for group in found["groups"] for one in group["environments"]] == [True, True]
    read = [query["sql"] for query in said if re.search(r'"plans"(?! IS NOT NULL)', query["sql"])]
    assert len(said) > 3 and not read


@pytest.mark.campaign
def test_an_end_while_somebody_looks_is_told_whole(
    shops: list[str], ann: Any, drain: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told as done with those that had been looked at before."""
    impact = service.start(ann.caller, stored("1.1.0"))
    genuine = service.tasks

    def ended(impact: Any) -> list[str]:
        waiting = genuine(impact)
        drain()
        return waiting if waiting and genuine(impact) else []

    monkeypatch.setattr(service, "tasks", ended)
    found = service.describe(ann.caller, impact)
    assert (found["state"], found["done"], found["total"], counted(found)) == ("done", 2, 2, {"changes": 2})


@pytest.mark.campaign
def test_more_groups(shops: list[str], ann: Any, drain: Callable[..., Any]) -> None:
    assert counted(asked(ann, drain, stored("1.0.1"))) == {"same": 2}
    found = asked(ann, drain, stored("2.0.0"))
    assert counted(found) == {"loses": 1, "same": 1} and "test.Shop.text" in texts(found, "loses")
    found = asked(ann, drain, stored("4.0.0"))
    assert counted(found) == {"replaces": 2}
    assert any(text.startswith("replaces OS::Nova::Server") for text in texts(found, "replaces"))
    endless = DEPLOY.replace(SERVER, "      - While: 1 > 0\n        Do: [$x: 1]\n")
    found = asked(ann, drain, stored("3.0.0", HEAD + endless))
    assert counted(found) == {"skipped": 2}


#: Says of its values whatever it can, wherever it can.
HOSTILE = HEAD + DEPLOY.replace(
    SERVER,
    SERVER
    + """\
      - $stack: $.find(std:Environment).stack
      - $stack.updateTemplate(dict(resources => dict(
          coalesce($.password, none).replace(' ', '_') => dict(type => 'OS::Heat::RandomString'))))
      - $stack.push()
      - If: $.text = fragile
        Then:
          - Throw: Broken
            Message: format('{0} {1} {2}', $.password, $.find(std:Environment).name, id($))
""",
)


@pytest.mark.attack("secrets", "impact")
def test_of_other_projects_nothing_is_told_but_counts_and_places(
    shops: list[str], people: Callable[..., Person], drain: Callable[..., Any]
) -> None:
    """A package is written to find out what is in the environments of others."""
    eve = people("eve", "others")
    package = stored("3.0.0", HOSTILE)
    with pytest.raises(Forbidden):
        service.start(eve.caller, package, all_projects=True)
    with pytest.raises(Invalid):
        service.start(eve.caller, package)

    root = people("root", "operators", "admin")
    impact = service.start(root.caller, package, all_projects=True)
    drain()
    # Whoever may count environments of all projects, and not see them, as by a policy of the operator.
    counting = people("carl", "operators").caller
    found = service.describe(counting, impact)
    assert counted(found) == {"fails": 1, "changes": 1}
    assert [place for one in found["groups"] for place in one["places"]] == [
        {"file": "Classes/Shop.yaml", "line": 18, "count": 1}
    ]
    assert [(one["others"], one["environments"], one["reasons"]) for one in found["groups"]] == [(1, [], [])] * 2
    said = json.dumps(found, default=str)
    for word in (CANARY, CANARY.replace(" ", "_"), "two", f"{2:032x}", *shops, "RandomString"):
        assert word not in said, word
    for id in shops:
        with pytest.raises(NotFound):
            service.plan(counting, impact.id, id)
    with pytest.raises(NotFound):
        service.get(eve.caller, impact.id)
    # An administrator may list the environments of all projects, so their names are told.
    named = [one["name"] for group in service.describe(root.caller, impact)["groups"] for one in group["environments"]]
    assert sorted(named) == ["one", "two"]


@pytest.mark.attack("secrets", "impact")
def test_a_place_that_the_package_does_not_have_is_not_told(shops: list[str], people: Callable[..., Person]) -> None:
    """The answer of a process that ran packages may say anything."""
    from vetro.server.impact.models import Entry, Impact

    root = people("root", "operators", "admin")
    package = stored("3.0.0")
    impact = Impact.objects.create(
        project_id=root.caller.project_id, fqn=package.name, version=package.version, digest=package.digest
    )
    for number, (file, line) in enumerate(
        [(f"Classes/{CANARY}.yaml", 1), ("Classes/Shop.yaml", 10**9), ("Classes/Shop.yaml", 3)]
    ):
        position = {"file": f"test.shop 3.0.0: {file}", "line": line}
        detail = {"error": {"code": "X", "message": CANARY, "position": position}}
        Entry.objects.create(
            impact=impact, environment_id=f"e{number}", project_id="else", group="fails", detail=detail
        )
    (group,) = service.describe(people("carl", "operators").caller, impact)["groups"]
    assert group["places"] == [{"file": "Classes/Shop.yaml", "line": 3, "count": 1}]
    assert CANARY not in json.dumps(group, default=str)


def test_an_answer_that_is_none_is_no_end_of_the_whole(
    shops: list[str], ann: Any, drain: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever left the language in one process says what it likes; the other environments are looked at."""
    from vetro.server.impact.planner import PlannerConversation

    real = PlannerConversation.upgrade

    def upgrade(self: PlannerConversation, *args: Any) -> Any:
        return {"report": {"asked": 7}} if self._row.id == shops[0] else real(self, *args)

    monkeypatch.setattr(PlannerConversation, "upgrade", upgrade)
    assert counted(asked(ann, drain, stored("1.1.0"))) == {"skipped": 1, "changes": 1}
