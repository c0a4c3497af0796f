"""Addresses of actions, below /app/: their arguments, and what they returned."""

from __future__ import annotations

from typing import Any

from django.urls import path

from vetro.server.web.views.actions import result
from vetro.server.web.views.wizard import begin

urlpatterns: list[Any] = [
    path("environments/<str:environment>/actions/<path:action>", begin.action),
    path("catalog/<str:fqn>/actions/<str:class_name>/<str:method>", begin.static_action),
    path("results/<str:task>/", result.show),
    path("results/<str:task>/download", result.download),
]
