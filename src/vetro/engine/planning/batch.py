"""`answering`: a process behind the walls of tasks that works out one environment's upgrade and its plans.

It answers tasks of kind ``questions``, method ``plans`` (`vetro.engine.query.query.Conversation`). There is no effects
host, journal or folder: the recorder is in memory beside the package's code (`memory`, `effects`). That code could
only lie about its own plan. Questions, with tasks as `vetro.engine.task.task.Task.as_json` has them:

* ``{"do": "upgrade", "task"}`` of kind ``migrate``. The answer is ``{"report", "result", "answers"}``: the first
  report, and the draft of `upgraded` (None where there is none): where it asks, with values that were made up.
* ``{"do": "plan", "task", "image", "key", "identities", "now"}``: ``{"state", "plan", "error", "gone"}``, the plan as
  `vetro.engine.planning.report` has it, ``gone`` the ids of servers that are not there afterwards. The ``state`` of the
  image is packed over the first one that came (`memory.packed`); None: it is that of the question before.

Either may be answered with ``{"error"}``, as `vetro.engine.failure.describe` has it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, cast

from vetro.clouds.interface import Owner
from vetro.engine.outcome import Outcome
from vetro.engine.planning import memory, recorder
from vetro.engine.planning.effects import RecorderEffects
from vetro.engine.planning.report import told_of
from vetro.engine.task.perform import Performance
from vetro.engine.task.pipe_effects import PipeEffects
from vetro.engine.task.sessions import LinkedSessions
from vetro.engine.task.task import Task
from vetro.engine.upgrading.migration import NoEffects
from vetro.model.header import parse_type_text
from vetro.muranopl.api import Engine
from vetro.muranopl.tools.inspect import secret_names
from vetro.packages.compat.candidates import values_for
from vetro.packages.compat.execution import Side
from vetro.yaql.errors import VetroError

#: How often other values are made up for what is asked.
_ATTEMPTS: Final = 8


def answering(performance: Performance) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """What answers the questions of some environments of one project, which have the same packages."""
    return Answers(performance).answer


class Answers:
    """One process; what it has read and linked of packages stays for the next question."""

    def __init__(self, performance: Performance) -> None:
        self._performance = performance
        self._sessions = LinkedSessions()
        #: Packages, by id -> class -> its secret properties.
        self._secrets: dict[tuple[int, ...], dict[str, frozenset[str]]] = {}
        #: States of clouds that came, the first and the last one.
        self._first = self._state = b""

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """See the module."""
        task = Task.from_json(question["task"])
        well = False
        try:
            answer = self._upgrade(task) if question["do"] == "upgrade" else self._plan(task, question)
            well = answer.get("error") is None
            return answer
        finally:
            self._sessions.end(well=well)

    def _run(self, task: Task, effects: Any = None) -> Performance:
        own = self._performance
        return Performance(task, own.effects if effects is None else effects, own.installation, self._sessions)

    def _upgrade(self, task: Task) -> dict[str, Any]:
        frame = self._run(task).run()
        if frame["t"] == "failed":
            return {"error": frame["error"]}
        result = frame["result"]
        report = result["report"]
        answers: dict[str, dict[str, Any]] = {}
        if report["asked"] and not report["problems"]:
            result, answers = self._made_up(task, result)
        return {"report": report, "result": result, "answers": answers}

    def _made_up(self, task: Task, result: dict[str, Any]) -> tuple[Any, dict[str, dict[str, Any]]]:
        """The draft with values that the classes take, and these; None where none were found."""
        answers: dict[str, dict[str, Any]] = {}
        tried: dict[tuple[str, str], Any] = {}
        for _ in range(_ATTEMPTS):
            asked = result["report"]["asked"]
            if not asked:
                return result, answers
            for one in asked:
                place = (one["object"], one["property"])
                if place not in tried:
                    tried[place] = iter(self._candidates(task, one))
                value = next(tried[place], None)
                if value is None:
                    return None, {}
                answers.setdefault(place[0], {})[place[1]] = value
            args = {**task.args, "answers": copy.deepcopy(answers)}
            frame = self._run(Task.from_json({**task.as_json(), "args": args})).run()
            if frame["t"] == "failed" or frame["result"]["report"]["problems"]:
                return None, {}
            result = frame["result"]
        return None, {}

    def _candidates(self, task: Task, asked: Mapping[str, Any]) -> list[Any]:
        """Values that the contract of a question takes, as far as it can be asked alone."""
        sessions, installation = self._sessions, self._performance.installation
        try:
            session = sessions.open(task, sessions.packages(task), NoEffects(), installation, {})
            prop = session.types.find(*parse_type_text(asked["type"])).properties[asked["property"]]
        except (VetroError, KeyError):
            return []
        side, contract = Side(prop.declaring), prop.decl.contract
        values = [value for value in values_for(contract) if value is not None]
        return [value for value in values if side.take(contract, value).taken is not False]

    def _plan(self, task: Task, question: Mapping[str, Any]) -> dict[str, Any]:
        image = {**question["image"], "state": self._state_of(question["image"]["state"])}
        owner = Owner(**image["owner"])
        with closing(memory.opened(image)) as cloud:
            before = recorder.content_of(cloud, owner)
            effects = RecorderEffects(
                cloud,
                owner,
                identities=question["identities"],
                key=question["key"],
                seed=task.seed,
                now=float(question["now"]),
                outside=self._performance.effects.perform,
            )
            run = self._run(task, cast(PipeEffects, effects))
            frame = run.run()
            outcome = Outcome(
                "done" if frame["t"] == "done" else "failed",
                model=frame.get("model"),
                error=frame.get("error"),
            )
            secret = self._secret(run)
            made = told_of(outcome, effects.asked, effects.lines, before, cloud, task.model, owner, secret)
            after = {server.id for server in cloud.servers(owner)}
        gone = sorted(id for id in before.servers if id not in after)
        return {"state": made.state, "plan": made.result, "error": made.error, "gone": gone}

    def _state_of(self, parts: Sequence[int | str] | None) -> bytes:
        """``parts``: `memory.packed` over the first state that came; None: the state of the question before."""
        if parts is not None:
            self._state = memory.unpacked(parts, self._first)
            self._first = self._first or self._state
        return self._state

    def _secret(self, run: Performance) -> Callable[[str, str], bool]:
        """Which properties are masked: those that the classes of the run's packages call secret."""
        known = self._secrets.setdefault(tuple(map(id, run.packages)), {})
        engine = Engine(run.packages, seed=0, code_cache=run.installation.cache)

        def names(type_text: str) -> frozenset[str]:
            if type_text not in known:
                try:
                    known[type_text] = secret_names(engine, type_text, "")
                except VetroError:
                    known[type_text] = frozenset()
            return known[type_text]

        return lambda class_name, name: name in names(class_name)
