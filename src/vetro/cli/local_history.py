"""The states of an environment of a workspace."""

from __future__ import annotations

from vetro.cli import output as out
from vetro.cli.differences import print_changes
from vetro.cli.local_env import when


def states(workspace: str | None, name: str, output: str) -> None:
    """`vetro env history`: a state a task that ended, oldest first."""
    from vetro.cli.task_run import open_workspace

    folder = open_workspace(workspace).get(name)
    rows = [
        {
            "number": told["number"],
            "kind": told["method"] or told["kind"],
            "state": told["state"],
            "ended": told["ended"],
            "model": (folder.path / f"model-{told['number']}.json").exists(),
        }
        for told in (task.summary() for task in folder.tasks())
    ]
    if output != "table":
        out.print_data(rows, output)
    elif not rows:
        out.note("nothing was deployed yet")
    else:
        shown = [(r["number"], r["kind"], r["state"], when(r["ended"]) if r["ended"] else "") for r in rows]
        out.print_table(("number", "what", "state", "ended"), shown)


def difference(workspace: str | None, name: str, older: int, newer: int | None, output: str) -> None:
    """`vetro env history --diff`."""
    from vetro.cli.task_run import open_workspace
    from vetro.engine.models.differences import diff
    from vetro.engine.workspace.secrets import secret_properties

    folder = open_workspace(workspace).get(name)
    before, after = folder.model(older), folder.model(newer)
    print_changes([item.as_json() for item in diff(before.root, after.root, secret_properties(folder))], output)
