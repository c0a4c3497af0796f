"""The rules of categories (API.md 4)."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q

from vetro.diagnostics import Text
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog.models import Category
from vetro.server.catalog.service import visible
from vetro.server.catalog.storage import storable
from vetro.server.errors import Conflict, Forbidden, Invalid, NotFound
from vetro.server.ids import stamp

MAX_NAME = 80
SORT_KEYS = ("name", "created", "updated", "package_count", "id")


def listed(caller: Caller) -> list[dict[str, Any]]:
    """All categories with how many packages of each the caller sees; ordered by name."""
    seen = Q() if caller.is_admin else Q(packages__is_public=True) | Q(packages__project_id=caller.project_id)
    count = Count("packages", filter=seen) if seen else Count("packages")
    rows = Category.objects.annotate(n=count).order_by("name").values_list("id", "name", "n", "created", "updated")
    return [
        {"id": id, "name": name, "package_count": n, "created": stamp(created), "updated": stamp(updated)}
        for id, name, n, created, updated in rows
    ]


def shown(caller: Caller, id: str) -> dict[str, Any]:
    """One category with its packages, as far as the caller sees them. Raises `NotFound`."""
    category = _find(id)
    packages = list(
        visible(caller).filter(categories=category).order_by("sort_name", "id").values_list("id", "name", "fqn")
    )
    return {
        **_plain(category, len(packages)),
        "packages": [{"id": p, "name": name, "fully_qualified_name": fqn} for p, name, fqn in packages],
    }


def create(caller: Caller, name: Any) -> dict[str, Any]:
    """A new category. Raises `Invalid` for a name that is none, `Conflict` for one that is taken."""
    if not isinstance(name, str) or not name.strip() or storable(name) != name:
        raise Invalid(Text("Please, specify a name of the category to create"))
    if len(name) > MAX_NAME:
        raise Invalid(Text("Category name should be {max_name} characters maximum", max_name=MAX_NAME))
    try:
        with transaction.atomic():
            category = Category.objects.create(name=name)
            record(caller, "category.create", category.id, name)
    except IntegrityError:
        raise Conflict(Text("Category '{name}' exists already", name=name)) from None
    return _plain(category, 0)


def delete(caller: Caller, id: str) -> None:
    """Removes a category that no package is in. Raises `NotFound`, `Forbidden`."""
    category = _find(id)
    with transaction.atomic():
        if category.packages.exists():
            raise Forbidden(
                Text("It's impossible to delete categories assigned to the package, uploaded to the catalog")
            )
        record(caller, "category.delete", category.id, category.name)
        category.delete()


def _find(id: str) -> Category:
    found = Category.objects.filter(id=id).first() if "\x00" not in id else None
    if found is None:
        raise NotFound(Text("Category id '{id}' not found", id=id[:80]))
    return found


def _plain(category: Category, count: int) -> dict[str, Any]:
    return {
        "id": category.id, "name": category.name, "package_count": count, "created": stamp(category.created),
        "updated": stamp(category.updated),
    }  # fmt: skip
