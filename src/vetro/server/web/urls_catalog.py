"""Addresses of the catalog's pages, below /app/catalog/."""

from __future__ import annotations

from typing import Any

from django.urls import path

from vetro.server.web.views.catalog import application, bundled_packages, gets, listing, targets

urlpatterns: list[Any] = [
    path("", listing.listing, name="catalog"),
    path("applications", bundled_packages.applications),
    path("examples", bundled_packages.examples),
    path("<str:fqn>/", application.show),
    path("<str:fqn>/form", application.form),
    path("<str:fqn>/gets", gets.gets),
    path("<str:fqn>/add", targets.add),
]
