"""What happened in an environment: log, states, differences, plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.follow import conclude, follow
from vetro.cli.client.requests import Client
from vetro.cli.differences import UNCHANGED, print_changes, print_plan
from vetro.cli.environments.lifecycle import begin, discard, draft_of, is_empty
from vetro.cli.environments.models import names_in, newest, present
from vetro.cli.environments.tasks import NotThere, finish
from vetro.cli.rows import print_rows, when

#: Levels of log lines, the least important first.
LEVELS = {"trace": 0, "debug": 1, "info": 2, "warning": 3, "error": 4, "critical": 5}


def log(
    client: Client, name: str, task: str | None, level: str | None, effects: bool, follow_on: bool, output: str
) -> None:
    """`vetro env log`: all tasks oldest first, or one; with ``follow_on`` what comes, too."""
    environment = find.environment(client, name)
    tasks = list(client.items("/tasks", environment=environment["id"], limit=500))
    if task is not None and client.local:
        tasks = [one for one in tasks if str(one["number"]) == task]
    elif task is not None:
        tasks = [find.by_prefix(tasks, task, "task")]
    lines = [line for one in reversed(tasks) for line in _lines(client, one, level, effects)]
    if output != "text":
        out.print_data(lines, output)
        return
    for line in lines:
        # Tasks that leave no version behind, a restart of servers for example, have no number.
        label = f"{line['task'] or '-':>3}" if client.local else line["task"][:8]
        out.echo(f"{when(line['created'])} {label} {line['level']:<7} {line['text']}")
    if not lines:
        out.note("nothing was reported yet")
    if follow_on and tasks and not tasks[0]["final"]:
        ended = follow(client, tasks[0], verbose=True, what=str(tasks[0]["kind"]))
        conclude(client, ended, environment["name"])


def _lines(client: Client, task: Mapping[str, Any], level: str | None, effects: bool) -> list[dict[str, Any]]:
    least = LEVELS[level] if level else 0
    label = task["number"] if client.local else task["id"]
    after: int | None = 0
    found = []
    while after is not None:
        part = client.get(f"/tasks/{task['id']}/log", after=after, limit=1000)
        found += [{"task": label, **line, "text": _text(client, line)} for line in part["items"]]
        after = part["next"]
    if effects:
        found += [_effect(label, entry) for entry in client.get(f"/tasks/{task['id']}/effects")]
        found.sort(key=lambda line: str(line["created"]))
    return [line for line in found if LEVELS.get(line["level"], 2) >= least]


def _text(client: Client, line: Mapping[str, Any]) -> str:
    if line["kind"] == "output":
        script = (line.get("details") or {}).get("script")
        return "\n".join(f"{script} | {text}" for text in str(line["text"]).splitlines())
    if client.local and line["kind"] == "log":
        return f"{(line.get('details') or {}).get('logger')}: {line['text']}"
    return str(line["text"])


def _effect(task: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    about = json.dumps(entry["about"], ensure_ascii=False)
    if entry["error"] is not None:
        state, level = f"failed: {entry['error'].get('message')}", "error"
    elif entry["ended"] is None:
        state, level = "open", "warning"
    else:
        state, level = f"done after {entry['ended'] - entry['begun']:.2f} s", "debug"
    text = f"[{entry['key']}] {entry['kind']} {about} {state}"
    created = datetime.fromtimestamp(entry["begun"], UTC).isoformat()
    return {"task": task, "kind": "effect", "level": level, "text": text, "created": created}


def states(client: Client, name: str, output: str) -> None:
    """`vetro env history`: the states, newest last."""
    environment = find.environment(client, name)
    rows = list(client.items(f"/environments/{environment['id']}/states", limit=1000))
    rows.reverse()
    print_rows(
        rows,
        ("number", "kind", "state", "finished"),
        output,
        empty="nothing was deployed yet",
        head={"kind": "what", "finished": "ended", "task_id": "task"},
        wide=() if client.local else ("task_id",),
    )


def difference(client: Client, name: str, older: int, newer: int | None, output: str) -> None:
    """`vetro env history --diff`."""
    environment = find.environment(client, name)
    found = client.get(f"/environments/{environment['id']}/diff", from_=older, to=newer)
    print_changes(found["items"], output)


def restore(client: Client, name: str, number: int, only_plan: bool, sure: bool, **options: Any) -> None:
    """`vetro env restore`: the plan, a question, then the deployment."""
    environment = find.environment(client, name)
    label, names = environment["name"], names_in(present(client, environment))
    session: Mapping[str, Any] | None = client.post(f"/environments/{environment['id']}/states/{number}/restore")
    assert session is not None
    try:
        if not sure:
            planned(client, session, label, "table", names=names, **options)
        if only_plan:
            return
        if not out.confirmed(f"deploy state {number} of environment '{label}' again?", sure):
            out.note(UNCHANGED)
            return
        task, session = begin(client, session, True), None
    finally:
        if session is not None:
            discard(client, session)
    finish(client, task, environment, names=names, **options)
    out.note("what scripts did in servers since is not undone")


def begin_restoring(client: Client, name: str, number: int) -> None:
    """`vetro env restore --draft`: a draft that is that state."""
    environment = find.environment(client, name)
    session = client.post(f"/environments/{environment['id']}/states/{number}/restore")
    label = environment["name"]
    out.note(f"session {session['id']} holds state {number} of '{label}'; nothing is deployed yet")
    out.note(f"see it with 'vetro session changes {session['id']}', deploy it with 'vetro env deploy {label}'")


def plan(client: Client, name: str, session_id: str | None, output: str, **options: Any) -> None:
    """`vetro env plan`: what deploying the caller's draft, or the environment as it is, would do."""
    environment = find.environment(client, name)
    if client.local and session_id is None and is_empty(client, environment, newest(client, environment)):
        label = environment["name"]
        raise NotThere(f"environment '{label}' is empty", f"vetro deploy PATH --env {label} --plan")
    session: Mapping[str, Any] | None
    session = client.get(f"/sessions/{session_id}") if session_id else draft_of(client, environment)
    own = session is None
    names = names_in(present(client, environment)) if client.local else {}
    if session is None:
        session = client.post(f"/environments/{environment['id']}/sessions")
    try:
        planned(client, session, environment["name"], output, names=names, **options)
    finally:
        if own:
            discard(client, session)


def planned(client: Client, session: Mapping[str, Any], label: str, output: str, **options: Any) -> None:
    """Plans a session and prints what would happen."""
    task = begin(client, session, False, "plan")
    ended = follow(client, task, what="planning", **options)
    conclude(client, ended, label)
    print_plan(ended["result"], output)
