"""The servers of an environment, and what one of them says."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse

from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.errors import ServiceError
from vetro.server.language import translated
from vetro.server.servers import commands, logs, report
from vetro.server.web.environment_page import open_page
from vetro.server.web.page import page, render

#: Lines that the page shows.
LINES = 500


@page(rule="read_server_logs")
def show(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """The servers, and the end of what the chosen one says; or only that part, for whoever follows it.

    A cloud that does not answer is told of in the page: the rest of the environment can be reached from there.
    """
    env_page = open_page(caller, environment)
    what, wanted = request.GET.get("server", "")[:255], request.GET.get("source", "")
    told: dict[str, Any] = {"servers": [], "sources": (), "log": None, "problem": ""}
    told["terminals"] = commands.offered(logs.row_of(caller, env_page.id)) and allows(caller, "run_server_commands")
    follow = "follow" in request.GET
    try:
        told["sources"] = sources = logs.sources(caller, env_page.id)
        told["servers"] = servers = logs.servers(caller, env_page.id)
        source = next((known for known in sources if known == wanted), sources[0] if sources else None)
        if servers and source is not None:
            told |= {"source": source, "chosen": what or servers[0].id}
            told["log"] = logs.read(caller, env_page.id, what or servers[0].id, source, most=LINES)
            told["chosen"] = told["log"].server.id
    except ServiceError as error:
        told["problem"] = translated(error.message)
        told["hint"] = translated(error.hint) or ""
    part = request.headers.get("HX-Target") == "server-log"
    context = {**told, "follow": follow} if part else env_page.shell("servers", **told, follow=follow)
    context["env"] = env_page.found
    return render(request, "environments/server_log.html" if part else "environments/servers.html", context)


@page(rule="run_server_commands")
def terminal(request: HttpRequest, caller: Caller, environment: str, server: str) -> HttpResponse:
    """A terminal in a server: the script of the page opens it through the API, with the person's session."""
    env_page = open_page(caller, environment)
    told: dict[str, Any] = {"server": None, "problem": ""}
    try:
        commands.check_offered(logs.row_of(caller, env_page.id))
        told["server"] = logs.chosen(logs.servers(caller, env_page.id), server)
    except ServiceError as error:
        told |= {"problem": translated(error.message), "hint": translated(error.hint) or ""}
    return render(request, "environments/terminal.html", env_page.shell("servers", **told))


@page(rule="report_environment")
def download_report(request: HttpRequest, caller: Caller, environment: str) -> FileResponse:
    """What helps others to find out what is wrong, as an archive."""
    archive = report.write(caller, environment)
    name = f"report-{environment}.zip"
    return FileResponse(archive, as_attachment=True, filename=name, content_type="application/zip")
