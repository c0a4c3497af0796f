"""What the pages about environments are made of: where objects stand in the picture, words, what differs, stories."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.catalog.archives import archive
from tests.server.environments.conftest import new_garden
from tests.server.tasks import shop
from tests.server.web.environment_kit import words
from vetro.engine.outcome import Outcome
from vetro.engine.worker.journal import Ended, RecordedEffect
from vetro.model.differences import Difference, Property
from vetro.server.catalog import service as catalog
from vetro.server.catalog import standard_packages
from vetro.server.environments import queries, simulation
from vetro.server.environments.models import Environment
from vetro.server.tasks import queue
from vetro.server.tasks.claim import Lease, claim
from vetro.server.tasks.completion import finish
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Task
from vetro.server.web.environment_page import shown_change, tidied
from vetro.server.web.views.environments.layout import HEIGHT, WIDTH, placed


def test_no_two_objects_stand_on_each_other_and_owners_stand_above() -> None:
    pairs: list[tuple[str, str | None]] = [("root", None), ("lost", "nowhere"), ("self", "self")]
    pairs += [(f"a{i}", "root") for i in range(9)] + [(f"b{i}", f"a{i % 4}") for i in range(30)]
    pairs += [(f"c{i}", f"c{i - 1}" if i else "b7") for i in range(12)]
    points = placed(reversed(pairs))
    assert points.keys() == {own for own, _ in pairs}
    for (x, y), (u, v) in itertools.combinations(points.values(), 2):
        assert abs(x - u) >= WIDTH - 1 or abs(y - v) >= HEIGHT - 1
    assert all(points[own][1] > points[owner][1] for own, owner in pairs if owner in points and owner != own)
    assert placed([]) == {}


def test_a_thousand_objects_are_placed_at_once() -> None:
    pairs: list[tuple[str, str | None]] = [("root", None)]
    pairs += [(str(n), "root" if n < 100 else str(n // 10)) for n in range(1000)]
    began = time.process_time()
    points = placed(pairs)
    assert time.process_time() - began < 0.5
    width = max(x for x, _ in points.values()) - min(x for x, _ in points.values())
    height = max(y for _, y in points.values()) - min(y for _, y in points.values())
    assert 0.5 < width / height < 5


def stub(own: str) -> dict[str, Any]:
    return {"?": {"id": own, "type": "t"}}


def changed(*properties: Property, **more: Any) -> Difference:
    return Difference("changed", "x", "t", "x", None, more.get("came_from"), tuple(properties))


@pytest.mark.parametrize(
    ("old", "new"),
    [([], [stub("a")]), (None, stub("a")), ([stub("a")], [stub("b"), stub("c")]), (None, {"": stub("r")})],
)
def test_contained_objects_alone_make_no_change(old: Any, new: Any) -> None:
    assert tidied([changed(Property("p", old, new))]) == []


@pytest.mark.parametrize(("old", "new"), [(1, 2), (["id"], []), ({"a": 1}, {"a": 2}), (None, ""), ("", None), ([1], 1)])
def test_other_values_do(old: Any, new: Any) -> None:
    item = changed(Property("p", old, new))
    assert tidied([item]) == [item]


def test_what_is_left_of_a_moved_object_is_the_move() -> None:
    (item,) = tidied([changed(Property("p", None, stub("a")), came_from=("y", "q"))])
    assert (item.what, item.properties) == ("moved", ())
    assert tidied([changed(Property("?/type", "a.B", "a.B/1.0.0@a"))]) == []
    assert tidied([changed(Property("?/type", "a.B/1.0.0@a", "a.B/2.0.0@a"))]) != []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a.B/1.0.0@a", "a.B/2.0.0@a", ("version", "1.0.0", "2.0.0")),
        ("a.B/1.0.0@a", "a.C/2.0.0@a", ("class", "a.B 1.0.0", "a.C 2.0.0")),
        ("a.B", "a.C", ("class", "a.B", "a.C")),
    ],
)
def test_what_an_object_is_is_told_in_words(old: str, new: str, said: tuple[str, str, str]) -> None:
    """Who goes back read ``?/type: "a.B/2.0.0@a" -> "a.B/1.0.0@a"``."""
    (shown,) = shown_change(changed(Property("?/type", old, new)).as_json(), {})["properties"]
    assert (shown["name"], shown["old_text"], shown["new_text"]) == said


def test_a_person_decides_on_the_page(ann: Any, browser: Callable[[Any], Client]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    Environment.objects.update(task_id=made.id)
    lease = claim("me", 60.0)
    assert isinstance(lease, Lease)
    journal = DbJournal(made.id, lease.hold)
    journal.begin(made.spec, "1.0", 1.0)
    journal.intent(RecordedEffect("0/1", "workflow", "d", {"name": "pay", "password": "canary"}, 1.0))
    journal.end(Ended("needs_person"))
    journal.commit()
    finish(lease.held, Outcome("needs_person"))
    client = browser(ann)
    address = f"/app/environments/{environment.id}/tasks/{made.id}/"
    page = words(client.get(address))
    assert "Only a person can say" in page and "pay" in page and "canary" not in page
    bad = client.post(f"{address}resolve", {"key": "0/1", "decision": "done", "answer": "{"})
    assert "no JSON" in words(bad, 400)
    assert client.post(f"{address}resolve", {"key": "0/1", "decision": "done", "answer": "5"}).status_code == 302
    assert DbJournal(made.id).entries()[0].answer == 5
    assert queue.get(ann.caller, made.id).state == "queued"


def test_a_task_is_shown_though_its_environment_goes_meanwhile(
    ann: Any, browser: Callable[[Any], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever watched a deletion saw that there is no such page, at the moment of its end."""
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    Environment.objects.update(task_id=made.id)
    genuine = queries.get

    def gone(*given: Any) -> Any:
        Environment.objects.filter(id=environment.id).delete()
        return genuine(*given)

    monkeypatch.setattr(queries, "get", gone)
    page = words(browser(ann).get(f"/app/environments/{environment.id}/tasks/{made.id}/"))
    assert "Waiting" in page and "To the environments" in page


