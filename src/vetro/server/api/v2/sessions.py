"""Sessions: drafts of changes; their model; what deploying them would change; plan and deployment."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Body, Field, Header, Schema

from vetro.server.api.answers import sessions as answers
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, accepted, created, nothing
from vetro.server.api.v2.shapes import Given, Model, Page
from vetro.server.api.v2.tasks import TaskShown
from vetro.server.errors import Invalid

routes = Routes("sessions")
_ETAG = re.compile(r'\s*(?:W/)?"?(\d{1,18})"?\s*')
#: Of a model that is read or written.
REVISION = {
    "responses": {
        200: {"headers": {"ETag": {"description": "The revision of the draft.", "schema": {"type": "string"}}}}
    }
}


class SessionShown(Schema):
    """A session."""

    id: str
    environment_id: str
    user_id: str
    state: str = Field(description="opened, deploying, deployed, deploy failure, deleting, delete failure.")
    version: int = Field(description="The environment's version when it was opened.")
    revision: int = Field(description="Rises with each change of the draft.")
    changed: bool = Field(description="Whether its draft differs from the environment, as far as anybody touched it.")
    usable: bool = Field(description="It can be changed and deployed: nothing was deployed since it was opened.")
    own: bool = Field(description="It is the caller's: others of the project may deploy it, but not see or change it.")
    created: datetime
    updated: datetime


class PropertyChange(Schema):
    """A property that differs. Secrets are masked."""

    name: str
    old: Any = None
    new: Any = None
    added: bool
    removed: bool


class Change(Schema):
    """An object that differs."""

    what: str = Field(description="created, changed, moved, destroyed.")
    id: str
    type: str
    name: str
    place: Any = Field(None, description="{owner, property}; null for the root.")
    came_from: Any = None
    properties: list[PropertyChange]


class Changes(Schema):
    """Differences of two models."""

    items: list[Change]


class Undo(Given):
    """What to take back."""

    object_id: str | None = Field(None, max_length=255, description="Only the changes of this object; null: all.")


class Guarded(Given):
    """Whether, and how, a deployment can be taken back."""

    guard: bool | None = Field(
        None,
        description="null: with a way back where the draft is an upgrade and the cloud can, or an author wants it.",
    )
    settle: float | None = Field(
        None, ge=0, le=86_400, description="Seconds for which what is new is looked at; null: as authors say, or 30."
    )
    hold: float = Field(0, ge=0, le=2_592_000, description="Seconds for which it can be taken back afterwards.")
    confirmed: bool | Annotated[list[str], Field(max_length=1000)] = Field(
        False, description="What does not come back is known, and may go; a list: these losses, and no others."
    )


def revision_of(if_match: str | None) -> int | None:
    """The revision that a client has read, from the header If-Match. Raises `Invalid`."""
    if if_match is None or if_match.strip() == "*":
        return None
    match = _ETAG.fullmatch(if_match)
    if match is None:
        raise Invalid("If-Match must be the ETag that was read: a revision.")
    return int(match[1])


@routes.add(
    "POST", "/environments/{environment_id}/sessions", "openSession", "update_environment", SessionShown, status=201
)
def open_session(request: HttpRequest, environment_id: str) -> Answer:
    """Opens a draft of the environment as it is now. Refused (403) while a task works on it."""
    return created(answers.open_session(who(request), environment_id))


@routes.add("GET", "/environments/{environment_id}/sessions", "listSessions", "show_environment", Page[SessionShown])
def list_sessions(request: HttpRequest, environment_id: str) -> Any:
    """The hundred newest sessions of an environment, everybody's."""
    return answers.list_sessions(who(request), environment_id)


@routes.add("GET", "/sessions/{session_id}", "showSession", "show_environment", SessionShown)
def show_session(request: HttpRequest, session_id: str) -> Any:
    """A session."""
    return answers.show_session(who(request), session_id)


@routes.add("DELETE", "/sessions/{session_id}", "closeSession", "update_environment", status=204)
def close_session(request: HttpRequest, session_id: str) -> Answer:
    """Throws a draft away."""
    answers.close_session(who(request), session_id)
    return nothing()


@routes.add("GET", "/sessions/{session_id}/model", "readModel", "show_environment", Model, extra=REVISION)
def read_model(request: HttpRequest, response: HttpResponse, session_id: str) -> Any:
    """The object model of the draft: the environment's object, its applications as `services`; secrets marked."""
    view, revision = answers.read_model(who(request), session_id)
    response["ETag"] = f'"{revision}"'
    return view


@routes.add("PUT", "/sessions/{session_id}/model", "writeModel", "update_environment", Model, extra=REVISION)
def write_model(
    request: HttpRequest,
    response: HttpResponse,
    session_id: str,
    given: Annotated[Model, Body()],
    if_match: Annotated[str | None, Header(alias="If-Match", description="The ETag that was read.")] = None,
) -> Any:
    """Replaces the whole model of the draft. Secrets that are still marked keep their values."""
    view, revision = answers.write_model(who(request), session_id, given, revision_of(if_match))
    response["ETag"] = f'"{revision}"'
    return view


@routes.add("GET", "/sessions/{session_id}/changes", "showChanges", "show_environment", Changes)
def show_changes(request: HttpRequest, session_id: str) -> Any:
    """What deploying the draft would change in the model, compared with what is deployed."""
    return answers.show_changes(who(request), session_id)


@routes.add("POST", "/sessions/{session_id}/undo", "undoChanges", "update_environment", SessionShown)
def undo_changes(request: HttpRequest, session_id: str, given: Undo | None = None) -> Any:
    """Takes back what the draft changes about one object and what it owns, or everything."""
    object_id = given.object_id if given is not None else None
    return answers.undo_changes(who(request), session_id, object_id=object_id)


@routes.add("POST", "/sessions/{session_id}/deploy", "deploySession", "update_environment", TaskShown, status=202)
def deploy_session(request: HttpRequest, session_id: str, given: Guarded | None = None) -> Answer:
    """Starts the deployment of the draft: its task, or the first one of an update with a way back (`procedure_id`)."""
    more = given.dict() if given is not None else {}
    return accepted(answers.deploy_session(who(request), session_id, **more))


@routes.add("POST", "/sessions/{session_id}/plan", "planSession", "plan_environment", TaskShown, status=202)
def plan_session(request: HttpRequest, session_id: str) -> Answer:
    """Finds out what deploying the draft would do, changing nothing; the task's result says it."""
    return accepted(answers.plan_session(who(request), session_id))
