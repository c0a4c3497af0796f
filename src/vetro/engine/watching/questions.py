"""`Questions`: what tasks are asked about environments, when, how many at once; and what their answers mean."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any

from vetro.diagnostics import decode_messages
from vetro.engine.watching import targets
from vetro.engine.watching.reports import Reports
from vetro.engine.watching.states import State
from vetro.engine.watching.targets import Check, Component, Environment

#: Seconds after the time for a question, which waits for others, after which nobody knows any more what is the answer.
OVERDUE = 300.0
#: Environments that tasks are asked about at once, in all and of one project; checks of one question; seconds after
#: which its answer does not come any more.
ASKED, ASKED_PROJECT, ASKED_CHECKS, PATIENCE = 4, 1, 20, 180.0
#: Seconds between two questions about a command and about a method, at least; and how many times as long as the answer
#: took, and seconds until what was not answered is asked again.
EVERY = {"command": 60.0, "method": 300.0}
SHARE, AGAIN = 10.0, 30.0
#: Projects whose turns are kept.
_TURNS = 10_000
#: Part of a pause by which it is longer.
_JITTER = 0.1


class Questions:
    """Environments take turns within their project, and projects among each other."""

    def __init__(self, reports: Reports, chance: random.Random) -> None:
        self._reports = reports
        self._random = chance
        #: Environments that tasks are asked about; their projects take turns (when each had its last one), and they.
        self._askable: dict[str, Environment] = {}
        self._turns: dict[str, float] = {}
        self._asking: dict[str, Environment] = {}
        #: Answers that came.
        self.made = 0

    def put(self, environment: Environment, component: Component, check: Check, pause: float) -> None:
        """Asks from now on. Not at once after each task: what it costs is the same then."""
        result, now = component.results[check.key], time.monotonic()
        result.due = max(result.due, now + pause)
        result.until = result.until or result.due + check.every + OVERDUE
        self._askable[environment.id] = environment

    def drop(self, id: str) -> None:
        """Asks no more about this environment."""
        self._askable.pop(id, None)
        self._asking.pop(id, None)

    def take(self) -> list[dict[str, Any]]:
        """What is to be asked now: ``{id, number, checks: [{key, …question}]}``; `answered` takes what came of it."""
        now = time.monotonic()
        for id in [id for id, one in self._asking.items() if one.ask_until < now]:
            del self._asking[id]
        projects = [one.owner.project for one in self._asking.values()]
        found: list[dict[str, Any]] = []
        waiting = [one for id, one in self._askable.items() if one.ask_at <= now and id not in self._asking]
        waiting.sort(key=lambda one: self._turns.get(one.owner.project, 0.0))
        for environment in waiting:
            id = environment.id
            if len(self._asking) >= ASKED:
                break
            if projects.count(environment.owner.project) >= ASKED_PROJECT:
                continue
            due = _due(environment, now)
            environment.ask_at = now + targets.LOOK / 2
            if not due:
                continue
            del self._askable[id]
            self._askable[id] = self._asking[id] = environment  # now it is the last one
            if len(self._turns) > _TURNS:
                self._turns.clear()
            self._turns[environment.owner.project] = now
            environment.ask_until = now + PATIENCE
            projects.append(environment.owner.project)
            found.append({"id": id, "number": environment.number, "checks": due})
        return found

    def answered(self, told: Mapping[str, Any]) -> None:
        """What came of a question: ``{id, number, seconds, results: {key: {state, text}}}``."""
        environment = self._asking.pop(str(told["id"]), None)
        if environment is None or environment.number != told["number"]:
            return
        now, seconds, results = time.monotonic(), float(told["seconds"]), told["results"]
        environment.ask_at = now
        for component in environment.components:
            for check in component.checks.values():
                result = component.results[check.key]
                if check.question is None or result.due > now:
                    continue
                if check.key not in results:
                    result.due = max(result.due, now + AGAIN)
                    continue
                before, said = result.finding(), decode_messages(results[check.key])
                well, degraded = said["state"] == State.RUNNING, said["state"] == State.DEGRADED
                graced = time.time() - environment.since > check.grace
                result.result(None if well else said["text"], now, graced, degraded)
                self.made += 1
                least = max(EVERY[str(check.question["kind"])], SHARE * seconds)
                pause = max(result.pause(check.every, now), least)
                result.due = now + pause * self._random.uniform(1.0, 1.0 + _JITTER)
                result.until = result.due + check.every + OVERDUE
                if result.finding() != before:
                    self._reports.touch(environment, component)


def _due(environment: Environment, now: float) -> list[dict[str, Any]]:
    if environment.looked is None or environment.trouble or environment.stale:
        return []
    due = []
    for component in environment.components:
        for check in component.checks.values():
            result = component.results[check.key]
            if check.question is None or result.due > now:
                continue
            if _off(environment, component, check):
                result.until = now + check.every + OVERDUE
            else:
                due.append((result.due, {"key": check.key, **check.question}))
    due.sort(key=lambda item: item[0])  # what was not answered the last time comes first
    return [question for _, question in due[:ASKED_CHECKS]]


def _off(environment: Environment, component: Component, check: Check) -> str:
    """A server that does not run and that the check needs; empty: there is none."""
    needed = [check.server] if check.server else component.servers
    there = environment.servers
    return next((id for id in needed if id not in there or there[id].status != "ACTIVE"), "")
