"""`vetro deploy PATH…`: make the environment, add the application, deploy, follow.

To a server what is new is published; in a workspace of this machine the environment uses the packages as they are.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vetro.cli import output as out
from vetro.cli import package_transfer
from vetro.cli.client import find
from vetro.cli.client.connect import is_local
from vetro.cli.client.follow import command
from vetro.cli.client.requests import Client, Refused
from vetro.cli.deploy_target import TargetError, environment_name, main_type, needed_packages, say_chosen
from vetro.cli.environments.guard import tell_way_back
from vetro.cli.environments.history import planned
from vetro.cli.environments.lifecycle import begin, discard, say_cloud
from vetro.cli.environments.models import names_in, own_draft, present
from vetro.cli.environments.tasks import finish, summary
from vetro.cli.package_paths import load_packages, source_finder
from vetro.cli.task_run import chosen_cloud
from vetro.clouds import kinds
from vetro.clouds.kind_protocols import Place
from vetro.data_classes import dataclass
from vetro.engine.models import put
from vetro.model.environment import Environment
from vetro.model.header import id_of
from vetro.model.secrets import has_mark
from vetro.packages.bundle import application_folder

#: A full name, and behind it a version or a version spec.
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*(/[\d<>=!~^*][^/]*)?")


@dataclass
class Loaded:
    """Packages of a deployment: those to be published, those that were named, and all that the environment needs."""

    own: list[Any]
    named: list[Any]
    all: list[Any]
    paths: list[str]
    others: list[str]


@contextmanager
def loaded(client: Client, names: Sequence[str], env_name: str | None = None) -> Iterator[Loaded]:
    """Packages of paths of this machine, of the environment by name, which come before those of the server, with what
    they require."""
    row = find.find_environment(client, env_name) if env_name is not None else None
    used = present(client, row).versions() if row is not None else {}
    copies = _copies(client, names, row, used)
    if is_local(client):
        own = load_packages([copies.get(name) or _part_of_vetro(name) or name for name in names])
        given = {package.name for package in own}
        paths = client.package_paths(row["id"]) if row is not None else ()
        beside = [package for package in load_packages(paths) if package.name not in given]
        everything = [*own, *beside]
        yield Loaded(own, own, [*everything, *_required(everything)], list(names), [])
        return
    names = [copies.get(name, name) for name in names]

    with tempfile.TemporaryDirectory(prefix="vetro-packages-") as temporary:
        folder = package_transfer.download_folder(Path(temporary))
        paths = [name for name in names if not _of_catalog(name)]
        fetched = [
            str(package_transfer.download(client, find.package(client, name, disabled=False), folder))
            for name in names
            if name not in paths
        ]
        own = load_packages(paths)
        there = load_packages(fetched)
        others = [*fetched, *(str(p) for p in package_transfer.required(client, [*own, *there], folder))]
        yield Loaded(own, [*own, *there], [*own, *load_packages(others)], paths, others)


def _copies(
    client: Client, names: Sequence[str], row: Mapping[str, Any] | None, used: Mapping[str, set[str]]
) -> dict[str, str]:
    """For names of packages without a version that the environment uses: the archive here, or NAME/VERSION of the
    server. Raises `TargetError` where it uses several versions."""
    found: dict[str, str] = {}
    for name in names if row is not None else ():
        if not _of_catalog(name) or "/" in name or name not in used:
            continue
        assert row is not None
        versions = sorted(used[name])
        if len(versions) > 1:
            fault = f"environment '{row['name']}' uses {name} in several versions: {', '.join(versions)}"
            raise TargetError(fault, hint="name one with its version, or give the path of a package")
        found[name] = f"{name}/{versions[0]}"
        if is_local(client):
            found[name] = client.archive(row["id"], name, versions[0])
        out.note(f"{name} {versions[0]}, as environment '{row['name']}' uses it")
    return found


def _part_of_vetro(name: str) -> str | None:
    """The folder of an application that comes with Vetro, for its name or NAME/VERSION where nothing here has it."""
    word, _, version = name.partition("/")
    folder = application_folder(word, version) if _of_catalog(name) else None
    if folder is None:
        return None
    out.note(f"{folder.parent.name} {folder.name}, as it comes with Vetro")
    return str(folder)


def _required(packages: Sequence[Any]) -> list[Any]:
    """Applications that come with Vetro and are required by packages, or by one another."""
    found: list[Any] = []
    asked: set[str] = set()
    while todo := [one for one in package_transfer.lacking([*packages, *found]) if one[0] not in asked]:
        name, spec = todo[0]
        asked.add(name)
        folder = application_folder(name, str(spec or ""))
        if folder is not None:
            out.note(f"{folder.parent.name} {folder.name}, which is required, as it comes with Vetro")
            found += load_packages([str(folder)])
    return found


def _of_catalog(name: str) -> bool:
    """Whether a word names a package of the server: it looks like one, and nothing here is called so."""
    looks_so = find.is_id(name) or _NAME.fullmatch(name) is not None
    return looks_so and not name.endswith(".zip") and not os.path.exists(name)


def deploy(
    client: Client,
    names: Sequence[str],
    *,
    env_name: str | None,
    wanted: str | None,
    app_name: str | None,
    preset: str | None,
    answers: Mapping[str, Any],
    driver: str,
    script: str | None,
    dry_run: bool,
    plan: bool,
    detach: bool,
    said: Mapping[str, Any],
    **options: Any,
) -> None:
    """Does it; options are those of `follow`."""
    from vetro.cli.package_queries import PackageQueries, given_of, launcher

    known = find.find_environment(client, env_name) if env_name and not dry_run else None
    cloud = {} if dry_run else _cloud(client, known, driver, script)
    with loaded(client, names, env_name) as packages, out.explained(source_finder(packages.all)):
        with launcher(packages.all, client) as processes:
            type_ = main_type(packages.all, packages.named, wanted)
            name = env_name or environment_name(type_.name)
            row = find.find_environment(client, name)
            if cloud and row is not None and row["driver"] != cloud["cloud"]["kind"]:
                say_cloud(client, row)
            if is_local(client) and not dry_run:
                client.expect_task(row["driver"] if row is not None else cloud["cloud"]["kind"])
            session, base = _draft(client, row)
            made, kept = False, session is not None and session["changed"]
            try:
                model = base or Environment.new(name, "0" * 32)
                there = {str(id_of(item)) for item in model.applications}
                with PackageQueries(processes, packages.all, given_of(client)) as asked:
                    applied = asked.application(
                        type_, model.model, answers, app_name, preset=preset, **_offers(client, row)
                    )
                    put(model, applied)
                    if client.local or not (there or has_mark(model.model)):
                        asked.check(model.model, source_finder(packages.all))
                if dry_run:
                    out.print_data(model.model, "yaml")
                    return
                if not client.local:
                    _publish(client, packages)
                if row is None:
                    row = client.post("/environments", {"name": name, **cloud})
                    made = True
                    session = client.post(f"/environments/{row['id']}/sessions")
                if is_local(client):
                    for change in client.pin(row["id"], needed_packages(packages.all, type_, model)):
                        out.note(change)
                say_chosen(type_, applied)
                assert session is not None
                add(client, session, applied, there)
                if plan:
                    planned(client, session, name, "table", names=names_in(model), **options)
                    return
                if said.get("guard"):
                    said = tell_way_back(client, session, said)
                task, session = begin(client, session, False, body=said), None
                if made and not client.local:
                    out.note(f"environment '{name}' is made")
                made = False
            finally:
                # What was begun and is no deployment leaves nothing behind.
                if session is not None and not kept:
                    discard(client, session)
                if made and row is not None:
                    client.delete(f"/environments/{row['id']}", abandon=True)
        if detach:
            out.note(f"the deployment runs; {command(client, 'watch', task['id'])} shows it")
            out.echo(str(task["id"]))
            return
        started = time.monotonic()
        finish(client, task, row, show=False, names=names_in(model), **options)
        summary(client, row, time.monotonic() - started)


def _offers(client: Client, row: Mapping[str, Any] | None) -> dict[str, Any]:
    """The sizes of a server's cloud, and what servers start from there; of this machine they are the usual ones.

    Nothing where a server of an earlier version, its policy or its cloud does not tell.
    """
    if is_local(client):
        return {}
    found: dict[str, Any] = {}
    with suppress(Refused):
        where = {"environment": row["id"]} if row is not None else {}
        found["flavors"] = [dict(one) for one in client.items("/flavors", **where)]
        images = list(client.items("/images"))
        names = [one["name"] for one in images]
        usual = (one for one in images if one.get("usual"))
        found["image"] = next((one["name"] if names.count(one["name"]) == 1 else one["id"] for one in usual), None)
    return found


def _cloud(client: Client, row: Mapping[str, Any] | None, driver: str, script: str | None) -> dict[str, Any]:
    """Tells which cloud makes the servers; what is said of it for a new environment of this machine. Raises what
    reading a table of answers raises."""
    if row is not None or not is_local(client):
        say_cloud(client, row)
        return {}
    if script is not None:
        # A slip in it must not cost an environment.
        folder = client.workspace.config.path("cloud.directory")
        kinds.choose(Place(directory=folder), wanted=kinds.RECORD, settings={"script": script})
    return {"cloud": chosen_cloud(client, driver, script)}


def _draft(client: Client, row: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, Environment | None]:
    """A session of an environment, with its model: a new one; on this machine the draft, where there is one."""
    if row is None:
        return None, None
    if client.local and (draft := own_draft(client, row)) is not None:
        return draft, Environment.of_view(client.get(f"/sessions/{draft['id']}/model"))
    session = client.post(f"/environments/{row['id']}/sessions")
    return session, Environment.of_view(client.get(f"/sessions/{session['id']}/model"))


def _publish(client: Client, packages: Loaded) -> None:
    items = package_transfer.built(packages.own)
    if not items:
        return
    try:
        done = package_transfer.publish(client, items)
    except Refused as error:
        package_transfer.refused(error)
    for row in done["imported"]:
        out.note(f"published {row['fqn']} {row['version']}")


def add(client: Client, session: Mapping[str, Any], applied: Mapping[str, Any], there: Container[str]) -> None:
    """Puts what was made of answers into a draft: new applications behind the others, those that are ``there`` (ids) in
    their places."""
    place = f"/sessions/{session['id']}/components"
    for application in (*applied["applications"], applied["object"]):
        if application["?"]["id"] in there:
            client.put(f"{place}/{application['?']['id']}", application)
        else:
            client.post(place, application)
