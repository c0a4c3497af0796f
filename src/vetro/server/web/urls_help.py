"""Addresses of the manual, below /app/help/."""

from __future__ import annotations

from typing import Any

from django.urls import path

from vetro.server.web.views.help import manual

urlpatterns: list[Any] = [
    path("", manual.index, name="help"),
    path("about/<str:topic>", manual.about),
    path("<path:name>/", manual.show),
]
