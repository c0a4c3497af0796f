"""The components of a draft: its applications, and any object in them by id."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Body, Field, Header, Schema

from vetro.server.api.v2 import own
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.sessions import REVISION, revision_of
from vetro.server.api.v2.shapes import Model, Page, page
from vetro.server.environments import components, content

routes = Routes("components")
_EXAMPLE = {"?": {"type": "com.example.Shop", "name": "my shop"}, "title": "Flowers"}
_ADDED = {"requestBody": {"content": {"application/json": {"example": _EXAMPLE}}}}


class Component(Schema):
    """A component of a draft."""

    id: str
    type: str = Field(description="Class, without version and package.")
    name: str
    object: dict[str, Any] = Field(description="Its object model; secrets are marked.")


def component_json(obj: dict[str, Any]) -> dict[str, Any]:
    """A component as /v2 shows it."""
    header = obj.get("?") or {}
    label = header.get("name") or obj.get("name")
    return {
        "id": str(header.get("id") or ""),
        "type": str(header.get("type") or "").partition("/")[0].partition("@")[0],
        "name": label if isinstance(label, str) else "",
        "object": obj,
    }


@routes.add(
    "GET", "/sessions/{session_id}/components", "listComponents", "show_environment", Page[Component], extra=REVISION
)
def list_components(request: HttpRequest, response: HttpResponse, session_id: str) -> Any:
    """The applications of the draft."""
    caller = who(request)
    view, revision = components.read(caller, own.session(caller, session_id), session_id)
    response["ETag"] = f'"{revision}"'
    items = [component_json(obj) for obj in view.get("services") or () if isinstance(obj, dict)]
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
    caller = who(request)
    environment_id = own.session(caller, session_id)
    session, view, id = components.add(caller, environment_id, session_id, given, revision_of(if_match))
    response["ETag"] = f'"{session.revision}"'
    return created(component_json(components.find(view, id)))


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
    caller = who(request)
    view, revision = components.read(caller, own.session(caller, session_id), session_id)
    response["ETag"] = f'"{revision}"'
    return component_json(components.find(content.services_of(content.root_of(view)), object_id))


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
    caller = who(request)
    environment_id = own.session(caller, session_id)
    session, view = components.put(caller, environment_id, session_id, object_id, given, revision_of(if_match))
    response["ETag"] = f'"{session.revision}"'
    return component_json(components.find(view, object_id))


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
    caller = who(request)
    components.remove(caller, own.session(caller, session_id), session_id, object_id, revision_of(if_match))
    return nothing()
