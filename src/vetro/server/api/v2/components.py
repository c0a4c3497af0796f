"""The components of a draft: its applications, and any object in them by id."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Body, Field, Header, Schema

from vetro.model.environment import applications_of, root_of
from vetro.server.api.answers import sessions as answers
from vetro.server.api.paging import page
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.sessions import REVISION, revision_of
from vetro.server.api.v2.shapes import Model, Page
from vetro.server.environments import components

routes = Routes("components")
_EXAMPLE = {"?": {"type": "com.example.Shop", "name": "my shop"}, "title": "Flowers"}
_ADDED = {"requestBody": {"content": {"application/json": {"example": _EXAMPLE}}}}


class Component(Schema):
    """A component of a draft."""

    id: str
    type: str = Field(description="Class, without version and package.")
    name: str
    object: dict[str, Any] = Field(description="Its object model; secrets are marked.")


@routes.add(
    "GET", "/sessions/{session_id}/components", "listComponents", "show_environment", Page[Component], extra=REVISION
)
def list_components(request: HttpRequest, response: HttpResponse, session_id: str) -> Any:
    """The applications of the draft."""
    view, revision = answers.read_model(who(request), session_id)
    response["ETag"] = f'"{revision}"'
    items = [answers.component_json(obj) for obj in view.get("services") or () if isinstance(obj, dict)]
    return page(items, len(items))


@routes.add(
    "POST",
    "/sessions/{session_id}/components",
    "addComponent",
    "update_environment",
    Component,
    status=201,
    extra=_ADDED,
)
def add_component(
    request: HttpRequest,
    response: HttpResponse,
    session_id: str,
    given: Annotated[Model, Body()],
    if_match: Annotated[str | None, Header(alias="If-Match")] = None,
) -> Answer:
    """Adds an application: an object model with a header `?` that names its class. It gets an id if it has none."""
    made, revision = answers.add_component(who(request), session_id, given, revision_of(if_match))
    response["ETag"] = f'"{revision}"'
    return created(made)


@routes.add(
    "GET",
    "/sessions/{session_id}/components/{path:object_id}",
    "showComponent",
    "show_environment",
    Component,
    extra=REVISION,
)
def show_component(request: HttpRequest, response: HttpResponse, session_id: str, object_id: str) -> Any:
    """One object of the draft, an application or anything in one."""
    view, revision = answers.read_model(who(request), session_id)
    response["ETag"] = f'"{revision}"'
    return answers.component_json(components.find(applications_of(root_of(view)), object_id))


@routes.add(
    "PUT",
    "/sessions/{session_id}/components/{path:object_id}",
    "changeComponent",
    "update_environment",
    Component,
    extra=REVISION,
)
def change_component(
    request: HttpRequest,
    response: HttpResponse,
    session_id: str,
    object_id: str,
    given: Annotated[Model, Body()],
    if_match: Annotated[str | None, Header(alias="If-Match")] = None,
) -> Any:
    """Replaces one object of the draft. Secrets that are still marked keep their values."""
    changed, revision = answers.change_component(who(request), session_id, object_id, given, revision_of(if_match))
    response["ETag"] = f'"{revision}"'
    return changed


@routes.add(
    "DELETE", "/sessions/{session_id}/components/{path:object_id}", "removeComponent", "update_environment", status=204
)
def remove_component(
    request: HttpRequest,
    session_id: str,
    object_id: str,
    if_match: Annotated[str | None, Header(alias="If-Match")] = None,
) -> Answer:
    """Removes an object with all that it owns. What is deployed goes when the draft is deployed."""
    answers.remove_component(who(request), session_id, object_id, revision_of(if_match))
    return nothing()
