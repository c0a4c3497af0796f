"""Servers of an environment, and what they say: consoles and journals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any

from django.http import FileResponse, HttpRequest, HttpResponseBase
from ninja import Field, Query, Schema

from vetro.server.accounts.policy import enforce
from vetro.server.api.answers import servers as answers
from vetro.server.api.v2.access import find_caller, who
from vetro.server.api.v2.routes import Answer, Routes, nothing
from vetro.server.environments import lookup
from vetro.server.errors import Forbidden
from vetro.server.requests.streams import event_stream
from vetro.server.servers.commands import LARGEST_INPUT
from vetro.server.servers.logs import MOST, Source

routes = Routes("servers")


class ServerShown(Schema):
    """A server as the cloud has it."""

    id: str
    name: str
    status: str = Field(description="BUILD, ACTIVE, SHUTOFF, ERROR, UNKNOWN.")
    region: str | None = Field(description="null: the home region.")
    component_id: str | None = Field(description="null: it is made just now, or nothing that is deployed has it.")
    component: str | None


class ServersShown(Schema):
    """The servers of an environment."""

    items: list[ServerShown]
    sources: list[str] = Field(description="What can be read of them: console, journal.")


class ServerLogShown(Schema):
    """Lines of a server, without what would command a terminal, and with secrets masked."""

    server: ServerShown
    source: str
    lines: list[str] = Field(description="The oldest first.")
    next: str = Field(description="As `after` it gives what was added since.")
    missed: bool = Field(description="Lines between `after` and these are gone: there were too many.")


@routes.add("GET", "/environments/{environment_id}/servers", "listServers", "read_server_logs", ServersShown)
def list_servers(request: HttpRequest, environment_id: str) -> Any:
    """The servers of an environment as its cloud has them now, also those that a task makes."""
    return answers.list_servers(who(request), environment_id)


@routes.add(
    "GET",
    "/environments/{environment_id}/servers/{server}/log",
    "readServerLog",
    "read_server_logs",
    ServerLogShown,
)
def read_server_log(
    request: HttpRequest,
    environment_id: str,
    server: str,
    source: Annotated[Source, Query(description="Its console, or what its services say.")] = "console",
    lines: Annotated[int, Query(ge=1, le=MOST)] = 200,
    after: Annotated[str, Query(max_length=200, description="Only what was added since: `next` of before.")] = "",
) -> Any:
    """The end of the console or the journal of a server: its id or name, or a component that has a single one.

    To follow it, ask again with `after`, once a second or less often.
    """
    return answers.read_server_log(who(request), environment_id, server, source=source, lines=lines, after=after)


class Size(Schema):
    """A terminal."""

    columns: int = Field(ge=1, le=1000)
    rows: int = Field(ge=1, le=1000)


class CommandWanted(Schema):
    """A command for a server."""

    command: list[str] = Field([], max_length=1000, description="The program with its arguments; none: a shell.")
    terminal: Size | None = Field(None, description="null: none, and both streams are told apart.")
    input: bool = Field(False, description="It gets input. With a terminal it always does.")


class CommandInput(Schema):
    """Input of a command."""

    data: str = Field("", max_length=(LARGEST_INPUT + 2) // 3 * 4, description="Base64.")
    end: bool = Field(False, description="No more follows. Terminals have their own way: Ctrl-D.")
    terminal: Size | None = Field(None, description="The size that the terminal has now.")


_STREAM = {
    "responses": {
        200: {
            "description": "`event` is begin, stdout, stderr, exit or end, `data` JSON.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    }
}


@routes.add(
    "POST",
    "/environments/{environment_id}/servers/{server}/commands",
    "runServerCommand",
    "run_server_commands",
    extra=_STREAM,
)
def run_command(request: HttpRequest, environment_id: str, server: str, given: CommandWanted) -> HttpResponseBase:
    """Runs a command as root of a server (its id or name, or a component that has a single one), and sends what it
    writes as it comes, as server-sent events.

    `begin` has the `id` for input, `stdout` and `stderr` have `data` in base64, `exit` has the `code` that the command
    ended with. The command ends with the request: when the client goes away, the token expires or the role is taken
    away. `end` with a `reason` says so where it can. It is audited: who, when, which server, which program, and neither
    its arguments nor its input.
    """
    caller = who(request)

    def still() -> None:
        now = find_caller(request)
        enforce(now, "run_server_commands")
        # A web session may have moved on to another project, an administrator may be one no longer.
        if (now.user_id, now.project_id, now.is_admin) != (caller.user_id, caller.project_id, caller.is_admin):
            raise Forbidden("You act in another project, or with other rights, than when the command began.")
        lookup.environment(now, environment_id)

    def begin() -> Iterator[str]:
        events = answers.run_command(
            caller,
            environment_id,
            server,
            command=given.command,
            terminal=None if given.terminal is None else given.terminal.model_dump(),
            input=given.input,
            still=still,
        )
        return _texts(events)

    return event_stream(begin, caller.project_id, once=True)


def _texts(events: answers.Events) -> Iterator[str]:
    with closing(events):
        for kind, data in events:
            yield f"event: {kind}\ndata: {json.dumps(data)}\n\n" if data else ":\n\n" if kind else ""


@routes.add(
    "POST",
    "/environments/{environment_id}/commands/{command}/input",
    "sendCommandInput",
    "run_server_commands",
    status=204,
)
def send_input(request: HttpRequest, environment_id: str, command: str, given: CommandInput) -> Answer:
    """Gives a command that the same person has started input, one part after the other.

    404: it has ended, or reads no more. 429: it has not read what it was given before; nothing was taken.
    """
    answers.send_input(who(request), environment_id, command, **given.model_dump())
    return nothing()


@routes.add(
    "GET",
    "/environments/{environment_id}/report",
    "reportEnvironment",
    "report_environment",
    extra={"responses": {200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}}},
)
def report_environment(request: HttpRequest, environment_id: str) -> FileResponse:
    """What helps others to find out what is wrong with an environment: a ZIP archive with secrets masked."""
    archive = answers.report_environment(who(request), environment_id)
    name = f"report-{environment_id}.zip"
    return FileResponse(archive, as_attachment=True, filename=name, content_type="application/zip")
