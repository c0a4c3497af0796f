"""The topology: applications, servers and networks, who owns and who refers to whom; a picture and an equal table.

Everything else, resources of the cloud among it, is shown with `?all=1`, or where it failed.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from vetro.model.header import id_of, label_of_type
from vetro.model.tree import by_id
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
    every, edges = _of(env_page)
    nodes, edges = _chosen(request, every, edges)
    names = {node["id"]: node["label"] for node in nodes}
    uses: dict[str, list[str]] = {}
    for edge in edges:
        if edge["kind"] == "uses":
            uses.setdefault(edge["source"], []).append(names[edge["target"]])
    rows = [
        {**node, "owner_name": names.get(node["owner"] or "", ""), "uses": uses.get(node["id"], [])} for node in nodes
    ]
    context = env_page.shell("topology", rows=rows, every=len(every), whole=_whole(request), watched=True)
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/topology_part.html" if part else "environments/topology.html", context)


@page(rule="show_environment")
def data(request: HttpRequest, caller: Caller, environment: str) -> JsonResponse:
    """``{nodes: [{id, label, type, kind, state, owner, href, x, y}], edges: [{source, target, property, kind}]}``."""
    nodes, edges = _chosen(request, *_of(open_page(caller, environment)))
    points = placed((node["id"], node["owner"]) for node in nodes)
    for node in nodes:
        node["x"], node["y"] = points[node["id"]]
    return JsonResponse({"nodes": nodes, "edges": edges})


def _whole(request: HttpRequest) -> bool:
    return request.GET.get("all") == "1"


def _chosen(
    request: HttpRequest, nodes: list[dict[str, Any]], edges: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What people think in: the rest is left out, and what it owned and used belongs to whoever owned it."""
    if _whole(request):
        return nodes, edges
    owners = {node["id"]: node["owner"] for node in nodes}
    kept = {node["id"] for node in nodes if node["main"] or node["state"] == "failed"}

    def keeper(own: str | None) -> str | None:
        while own is not None and own not in kept:
            own = owners.get(own)
        return own

    shown = [{**node, "owner": keeper(node["owner"])} for node in nodes if node["id"] in kept]
    lines = {("owns", node["owner"], node["id"]): "" for node in shown if node["owner"] is not None}
    for edge in edges:
        if edge["kind"] == "uses":
            source, target = keeper(edge["source"]), keeper(edge["target"])
            if source and target and source != target and ("owns", source, target) not in lines:
                lines.setdefault(("uses", source, target), edge["property"])
    drawn = [
        {"source": source, "target": target, "property": name, "kind": kind}
        for (kind, source, target), name in lines.items()
    ]
    return shown, drawn


def _is_default(node: dict[str, Any]) -> bool:
    return bool(node["property"] == "defaultNetworks")


def _main(obj: Any, type_name: str) -> bool:
    """Whether an object is a server or a network: servers have an id in the cloud and addresses, whatever their class
    is called; networks are those of the standard package."""
    return {"openstackId", "ipAddresses"} <= obj.keys() or type_name.endswith("Network")


def _of(env_page: EnvironmentPage) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes, owners first, and edges."""
    states = {item.id: _STATES[item.what] for item in env_page.changes if item.what in _STATES}
    drawn = picture(env_page.root, states)
    failed = _failed(env_page)
    known, first = by_id(env_page.root), id_of(env_page.root)
    # Of the environment's own networks each region has a copy from its first deployment on: that one is made.
    regional = any(_is_default(node) and node["owner"] != first for node in drawn["nodes"])
    nodes = []
    for node in drawn["nodes"]:
        pattern = regional and _is_default(node) and node["owner"] == first
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
                "main": (node["owner"] in (None, first) and (top or node["property"] == "applications"))
                or (not pattern and _main(known[node["id"]], node["type"])),
                "href": "" if top else f"/app/environments/{env_page.id}/components/{node['id']}/",
            }
        )
    edges = list(drawn["edges"])
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
                "main": False,
                "href": "",
            }
        )
        if owner is not None:
            edges.append({"source": owner, "target": found["id"], "property": "", "kind": "owns"})
        edges += [{"source": found["id"], "target": other, "property": "", "kind": "uses"} for other in found["uses"]]
    drawn_ids = {node["id"] for node in nodes}
    return nodes, [edge for edge in edges if edge["source"] in drawn_ids and edge["target"] in drawn_ids]


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
