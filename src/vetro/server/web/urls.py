"""Addresses of the pages, below /app/. Each area has its own list."""

from __future__ import annotations

from typing import Any

from django.urls import include, path

from vetro.server.web.views import home, login, palette

urlpatterns: list[Any] = [
    path("", home.home, name="home"),
    path("login", login.login, name="login"),
    path("link/<str:token>", login.link, name="login-link"),
    path("logout", login.logout, name="logout"),
    path("project", login.switch, name="switch-project"),
    path("search", palette.search, name="search"),
    path("help/", include("vetro.server.web.urls_help")),
    path("", include("vetro.server.web.urls_environments")),
    path("", include("vetro.server.web.urls_wizard")),
    path("", include("vetro.server.web.urls_actions")),
    path("catalog/", include("vetro.server.web.urls_catalog")),
    path("packages/", include("vetro.server.web.urls_packages")),
    path("notices/", include("vetro.server.web.urls_notices")),
    path("operation/", include("vetro.server.web.urls_operation")),
    path("people/", include("vetro.server.web.urls_people")),
]
