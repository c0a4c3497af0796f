"""`vetro env`: environments are made, deployed anew, made real, repaired, started and stopped, on a server or in a
workspace of this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import is_local
from vetro.cli.client.follow import conclude, follow
from vetro.cli.client.requests import Client, ClientError, Refused
from vetro.cli.differences import UNCHANGED, print_plan
from vetro.cli.environments import guard
from vetro.cli.environments.models import names_in, newest, own_draft, present
from vetro.cli.rows import print_one
from vetro.cli.task_run import chosen_cloud
from vetro.clouds import kinds
from vetro.clouds.images.recipe import DEFAULT
from vetro.clouds.kind_protocols import Place
from vetro.clouds.stacks.kind import BUILD_IMAGE
from vetro.model.environment import Environment
from vetro.server.config import cloud_settings
from vetro.yaql.errors import VetroError

if TYPE_CHECKING:
    from vetro.cli.client.local import LocalClient
from vetro.cli.environments.tasks import EMPTIED, NotThere, finish

#: What is said of `power` when it is done, and while it is under way.
POWER = {"start": ("started", "starting"), "stop": ("stopped", "stopping"), "restart": ("restarted", "restarting")}


def create(client: Client, name: str, description: str, region: str | None, driver: str, output: str) -> None:
    """`vetro env create`."""
    wanted: dict[str, Any] = {"name": name, "description": description} | ({} if region is None else {"region": region})
    if client.local:
        wanted["cloud"] = chosen_cloud(client, driver, None)
    else:
        say_cloud(client)
    print_one(client.post("/environments", wanted), output, ("id", "name"))


def say_cloud(client: Client, environment: Mapping[str, Any] | None = None) -> None:
    """Tells which cloud makes the servers of an environment that is there, or of any that is made on a server, and why:
    before anything is done."""
    if is_local(client):
        with suppress(VetroError):  # what is wrong with a cloud is told by who uses it
            if environment is not None:
                out.note(cloud_settings.selection(client.workspace.config, {"kind": environment["driver"]}).text)
        return
    try:
        main = client.get("/clouds")["clouds"][0]
    except Refused as error:
        if error.status not in (403, 404):
            raise
        return
    if main.get("text"):  # servers of earlier versions do not say
        out.note(main["text"])


def deploy_again(client: Client, name: str, said: Mapping[str, Any], **options: Any) -> None:
    """`vetro env deploy`: the environment as it is, or the caller's draft where somebody began one."""
    environment = find.environment(client, name)
    say_cloud(client, environment)
    session = draft_of(client, environment)
    own = session is None
    session = session or client.post(f"/environments/{environment['id']}/sessions")
    model = present(client, environment)
    if own and is_empty(client, environment, model):
        client.delete(f"/sessions/{session['id']}")
        raise NotThere(f"environment '{environment['name']}' is empty", f"vetro deploy PATH --env {name}")
    if said.get("guard"):
        said = guard.tell_way_back(client, session, said)
    task = begin(client, session, own, body=said)
    finish(client, task, environment, names=names_in(model), **options)


def realize(client: Client, name: str, driver: str, **options: Any) -> None:
    """`vetro env realize`: what is simulated is deployed anew where servers run."""
    environment = find.environment(client, name)
    body = {}
    if is_local(client) and environment["simulated"]:
        client.require_free(environment["id"])
        body = {"cloud": _real_cloud(client, driver, quiet=bool(options.get("quiet")))}
    elif not client.local:
        if environment["simulated"]:
            _build_there(client, quiet=bool(options.get("quiet")))
        say_cloud(client)
    model = newest(client, environment)
    task = client.post(f"/environments/{environment['id']}/realize", body or None)
    client.said_simulated = True  # it was, and is no more
    finish(client, task, environment, names=names_in(model), **options)


def _build_there(client: Client, *, quiet: bool) -> None:
    """Has a service build the image that its servers start from, where that is all that is missing, and waits for it.

    Nothing for who may not: what is missing is told when the environment is to be made real. Raises `NotThere`.
    """
    try:
        found = client.get("/images/build")
    except Refused as error:
        if error.status not in (403, 404):  # somebody else's to do; a service of before
            raise
        return
    if not found["wanted"]:
        return
    if found["build"] is None or found["build"]["state"] != "running":
        out.note("servers can run there, once there is an image for them: it is built now")
        found = client.post("/images/build")
    step = ""
    while (build := found["build"])["state"] == "running":
        if build["step"] != step and not quiet:
            step = build["step"]
            out.note(f"{time.time() - build['begun']:6.1f}s  {step}")
        time.sleep(1)
        found = client.get("/images/build")
    if build["state"] == "failed":
        raise NotThere(f"the image could not be built: {build['error']}", build["hint"])


