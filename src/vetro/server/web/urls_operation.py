"""Addresses of the pages for operators, below /app/operation/."""

from __future__ import annotations

from typing import Any

from django.urls import path

from vetro.server.web.views.operation import doctor, limits, overview, queue, servers, storage, workers

urlpatterns: list[Any] = [
    path("", overview.show, name="operation"),
    path("doctor", doctor.show),
    path("doctor/mend", doctor.mend),
    path("workers", workers.show),
    path("workers/drain", workers.drain),
    path("queue", queue.show),
    path("cloud", servers.show),
    path("disk", storage.disk_used),
    path("disk/clean", storage.clean),
    path("backups", storage.backups_made),
    path("quotas", limits.show),
    path("settings", overview.settings),
]
