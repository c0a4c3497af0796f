"""Addresses of the pages about notices, below /app/notices/."""

from __future__ import annotations

from typing import Any

from django.urls import path

from vetro.server.web.views import notices

urlpatterns: list[Any] = [
    path("", notices.show, name="notices"),
    path("targets", notices.add_target),
    path("targets/<str:target>/test", notices.test),
    path("targets/<str:target>/switch", notices.switch),
    path("targets/<str:target>/secret", notices.secret),
    path("targets/<str:target>/remove", notices.remove_target),
    path("rules", notices.add_rule),
    path("rules/<str:rule>/remove", notices.remove_rule),
]
