"""What every template knows: who is signed in, her projects, where she is."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from vetro import __version__


def shell(request: HttpRequest) -> dict[str, Any]:
    """``caller``, ``projects``, ``area`` (first part of the address), ``theme``."""
    return {
        "caller": getattr(request, "vetro_caller", None),
        "projects": getattr(request, "vetro_projects", []),
        "area": [*request.path_info.split("/"), "", ""][2],
        "theme": request.COOKIES.get("vetro_theme", "auto"),
        "version": __version__,
    }
