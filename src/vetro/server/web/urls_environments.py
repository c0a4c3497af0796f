"""Addresses of the pages about environments and templates, below /app/."""

from __future__ import annotations

from typing import Any

from django.urls import include, path

from vetro.server.web.views.environments import (
    bulk,
    changes,
    environment,
    guard,
    health,
    listing,
    lock,
    metadata,
    plan,
    power,
    servers,
    tasks,
    templates,
    topology,
    upgrade,
)
from vetro.server.web.views.environments import history as past

_task: list[Any] = [
    path("", tasks.show),
    path("lines", tasks.lines),
    path("lines/<int:seq>", tasks.line),
    path("log", tasks.download),
    path("cancel", tasks.cancel),
    path("retry", tasks.retry),
    path("resolve", tasks.resolve),
]

_environment: list[Any] = [
    path("", environment.show),
    path("components/<str:component>/", environment.component),
    path("components/<str:component>/remove", changes.remove),
    path("add", changes.choose),
    path("changes", changes.show),
    path("undo", changes.undo),
    path("upgrade", upgrade.upgrade),
    path("drop", changes.drop),
    path("plan", plan.begin),
    path("plans/<str:task>", plan.show),
    path("deploy", tasks.deploy),
    path("realize", tasks.make_real),
    path("health", health.show),
    path("repair", health.repair),
    path("power", power.switch),
    path("servers", servers.show),
    path("servers/<str:server>/terminal", servers.terminal),
    path("report", servers.download_report),
    path("tasks/", listing.of_one),
    path("tasks/<str:task>/", include(_task)),
    path("updates/<str:procedure>", guard.show),
    path("updates/<str:procedure>/decide", guard.decide),
    path("history", past.history),
    path("compare", past.compare),
    path("lock", lock.lock),
    path("restore/<int:number>", past.restore),
    path("topology", topology.show),
    path("topology.json", topology.data),
    path("metadata", metadata.show),
    path("rename", environment.rename),
    path("clone", environment.clone),
    path("template", environment.to_template),
    path("export", environment.export),
    path("delete", environment.delete),
]

_template: list[Any] = [
    path("", templates.show),
    path("create", templates.create_environment),
    path("edit", templates.edit),
    path("clone", templates.clone),
    path("delete", templates.delete),
    path("add", templates.choose),
    path("components/<str:component>/remove", templates.remove),
]

urlpatterns: list[Any] = [
    path("environments/", listing.listing, name="environments"),
    path("environments/new", listing.new),
    path("environments/import", listing.bring),
    path("environments/together", bulk.begin),
    path("environments/delete", bulk.delete),
    path("environments/deployments", listing.deployments, name="deployments"),
    path("environments/<str:environment>/", include(_environment)),
    path("templates/", templates.listing, name="templates"),
    path("templates/new", templates.new),
    path("templates/<str:template>/", include(_template)),
]
