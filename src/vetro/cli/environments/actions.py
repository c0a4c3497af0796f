"""`vetro env action`: an action of an application, its arguments, and what it returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import is_local
from vetro.cli.client.requests import Client
from vetro.cli.environments.models import names_in, newest
from vetro.cli.environments.stored_files import save_stored, upload
from vetro.cli.environments.tasks import NotThere, finish
from vetro.cli.plaindata import write_private
from vetro.model.environment import ENVIRONMENT
from vetro.model.files import as_file, file_in, stored_in
from vetro.yaql.didyoumean import suggest


def action(
    client: Client,
    name: str,
    method: str,
    app: str | None,
    args: Mapping[str, Any],
    save: str | None,
    output: str,
    ask: bool = False,
    uploads: Mapping[str, str] | None = None,
    **options: Any,
) -> None:
    """`vetro env action`. ``uploads``: paths of files of any size by the names of arguments;
    ``save``: the file, or the folder, where its result goes; ``ask``: for its arguments, by the
    form that the server has for them."""
    if save is not None:
        _check_place(save)
    environment = find.environment(client, name)
    if is_local(client):
        client.require_free(environment["id"])
    known, names = _known(client, environment)
    about = "class" if client.local else "object_id"
    chosen = chosen_action(known, names, method, app, environment["name"], about)
    args = {**args, **{key: _uploaded(client, environment["id"], path) for key, path in (uploads or {}).items()}}
    task = _asked(client, environment["id"], chosen) if ask and not client.local else None
    if task is None:
        task = client.post(f"/environments/{environment['id']}/actions/{chosen['id']}", {"args": dict(args)})
    ended = finish(client, task, environment, show=False, names=names, what=f"running {method}", **options)
    if save is not None and (stored := stored_in(ended["result"])) is not None:
        save_stored(client, environment["id"], stored, ended["result"].get("sha256"), save)
        return
    if save is not None:
        _save(ended["result"], save)
        return
    if (stored := stored_in(ended["result"])) is not None:
        out.note(f"the result is the file '{stored[0]}' of {out.plural(stored[3], 'byte')}: --save PATH keeps it")
    if (found := file_in(ended["result"])) is not None:
        out.note(f"the result is the file '{found[0]}' of {out.plural(len(found[2]), 'byte')}: --save PATH keeps it")
    out.print_data(ended["result"], output)


def _uploaded(client: Client, environment: str, path: str) -> dict[str, Any]:
    try:
        return upload(client, environment, path)
    except OSError as error:
        out.fail(f"{out.shown(path)} cannot be read: {error.strerror}")


def _known(client: Client, environment: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The actions of an environment, and the names of their objects by id."""
    known = list(client.items(f"/environments/{environment['id']}/actions"))
    names = {row["object_id"]: row["object_name"] for row in known}
    if not all(names.values()):
        # Those without a name of their own go by what 'vetro env show' calls them.
        names = {**names_in(newest(client, environment)), **{key: name for key, name in names.items() if name}}
    return known, names


def listing(client: Client, name: str, app: str | None, output: str) -> None:
    """`vetro env action NAME`: the actions that there are, of one application where it is named."""
    environment = find.environment(client, name)
    known, names = _known(client, environment)
    called = {row["object_id"]: names.get(row["object_id"]) or row["class"] for row in known}
    # What deploys it is no action of an application: 'vetro deploy' does that.
    known = [row for row in known if row["class"] != ENVIRONMENT]
    rows = [row for row in known if app in (None, row["object_id"], called[row["object_id"]], row["class"])]
    if output != "table":
        out.print_data([{**row, "object_name": called[row["object_id"]]} for row in rows], output)
    elif rows:
        listed = [
            (
                called[row["object_id"]],
                row["name"],
                row["title"] if row["title"] != row["name"] else "",
                "" if row["enabled"] else "switched off",
            )
            for row in rows
        ]
        out.print_table(("application", "action", "title", ""), listed)
    else:
        out.note(f"environment '{environment['name']}' has no actions; it has some once it is deployed")


def _asked(client: Client, environment: str, action: Mapping[str, Any]) -> dict[str, Any] | None:
    """The task of an action with the arguments that a person gives; None where it takes none."""
    from vetro.cli.forms.on_server import arguments_of

    task = arguments_of(client, environment, action)
    return None if task is None else dict(client.get(f"/tasks/{task}"))


def _check_place(path: str) -> None:
    """Fails the command where no file can be written: once the action has run, it is too late.

    A folder that is not there yet is made where the path ends with a slash.
    """
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
    if path.endswith("/") and not os.path.lexists(folder) and os.path.isdir(os.path.dirname(folder) or "."):
        os.mkdir(folder, 0o700)
    if not os.path.isdir(folder):
        out.fail(f"cannot save the result: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        out.fail(f"cannot save the result: {folder} cannot be written to")


def _save(result: Any, path: str) -> None:
    name, _, content = as_file(result)
    target = os.path.join(path, name) if os.path.isdir(path) else path
    write_private(target, content)
    out.note(f"the result is saved in {out.shown(target)}, {out.plural(len(content), 'byte')}")


def chosen_action(
    known: list[dict[str, Any]],
    names: Mapping[str, str],
    method: str,
    app: str | None,
    environment: str,
    about: str = "object_id",
) -> dict[str, Any]:
    """The action ``method`` of ``known`` ones, of application ``app``: an id, a class, or one of ``names`` (by id).

    ``about``: what is said of those among which to choose. Raises `NotFound` where there is none, or more than one,
    or where it cannot be called now.
    """
    called = {row["object_id"]: names.get(row["object_id"]) or row["object_id"] for row in known}
    of_app = [row for row in known if app in (None, row["object_id"], called[row["object_id"]], row["class"])]
    if not of_app:
        what = f"application '{app}' with actions" if app else "action"
        raise find.NotFound(f"environment '{environment}' has no {what}", find.choice(sorted(set(called.values()))))
    found = [row for row in of_app if method in (row["name"], row["id"])]
    if not found:
        methods = sorted({row["name"] for row in of_app})
        close = suggest(method, methods)
        hint = f"did you mean '{close}'?" if close else find.choice(methods)
        raise find.NotFound(f"there is no action '{method}'", hint)
    if len(found) > 1:
        alike = len({called[row["object_id"]] for row in found}) < len(found)
        objects = ", ".join(f"{called[row['object_id']]} ({row['object_id' if alike else about]})" for row in found)
        raise find.NotFound(f"{len(found)} objects have an action '{method}'", f"say which with --app: {objects}")
    if not found[0]["enabled"]:
        raise NotThere(f"action '{method}' is switched off")
    return found[0]
