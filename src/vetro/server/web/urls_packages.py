"""Addresses of the pages about packages, below /app/packages/."""

from __future__ import annotations

from typing import Any

from django.urls import include, path

from vetro.server.web.views.packages import bringing, categories, changing, images, listing, one, pictures

_package: list[Any] = [
    path("", one.show),
    path("classes/", one.classes),
    path("classes/<str:name>", one.classes),
    path("files/", one.files),
    path("files/<path:path>", one.files),
    path("edit", changing.edit),
    path("switch", changing.switch),
    path("logo", pictures.logo),
    path("supplier-logo", pictures.supplier),
    path("archive", pictures.archive),
]

urlpatterns: list[Any] = [
    path("", listing.listing, name="packages"),
    path("together", listing.together),
    path("import", bringing.bring, name="import-packages"),
    path("delete", changing.delete),
    path("categories", categories.listing, name="categories"),
    path("categories/add", categories.add),
    path("categories/<str:category>/rename", categories.rename),
    path("categories/<str:category>/delete", categories.delete),
    path("images", images.listing, name="images"),
    path("images/mark", images.mark),
    path("images/unmark", images.unmark),
    path("class/<str:fqn>/<str:name>", one.class_of),
    path("<str:package>/", include(_package)),
]
