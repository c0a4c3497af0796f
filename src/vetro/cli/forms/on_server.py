"""`vetro form` and forms of actions where the context in force is a server: its catalog, its clouds, its drafts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.requests import Client
from vetro.cli.deploy_target import TargetError
from vetro.cli.environments.models import newest, own_draft
from vetro.cli.forms.answers import Given, read_answers
from vetro.cli.forms.dialogue import Dialogue
from vetro.cli.forms.remote import RemoteFormSession
from vetro.cli.forms.run import taken
from vetro.cli.forms.terminal import Terminal
from vetro.forms.sessions import Work
from vetro.model.environment import Environment
from vetro.model.header import id_of, name_of


def run(
    client: Client,
    targets: Sequence[str],
    *,
    source: str,
    answers: str | None,
    pairs: Sequence[str],
    ask: bool | None,
    everything: bool,
    env_name: str | None,
    edit: str | None,
    start_from: str | None,
    arguments: Sequence[str],
    preset: str | None,
    output: str,
) -> None:
    """See `vetro.cli.commands.form`: a form of the server, whose object goes into an environment there.

    Raises `TargetError`, `NotFound` and what the client raises.
    """
    if env_name is None:
        raise TargetError("on a server a form is for one of its environments", hint="add --into ENV")
    environment = find.environment(client, env_name)
    about: dict[str, Any] = {"environment_id": environment["id"], "source": source}
    about |= {"object_id": _component(client, environment, edit)} if edit is not None else _subject(client, targets)
    form_session = RemoteFormSession(client, client.post("/forms", about))
    try:
        given = read_answers(answers, pairs, texts=form_session.source == "definition")
        work = form_session.begin()
        if start_from is not None:
            work = form_session.start_from(start_from, read_answers(None, arguments, texts=False))
        if preset is not None:
            work = form_session.preset(work, preset)
        asked = sys.stdin.isatty() and answers != "-" if ask is None else ask
        work = filled_in(form_session, work, given, asked, everything)
    except BaseException:
        if not (sys.stdin.isatty() and ask is not False):
            form_session.discard()  # nobody goes on with what a script began
        raise
    done = form_session.result(work)
    verb = "changed" if edit is not None else "added"
    name = environment["name"]
    out.note(f"{verb} {form_session.form(work).title} in environment '{name}'; vetro env deploy {name} deploys it")
    out.print_data({key: done[key] for key in ("environment_id", "session_id", "object_id")}, output)


def filled_in(
    form_session: RemoteFormSession, work: Work, given: Given, asked: bool, everything: bool, *, files: bool = False
) -> Work:
    """The work once the form is ready: filled in by the person at the terminal, or by ``given`` alone. ``files``:
    whether it takes files, which the service keeps for a while."""
    if asked:

        def create(package: str) -> str | None:
            other = form_session.beside(package)
            return str(other.result(filled_in(other, other.begin(), {}, True, everything))["object_id"])

        try:
            upload = form_session.upload if files else None
            return Dialogue(
                form_session, work, given, Terminal(), everything=everything, create=create, upload=upload
            ).run()
        except (KeyboardInterrupt, EOFError):
            out.note("")
            out.fail(
                "the form was not filled in",
                f"what was answered is kept on the server: /app/forms/{form_session.id}/ goes on",
                status=out.INTERRUPTED,
            )
    return taken(form_session, work, given)


def arguments_of(client: Client, environment: str, action: Mapping[str, Any]) -> str | None:
    """Asks for the arguments of an action and calls it; the id of its task. None where it takes none."""
    shown = client.post("/forms", {"environment_id": environment, "action": action["id"]})
    form_session = RemoteFormSession(client, shown)
    work = form_session.begin()
    if not any(field.visible for page in form_session.form(work).pages for field in page.fields()):
        form_session.discard()
        return None
    work = filled_in(form_session, work, {}, asked=True, everything=True, files=True)
    return str(form_session.result(work)["task_id"])


def _subject(client: Client, targets: Sequence[str]) -> dict[str, str]:
    """The package or class that is named. Raises `TargetError`, `NotFound`."""
    if len(targets) != 1:
        raise TargetError("a form of a server is about one package or class of its catalog", hint="name one")
    (name,) = targets
    try:
        return {"package": str(find.package(client, name, disabled=False)["id"])}
    except find.NotFound:
        return {"class": name}  # if there is none of this name either, the server says so


def _component(client: Client, environment: Mapping[str, Any], name: str) -> str:
    """The id of an application of the environment, as a new draft has it."""
    draft = own_draft(client, environment)
    view = None if draft is None else client.get(f"/sessions/{draft['id']}/model")
    model = newest(client, environment) if view is None else Environment.of_view(view)
    stored = model.application(name)
    if stored is None:
        names = ", ".join(name_of(app) or str(id_of(app)) for app in model.applications) or "-"
        raise find.NotFound(f"environment '{environment['name']}' has no application '{name}'", f"there are: {names}")
    return str(id_of(stored))
