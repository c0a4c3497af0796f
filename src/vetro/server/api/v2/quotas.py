"""Quotas: what a project may have at most and has. Members read their own, administrators set all."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Schema
from pydantic import StrictInt

from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes
from vetro.server.api.v2.shapes import Given
from vetro.server.quotas import service

routes = Routes("quotas")
_RULE = "manage_accounts"


class QuotaShown(Schema):
    """A quota of a project."""

    name: str = Field(examples=["servers"])
    meaning: str
    unit: str = Field(description="MiB, GiB, or empty where things are counted.")
    used: int | float | None = Field(description="What the project has; null where nobody can count it from here.")
    limit: int | None = Field(description="The most it may have; null: no limit.")
    default: int | None = Field(description="The limit of projects that have none of their own; null: no limit.")
    own: bool = Field(description="The limit was set for this project.")


class Quotas(Schema):
    """All quotas of a project."""

    project: str
    project_id: str
    quotas: list[QuotaShown]


class QuotasChange(Given):
    """What is to change."""

    quotas: dict[str, StrictInt | None] = Field(
        max_length=100,
        description="Name -> limit: a whole number, -1 for no limit, null for that of the settings.",
        examples=[{"servers": 20, "memory": None}],
    )


@routes.add("GET", "/quotas", "showQuotas", "show_quotas", Quotas)
def show_own(request: HttpRequest) -> Any:
    """What the caller's project may have at most, and what it has."""
    caller = who(request)
    found = service.shown(caller, caller.project_id)
    return {"project": caller.project_name, "project_id": caller.project_id, "quotas": found}


@routes.add("GET", "/admin/projects/{project}/quotas", "showProjectQuotas", _RULE, Quotas)
def show(request: HttpRequest, project: str) -> Any:
    """The same of any project, by name or id."""
    id = service.project_named(project)
    return {"project": service.name_of(id), "project_id": id, "quotas": service.shown(who(request), id)}


@routes.add("PATCH", "/admin/projects/{project}/quotas", "changeProjectQuotas", _RULE, Quotas)
def change(request: HttpRequest, project: str, given: QuotasChange) -> Any:
    """Sets limits of a project, all that are given or none. What it has beyond a new limit stays."""
    id = service.project_named(project)
    found = service.change(who(request), id, given.quotas)
    return {"project": service.name_of(id), "project_id": id, "quotas": found}
