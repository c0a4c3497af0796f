"""Addresses of the pages of environments, below /app/environments/."""

from __future__ import annotations

from typing import Any

from django.urls import path

from vetro.server.web.views.environments import changes, listing, metadata, one, past, planned, topology, work

urlpatterns: list[Any] = [
    path("", listing.listing, name="environments"),
    path("new", listing.new, name="environment-new"),
    path("deployments", listing.deployments, name="deployments"),
    path("<str:environment>/", one.show, name="environment"),
    path("<str:environment>/rename", one.rename, name="environment-rename"),
    path("<str:environment>/clone", one.clone, name="environment-clone"),
    path("<str:environment>/template", one.to_template, name="environment-template"),
    path("<str:environment>/export", one.export, name="environment-export"),
    path("<str:environment>/delete", one.delete, name="environment-delete"),
    path("<str:environment>/components/<str:component>/", one.component, name="component"),
    path("<str:environment>/components/<str:component>/remove", changes.remove, name="component-remove"),
    path("<str:environment>/changes", changes.show, name="changes"),
    path("<str:environment>/changes/undo", changes.undo, name="changes-undo"),
    path("<str:environment>/changes/drop", changes.drop, name="changes-drop"),
    path("<str:environment>/metadata", metadata.show, name="metadata"),
    path("<str:environment>/plan", planned.begin, name="plan-begin"),
    path("<str:environment>/plans/<str:task>", planned.show, name="plan"),
    path("<str:environment>/deploy", work.deploy, name="deploy"),
    path("<str:environment>/tasks/<str:task>/", work.show, name="task"),
    path("<str:environment>/tasks/<str:task>/lines", work.lines, name="task-lines"),
    path("<str:environment>/tasks/<str:task>/log.txt", work.download, name="task-log"),
    path("<str:environment>/tasks/<str:task>/cancel", work.cancel, name="task-cancel"),
    path("<str:environment>/tasks/<str:task>/retry", work.retry, name="task-retry"),
    path("<str:environment>/tasks/<str:task>/resolve", work.resolve, name="task-resolve"),
    path("<str:environment>/history", past.history, name="history"),
    path("<str:environment>/history/compare", past.compare, name="compare"),
    path("<str:environment>/history/<int:number>/restore", past.restore, name="restore"),
    path("<str:environment>/topology", topology.show, name="topology"),
    path("<str:environment>/topology.json", topology.data, name="topology-data"),
]
