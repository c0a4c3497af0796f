"""/v1/catalog/categories: statuses, fields and parameters as they were recorded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.catalog.archives import archive
from vetro.server.catalog.imports import import_packages

CATEGORIES = "/v1/catalog/categories"
NINE = [
    "Application Servers", "Big Data", "Databases", "Key-Value Storage", "Load Balancers", "Message Queue",
    "Microsoft Services", "SAP", "Web",
]  # fmt: skip


def names(response: Any) -> list[str]:
    return [c["name"] for c in response.json()["categories"]]


def test_the_nine(ann: Any) -> None:
    response = ann.get(CATEGORIES)
    assert names(response) == NINE and "next_marker" not in response.json()
    assert set(response.json()["categories"][0]) == {"id", "name", "package_count", "created", "updated"}


def test_life_of_a_category(ann: Any, root: Any) -> None:
    assert ann.post(CATEGORIES, {"name": "New"}).status_code == 403
    created = root.post(CATEGORIES, {"name": "New"})
    assert created.status_code == 200 and created.json()["package_count"] == 0
    place = f"{CATEGORIES}/{created.json()['id']}"
    assert root.post(CATEGORIES, {"name": "New"}).status_code == 409
    assert ann.get(place).json() == {**created.json(), "packages": []}
    assert ann.delete(place).status_code == 403
    assert root.delete(place).status_code == 200
    assert root.delete(place).status_code == 404
    assert ann.get(place).status_code == 404


@pytest.mark.parametrize("body", [{"name": ""}, {}, {"name": "x" * 81}, {"name": 5}, [1], {"name": "a\x00"}])
def test_names_that_are_none(root: Any, body: Any) -> None:
    assert root.post(CATEGORIES, body).status_code == 400


def test_bodies_that_are_none(root: Any) -> None:
    assert root.post(CATEGORIES, data=b"{bad", content_type="application/json").status_code == 400
    assert root.post(CATEGORIES, data=b"x", content_type="text/plain").status_code == 415
    assert root.post(CATEGORIES, data=b"", content_type="").status_code == 400


def test_packages_are_counted_as_far_as_they_are_seen(ann: Any, eve: Any, root: Any) -> None:
    package = import_packages(ann.caller, [archive()], categories=["Web"]).packages[0]
    web = next(c for c in ann.get(CATEGORIES).json()["categories"] if c["name"] == "Web")
    assert web["package_count"] == 1
    shown = ann.get(f"{CATEGORIES}/{web['id']}").json()
    assert shown["packages"] == [{"id": package.id, "name": package.name, "fully_qualified_name": package.fqn}]
    hidden = eve.get(f"{CATEGORIES}/{web['id']}").json()
    assert hidden["packages"] == [] and hidden["package_count"] == 0
    assert root.get(f"{CATEGORIES}/{web['id']}").json()["package_count"] == 1
    assert root.delete(f"{CATEGORIES}/{web['id']}").status_code == 403


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("limit=2", NINE[:2]),
        ("limit=1000", NINE),
        ("sort_keys=name&sort_dir=desc", NINE[::-1]),
        ("sort_keys=name&limit=1&sort_dir=desc", NINE[-1:]),
    ],
)
def test_order_and_pages(ann: Any, query: str, found: list[str]) -> None:
    assert names(ann.get(f"{CATEGORIES}?{query}")) == found


def test_further_pages(ann: Any) -> None:
    found: list[str] = []
    marker = ""
    while True:
        page = ann.get(f"{CATEGORIES}?limit=2&sort_keys=package_count,name{marker}")
        found += names(page)
        if "next_marker" not in page.json():
            break
        marker = f"&marker={page.json()['next_marker']}"
    assert found == NINE
    for key in ("created", "updated", "id"):
        assert sorted(names(ann.get(f"{CATEGORIES}?sort_keys={key}"))) == NINE


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=0", 400), ("limit=-1", 400), ("limit=abc", 400), ("sort_keys=bogus", 400), ("sort_dir=up", 400),
        ("bogus=1", 400), ("marker=nosuch", 404),
    ],
)  # fmt: skip
def test_bad_parameters(ann: Any, query: str, status: int) -> None:
    assert ann.get(f"{CATEGORIES}?{query}").status_code == status
