"""What happened in an environment of a server: log, states, differences, plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.follow import conclude, follow
from vetro.cli.client.requests import Client
from vetro.cli.differences import print_changes, print_plan
from vetro.cli.environment_log import LEVELS
from vetro.cli.remote_env import begin, discard, draft_of
from vetro.cli.remote_output import print_rows, when


def log(client: Client, name: str, task: str | None, level: str | None, follow_on: bool, output: str) -> None:
    """`vetro env log`: all tasks oldest first, or one; with ``follow_on`` what comes, too."""
    environment = find.environment(client, name)
    tasks = list(client.items("/tasks", environment=environment["id"], limit=500))
    if task is not None:
        tasks = [find.by_prefix(tasks, task, "task")]
    lines = [line for one in reversed(tasks) for line in _lines(client, one["id"], level)]
    if output != "text":
        out.print_data(lines, output)
        return
    for line in lines:
        out.echo(f"{when(line['created'])} {line['task'][:8]} {line['level']:<7} {line['text']}")
    if not lines:
        out.note("nothing was reported yet")
    if follow_on and tasks and not tasks[0]["final"]:
        ended = follow(client, tasks[0], verbose=True, what=str(tasks[0]["kind"]))
        conclude(client, ended, environment["name"])


def _lines(client: Client, task: str, level: str | None) -> Iterable[dict[str, Any]]:
    least = LEVELS[level] if level else 0
    after: int | None = 0
    while after is not None:
        part = client.get(f"/tasks/{task}/log", after=after, limit=1000)
        for line in part["items"]:
            if LEVELS.get(line["level"], 2) >= least:
                yield {"task": task, **line}
        after = part["next"]


def states(client: Client, name: str, output: str) -> None:
    """`vetro env history`: the states, newest last."""
    environment = find.environment(client, name)
    rows = list(client.items(f"/environments/{environment['id']}/states", limit=1000))
    rows.reverse()
    print_rows(
        rows,
        ("number", "kind", "state", "finished", "task_id"),
        output,
        empty="nothing was deployed yet",
        head=("number", "what", "state", "ended", "task"),
    )


def difference(client: Client, name: str, older: int, newer: int | None, output: str) -> None:
    """`vetro env history --diff`."""
    environment = find.environment(client, name)
    found = client.get(f"/environments/{environment['id']}/diff", from_=older, to=newer)
    print_changes(found["items"], output)


def restore(client: Client, name: str, number: int) -> None:
    """`vetro env history --restore`: a draft that is that state."""
    environment = find.environment(client, name)
    session = client.post(f"/environments/{environment['id']}/states/{number}/restore")
    label = environment["name"]
    out.note(f"session {session['id']} holds state {number} of '{label}'; nothing is deployed yet")
    out.note(f"see it with 'vetro session changes {session['id']}', deploy it with 'vetro env deploy {label}'")


def plan(client: Client, name: str, session_id: str | None, output: str, **options: Any) -> None:
    """`vetro env plan`: what deploying the caller's draft, or the environment as it is, would do."""
    environment = find.environment(client, name)
    session: Mapping[str, Any] | None
    session = client.get(f"/sessions/{session_id}") if session_id else draft_of(client, environment)
    own = session is None
    if session is None:
        session = client.post(f"/environments/{environment['id']}/sessions")
    try:
        planned(client, session, environment["name"], output, **options)
    finally:
        if own:
            discard(client, session)


def planned(client: Client, session: Mapping[str, Any], label: str, output: str, **options: Any) -> None:
    """Plans a session and prints what would happen."""
    task = begin(client, session, False, "plan")
    ended = follow(client, task, what="planning", **options)
    conclude(client, ended, label)
    print_plan(ended["result"], output)
