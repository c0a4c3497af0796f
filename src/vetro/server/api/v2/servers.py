"""Servers of an environment, and what they say: consoles and journals."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import FileResponse, HttpRequest
from ninja import Field, Query, Schema

from vetro.server.api.answers import servers as answers
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes
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
