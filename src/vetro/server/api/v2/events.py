"""`GET /v2/events`: what happens in the project, as server-sent events."""

from __future__ import annotations

import re
from typing import Annotated

from django.http import HttpRequest, HttpResponseBase
from ninja import Header, Query

from vetro.server.accounts.policy import enforce
from vetro.server.api.v2.access import find_caller, who
from vetro.server.api.v2.routes import Routes
from vetro.server.api.v2.stream import Watch
from vetro.server.environments import lookup
from vetro.server.errors import Forbidden, Invalid
from vetro.server.requests.streams import event_stream

routes = Routes("events")
_NUMBER = re.compile(r"\d{1,18}")
_STREAM = {
    "responses": {
        200: {
            "description": "`id` is the number to come back with, `event` the kind, `data` JSON.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    }
}


@routes.add("GET", "/events", "watchEvents", "watch_events", extra=_STREAM)
def watch(
    request: HttpRequest,
    environment: Annotated[
        str | None, Query(max_length=64, description="Only what happens to this environment.")
    ] = None,
    task: Annotated[str | None, Query(max_length=64, description="Only what happens to this task.")] = None,
    after: Annotated[
        int | None, Query(ge=0, le=(1 << 62), description="Like Last-Event-ID, for clients that cannot.")
    ] = None,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", description="Go on after this event.")] = None,
) -> HttpResponseBase:
    """A stream of events: `environment`, `session`, `task`, `report`, `health`, `package`, `import`.

    `data` holds `{environment_id, task_id, at, …}`: ids and states, what else is of interest is read by other calls.
    Events may be sent twice after a reconnection, never left out (they are kept for some days; `begin` with `missed`
    says that some are gone). A comment comes when nothing happens; `event: end` says that the token works no longer.
    There are so many streams and no more (setting `server.streams`): beyond, the answer is empty and says when to come
    again.
    """
    caller = who(request)
    if environment is not None:
        lookup.environment(caller, environment)
    if task is not None:
        lookup.task(caller, task)
    start: int | None = after
    if last_event_id is not None and last_event_id.strip():
        if not _NUMBER.fullmatch(last_event_id.strip()):
            raise Invalid("Last-Event-ID must be the id of an event.")
        start = int(last_event_id)

    def still() -> None:
        now = find_caller(request)
        enforce(now, "watch_events")
        # A web session may have moved on to another project, an administrator may be one no longer.
        if (now.project_id, now.is_admin) != (caller.project_id, caller.is_admin):
            raise Forbidden("You act in another project, or with other rights, than when the stream began.")

    watched = Watch(caller.project_id, environment, task, start, still)
    return event_stream(watched.parts, caller.project_id)
