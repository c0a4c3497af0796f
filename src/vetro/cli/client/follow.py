"""`follow`: a task, watched until it has ended. One of a server goes on whatever becomes of the watching; one of this
machine's workspace belongs to the command that follows it, which runs it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from vetro.cli import output as out
from vetro.cli.client.connect import is_local
from vetro.cli.client.requests import Client, Refused, SignedOut, Unreachable
from vetro.cli.differences import UNCHANGED
from vetro.cli.live_view import AGAIN, Watch
from vetro.cli.task_run import show_error

#: Seconds between two looks: at first, and at most when nothing happens.
QUICK, SLOW = 0.08, 1.0
#: Seconds without news after which the server is asked what the task waits for, again and again.
DOUBT = 2.0
#: Seconds without an answer after which watching ends.
PATIENCE = 60.0


def follow(
    client: Client,
    task: Mapping[str, Any],
    *,
    names: Mapping[str, str] | None = None,
    quiet: bool = False,
    verbose: bool = False,
    timeout: float | None = None,
    what: str = "deploying",
    environment: str = "",
) -> dict[str, Any]:
    """The task as it has ended or needs a person. Ctrl-C ends the command with status 130, not the task.

    A task of this machine's workspace runs meanwhile, in here: Ctrl-C cancels it. ``names`` labels ids of objects,
    ``environment`` is what messages call the environment. After ``timeout`` seconds the task is cancelled.
    """
    id, planned = str(task["id"]), task.get("kind") == "plan"
    if is_local(client):
        second = "stop at once" if planned else "leave it interrupted (vetro env resume goes on)"
        with Watch(names or {}, quiet=quiet, verbose=verbose, what=what, plan=planned) as watch:
            client.run(id, environment, watch, timeout, second)
        return dict(client.get(f"/tasks/{id}"))
    watcher = _Watcher(client, id, timeout, verbose)
    try:
        with Watch(names or {}, quiet=quiet, verbose=verbose, what=what, plan=planned) as watch:
            watcher.run(watch)
        return dict(client.get(f"/tasks/{id}"))
    except KeyboardInterrupt:
        _left(client, id, "you have stopped watching", out.INTERRUPTED)
    except SignedOut:
        raise
    except Unreachable as error:
        _left(client, id, error.message, out.FAILED)


class _Watcher:
    def __init__(self, client: Client, id: str, timeout: float | None, verbose: bool) -> None:
        self._client = client
        self._id = id
        self._verbose = verbose
        self._after = 0
        self._until = None if timeout is None else time.monotonic() + timeout
        self._timeout = timeout

    def run(self, watch: Any) -> None:
        pause, news = QUICK, time.monotonic()
        while True:
            log = self._patiently()
            for line in log["items"]:
                watch.event(_event(line))
                self._after = line["seq"]
            if log["final"] or (log["state"] == "needs_person" and not log["items"]):
                return
            if self._until is not None and time.monotonic() > self._until:
                self._until = None
                out.note(f"cancelling: it takes longer than {self._timeout:g} s")
                self._client.post(f"/tasks/{self._id}/cancel", {"reason": f"longer than {self._timeout:g} s"})
            if any(self._verbose or line["kind"] == "report" for line in log["items"]):
                news = time.monotonic()
            elif time.monotonic() - news > DOUBT and log["state"] != "needs_person":
                news = time.monotonic()
                self._doubt(watch)
            pause = QUICK if log["items"] else min(pause * 1.3, SLOW)
            if log["next"] is None:
                time.sleep(pause)

    def _doubt(self, watch: Any) -> None:
        """Shows what the task waits for."""
        try:
            task = self._client.get(f"/tasks/{self._id}")
        except (Unreachable, Refused):  # the next look at the log deals with that
            return
        waits = task.get("waits")
        if waits is None:  # servers of earlier versions
            waits = [{"text": task["waiting"], "seconds": None}] if task.get("waiting") else []
        watch.event({"event": "progress", "waits": waits})

    def _patiently(self) -> Any:
        began, told = time.monotonic(), 0.0
        while True:
            try:
                return self._client.get(f"/tasks/{self._id}/log", after=self._after, limit=500)
            except Unreachable as error:
                failure: Exception = error
                if time.monotonic() - began > PATIENCE:
                    raise
            except Refused as error:
                failure = error
                if error.status not in (429, 502, 503, 504):
                    raise
                if time.monotonic() - began > PATIENCE:
                    raise Unreachable(error.message, error.hint) from None
            if not told:
                out.note(out.style("warning: ", fg="yellow") + f"{failure.args[0]}; trying again")
                told = time.monotonic()
            elif time.monotonic() - told > AGAIN:
                told = time.monotonic()
                out.note(f"waits for the server for {told - began:.0f} s already")
            time.sleep(SLOW)


def _event(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the server as an event of a worker."""
    details = line.get("details") if isinstance(line.get("details"), Mapping) else {}
    if line["kind"] == "output":
        about = {"id": line.get("object_id") or "", "script": str((details or {}).get("script") or "")}
        return {"event": "progress", "output": {**about, "text": line["text"]}}
    args = {"level": line["level"], "text": line["text"], "id": line.get("object_id") or ""}
    if line["kind"] == "log":
        args["logger"] = str((details or {}).get("logger") or "log")
    return {"event": "note", "kind": line["kind"], "args": args}


def _left(client: Client, id: str, why: str, status: int) -> NoReturn:
    out.note(f"{why}; the task goes on at {client.context.url}")
    out.note(f"  watch it:  {command(client, 'watch', id)}")
    out.note(f"  cancel it: {command(client, 'cancel', id)}")
    sys.exit(status)


def command(client: Client, *words: str) -> str:
    """A command of `vetro env` that acts on this server whatever context is in use by then."""
    said = f"vetro env {' '.join(out.quoted(w) for w in words)}"
    return said if client.local else f"{said} --context {client.context.name}"


def conclude(client: Client, task: Mapping[str, Any], environment: str) -> None:
    """Says how a task ended; ends the command with status 1 unless it is done."""
    state = str(task["state"])
    if state == "done":
        return
    if state == "needs_person":
        out.note(out.style("waiting for a decision: ", fg="yellow", bold=True) + "nobody knows whether it was done:")
        for effect in task.get("decisions") or ():
            out.note(f"  {effect['key']}  {effect['kind']}  {effect['args']}")
        out.note(f"hint: {command(client, 'resolve', environment, 'KEY')} --done|--redo")
        sys.exit(out.FAILED)
    error = task.get("error") or {"message": task.get("cancel") or "the task did not end well"}
    show_error(task.get("packages") or (), state, error)
    if task["kind"] == "plan":
        out.note(out.style(UNCHANGED, fg="green"))
    elif task["kind"] == "action":
        method, how = (task.get("action") or {}).get("method"), "was cancelled" if state == "cancelled" else "failed"
        out.note(f"the action '{method}' {how}; the state of environment '{environment}' stays what it was")
    elif task["kind"] in ("deploy", "destroy", "repair"):
        out.note(f"environment '{environment}' keeps what was made: change it and deploy again, or vetro env destroy")
    sys.exit(out.FAILED)
