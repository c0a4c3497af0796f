"""`Simulator`: a cloud in memory for tests of the library: stacks with made-up outputs, one router, scripted agents.

It applies pushes by `vetro.library.stackdata` and checks their digests, so a library that sends a wrong difference
fails every test. Attributes of resources follow from their keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.library.stackdata import Parts, apply, digest_of, whole_of

ROUTER = "router-1"
OUTER = "ext-net-1"


class StackFailure(Exception):
    """What a cloud says about a stack that failed."""


class Simulator:
    """Register its handlers with `install`."""

    def __init__(self, *, extensions: tuple[str, ...] = ("security-group",)) -> None:
        self.stacks: dict[str, Parts] = {}
        self.digests: dict[str, str] = {}
        self.outputs: dict[str, dict[str, Any]] = {}
        self.pushes: list[dict[str, Any]] = []
        self.plans: list[dict[str, Any]] = []
        self.extensions = extensions
        #: What fails the next pushes.
        self.failures: list[str] = []
        self.answer: Callable[[dict[str, Any]], Any] = lambda plan: {
            "FormatVersion": "2.0.0", "SourceID": plan.get("ID"), "Action": "Execution:Result", "ErrorCode": 0,
            "Body": {"exitCode": 0, "stdout": "", "stderr": None},
        }  # fmt: skip
        self.networks: list[dict[str, Any]] = [{"id": OUTER, "name": "ext-net", "router:external": True}]
        self.subnets: list[dict[str, Any]] = []
        self.ports: list[dict[str, Any]] = []
        self._addresses: dict[str, str] = {}

    def install(self, host: Any) -> Simulator:
        """Becomes the cloud of a test host."""
        for kind in ("stack.read", "stack.push", "stack.delete", "network", "agent.call", "agent.send"):
            host.inner.register(kind, getattr(self, kind.replace(".", "_")))
        return self

    # -- stacks --------------------------------------------------------------------------------------------------------

    def template(self, name: str | None = None) -> dict[str, Any]:
        """The template of a stack, of the only one by default."""
        if name is None:
            (name,) = self.stacks
        return whole_of(self.stacks[name])[0]

    def stack_read(self, args: dict[str, Any]) -> Any:
        name = args["name"]
        if name not in self.stacks:
            return None
        template, values, _, _ = whole_of(self.stacks[name])
        return {
            "template": template, "parameters": values, "outputs": self.outputs[name], "digest": self.digests[name],
        }  # fmt: skip

    def stack_push(self, args: dict[str, Any]) -> Any:
        name = args["name"]
        self.pushes.append(args)
        if self.failures:
            raise StackFailure(self.failures.pop(0))
        if args["base"] is not None and args["base"] != self.digests.get(name):
            return {"stale": True}
        before = self.stacks.get(name, {}) if args["base"] is not None else {}
        parts = apply(before, args["put"], args["drop"])
        assert digest_of(parts) == args["digest"]
        self.stacks[name], self.digests[name] = parts, args["digest"]
        template = whole_of(parts)[0]
        old = self.outputs.get(name, {}) if args["known"] is not None else {}
        new = {key: self.value(template, item["value"]) for key, item in template.get("outputs", {}).items()}
        self.outputs[name] = new
        changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
        return {"outputs": changed, "gone": [key for key in old if key not in new], "whole": not old}

    def stack_delete(self, args: dict[str, Any]) -> None:
        for kept in (self.stacks, self.digests, self.outputs):
            kept.pop(args["name"], None)

    def value(self, template: dict[str, Any], item: Any) -> Any:
        """The value of an output."""
        if isinstance(item, dict) and "get_resource" in item:
            return f"id of {item['get_resource']}"
        if isinstance(item, dict) and "get_attr" in item:
            resource, attribute, *path = item["get_attr"]
            return self.attribute(template["resources"][resource], resource, attribute, path)
        return item

    def attribute(self, resource: dict[str, Any], key: str, name: str, path: list[Any]) -> Any:
        """The value of an attribute of a resource."""
        address = self._addresses.setdefault(key, f"10.0.0.{len(self._addresses) + 10}")
        if name == "addresses":
            return [{"addr": address, "version": 4}]
        if name == "networks":
            return {"private": [address]}
        if name == "fixed_ips":
            assert path == [0, "ip_address"]
            return address
        if name in ("floating_ip_address", "ip"):
            return "192.0.2." + address.rpartition(".")[2]
        if name == "cidr":
            return resource["properties"]["cidr"]
        return f"{name} of {key}"

    # -- networks ------------------------------------------------------------------------------------------------------

    def network(self, args: dict[str, Any]) -> Any:
        answers: dict[str, Any] = {
            "router": ROUTER, "cidr": "10.0.0.0/24", "dns": ["198.51.100.1"], "external_of_router": OUTER,
            "external_of_network": OUTER, "networks": self.networks, "subnets": self.subnets, "ports": self.ports,
            "extensions": [{"alias": alias} for alias in self.extensions],
        }  # fmt: skip
        return answers[args["query"]]

    # -- agents --------------------------------------------------------------------------------------------------------

    def agent_send(self, args: dict[str, Any]) -> None:
        self.plans.append(args)

    def agent_call(self, args: dict[str, Any]) -> Any:
        self.plans.append(args)
        found = self.answer(args["plan"])
        return {"timeout": args["timeout"]} if found is None else {"result": found}
