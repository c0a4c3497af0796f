"""Addresses of the pages about environments and templates, below /app/."""

from __future__ import annotations

from typing import Any

from django.urls import include, path

from vetro.server.web.views.environments import (
    changes,
    listing,
    metadata,
    one,
    past,
    planned,
    stencils,
    topology,
    work,
)

_task: list[Any] = [
    path("", work.show),
    path("lines", work.lines),
    path("lines/<int:seq>", work.line),
    path("log", work.download),
    path("cancel", work.cancel),
    path("retry", work.retry),
    path("resolve", work.resolve),
]

_environment: list[Any] = [
    path("", one.show),
    path("components/<str:component>/", one.component),
    path("components/<str:component>/remove", changes.remove),
    path("add", changes.choose),
    path("changes", changes.show),
    path("undo", changes.undo),
    path("drop", changes.drop),
    path("plan", planned.begin),
    path("plans/<str:task>", planned.show),
    path("deploy", work.deploy),
    path("tasks/", listing.of_one),
    path("tasks/<str:task>/", include(_task)),
    path("history", past.history),
    path("compare", past.compare),
    path("restore/<int:number>", past.restore),
    path("topology", topology.show),
    path("topology.json", topology.data),
    path("metadata", metadata.show),
    path("rename", one.rename),
    path("clone", one.clone),
    path("template", one.to_template),
    path("export", one.export),
    path("delete", one.delete),
]

_template: list[Any] = [
    path("", stencils.show),
    path("create", stencils.create_environment),
    path("edit", stencils.edit),
    path("clone", stencils.clone),
    path("delete", stencils.delete),
    path("add", stencils.choose),
    path("components/<str:component>/remove", stencils.remove),
]

urlpatterns: list[Any] = [
    path("environments/", listing.listing, name="environments"),
    path("environments/new", listing.new),
    path("environments/import", listing.bring),
    path("environments/deployments", listing.deployments, name="deployments"),
    path("environments/<str:environment>/", include(_environment)),
    path("templates/", stencils.listing, name="templates"),
    path("templates/new", stencils.new),
    path("templates/<str:template>/", include(_template)),
]
