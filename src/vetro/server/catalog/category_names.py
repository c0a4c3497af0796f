"""`rename`: gives a category another name, in the packages that are in it, too."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from vetro.diagnostics import Text
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog import categories
from vetro.server.catalog.models import Category, Package
from vetro.server.catalog.storage import store_changed
from vetro.server.errors import Conflict, Invalid, NotFound


def rename(caller: Caller, id: str, name: str) -> dict[str, Any]:
    """The category with its new name. Raises `Invalid`, `Conflict`, `NotFound`."""
    if not name.strip() or len(name) > categories.MAX_NAME:
        raise Invalid(Text("The name of a category has 1 to {max_name} characters.", max_name=categories.MAX_NAME))
    try:
        with transaction.atomic():
            category = Category.objects.select_for_update().filter(id=id).first()
            if category is None:
                raise NotFound(Text("There is no category '{id}'.", id=id[:80]))
            before, category.name = category.name, name
            category.save()
            for package in Package.objects.filter(categories=category).select_for_update():
                store_changed(package, list(package.categories.order_by("name")))
            record(caller, "category.rename", category.id, name, before=before)
    except IntegrityError:
        raise Conflict(Text("There is a category '{name}' already.", name=name)) from None
    return next(row for row in categories.listed(caller) if row["id"] == id)
