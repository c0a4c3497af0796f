"""`Reports`: how components are, told when it is not as it was told before."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from vetro.diagnostics import Text, encode_messages
from vetro.engine.watching import targets
from vetro.engine.watching.states import (
    CheckReport,
    ComponentReport,
    Observation,
    State,
    component_report,
    server_finding,
)
from vetro.engine.watching.targets import Component, Environment

#: Seconds between two looks at which results are too old.
AGE = 5.0
#: States of servers that can be started.
_ENDED = frozenset({"SHUTOFF", "ERROR"})


class Reports:
    """Notes what may have changed, and tells what did."""

    def __init__(self) -> None:
        #: Components about which something may be told.
        self._touched: dict[int, tuple[Environment, Component]] = {}
        #: When results were looked at for being too old.
        self._aged = 0.0

    def touch(self, environment: Environment, *components: Component) -> None:
        """Something may be told about these components; without any, about all of the environment."""
        for component in components or environment.components:
            self._touched[id(component)] = environment, component

    def take(self, environments: Iterable[Environment]) -> list[dict[str, Any]]:
        """Of those that are watched: `Watch.changes`."""
        self._find_old(environments)
        touched, self._touched = self._touched, {}
        told: dict[str, dict[str, Any]] = {}
        for environment, component in touched.values():
            report = None if environment.gone else _report(environment, component)
            data = None if report is None else _shown(component.id, report)
            if data is not None and data != component.last:
                component.last = data
                found = told.setdefault(
                    environment.id,
                    {
                        "id": environment.id,
                        "number": environment.number,
                        "components": [],
                        "off": _ended(environment),
                    },
                )
                found["components"].append(data)
        return list(told.values())

    def _find_old(self, environments: Iterable[Environment]) -> None:
        now = time.monotonic()
        ages = now - self._aged >= AGE
        if ages:
            self._aged = now
        for environment in environments:
            stale = environment.looked is None or now - environment.looked > targets.STALE
            if stale is not environment.stale:
                environment.stale = stale
                self.touch(environment)
            for component in environment.components if ages else ():
                overdue = sum(result.until < now for result in component.results.values())
                if overdue != component.overdue:
                    component.overdue = overdue
                    self.touch(environment, component)


def _report(environment: Environment, component: Component) -> ComponentReport | None:
    """How a component is; None: it was not looked at yet."""
    if component.servers and environment.looked is None and not environment.trouble:
        return None
    servers, now = {}, time.monotonic()
    for id, name in component.servers.items():
        if environment.stale:
            text = Text("the cloud does not answer: {why}", why=environment.trouble or Text("nobody knows why"))
            servers[id] = Observation(State.UNKNOWN, text)
        else:
            seen = environment.servers.get(id)
            servers[id] = server_finding(name, None if seen is None else seen.status, environment.stopped.get(id))
    checks = []
    for check in component.checks.values():
        result = component.results[check.key]
        finding = result.finding()
        if result.until < now and (check.declared or finding is not None):
            finding = Observation(State.UNKNOWN, Text("it was not asked in time"))
        server = check.server
        if not server:  # one that does not run keeps the object from answering
            server = next((id for id in servers if servers[id].state is not State.RUNNING), next(iter(servers), ""))
        checks.append((CheckReport(check.key, check.name, finding, result.reached, not check.declared), server))
        running = server in servers and servers[server].state is State.RUNNING
        if running and check.declared and finding is None and not result.failures:
            return None  # nothing is green before everything was looked at once
    return component_report(servers, checks)


def _ended(environment: Environment) -> list[str]:
    if environment.stale:
        return []
    wanted = {id for component in environment.components for id in component.servers} - environment.stopped.keys()
    return sorted(id for id in wanted & environment.servers.keys() if environment.servers[id].status in _ENDED)


def _shown(id: str, report: ComponentReport) -> dict[str, Any]:
    return {
        "id": id,
        **_finding(report.finding),
        "checks": [
            {
                "key": check.key,
                "name": check.name,
                "reached": check.reached,
                "guessed": check.guessed,
                **_finding(check.finding),
            }
            for check in report.checks
        ],
    }


def _finding(finding: Observation | None) -> dict[str, Any]:
    if finding is None:
        return {"state": "", "text": ""}
    told: dict[str, Any] = encode_messages({"state": finding.state.value, "text": finding.text})
    return told
