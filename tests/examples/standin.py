"""A stand-in for a cloud and its agents: answers at once what a real one would after a while, and keeps the plans."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from vetro.library.stackdata import EMPTY, Parts, apply, digest_of, whole_of
from vetro.muranopl.runtime.effects import InProcessEffects

#: What an agent answers: the plan -> the value of its body.
Answer = Callable[[dict[str, Any]], Any]


class Stack:
    """One stack: its parts, and the outputs that its template asks for."""

    def __init__(self) -> None:
        self.parts: Parts = {}
        self.pushes = 0

    @property
    def template(self) -> dict[str, Any]:
        return whole_of(self.parts)[0]

    def outputs(self) -> dict[str, Any]:
        return {name: self._value(output["value"]) for name, output in self.template.get("outputs", {}).items()}

    def _value(self, expression: Any) -> Any:
        match expression:
            case {"get_resource": str(key)}:
                return f"id-of-{key}"
            case {"get_attr": [server, "addresses", *_]}:
                return [{"addr": self._address(server)}]
            case {"get_attr": [_, "floating_ip_address"]}:
                return "203.0.113.7"
            case {"get_attr": [_, "value"]}:
                return "secret"
            case {"get_attr": [server, "first_address"]}:
                return self._address(server)
        raise AssertionError(f"no output like {expression} is known here")

    def _address(self, server: str) -> str:
        keys = sorted(key for key, found in self.template["resources"].items() if found["type"] == "OS::Nova::Server")
        return f"10.0.0.{keys.index(server) + 10}"


class StandIn(InProcessEffects):
    """``stacks`` by name, ``plans`` in the order in which they came, as (server queue, plan)."""

    def __init__(self, answer: Answer | None = None) -> None:
        super().__init__(
            {
                "stack.read": self._read,
                "stack.push": self._push,
                "stack.delete": lambda args: self.stacks.pop(args["name"], None) and None,
                "agent.call": self._call,
                "network": self._network,
            }
        )
        self.stacks: dict[str, Stack] = {}
        self.plans: list[tuple[str, dict[str, Any]]] = []
        self.answer = answer or usual_answer

    @property
    def said(self) -> list[str]:
        """Texts of all reports."""
        return [report["text"] for report in self.reports]

    def names(self) -> list[str]:
        """Names of all plans."""
        return [plan["Name"] for _, plan in self.plans]

    def plan(self, name: str) -> dict[str, Any]:
        """The only plan of that name."""
        (found,) = [plan for _, plan in self.plans if plan["Name"] == name]
        return found

    def servers(self) -> list[str]:
        """Names of all servers there are."""
        resources = [r for s in self.stacks.values() for r in s.template.get("resources", {}).values()]
        return sorted(r["properties"]["name"] for r in resources if r["type"] == "OS::Nova::Server")

    def _read(self, args: Mapping[str, Any]) -> Any:
        stack = self.stacks.get(args["name"])
        if stack is None:
            return None
        template, parameters, _, _ = whole_of(stack.parts)
        return {
            "template": template,
            "parameters": parameters,
            "outputs": stack.outputs(),
            "digest": digest_of(stack.parts),
        }

    def _push(self, args: Mapping[str, Any]) -> Any:
        stack = self.stacks.setdefault(args["name"], Stack())
        base = stack.parts if args["base"] is not None else {}
        if args["base"] is not None and args["base"] != (digest_of(base) if base else EMPTY):
            return {"stale": True}
        stack.parts = apply(base, args["put"], args["drop"])
        assert digest_of(stack.parts) == args["digest"]
        stack.pushes += 1
        return {"outputs": stack.outputs(), "gone": [], "whole": True}

    def _call(self, args: Mapping[str, Any]) -> Any:
        self.plans.append((args["queue"], args["plan"]))
        message = {"FormatVersion": "2.0.0", "Action": "Execution:Result", "SourceID": args["id"], "ErrorCode": 0}
        return {"result": {**message, "Body": self.answer(args["plan"])}}

    def _network(self, args: Mapping[str, Any]) -> Any:
        answers = {
            "router": "router-1",
            "cidr": "10.0.0.0/24",
            "external_of_router": "ext-net",
            "external_of_network": None,
            "extensions": [{"alias": "security-group"}],
        }
        return answers.get(args["query"], [])


def usual_answer(plan: dict[str, Any]) -> Any:
    """Commands end with 0; other bodies give a text."""
    return {"exitCode": 0, "stdout": "fine", "stderr": None} if is_command(plan) else "done"


def is_command(plan: Mapping[str, Any]) -> bool:
    """Whether the plan is one of io.murano.configuration.Linux."""
    return bool({"runCommand", "putFile"} & set(plan["Scripts"]))


def files(plan: Mapping[str, Any]) -> dict[str, bytes]:
    """Contents of a plan's files by name."""
    return {
        file["Name"]: base64.b64decode(file["Body"]) if file["BodyType"] == "Base64" else file["Body"].encode()
        for file in plan["Files"].values()
    }
