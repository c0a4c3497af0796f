"""Categories of the catalog."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Field, Schema

from vetro.server.api.paging import page, zoned
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.shapes import Given, Page
from vetro.server.catalog import categories, category_names

routes = Routes("categories")


class CategoryShown(Schema):
    """A category."""

    id: str
    name: str
    package_count: int = Field(description="Packages in it that the caller sees.")
    created: datetime
    updated: datetime


class CategoryNamed(Given):
    """Its name."""

    name: str = Field(min_length=1, max_length=80, examples=["Databases"])


def _json(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "created": zoned(row["created"]), "updated": zoned(row["updated"])}


@routes.add("GET", "/categories", "listCategories", "get_category", Page[CategoryShown])
def list_categories(request: HttpRequest) -> Any:
    """All categories by name."""
    rows = [_json(row) for row in categories.listed(who(request))]
    return page(rows, len(rows))


@routes.add("POST", "/categories", "createCategory", "add_category", CategoryShown, status=201)
def create_category(request: HttpRequest, given: CategoryNamed) -> Answer:
    """Makes a category."""
    return created(_json(categories.create(who(request), given.name)))


@routes.add("PATCH", "/categories/{category_id}", "renameCategory", "add_category", CategoryShown)
def rename_category(request: HttpRequest, category_id: str, given: CategoryNamed) -> Any:
    """Gives a category another name; packages stay in it."""
    return _json(category_names.rename(who(request), category_id, given.name))


@routes.add("DELETE", "/categories/{category_id}", "deleteCategory", "delete_category", status=204)
def delete_category(request: HttpRequest, category_id: str) -> Answer:
    """Removes a category that no package is in."""
    categories.delete(who(request), category_id)
    return nothing()
