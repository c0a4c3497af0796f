"""States of an environment, differences between them, going back to one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Path, Query, Schema

from vetro.server.api.v2 import own
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created
from vetro.server.api.v2.sessions import Changes, SessionShown, session_json
from vetro.server.api.v2.shapes import LARGEST, Model, Page, page, place, zoned
from vetro.server.api.v2.shapes import cursor as cursor_of
from vetro.server.environments import concealed, content, history, reading
from vetro.server.environments.models import State

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
    caller = who(request)
    own.environment(caller, environment_id)
    before = place(cursor, int)
    rows = history.states(caller, environment_id, before=None if before is None else before[0], limit=limit + 1)
    total = State.objects.filter(environment_id=environment_id).count()
    items = [{**row, "created": zoned(row["created"]), "finished": zoned(row["finished"])} for row in rows[:limit]]
    return page(items, total, cursor_of(items[-1]["number"]) if len(rows) > limit else None)


@routes.add("GET", "/environments/{environment_id}/states/{number}", "showState", "show_history", StateShown)
def show_state(request: HttpRequest, environment_id: str, number: Annotated[int, Path(ge=0, le=LARGEST)]) -> Any:
    """The object model of a state."""
    caller = who(request)
    found = reading.get(caller, own.environment(caller, environment_id))
    view: Model = history.state(caller, environment_id, number)
    secrets = concealed.secrets_for(caller, found, content.root_of(view))
    return {"number": number, "model": concealed.conceal(view, secrets)}


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
    caller = who(request)
    found = reading.get(caller, own.environment(caller, environment_id))
    number = found.version if newer is None else newer
    roots = [content.root_of(history.state(caller, environment_id, n)) for n in (older, number)]
    secrets = concealed.of_roots(caller, found, *roots)
    items = history.compare(caller, environment_id, older, number, concealed.as_diff(secrets))
    return {"items": [item.as_json() for item in items]}


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
    caller = who(request)
    session = history.restore(caller, own.environment(caller, environment_id), number)
    return created(session_json(caller, session, reading.get(caller, environment_id), True))
