"""Addresses of the pages about packages, below /app/packages/."""

from __future__ import annotations

from typing import Any

from django.urls import include, path

from vetro.server.web.views.packages import categories, images, impact, imports, listing, package, pictures
from vetro.server.web.views.packages import edit as changing

_package: list[Any] = [
    path("", package.show),
    path("classes/", package.classes),
    path("classes/<str:name>", package.classes),
    path("files/", package.files),
    path("files/<path:path>", package.files),
    path("compatibility/", package.compatibility),
    path("impact/", impact.show),
    path("impact/<str:impact>/<str:environment>", impact.plan),
    path("edit", changing.edit),
    path("switch", changing.switch),
    path("logo", pictures.logo),
    path("pictures/<path:path>", pictures.inside),
    path("supplier-logo", pictures.supplier),
    path("archive", pictures.archive),
]

urlpatterns: list[Any] = [
    path("", listing.listing, name="packages"),
    path("together", listing.bulk),
    path("import", imports.bring, name="import-packages"),
    path("delete", changing.delete),
    path("categories", categories.listing, name="categories"),
    path("categories/add", categories.add),
    path("categories/<str:category>/rename", categories.rename),
    path("categories/<str:category>/delete", categories.delete),
    path("images", images.listing, name="images"),
    path("images/build", images.build, name="build-image"),
    path("images/mark", images.mark),
    path("images/unmark", images.unmark),
    path("class/<str:fqn>/<str:name>", package.class_of),
    path("<str:package>/", include(_package)),
]
