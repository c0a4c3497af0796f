"""`Prober`: asks a task process what only code of packages can say: commands on servers, methods of authors.

`vetro.engine.task.health_checks` calls those; `vetro.engine.watching.questions` says when.

Nothing of it is a task of the service: it has no row, waits in no queue and stands before nobody, counts for no quota,
and leaves no state. The process is behind the walls of tasks; of the world it has agents, and networks to read. What a
task of the environment wants comes first: what is asked meanwhile is given up, and its host takes no answer of an agent
that is not its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from django.db import Error as DatabaseFailed
from django.db import connections

from vetro.clouds.interface import Owner
from vetro.diagnostics import Text, encode_messages
from vetro.engine.query.host_effects import HostEffects
from vetro.engine.query.query import AskFailed, Conversation
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Budget
from vetro.engine.task.task import Task as EngineTask
from vetro.engine.watching.inventory import plain_text
from vetro.engine.watching.states import State as Known
from vetro.engine.worker.ports import HostPort
from vetro.model.environment import deployed_objects
from vetro.server.caller import SYSTEM
from vetro.server.config.config import Config
from vetro.server.environments import packages
from vetro.server.environments.models import Environment, State
from vetro.server.ids import new_id
from vetro.server.tasks import spec
from vetro.server.watch import service
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.worker")

#: Seconds until a process can be asked, for one answer, for what an agent does meanwhile, and for all of it.
_BEGIN, _ANSWER, EFFECT, _WHOLE = 30.0, 25.0, 10.0, 60.0
#: Processor seconds and MiB of one process.
_CPU, _MEMORY = 20.0, 512
#: What a check may do outside.
EFFECTS = ("agent.call", "agent.key", "network", "secret")
#: Plans whose answers may come when nobody waits any more: of one environment; environments of which something is kept.
_PLANS, _KEPT = 200, 2000


class Prober:
    """``launcher`` makes task processes, ``hosts`` effects hosts. `begin` asks on a thread; `answers` has what came."""

    def __init__(self, config: Config, launcher: Launcher, hosts: Callable[[Mapping[str, Any]], HostPort]) -> None:
        self._config = config
        self._launcher = launcher
        self._hosts = hosts
        self._lock = threading.Lock()
        #: By environment: what performs the effects of the question that is asked.
        self._asked: dict[str, HostEffects | None] = {}
        self._given_up: set[str] = set()
        self._plans: dict[str, deque[str]] = {}
        #: Queues of the agents that answered the last question. What these need at a broker is not made once more.
        self._reached: dict[str, set[str]] = {}
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def begin(self, question: Mapping[str, Any]) -> None:
        """Asks; ``question`` is one of `vetro.engine.watching.watch.Watch.questions`."""
        with self._lock:
            if question["id"] in self._asked:  # what was given up has not ended yet
                self._answers.put(_answer(question, 0.0, {}))
                return
            self._asked[question["id"]] = None
        threading.Thread(target=self._run, args=(question,), name="vetro prober", daemon=True).start()

    def answers(self) -> list[dict[str, Any]]:
        """What `Watch.answered` takes, of questions that have ended."""
        found = []
        try:
            while True:
                found.append(self._answers.get_nowait())
        except Empty:
            return found

    def give_up(self, ids: Iterable[str] | None = None) -> None:
        """What is asked about these environments is of no use any more; None: about all."""
        with self._lock:
            for id in list(self._asked if ids is None else ids):
                if id in self._asked:
                    self._given_up.add(id)
                    effects = self._asked[id]
                    if effects is not None:
                        effects.end()

    def _run(self, question: Mapping[str, Any]) -> None:
        begun, results = time.monotonic(), dict[str, Any]()
        try:
            self.ask(question, results)
        except DatabaseFailed as error:
            _log.warning("environment %s cannot be asked, the database failed: %s", question["id"], error)
        except (VetroError, OSError) as error:
            _log.warning("environment %s cannot be asked: %s", question["id"], error)
        except Exception:
            _log.exception("environment %s cannot be asked", question["id"])
        finally:
            with self._lock:
                del self._asked[question["id"]]
                self._given_up.discard(question["id"])
            self._answers.put(_answer(question, time.monotonic() - begun, results))
            connections.close_all()

    def ask(self, question: Mapping[str, Any], results: dict[str, Any]) -> None:
        """Asks in this thread; ``results`` gets ``{state, text}`` of each check that was answered, by key.

        What could not be asked for reasons that are none of the environment's has no result. Raises what is around it.
        """
        row = Environment.objects.filter(id=question["id"], version=question["number"]).first()
        # Plans of a session have stamps of its begin, and agents refuse what is older than what they had: nothing of
        # ours comes between those of a task that goes on later.
        if row is None or service.begun(row.id):
            return
        newest = State.objects.filter(environment=row).order_by("-number").first()
        model = {} if newest is None else newest.model
        used = [package.digest for package in packages.pinned(row.id)]
        plans = self._plans_of(row.id)
        effects = HostEffects(self._hosts(self._host_config(row, plans)), EFFECT, plans)
        with self._lock:
            self._asked[row.id] = effects
            if row.id in self._given_up:
                effects.end()
        try:
            self._converse(row, self._task(row, model, used), question["checks"], effects, results)
        finally:
            effects.close()
            with self._lock:
                self._reached.pop(row.id, None)
                while len(self._reached) >= _KEPT:
                    del self._reached[next(iter(self._reached))]
                self._reached[row.id] = effects.reached

    def _converse(
        self,
        row: Environment,
        task: EngineTask,
        checks: Sequence[Mapping[str, Any]],
        effects: HostEffects,
        results: dict[str, Any],
    ) -> None:
        until = time.monotonic() + _WHOLE
        identities, handlers = spec.identities(SYSTEM, row), effects.handlers(EFFECTS)
        try:
            conversation = Conversation(
                task,
                launcher=self._launcher,
                timeout=_BEGIN,
                identities=identities,
                handlers=handlers,
                over=lambda: effects.ended,
            )
        except AskFailed as error:
            if effects.ended or effects.trouble:
                return
            why = Text("it cannot be asked: {why}", why=plain_text(error.message))
            results |= {check["key"]: encode_messages({"state": Known.DEGRADED.value, "text": why}) for check in checks}
            return
        silent: dict[str, Mapping[str, Any]] = {}
        with conversation:
            for check in checks:
                server = str(check.get("server") or "")
                if time.monotonic() > until or not conversation.alive:
                    return  # the others come first the next time
                told = silent.get(server)
                if told is None:
                    try:
                        asked = {**check, "seconds": int(EFFECT)}
                        told = conversation.ask(asked, timeout=_ANSWER, handlers=handlers)
                    except AskFailed as error:
                        told = {"state": Known.DEGRADED.value, "why": "threw", "text": error.message}
                    if effects.ended or effects.trouble:
                        if effects.trouble:
                            _log.warning("environment %s cannot be asked: %s", row.id, effects.trouble)
                        return
                    if not isinstance(told, Mapping):
                        told = {}
                    if server and told.get("why") == "silent":
                        silent[server] = told
                results[check["key"]] = verdict(told)

    def _task(self, row: Environment, model: Mapping[str, Any], digests: Sequence[str]) -> EngineTask:
        settings = spec.engine_settings(self._config, row.id)
        settings["engine"] = {**(settings.get("engine") or {}), "agent_timeout": int(EFFECT)}
        present = {name: value for name, value in model.items() if name != "ObjectsCopy"}
        id = new_id()
        return EngineTask(
            id=id,
            kind="questions",
            method="health",
            packages=tuple(spec.local_paths(digests)),
            model={**present, "Objects": deployed_objects(model)},
            seed=id,  # agents know plans by their ids, which follow from it
            settings=settings,
            configs=spec.class_configs(self._config),
            budget=Budget(cpu_seconds=_CPU, memory_mib=_MEMORY),
        )

    def _host_config(self, row: Environment, plans: Iterable[str]) -> dict[str, Any]:
        owner = Owner(row.project_id, row.id, "system")
        found = spec.host_settings(self._config, owner, row.cloud, spec.identities(SYSTEM, row))
        with self._lock:
            reached = sorted(self._reached.get(row.id, ()))
        return {**found, "own": list(plans), "reached": reached}

    def _plans_of(self, id: str) -> deque[str]:
        with self._lock:
            found = self._plans.pop(id, None)
            if found is None:
                found = deque(maxlen=_PLANS)
            while len(self._plans) >= _KEPT:
                del self._plans[next(iter(self._plans))]
            self._plans[id] = found
            return found


def verdict(told: Mapping[str, Any]) -> dict[str, Any]:
    """``{state, text}`` of an answer (`vetro.engine.task.health_checks`), which a package may have written."""
    state, why, said = told.get("state"), told.get("why"), plain_text(str(told.get("text") or ""))
    if state == Known.RUNNING:
        return {"state": state, "text": ""}
    text: str
    if why == "exit":
        code = told.get("code")
        number = str(code) if isinstance(code, int) else "?"
        text = Text("it ended with {code}", code=number)
        if said:
            text = Text("it ended with {code}: {said}", code=number, said=said)
    elif why == "threw":
        text = Text("it failed: {said}", said=said)
    elif why == "false":
        text = Text("the answer was no")
    elif why == "odd":
        text = Text("it gave no answer that a check may give")
    else:
        text = said or Text("it says no reason")
    known = Known.DOWN if state == Known.DOWN else Known.DEGRADED
    found: dict[str, Any] = encode_messages({"state": known.value, "text": text})
    return found


def _answer(question: Mapping[str, Any], seconds: float, results: dict[str, Any]) -> dict[str, Any]:
    return {"id": question["id"], "number": question["number"], "seconds": seconds, "results": results}
