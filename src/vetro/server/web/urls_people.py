"""Addresses of the pages about people, below /app/people/."""

from __future__ import annotations

from typing import Any

from django.urls import include, path

from vetro.server.web.views.people import account, accounts, audit, profile, projects, quotas

_user: list[Any] = [
    path("", account.show),
    path("password", account.password),
    path("lock", account.lock),
    path("unlock", account.unlock),
    path("grant", account.grant),
    path("revoke", account.revoke),
    path("link", account.link),
    path("delete", account.delete),
    path("tokens/<str:token>/revoke", account.revoke_token),
]

urlpatterns: list[Any] = [
    path("", accounts.listing, name="people"),
    path("new", accounts.new),
    path("users/<str:user>/", include(_user)),
    path("projects/", projects.listing),
    path("projects/<str:project>/", projects.show),
    path("projects/<str:project>/switch", projects.switch),
    path("projects/<str:project>/add", projects.add),
    path("projects/<str:project>/quotas", quotas.of_project),
    path("projects/<str:project>/quotas/set", quotas.change),
    path("quotas", quotas.own, name="quotas"),
    path("me", profile.show, name="me"),
    path("me/settings", profile.settings),
    path("me/password", profile.password),
    path("me/tokens", profile.create_token),
    path("me/tokens/<str:token>/revoke", profile.revoke_token),
    path("audit", audit.listing, name="audit"),
    path("audit/export", audit.export),
]
