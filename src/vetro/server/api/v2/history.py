"""States of an environment, differences between them, going back to one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Path, Query, Schema

from vetro.server.api.answers import history as answers
from vetro.server.api.paging import LARGEST
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created
from vetro.server.api.v2.sessions import Changes, SessionShown
from vetro.server.api.v2.shapes import Page

routes = Routes("history")


class StateRow(Schema):
    """A state that a task left."""

    number: int = Field(description="The environment's version at which it became the state.")
    created: datetime
    task_id: str | None
    kind: str | None = Field(description="Kind of the task.")
    state: str | None = Field(description="State of the task.")
    user_id: str | None
    finished: datetime | None


class StateShown(Schema):
    """A state with its model."""

    number: int
    model: dict[str, Any] = Field(description="As models are everywhere in /v2; secrets are marked.")


@routes.add("GET", "/environments/{environment_id}/states", "listStates", "show_history", Page[StateRow])
def list_states(
    request: HttpRequest,
    environment_id: str,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Any:
    """The states of an environment, newest first."""
    return answers.list_states(who(request), environment_id, limit=limit, cursor=cursor)


@routes.add("GET", "/environments/{environment_id}/states/{number}", "showState", "show_history", StateShown)
def show_state(request: HttpRequest, environment_id: str, number: Annotated[int, Path(ge=0, le=LARGEST)]) -> Any:
    """The object model of a state."""
    return answers.show_state(who(request), environment_id, number)


@routes.add("GET", "/environments/{environment_id}/diff", "compareStates", "show_history", Changes)
def compare_states(
    request: HttpRequest,
    environment_id: str,
    older: Annotated[int, Query(alias="from", ge=0, le=LARGEST, description="Number of a state.")],
    newer: Annotated[
        int | None, Query(alias="to", ge=0, le=LARGEST, description="Number of a state; the newest without.")
    ] = None,
) -> Any:
    """What changed from one state to another."""
    return answers.compare_states(who(request), environment_id, older, newer)


@routes.add(
    "POST",
    "/environments/{environment_id}/states/{number}/restore",
    "restoreState",
    "update_environment",
    SessionShown,
    status=201,
)
def restore_state(request: HttpRequest, environment_id: str, number: Annotated[int, Path(ge=0, le=LARGEST)]) -> Answer:
    """A new session whose draft is that state; deploying it makes it so again."""
    return created(answers.restore_state(who(request), environment_id, number))
