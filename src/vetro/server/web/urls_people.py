"""Addresses of the pages about people, below /app/people/."""

from __future__ import annotations

from typing import Any

from django.urls import include, path

from vetro.server.web.views.people import audit, listing, me, one, projects, quotas

_user: list[Any] = [
    path("", one.show),
    path("password", one.password),
    path("lock", one.lock),
    path("unlock", one.unlock),
    path("grant", one.grant),
    path("revoke", one.revoke),
    path("link", one.link),
    path("delete", one.delete),
    path("tokens/<str:token>/revoke", one.revoke_token),
]

urlpatterns: list[Any] = [
    path("", listing.listing, name="people"),
    path("new", listing.new),
    path("users/<str:user>/", include(_user)),
    path("projects/", projects.listing),
    path("projects/<str:project>/", projects.show),
    path("projects/<str:project>/switch", projects.switch),
    path("projects/<str:project>/add", projects.add),
    path("projects/<str:project>/quotas", quotas.of_project),
    path("projects/<str:project>/quotas/set", quotas.change),
    path("quotas", quotas.own, name="quotas"),
    path("me", me.show, name="me"),
    path("me/settings", me.settings),
    path("me/password", me.password),
    path("me/tokens", me.create_token),
    path("me/tokens/<str:token>/revoke", me.revoke_token),
    path("audit", audit.listing, name="audit"),
]
