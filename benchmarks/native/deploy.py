"""A small deployment: objects with behaviour, attributes, reports and the serialised model."""

from __future__ import annotations

from typing import Any

from benchmarks.native.base import Native, Violation
from benchmarks.native.models import action, header
from benchmarks.workloads import generate

Data = dict[str, Any]


class Component:
    TYPE = "Component"

    def __init__(self, data: Data, land: Landscape) -> None:
        self.id, self.name, self.land = data["?"]["id"], data["name"], land
        if self.name.__class__ is not str:
            raise Violation("name")
        self.ports: list[Data] = []
        for item in data.get("ports", ()):
            port, protocol, scope = item["port"], item["protocol"], item["scope"]
            if port.__class__ is not int or not 0 < port < 65536:
                raise Violation("port")
            if protocol not in ("tcp", "udp") or scope.__class__ is not str:
                raise Violation("protocol")
            self.ports.append({"port": port, "protocol": protocol, "scope": scope})
        self.depends: list[Component] = []
        self.endpoint: str | None = None
        self.attributes: Data = {}
        self.rules = [
            {
                "FromPort": p["port"],
                "ToPort": p["port"],
                "IpProtocol": p["protocol"],
                "External": p["scope"] == "public",
            }
            for p in self.ports
        ]

    def deploy(self) -> str | None:
        if not self.attributes.get("deployed", False):
            self.land.report(f"Deploying {self.name}")
            for dependency in self.depends:
                dependency.deploy()
            self.endpoint = self.provision()
            self.attributes["deployed"] = True
            self.attributes["rules"] = len(self.rules)
            self.land.report(f"{self.name} is ready at {self.endpoint}")
        return self.endpoint

    def provision(self) -> str:
        public = [str(r["FromPort"]) for r in self.rules if r["External"]]
        return f"{self.name}:{','.join(public)}"

    def dump(self) -> Data:
        return {
            "?": header(self.id, self.TYPE, {self.id + "_deploy": action("deploy")}),
            "name": self.name,
            "endpoint": self.endpoint,
            "ports": [dict(p) for p in self.ports],
            "dependsOn": [d.id for d in self.depends],
        }


class WebComponent(Component):
    TYPE = "WebComponent"
    replicas = 2

    def provision(self) -> str:
        return f"http://{super().provision()}*{self.replicas}"

    def dump(self) -> Data:
        return dict(super().dump(), replicas=self.replicas)


class Landscape:
    def __init__(self, model: Data) -> None:
        top = model["Objects"]
        self.name = top["name"]
        self.messages: list[str] = []
        self.components: list[Component] = []
        store: dict[str, Component] = {}
        for data in top["components"]:
            kind = WebComponent if data["?"]["type"].endswith("WebComponent") else Component
            component = kind(data, self)
            store[component.id] = component
            self.components.append(component)
        for data, component in zip(top["components"], self.components, strict=True):
            component.depends = [store[x] for x in data["dependsOn"]]

    def report(self, text: str) -> None:
        if text.__class__ is not str:
            raise Violation("text")
        self.messages.append(text)


def deploy(n: int, model: Data) -> list[Any]:
    land = Landscape(model)
    for component in land.components:
        component.deploy()
    result = {
        "endpoints": len([c.endpoint for c in land.components]),
        "last": land.components[-1].endpoint,
        "messages": len(land.messages),
        "opened": sum([len(c.rules) for c in land.components]),
    }
    attributes = []
    for component in land.components:
        for key in sorted(component.attributes):
            attributes.append([component.id, "bench.flow.Component", key, component.attributes[key]])
    tree = {
        "?": header("land", "Landscape", {"land_deploy": action("deploy")}),
        "name": land.name,
        "components": [c.dump() for c in land.components],
    }
    copy = {"components": [c.dump() for c in land.components]}
    assert copy  # the engine serialises the model twice as well
    return [result, tree, attributes]


NATIVE = {"m1_deploy": Native(lambda n, tmp: generate.landscape_model(n), deploy)}
