"""Addresses of the pages, below /app/. Each area has its own list."""

from __future__ import annotations

from typing import Any

from django.urls import path

from vetro.server.web.views import home, login

urlpatterns: list[Any] = [
    path("", home.home, name="home"),
    path("login", login.login, name="login"),
    path("link/<str:token>", login.link, name="login-link"),
    path("logout", login.logout, name="logout"),
    path("project", login.switch, name="switch-project"),
]
