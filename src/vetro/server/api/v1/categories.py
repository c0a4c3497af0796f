"""/v1/catalog/categories (API.md 4)."""

from __future__ import annotations

from typing import Any

from vetro.server.api.v1.call import Call
from vetro.server.api.v1.paging import counted, limit_of
from vetro.server.api.v1.routing import endpoint
from vetro.server.catalog import categories
from vetro.server.errors import Invalid, NotFound

_PARAMETERS = ("sort_keys", "sort_dir", "limit", "marker")


@endpoint("GET", "catalog/categories", "get_category")
def index(call: Call) -> dict[str, Any]:
    """All categories, sorted and by pages. There are few: they are sorted here."""
    with counted():
        query = call.query
    for name in query:
        if name not in _PARAMETERS:
            raise Invalid(f"Bad value passed to filter. Got {name}, expected: {', '.join(_PARAMETERS)}")
    keys = [key.strip() for key in query.get("sort_keys", "name").split(",")]
    for key in keys:
        if key not in categories.SORT_KEYS:
            raise Invalid(f"Invalid sort key: {key}. Must be one of the following: {', '.join(categories.SORT_KEYS)}")
    direction = query.get("sort_dir", "asc")
    if direction not in ("asc", "desc"):
        raise Invalid(f"Invalid sort direction: {direction}")
    limit = limit_of(query.get("limit", "")) if "limit" in query else None
    found = sorted(
        categories.listed(call.caller), key=lambda c: (*(c[key] for key in keys), c["id"]), reverse=direction == "desc"
    )
    marker = query.get("marker")
    if marker is not None:
        place = next((n for n, c in enumerate(found) if c["id"] == marker), None)
        if place is None:
            raise NotFound(f"Category id '{marker}' not found")
        found = found[place + 1 :]
    answer: dict[str, Any] = {"categories": found[:limit]}
    if limit is not None and len(found) >= limit:
        answer["next_marker"] = found[limit - 1]["id"]
    return answer


@endpoint("GET", "catalog/categories/{id}", "get_category")
def show(call: Call, id: str) -> dict[str, Any]:
    """One category with its packages."""
    return categories.shown(call.caller, id)


@endpoint("POST", "catalog/categories", "add_category")
def create(call: Call) -> dict[str, Any]:
    """A new category."""
    body = call.json() if call.content_type or call.body else None
    if not isinstance(body, dict):
        raise Invalid("Please, specify a name of the category to create", hint='send {"name": …}')
    return categories.create(call.caller, body.get("name"))


@endpoint("DELETE", "catalog/categories/{id}", "delete_category")
def delete(call: Call, id: str) -> None:
    """Removes a category that is not in use."""
    categories.delete(call.caller, id)
