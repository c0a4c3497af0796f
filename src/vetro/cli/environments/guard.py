"""Updates with a way back: what is told before, how they are followed to their end, taking them back."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import is_local
from vetro.cli.client.follow import command, conclude, follow
from vetro.cli.client.requests import Client, Refused
from vetro.cli.differences import UNCHANGED, print_changes
from vetro.cli.live_view import Watch
from vetro.cli.rows import when
from vetro.cli.task_run import show_error

#: Seconds between two looks while an update waits.
_PAUSE = 0.5
#: What is said of a step while it lasts.
_DOING = {
    "snapshotting": "keeping everything as it is",
    "deploying": "deploying",
    "drafting": "preparing the next upgrade",
    "keeping": "removing what was kept",
    "restoring": "bringing everything back as it was",
    "recovering": "waiting until all is as well as before",
    "releasing": "removing what was kept",
}


def tell_way_back(
    client: Client, session: Mapping[str, Any], said: Mapping[str, Any], told: Sequence[str] = ()
) -> dict[str, Any]:
    """Says before an update how it could be taken back, and what would not come back: what is said to the service then.
    ``told``: what was said of that already. Nothing where nobody wants a way back.

    Losses that were told may go, and no others; where an author wants a word for them, if that was said.
    """
    said = dict(said)
    if said.get("guard") is False:
        return said
    try:
        found = client.get(f"/sessions/{session['id']}/way-back")
    except Refused as error:
        if error.status != 404:  # servers of earlier versions have none
            raise
        return said
    if not found["able"]:
        out.note(f"no way back: {found['why']}")
        return said
    servers = [part for part in found["parts"] if part["kind"] == "server" and part["method"]]
    seconds = max((part["standstill"] for part in servers), default=0.0)
    still = f", which do not answer for about {seconds:.1f} s each" if seconds else ""
    kept = f"the disks of {out.plural(len(servers), 'server')}{still}" if servers else "all that is deployed"
    out.note(f"way back: keeps {kept}")
    for text in found["losses"]:
        if text not in told:
            out.echo(f"does not come back: {text}")
    if said.get("confirmed") or not found["required"]:
        said["confirmed"] = found["losses"]
    return said


def active(client: Client, environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """The update of an environment that has not ended, or is held; None where there is none."""
    try:
        rows = client.get(f"/environments/{environment['id']}/procedures")["items"]
    except Refused as error:
        if error.status != 404:  # servers of earlier versions have none
            raise
        return None
    return next((dict(row) for row in rows if not row["final"]), None)


def standing(client: Client, row: Mapping[str, Any], environment: Mapping[str, Any]) -> str:
    """How an update stands that has not ended, and what can be done about it: a line."""
    back, keep = (command(client, word, environment["name"]) for word in ("undo", "keep"))
    if row["step"] == "holding":
        return f"what the last update changed can be taken back until {when(row['until'])}: {back}"
    if row["step"] == "stuck":
        return f"an update is stuck: {out.shown(row['reason'])}; {back} tries again, {keep} keeps what is"
    doing = _DOING.get(row["step"], row["step"])
    done = [name for part in row.get("parts") or () if part["state"] == "done" for name in part["names"]]
    doing += f" (done: {', '.join(done)})" if done else ""
    if client.local and environment["status"] == "interrupted":
        goes_on = command(client, "resume", environment["name"])
        return f"an update was interrupted while {doing}; {goes_on} goes on, {back} takes it back"
    return f"an update with a way back is under way: {doing}; {back} takes it back"


def finish(
    client: Client,
    procedure: str,
    environment: Mapping[str, Any],
    *,
    names: Mapping[str, str] | None = None,
    what: str = "",
    **options: Any,
) -> dict[str, Any]:
    """Follows an update with a way back until it is kept, held or taken back, and says so: as it is then. Exits with
    status 1 where it went back without being asked, or a person is needed.

    On this machine its tasks run in here. Ctrl-C takes it back; a second one leaves it as it is, to be resumed.
    """
    label, quiet, asked = environment["name"], bool(options.get("quiet")), False
    told, told_part = "", -1
    while True:
        row: dict[str, Any] = client.get(f"/procedures/{procedure}")
        if row["final"] or row["step"] in ("holding", "stuck"):
            break
        part, parts = _part(row)
        if part > told_part and not quiet:
            told_part = part
            out.note(out.style(f"{part + 1} of {len(parts)}: {', '.join(parts[part]['names'])}", bold=True))
        if row["step"] != told:
            told = row["step"]
            _say(row, quiet)
        working = [task for task in row["tasks"] if task["state"] in ("queued", "running", "needs_person")]
        try:
            if working:
                _work(client, working[-1], row, label, dict(names or {}), options)
            else:
                _wait(client, row, quiet)
        except KeyboardInterrupt:
            if asked or not row["undoable"]:
                _leave(client, label)
            asked = True
            out.note(f"taking it back; press Ctrl-C again to leave it ({command(client, 'resume', label)} goes on)")
            _undo_again(client, row)
    _conclude(client, row, label, asked)
    return row


def _part(row: Mapping[str, Any]) -> tuple[int, Sequence[Mapping[str, Any]]]:
    """The number of the part of a chain that is made now, -1 where it is none; and all of them."""
    parts = row.get("parts") or ()  # servers of earlier versions have none
    return next((number for number, one in enumerate(parts) if one["state"] == "now"), -1), parts


def _tell_parts(row: Mapping[str, Any]) -> bool:
    """Says what of a chain was done, and what was not; whether all of it was."""
    named: dict[str, list[str]] = {}
    for one in _part(row)[1]:
        named.setdefault(one["state"], []).extend(one["names"])
    left = [*named.get("now", ()), *named.get("open", ())]
    if named.get("done") and (left or named.get("back")):
        out.note(f"what went before stays: {', '.join(named['done'])}")
    if left:
        out.note(f"not begun: {', '.join(left)}")
    return not left


def _say(row: Mapping[str, Any], quiet: bool) -> None:
    if quiet:
        return
    if row["step"] == "settling":
        out.note(f"settling: looks for {row['settle']:g} s whether all is as well as before")
    elif row["step"] == "restoring":
        out.note(out.style("taking it back: ", fg="yellow", bold=True) + out.shown(row["reason"]))
    elif row["step"] in _DOING:
        out.note(_DOING[row["step"]])


def _work(
    client: Client,
    task: Mapping[str, Any],
    row: Mapping[str, Any],
    label: str,
    names: dict[str, str],
    options: Mapping[str, Any],
) -> None:
    ended = follow(
        client,
        {"id": task["task_id"], "kind": task["kind"]},
        names=names,
        what=_DOING.get(row["step"], row["step"]),
        environment=label,
        **options,
    )
    if ended["state"] == "needs_person":
        conclude(client, ended, label)
    if ended["state"] != "done" and ended.get("error"):
        show_error(ended.get("packages") or (), str(ended["state"]), ended["error"])


def _wait(client: Client, row: Mapping[str, Any], quiet: bool) -> None:
    """Until its step is over, or something is to be done."""
    begun = time.monotonic()
    with Watch({}, quiet=quiet, what=row["step"]) as watch:
        while True:
            if is_local(client):
                client.resume_procedure(row["id"])
            found = client.get(f"/procedures/{row['id']}")
            if found["step"] != row["step"] or found["tasks"] != row["tasks"]:
                return
            watch.retitle(f"{found['step']}{_left(found, time.monotonic() - begun)}")
            time.sleep(_PAUSE)


def _left(row: Mapping[str, Any], spent: float) -> str:
    if row["step"] == "settling":
        return f" {min(spent, row['settle']):.0f} of {row['settle']:g} s, for"
    return ""


def _undo_again(client: Client, row: Mapping[str, Any]) -> None:
    try:
        client.post(f"/environments/{row['environment_id']}/undo")
    except Refused as error:
        if error.status not in (403, 409):  # it has just gone on
            raise


def _leave(client: Client, label: str) -> None:
    where = "is left as it is" if client.local else f"goes on at {client.context.url}"
    out.note(f"the update {where}; {command(client, 'resume', label)} {'goes on' if client.local else 'watches it'}")
    sys.exit(out.INTERRUPTED)


def _conclude(client: Client, row: Mapping[str, Any], label: str, asked: bool) -> None:
    if row["step"] == "stuck":
        out.note(out.style("stuck: ", fg="red", bold=True) + out.shown(row["reason"]))
        out.note(f"hint: {command(client, 'undo', label)} tries again, {command(client, 'keep', label)} keeps what is")
        sys.exit(out.FAILED)
    if row["step"] == "restored":
        undo = row["states"]["undo"]
        as_it_was = f"state {undo} is state {row['states']['before']} again" if undo else "nothing was changed"
        if row["tasks"] and (error := row["tasks"][-1].get("error")):
            out.note(out.shown(str(error.get("message"))))
        out.note(out.style(f"environment '{label}' is as it was before the update", fg="yellow") + f": {as_it_was}")
        if not asked and row["reason"]:
            out.note(f"why: {out.shown(row['reason'])}")
        for name, state in (row.get("unwell") or {}).items():  # servers of earlier versions do not look
            out.note(out.style("not as well as before: ", fg="red", bold=True) + out.shown(f"'{name}' is {state}"))
        _tell_parts(row)
        sys.exit(out.INTERRUPTED if asked else out.FAILED)
    if row["final"] and not _tell_parts(row):
        out.note(out.style("stopped: ", fg="yellow", bold=True) + out.shown(row["reason"]))
        sys.exit(out.INTERRUPTED if asked else out.FAILED)
    if row["step"] == "holding":
        out.note(f"it can be taken back until {when(row['until'])}: {command(client, 'undo', label)}")


def undo(client: Client, name: str, only_plan: bool, sure: bool, **options: Any) -> None:
    """`vetro env undo`: what it would do, a question, then it is done."""
    environment = find.environment(client, name)
    label, here = environment["name"], f"/environments/{environment['id']}"
    found = client.get(f"{here}/undo")
    row = found["procedure"]
    if only_plan or not sure:
        _explain(client, here, found)
    if only_plan:
        out.note(UNCHANGED)
        return
    if not sure and not click.confirm(f"take the update of environment '{label}' back?", err=True):
        out.note(UNCHANGED)
        return
    client.post(f"{here}/undo")
    follow_back(client, row["id"], environment, **options)


def follow_back(client: Client, procedure: str, environment: Mapping[str, Any], **options: Any) -> None:
    """Follows an update that is taken back since somebody wants so: that is no failure, unless what came back does not
    serve as it did."""
    try:
        finish(client, procedure, environment, **options)
    except SystemExit:
        row = client.get(f"/procedures/{procedure}")
        if row["step"] != "restored" or row.get("unwell"):
            raise


def _explain(client: Client, here: str, found: Mapping[str, Any]) -> None:
    row = found["procedure"]
    for state in found["states"]:
        out.echo(f"{out.style('-', fg='red', bold=True)} state {state['number']}  ({state['kind']})")
    if found["newer"] != found["older"]:
        changes = client.get(f"{here}/diff", from_=found["newer"], to=found["older"])
        print_changes(changes["items"], "table")
    for part in row["held"]:
        how = "gets its disk of then" if part["method"] not in ("kept", "") else "comes back"
        out.echo(f"{part['kind']} '{part['name']}' {how}")
    for text in row["losses"]:
        out.echo(f"does not come back: {text}")
    out.echo(f"what was written since {when(row['created'])} is lost")


def keep(client: Client, name: str, **options: Any) -> None:
    """`vetro env keep`: the way back is over."""
    environment = find.environment(client, name)
    row = client.post(f"/environments/{environment['id']}/keep")
    finish(client, row["id"], environment, **options)
    out.note(out.style(f"environment '{environment['name']}' stays as it is", fg="green"))
