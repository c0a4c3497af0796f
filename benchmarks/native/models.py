"""Loading and serialising object models."""

from __future__ import annotations

from typing import Any

from benchmarks.native.base import Native, Violation
from benchmarks.workloads import generate

Data = dict[str, Any]


class Node:
    __slots__ = ("backups", "id", "labels", "name", "owner", "peer", "ports", "weight")

    id: Any
    name: Any
    weight: Any
    labels: Data
    ports: tuple[int, ...]
    peer: Node | None
    backups: tuple[Node, ...]
    owner: Site


class Site:
    __slots__ = ("id", "name", "nodes")

    id: Any
    name: Any
    nodes: list[Node]


def load_site(model: Data) -> Site:
    top = model["Objects"]
    site = Site()
    site.id, site.name, site.nodes = top["?"]["id"], top["name"], []
    if site.name.__class__ is not str:
        raise Violation("name")
    store: dict[str, Node] = {}
    for data in top["nodes"]:
        header = data["?"]
        if header["type"] != "bench.flow.Node":
            raise Violation("type")
        node = Node()
        node.id, node.owner = header["id"], site
        node.name = data["name"]
        node.weight = data.get("weight", 1)
        if node.name.__class__ is not str:
            raise Violation("name")
        if node.weight.__class__ is not int or node.weight < 0:
            raise Violation("weight")
        node.labels = {}
        for key, value in data.get("labels", {}).items():
            if key.__class__ is not str or (value is not None and value.__class__ is not str):
                raise Violation("labels")
            node.labels[key] = value
        ports = []
        for port in data.get("ports", ()):
            if port.__class__ is not int:
                raise Violation("ports")
            ports.append(port)
        node.ports = tuple(ports)
        store[node.id] = node
        site.nodes.append(node)
    for data, node in zip(top["nodes"], site.nodes, strict=True):
        peer = data.get("peer")
        node.peer = None if peer is None else store[peer]
        node.backups = tuple([store[b] for b in data.get("backups", ())])
    return site


def load(n: int, model: Data) -> int:
    return sum([node.weight for node in load_site(model).nodes])


class Box:
    __slots__ = ("id", "inner", "name")

    id: Any
    name: Any
    inner: Box | None


def load_nested(n: int, model: Data) -> Any:
    """The name of the outermost box: the method of the workload is called ``depth``, but this is what it returns."""
    data, outermost, above = model["Objects"], None, None
    while data is not None:
        box = Box()
        box.id, box.name, box.inner = data["?"]["id"], data["name"], None
        if box.name.__class__ is not str:
            raise Violation("name")
        if above is None:
            outermost = box
        else:
            above.inner = box
        above, data = box, data.get("inner")
    return None if outermost is None else outermost.name


def header(object_id: str, class_name: str, actions: Data | None) -> Data:
    result: Data = {
        "id": object_id,
        "metadata": None,
        "name": None,
        "type": f"bench.flow.{class_name}/0.1.0@bench.flow",
    }
    if actions is not None:
        result["_actions"] = actions
    return result


def action(name: str) -> Data:
    return {"enabled": True, "name": name, "title": name}


def serialize(n: int, site: Site) -> Data:
    def tree(with_actions: bool) -> Data:
        nodes = []
        for node in site.nodes:
            nodes.append(
                {
                    "?": header(node.id, "Node", {} if with_actions else None),
                    "name": node.name,
                    "weight": node.weight,
                    "labels": dict(node.labels),
                    "ports": list(node.ports),
                    "peer": None if node.peer is None else node.peer.id,
                    "backups": [b.id for b in node.backups],
                }
            )
        actions = {"site_totalWeight": action("totalWeight")} if with_actions else None
        return {"?": header("site", "Site", actions), "name": site.name, "nodes": nodes}

    return {"Objects": tree(True), "ObjectsCopy": tree(False), "Attributes": []}


NATIVE = {
    "e1_load": Native(lambda n, tmp: generate.site_model(n), load),
    "e2_nested": Native(lambda n, tmp: generate.nested_model(n), load_nested),
    "f1_serialize": Native(lambda n, tmp: load_site(generate.site_model(n)), serialize),
}