SITE = """
Namespaces: {'=': com.example, std: io.murano}
Name: Site
Extends: std:Application
Properties:
  uses: {Contract: $.class(Site)}
  url: {Contract: $.string(), Usage: Out}
Methods:
  deploy:
    Body:
    - $.url: format('http://203.0.113.9/{0}', id($))
"""


def test_what_was_deployed_is_opened_by_name_and_what_others_use_stands_behind(
    ann: Any, browser: Callable[[Any], Client], drain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first button led to the database, and none said where it led."""
    standard_packages.ensure()
    data = archive("com.example.Site", Name="Small Site", classes={"com.example.Site": SITE})
    catalog.import_packages(ann.caller, [data])
    rows: list[Any] = [
        {"?": {"type": "com.example.Site", "id": "base", "name": "Base"}},
        {"?": {"type": "com.example.Site", "id": "front", "name": "Site"}, "uses": "base"},
    ]
    monkeypatch.setattr(simulation, "of_environments", lambda ids: set())
    garden = new_garden(ann.caller, drain, *rows)
    (task,) = Task.objects.filter(environment_id=garden.id, kind="deploy")
    page = browser(ann).get(f"/app/environments/{garden.id}/tasks/{task.id}/").content.decode()
    buttons = re.findall(r'<a class="btn btn-[^"]*success" href="([^"]+)".*?</svg> ([^<]*)<', page)
    assert buttons == [(f"http://203.0.113.9/{one}", f"Open {name}: http://203.0.113.9/{one}")
                       for one, name in (("front", "Site"), ("base", "Base"))]  # fmt: skip
    assert "Site</strong></div>" in page  # what is called like its class is not told twice
    cards = browser(ann).get(f"/app/environments/{garden.id}/").content.decode()
    assert cards.count('title="com.example.Site">Small Site') == 2
