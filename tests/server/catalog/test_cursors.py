"""Pages of packages follow each other whatever happens to the list between them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.catalog.archives import archive
from tests.server.layers import People, layer
from vetro.server.catalog import answers, cursors, search, service
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.catalog.search import Query
from vetro.server.errors import Invalid

pytestmark = pytest.mark.database

Asked = Callable[[], Query]
ASKED: dict[str, Asked] = {
    "name": lambda: Query(order_by=["name"], limit=3),
    "fqn down": lambda: Query(order_by=["fqn"], descending=True, limit=3),
    "created": lambda: Query(order_by=["created"], limit=3),
    "created down": lambda: Query(order_by=["created"], descending=True, limit=3),
    "id": lambda: Query(order_by=[], limit=3),
    "words": lambda: Query(search="orchard", order_by=["name"], limit=3),
    "words, by time": lambda: Query(search="orchard", order_by=["created"], limit=3),
}


@layer()
def packages(people: People) -> Any:
    """Somebody with ten packages, some of one name, some with the word in another field than their name."""
    return made(people("ann"))


def made(ann: Any) -> Any:
    data = [
        archive(
            f"com.example.n{number}",
            Name="Orchard" if number < 4 else f"Tree {number}",
            Description="of the orchard",
            Version=f"1.{number % 2}.0",
        )
        for number in range(10)
    ]
    import_packages(ann.caller, data)
    return ann


def page(person: Any, query: Query, text: str | None) -> tuple[list[str], str | None]:
    """(ids, where the next one begins)."""
    query.after = cursors.begin(query, text)
    most, query.limit = query.limit, query.limit + 1
    ids = [answers.package_json(row)["id"] for row in search.page(person.caller, query)]
    return ids[:most], cursors.end(person.caller, query, ids[:most]) if len(ids) > most else None


def pages(person: Any, asked: Asked, between: Callable[[list[str]], None]) -> list[str]:
    seen: list[str] = []
    text: str | None = ""
    while text is not None:
        ids, text = page(person, asked(), text)
        seen += ids
        assert len(seen) < 100
        if text is not None:
            between(ids)
    return seen


def remove(person: Any, id: str) -> None:
    service.delete(person.caller, Package.objects.get(id=id))


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_nothing_is_left_out_or_told_twice(packages: Any, asked: Asked) -> None:
    whole = page(packages, asked(), "")[0]
    seen = pages(packages, asked, lambda ids: None)
    assert seen[:3] == whole and len(seen) == len(set(seen)) == 10


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_what_a_page_ended_with_may_be_gone(packages: Any, asked: Asked) -> None:
    expected = pages(packages, asked, lambda ids: None)
    assert pages(packages, asked, lambda ids: [remove(packages, id) for id in ids] and None) == expected
    assert Package.objects.filter(embedded=False).count() == 1  # the last page


@pytest.mark.parametrize("name", ["name", "words"])
def test_what_comes_meanwhile_moves_nothing(packages: Any, name: str) -> None:
    expected = pages(packages, ASKED[name], lambda ids: None)
    numbers = iter(range(10))

    def come(ids: list[str]) -> None:
        import_packages(packages.caller, [archive(f"com.example.a{next(numbers)}", Name="Orchard")])

    seen = pages(packages, ASKED[name], come)
    assert [id for id in seen if id in expected] == expected and len(set(seen)) == len(seen)


def test_a_page_of_which_everything_is_gone_ends_the_list(packages: Any) -> None:
    assert cursors.end(packages.caller, Query(), ["0" * 32]) is None
    first, *_ = page(packages, Query(limit=3), "")[0]
    assert cursors.end(packages.caller, Query(), [first, "0" * 32]) == cursors.end(packages.caller, Query(), [first])


def text_of(values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (Query(), "nonsense"),
        (Query(), "é"),
        (Query(), text_of({"a": 1})),
        (Query(), text_of(["a", "b"])),
        (Query(), text_of(["a", "b", 1])),
        (Query(), text_of(["a", "b\0", "c"])),
        (Query(), text_of(["a", "\ud800", "c"])),
        (Query(), text_of([1, "a", "b", "c"])),
        (Query(), base64.urlsafe_b64encode(b"[" * 2500).decode()),
        (Query(), text_of(["x" * cursors.LONGEST, "b", "c"])),
        (Query(order_by=["created"]), text_of(["yesterday", "b", "c"])),
        (Query(search="x"), text_of(["a", "b", "c"])),
        (Query(search="x"), text_of([-1, "a", "b", "c"])),
        (Query(search="x"), text_of([8, "a", "b", "c"])),
        (Query(search="x"), text_of([True, "a", "b", "c"])),
        (Query(search="x"), text_of([])),
    ],
)
def test_texts_that_are_none(query: Query, text: str) -> None:
    with pytest.raises(Invalid, match="no cursor of this list"):
        cursors.begin(query, text)


def test_names_as_long_as_they_may_be(eve: Any) -> None:
    for number in range(3):
        import_packages(eve.caller, [archive(f"com.example.n{number}", Name="\N{DECIDUOUS TREE}" * 80)])
    seen = pages(eve, lambda: Query(limit=1), lambda ids: None)
    assert len(seen) == 3


def test_api_and_pages_go_on_behind_a_package_that_is_gone(packages: Any) -> None:
    for sort in ("name", "-created", "fqn"):
        found = packages.get(f"/v2/packages?limit=1&sort={sort}&search=orchard").json()
        remove(packages, found["items"][0]["id"])
        following = packages.get(f"/v2/packages?limit=1&sort={sort}&search=orchard&cursor={found['next']}")
        assert following.status_code == 200 and len(following.json()["items"]) == 1
    assert packages.get(f"/v2/packages?sort=name&search=orchard&cursor={found['next']}x").status_code == 400
