"""Environment templates: sets of applications to begin with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Field, Query, Schema

from vetro.server.api.paging import part, zoned
from vetro.server.api.v2.access import who
from vetro.server.api.v2.environments import Begun
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.shapes import Given, LongText, Name, Page
from vetro.server.environments import limits, lookup, templates

routes = Routes("templates")


class TemplateRow(Schema):
    """A template in a list."""

    id: str
    name: str
    project_id: str
    description: str
    is_public: bool
    created: datetime
    updated: datetime


class UnsetSecret(Schema):
    """A secret property without a value."""

    object: str = Field(description="Id of the object.")
    type: str
    property: str


class TemplateShown(TemplateRow):
    """A template."""

    services: list[Any] = Field(description="Object models of its applications; secrets marked.")
    unset_secrets: list[UnsetSecret] = Field(description="What whoever uses it has to enter.")


class TemplateWanted(Given):
    """A template to be made."""

    name: Name
    description: LongText = ""
    is_public: bool = False
    services: list[dict[str, Any]] = Field([], max_length=1000)


class TemplateChange(Given):
    """What is to change; what is left out stays."""

    name: Name | None = None
    description: LongText | None = None
    is_public: bool | None = None
    services: list[dict[str, Any]] | None = Field(None, max_length=1000)


class TemplateCopy(Given):
    """How the copy is called."""

    name: Name
    is_public: bool = False


class Start(Given):
    """The environment to be made."""

    name: Name
    region: str | None = Field(None, max_length=255)
    description: LongText = ""


def template_json(row: dict[str, Any]) -> dict[str, Any]:
    """A template as /v2 shows it."""
    return {
        "id": row["id"],
        "name": row["name"],
        "project_id": row["tenant_id"],
        "description": row["description_text"],
        "is_public": row["is_public"],
        "created": zoned(row["created"]),
        "updated": zoned(row["updated"]),
    }


def _shown(request: HttpRequest, id: str) -> dict[str, Any]:
    row = templates.show(who(request), id, marked=True)
    return {**template_json(row), "services": row["services"], "unset_secrets": row["unset_secrets"]}


@routes.add("GET", "/templates", "listTemplates", "list_env_templates", Page[TemplateRow])
def list_templates(
    request: HttpRequest,
    public: Annotated[bool | None, Query(description="Only public ones, or only those that are not.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> Any:
    """Own and public templates, by name."""
    rows = [template_json(row) for row in templates.list_all(who(request), is_public=public)]
    return part(rows, "id", cursor, limit)


@routes.add("POST", "/templates", "createTemplate", "create_env_template", TemplateShown, status=201)
def create_template(request: HttpRequest, given: TemplateWanted) -> Answer:
    """Makes a template."""
    limits.check_depth(given.services, "services")
    wanted = {
        "name": given.name,
        "description_text": given.description,
        "is_public": given.is_public,
        "services": given.services,
    }
    made = templates.create(who(request), wanted)
    return created(_shown(request, made["id"]))


@routes.add("GET", "/templates/{template_id}", "showTemplate", "show_env_template", TemplateShown)
def show_template(request: HttpRequest, template_id: str) -> Any:
    """A template with its applications."""
    return _shown(request, lookup.template(who(request), template_id))


@routes.add("PATCH", "/templates/{template_id}", "changeTemplate", "update_env_template", TemplateShown)
def change_template(request: HttpRequest, template_id: str, given: TemplateChange) -> Any:
    """Changes a template of the project."""
    caller = who(request)
    lookup.template(caller, template_id, change=True)
    values: dict[str, Any] = {}
    if given.is_public is not None:
        values["is_public"] = given.is_public
    if given.description is not None:
        values["description_text"] = given.description
    with transaction.atomic():
        if values or given.name is not None:
            name = given.name if given.name is not None else templates.show(caller, template_id)["name"]
            templates.update(caller, template_id, {**values, "name": name})
        if given.services is not None:
            limits.check_depth(given.services, "services")
            templates.put_services(caller, template_id, (), given.services)
    return _shown(request, template_id)


@routes.add("DELETE", "/templates/{template_id}", "deleteTemplate", "delete_env_template", status=204)
def delete_template(request: HttpRequest, template_id: str) -> Answer:
    """Removes a template of the project."""
    caller = who(request)
    templates.delete(caller, lookup.template(caller, template_id, change=True))
    return nothing()


@routes.add("POST", "/templates/{template_id}/clone", "cloneTemplate", "clone_env_template", TemplateShown, status=201)
def clone_template(request: HttpRequest, template_id: str, given: TemplateCopy) -> Answer:
    """A copy in the caller's project."""
    caller = who(request)
    lookup.template(caller, template_id)
    made = templates.clone(caller, template_id, {"name": given.name, "is_public": given.is_public})
    return created(_shown(request, made["id"]))


@routes.add(
    "POST",
    "/templates/{template_id}/create-environment",
    "createEnvironmentFromTemplate",
    "create_environment",
    Begun,
    status=201,
)
def create_environment(request: HttpRequest, template_id: str, given: Start) -> Answer:
    """An environment with a session whose draft has the template's applications."""
    caller = who(request)
    lookup.template(caller, template_id)
    wanted: dict[str, Any] = {"name": given.name, "description_text": given.description}
    if given.region is not None:
        wanted["region"] = given.region
    return created(templates.create_environment(caller, template_id, wanted))
