"""`vetro env remove` and `vetro env destroy`: one application of an environment goes, or everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.follow import conclude, follow
from vetro.cli.client.requests import Client, ClientError
from vetro.cli.differences import UNCHANGED
from vetro.cli.environments.history import planned
from vetro.cli.environments.lifecycle import begin, discard
from vetro.cli.environments.models import names_in, newest, own_draft
from vetro.cli.environments.tasks import NotThere, finish
from vetro.cli.summary import addresses, marked, servers
from vetro.model.environment import Environment
from vetro.model.header import class_of, id_of, label_of
from vetro.model.tree import by_id, users


def remove(client: Client, name: str, app: str, plan: bool, sure: bool, **options: Any) -> None:
    """`vetro env remove`: deploys the environment without one of its applications. Asks before, unless ``sure``."""
    environment = find.environment(client, name)
    label = environment["name"]
    if own_draft(client, environment) is not None:
        hint = f"'vetro session changes {label}' shows them; deploy them first, or 'vetro session close {label}'"
        raise NotThere(f"environment '{label}' has changes that are not deployed", hint)
    session = client.post(f"/environments/{environment['id']}/sessions")
    try:
        model = Environment.of_view(client.get(f"/sessions/{session['id']}/model"))
        names = names_in(model)
        known = [{"id": id_of(item), "name": label_of(item)} for item in model.applications]
        chosen = find.by_name(known, app, "application")
        _check_unused(model, chosen, names)
        client.delete(f"/sessions/{session['id']}/components/{quote(chosen['id'], safe='')}")
        if plan:
            planned(client, session, label, "table", names=names, **options)
            return
        if not sure:
            _say_what_goes(environment, model, chosen["id"])
        if not out.confirmed(f"remove application '{chosen['name']}' of environment '{label}'?", sure):
            out.note(UNCHANGED)
            return
        task, session = begin(client, session, False), None
    finally:
        if session is not None:
            discard(client, session)
    finish(client, task, environment, show=False, names=names, what="removing", **options)
    out.note(out.style(f"application '{chosen['name']}' of environment '{label}' is removed", fg="green"))


def _check_unused(model: Environment, chosen: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Raises `NotThere` where an object that stays refers to what would go."""
    gone = by_id(next(item for item in model.applications if id_of(item) == chosen["id"]))
    for obj, key, _ in users(model.root, gone):
        user = names.get(str(id_of(obj)), class_of(obj))
        hint = f"give '{user}' another one for it, or remove that first"
        raise NotThere(f"application '{chosen['name']}' is used by '{user}' ({key})", hint)


def _say_what_goes(environment: Mapping[str, Any], model: Environment, only: str | None = None) -> None:
    """Lists applications with their servers, all of them or the one with this id."""
    for application in model.applications:
        if only is None or id_of(application) == only:
            out.note(f"- {label_of(application)}  ({class_of(application)})")
            for server in servers(application):
                where = ", ".join(addresses(server))
                told = f"    server {server.get('name')}{'  ' if where else ''}{where}"
                out.note(marked(told, bool(environment.get("simulated"))))


def destroy(client: Client, name: str, keep: bool, abandon: bool, sure: bool, **options: Any) -> None:
    """`vetro env destroy`. Names what goes and asks before, unless ``sure``."""
    environment = find.environment(client, name)
    label = environment["name"]
    options["what"] = "destroying"
    if not sure and not abandon:
        _say_what_goes(environment, newest(client, environment))
    question = "forget environment '{}'? Its servers stay where they are" if abandon else "destroy environment '{}'?"
    if not out.confirmed(question.format(label), sure):
        out.note(UNCHANGED)
        return
    if keep and client.local:
        names = names_in(newest(client, environment))
        task = client.post(f"/environments/{environment['id']}/empty")
        finish(client, task, environment, names=names, **options)
        return
    if keep:
        session = client.post(f"/environments/{environment['id']}/sessions")
        try:
            model = client.get(f"/sessions/{session['id']}/model")
            client.put(f"/sessions/{session['id']}/model", {**model, "services": []})
        except ClientError:
            discard(client, session)
            raise
        names = names_in(newest(client, environment))
        finish(client, begin(client, session, True), environment, show=False, names=names, **options)
        out.note(out.style(f"environment '{label}' is empty", fg="green"))
        return
    names = {} if abandon else names_in(newest(client, environment))
    task = client.delete(f"/environments/{environment['id']}", abandon=True if abandon else None)
    if abandon:
        out.note(f"environment '{label}' is forgotten; what it deployed is still there")
        return
    if task is not None:
        ended = follow(client, task, names=names, environment=label, **options)
        conclude(client, ended, label)
    out.note(out.style(f"environment '{label}' is gone", fg="green"))
