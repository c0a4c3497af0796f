"""The topology: objects, who owns and who refers to whom, and resources in the cloud; a picture and an equal table."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from vetro.model.header import label_of_type
from vetro.server.caller import Caller
from vetro.server.environments import deployments
from vetro.server.environments.topology import picture
from vetro.server.web.environment_page import EnvironmentPage, open_page
from vetro.server.web.page import page, render
from vetro.server.web.views.environments import resources
from vetro.server.web.views.environments.layout import placed

_STATES = {"created": "new", "changed": "changed", "moved": "changed"}


@page(rule="show_environment")
def show(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """The page: the table is in it, the picture is drawn by the script from `data`."""
    env_page = open_page(caller, environment)
    nodes, edges = _of(env_page)
    names = {node["id"]: node["label"] for node in nodes}
    uses: dict[str, list[str]] = {}
    for edge in edges:
        if edge["kind"] == "uses":
            uses.setdefault(edge["source"], []).append(names[edge["target"]])
    rows = [
        {**node, "owner_name": names.get(node["owner"] or "", ""), "uses": uses.get(node["id"], [])} for node in nodes
    ]
    context = env_page.shell("topology", rows=rows, watched=True)
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/topology_part.html" if part else "environments/topology.html", context)


@page(rule="show_environment")
def data(request: HttpRequest, caller: Caller, environment: str) -> JsonResponse:
    """``{nodes: [{id, label, type, kind, state, owner, href, x, y}], edges: [{source, target, property, kind}]}``."""
    nodes, edges = _of(open_page(caller, environment))
    points = placed((node["id"], node["owner"]) for node in nodes)
    for node in nodes:
        node["x"], node["y"] = points[node["id"]]
    return JsonResponse({"nodes": nodes, "edges": edges})


def _of(env_page: EnvironmentPage) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes, owners first, and edges."""
    states = {item.id: _STATES[item.what] for item in env_page.changes if item.what in _STATES}
    drawn = picture(env_page.root, states)
    failed = _failed(env_page)
    nodes = []
    for node in drawn["nodes"]:
        top = node["owner"] is None
        state = node["status"]
        if node["id"] in failed:
            state = "failed"
        elif env_page.found.busy:
            state = "working"
        elif env_page.deployed is None:
            state = "new"
        nodes.append(
            {
                "id": node["id"],
                "label": env_page.found.name if top else node["name"] or label_of_type(node["type"]),
                "type": node["type"],
                "kind": "environment" if top else "object",
                "state": state,
                "owner": node["owner"],
                "href": "" if top else f"/app/environments/{env_page.id}/components/{node['id']}/",
            }
        )
    edges = list(drawn["edges"])
    first = nodes[0]["id"] if nodes else None
    for found in resources.of_environment(env_page.found.project_id, env_page.id):
        owner = found["owner"] or first
        nodes.append(
            {
                "id": found["id"],
                "label": found["name"],
                "type": found["type"],
                "kind": "resource",
                "state": _resource_state(found["state"]),
                "owner": owner,
                "href": "",
            }
        )
        if owner is not None:
            edges.append({"source": owner, "target": found["id"], "property": "", "kind": "owns"})
        edges += [{"source": found["id"], "target": other, "property": "", "kind": "uses"} for other in found["uses"]]
    known = {node["id"] for node in nodes}
    return nodes, [edge for edge in edges if edge["source"] in known and edge["target"] in known]


def _failed(env_page: EnvironmentPage) -> set[str]:
    """Applications whose newest report is an error."""
    newest = deployments.last_statuses(
        env_page.caller, env_page.id, env_page.session.id if env_page.session is not None else ""
    )
    return {own for own, report in newest.items() if report is not None and report["level"] == "error"}


def _resource_state(status: str) -> str:
    if "FAILED" in status:
        return "failed"
    return "working" if "PROGRESS" in status else "deployed"
