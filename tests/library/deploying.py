"""`Deployed`: an environment with servers on the simulated cloud, through the real library."""

from __future__ import annotations

import json
from typing import Any

from tests.library.simulator import Simulator
from tests.support.host import Host

NEUTRON = {"?": {"type": "io.murano.resources.NeutronNetwork"}, "name": "lan"}
NOVA = {"?": {"type": "io.murano.resources.NovaNetwork"}}
EXISTING = {"?": {"type": "io.murano.resources.ExistingNeutronNetwork"}}

#: An application of any number of resources, each of which has a deploy().
APP = """
Extends: std:Application
Properties:
  parts: {Contract: [$.class(std:CloudResource).notNull()], Usage: InOut}
Methods:
  deploy: {Body: [{For: part, In: $.parts, Do: [$part.deploy()]}]}
  run:
    Scope: Public
    Body:
      - $server: $.parts.last()
      - Return: !yaql "call(step, [$server], {}, $this)"
  step: {Arguments: [{server: {Contract: $}}], Body: }
"""


def resource(kind: str, id: str, **properties: Any) -> dict[str, Any]:
    """The definition of an object of a class of io.murano.resources, or of io.murano for names with a dot in front."""
    full = f"io.murano{kind}" if kind.startswith(".") else f"io.murano.resources.{kind}"
    return {"?": {"type": full, "id": id}, **properties}


def server(kind: str = "LinuxMuranoInstance", id: str = "srv", **properties: Any) -> dict[str, Any]:
    """The definition of a server named web."""
    given = {"name": "web", "flavor": "small", "image": "debian", **properties}
    return resource(kind, id, **{key: value for key, value in given.items() if value is not None})


class Deployed:
    """Deploys ``parts`` when it is made; everything that happened can be looked at, and deployed again."""

    def __init__(
        self,
        *parts: dict[str, Any],
        network: Any = NEUTRON,
        flat: Any = None,
        simulator: Simulator | None = None,
        step: str = "",
        settings: dict[str, Any] | None = None,
        deploy: bool = True,
        **more: Any,
    ) -> None:
        self.host = Host(seed=1, settings=settings or {})
        self.cloud = (simulator or Simulator()).install(self.host)
        self.host.inner.register("clock", lambda args: 1_700_000_000.0)
        app = APP if not step else APP.replace("Body: }\n", "Body: [" + step + "]}\n")
        self.host.load("Methods: {}", classes={"App": app, **more.pop("classes", {})}, **more)
        application = {"?": {"type": "t.App", "id": "app"}, "parts": list(parts)}
        self.model: dict[str, Any] = {
            "Objects": {
                "?": {"type": "io.murano.Environment", "id": "env"},
                "name": "e",
                "defaultNetworks": {"environment": network, "flat": flat},
                "applications": [application],
            }
        }
        if deploy:
            self.deploy()

    @property
    def session(self) -> Any:
        """The latest session."""
        return self.host.session

    def load(self, **changes: Any) -> Any:
        """A new session over the model after the last deployment; ``changes`` are properties of the application."""
        model = dict(self.model)
        if "Attributes" in model:
            model["ObjectsCopy"] = model["Objects"]
        root = dict(model["Objects"])
        root["applications"] = [{**app, **changes} for app in root["applications"]]
        self.host.session = self.host.engine().session(seed=len(self.host.effects.records))
        self.host.session.load({**model, "Objects": root})
        self.host.session.cleanup()
        return self.host.session

    def deploy(self, **changes: Any) -> None:
        """Deploys (again)."""
        self.load(**changes).call("deploy")
        self.model = self.host.session.finalize()

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The deployed parts as the model has them."""
        found: list[dict[str, Any]] = self.model["Objects"]["applications"][0]["parts"]
        return found

    @property
    def region(self) -> dict[str, Any]:
        """The only region as the model has it."""
        (found,) = self.model["Objects"]["regions"].values()
        return dict(found)

    def plain(self, value: Any) -> Any:
        """A value with the ids of region and networks written as REGION, NET and FLAT."""
        names = {self.region["?"]["id"]: "REGION"}
        for kind, name in (("environment", "NET"), ("flat", "FLAT")):
            network = self.region["defaultNetworks"][kind]
            if network is not None:
                names[network["?"]["id"]] = name
        text = json.dumps(value)
        for found, name in names.items():
            text = text.replace(found, name)
        return json.loads(text)

    @property
    def resources(self) -> dict[str, Any]:
        """The resources of the stack, ids as `plain` writes them."""
        found: dict[str, Any] = self.plain(self.cloud.template()["resources"])
        return found

    @property
    def outputs(self) -> dict[str, Any]:
        """The outputs of the stack's template, without the key ``value``."""
        found = self.plain(self.cloud.template().get("outputs", {}))
        return {key: item["value"] for key, item in found.items()}

    @property
    def kinds(self) -> list[str]:
        """Kinds of all effects so far."""
        return [record.kind for record in self.host.effects.records]