def _real_cloud(client: LocalClient, driver: str, *, quiet: bool) -> dict[str, Any]:
    """A kind that executes something; the image that it starts servers from is built where nothing else is missing."""
    config = client.workspace.config
    place = Place(directory=config.path("cloud.directory"))
    wanted = cloud_settings.named_kind(config)[0] if driver in kinds.AUTOMATIC else driver
    hint: str | None
    try:
        choice = kinds.choose(place, wanted=wanted)
        hint = None if cloud_settings.selection(config, {"kind": choice.name}).executes else choice.hint
    except kinds.KindMissing as error:
        hint = error.hint
        if hint != BUILD_IMAGE:
            raise
    if hint == BUILD_IMAGE:
        from vetro.cli.commands.image_files import built  # what makes images takes long to load

        out.note("servers can run here, once there is an image for them: it is built now")
        built(DEFAULT, quiet=quiet)
        cloud_settings.look_again(config)
    return chosen_cloud(client, driver, None, quiet=quiet)


def is_empty(client: Client, environment: Mapping[str, Any], model: Environment) -> bool:
    """Whether there is nothing to deploy; on this machine an environment without applications can be made as well."""
    return not model.applications and (not client.local or environment["status"] == EMPTIED)


def draft_of(client: Client, environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """The caller's newest session with changes that can be deployed; of a server's it is said that it is used."""
    session = own_draft(client, environment)
    if session is not None and not client.local:
        out.note(f"session {session['id']} has changes that are not deployed: it is used")
    return session


def begin(
    client: Client,
    session: Mapping[str, Any],
    own: bool,
    what: str = "deploy",
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The task that deploys a session (or plans it); one of our ``own`` does not stay behind a refusal. ``body``: what
    is said of its way back (`vetro.cli.guard_options.guard_of`)."""
    try:
        return dict(client.post(f"/sessions/{session['id']}/{what}", dict(body) if body else None))
    except ClientError:
        if own:
            discard(client, session)
        raise


def discard(client: Client, session: Mapping[str, Any]) -> None:
    """Closes a session; that it is gone already is fine."""
    try:
        client.delete(f"/sessions/{session['id']}")
    except Refused as error:
        if error.status not in (403, 404, 409):
            raise


def repair(client: Client, name: str, only_plan: bool, sure: bool, **options: Any) -> None:
    """`vetro env repair`: the plan, a question, then the repair."""
    environment = find.environment(client, name)
    path, label = f"/environments/{environment['id']}/repair", environment["name"]
    names = names_in(newest(client, environment))
    if only_plan or not sure:
        ended = follow(client, client.post(path, {"plan": True}), names=names, what="planning the repair", **options)
        conclude(client, ended, label)
        print_plan(ended["result"], "table")
    if only_plan:
        return
    if not out.confirmed(f"repair environment '{label}'?", sure):
        out.note(UNCHANGED)
        return
    finish(client, client.post(path), environment, names=names, **options)


def choose_repair(client: Client, name: str, how: str) -> None:
    """`vetro env repair --when`."""
    environment = find.environment(client, name)
    if client.local:
        raise NotThere("nobody watches environments of this machine: --when is for servers")
    client.patch(f"/environments/{environment['id']}", {"repair": how})
    out.note(f"repairs of environment '{environment['name']}': {how}")


def power(client: Client, name: str, action: str, what: str, force: bool, **options: Any) -> None:
    """`vetro env start|stop|restart`."""
    environment = find.environment(client, name)
    task = client.post(f"/environments/{environment['id']}/{action}", {"what": what, "force": force})
    done, doing = POWER[action]
    names = names_in(newest(client, environment))
    finish(client, task, environment, show=False, names=names, what=doing, **options)
    about = f"'{what}' of environment '{environment['name']}'" if what else f"environment '{environment['name']}'"
    out.note(out.style(f"{about} is {done}", fg="green"))
