"""Answers tasks of kind ``questions``, method ``health``: how objects of the task's model are.

A question is ``{"object": ID, "method": NAME}``, or ``{"server": ID, "command": TEXT, "name", "seconds"}``: a command
line for the agent of a server object. The answer is ``{"state": running|degraded|down, "why", "text"}``: ``why`` is
``exit`` (with ``code``), ``silent`` (the agent does not answer), ``threw``, ``false``, ``odd`` (no answer that a check
may give), or empty: ``text`` is what the author's code said. What a method changes in the model is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vetro.engine.failure import describe
from vetro.engine.task.perform import Performance
from vetro.engine.task.pipe_effects import Disconnected
from vetro.engine.task.sessions import packages_of, session_for
from vetro.muranopl.errors import ObjectNotFound
from vetro.muranopl.objects.results import plain_result
from vetro.muranopl.session import Session
from vetro.yaql.errors import Stop

#: Characters of a text.
LONGEST = 500
_STATES = {"running": "running", "degraded": "degraded", "down": "down"}
_LINUX = "io.murano.configuration.Linux"
_TIMEOUT = "TimeoutException"


def answering(performance: Performance) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """What answers the questions of one task. Raises what loading its packages and its model raises."""
    task = performance.task
    session = session_for(task, packages_of(task), performance.effects, performance.installation)
    performance.effects.redaction = session.redaction
    session.load(task.model)

    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        command = "command" in question
        try:
            told = _ran(session, question) if command else _said(session, question)
        except (Disconnected, SystemExit, MemoryError):
            raise
        except (Exception, Stop) as error:
            if isinstance(error, Stop):
                session.rt.pardon()
            found = describe(error)
            silent = command and _TIMEOUT in (found.get("names") or ())
            told = {"state": "down" if command else "degraded", "why": "silent" if silent else "threw"}
            told["text"] = str(found.get("message") or "")
        told["text"] = str(session.redaction.data(told.get("text") or ""))[:LONGEST]
        return told

    return answer


def _ran(session: Session, question: Mapping[str, Any]) -> dict[str, Any]:
    server = session.store.get(question["server"])
    if server is None:
        raise ObjectNotFound(f"there is no object with id '{question['server']}'")
    agent = session.read(server, "agent")
    given = {"agent": agent, "command": question["command"], "helpText": f"Check {question['name']}"}
    given |= {"ignoreErrors": True, "timeout": question["seconds"]}
    value = session.call("runCommand", (), given, on_class=_LINUX, public_only=False)
    found = session.run(lambda: plain_result(session, value))
    code = found.get("exitCode") if isinstance(found, dict) else None
    if code == 0:
        return {"state": "running"}
    texts = [str(found.get(name) or "").strip() for name in ("stderr", "stdout")] if isinstance(found, dict) else []
    last = next((text.splitlines()[-1] for text in texts if text), "")
    return {"state": "down", "why": "exit", "code": code, "text": last}


def _said(session: Session, question: Mapping[str, Any]) -> dict[str, Any]:
    value = session.call(question["method"], object_id=question["object"], public_only=False)
    if value is True:
        return {"state": "running"}
    if value is False:
        return {"state": "down", "why": "false"}
    if isinstance(value, Mapping):
        state, text = value.get("state"), value.get("text")
        known = _STATES.get(state.lower()) if isinstance(state, str) else None
        if known is not None and (text is None or isinstance(text, str)):
            return {"state": known, "text": text or ""}
    return {"state": "degraded", "why": "odd"}
