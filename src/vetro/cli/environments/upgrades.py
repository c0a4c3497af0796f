"""Upgrades of environments: what is newer, what becomes of what, what is still to be answered."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import is_local
from vetro.cli.client.requests import Client, Refused
from vetro.cli.differences import UNCHANGED
from vetro.cli.environments.guard import tell_way_back
from vetro.cli.environments.history import planned
from vetro.cli.environments.lifecycle import begin, discard, say_cloud
from vetro.cli.environments.models import names_in, newest, own_draft
from vetro.cli.environments.tasks import NotThere, finish
from vetro.cli.package_paths import load_packages
from vetro.cli.rows import print_rows
from vetro.engine.upgrading.order import request_of_group
from vetro.model.header import class_name

#: What the service says while something is open.
_INCOMPLETE = "SRV610"
#: What it says where there would be no way back, and where something would not come back that nobody knew of.
_NO_WAY_BACK, _UNCONFIRMED = "SRV612", "SRV613"


def list_offers(client: Client, name: str | None, output: str) -> None:
    """`vetro upgrade --list`: newer versions, of one environment or of all."""
    rows = []
    if name:
        environment = find.environment(client, name)
        for item in client.get(f"/environments/{environment['id']}/upgrades")["items"]:
            row = {**item, "environment": environment["name"]}
            rows.append({**row, "used": ", ".join(item["used"])} if output == "table" else row)
    else:  # kept with the environments
        for environment in client.items("/environments", limit=1000):
            rows += [{**item, "environment": environment["name"]} for item in environment["upgrades"]]
    print_rows(
        rows,
        ("environment", "package", "used", "to", "bump"),
        output,
        empty="everything has its newest version",
        head={"used": "version", "to": "newest", "bump": "change"},
    )


def upgrade(
    client: Client,
    name: str,
    given: Mapping[str, Any],
    paths: Sequence[str],
    plan: bool,
    output: str,
    said: Mapping[str, Any],
    **options: Any,
) -> None:
    """`vetro upgrade`: the draft, then its plan or its deployment. Exits with status 1 while something is open."""
    environment = _environment(client, name)
    made = _made(client, environment, {**given, **_archives(client, paths, given)}, output)
    _carry_out(client, environment, made, plan, output, said, **options)


def _carry_out(
    client: Client,
    environment: Mapping[str, Any],
    made: Mapping[str, Any],
    plan: bool,
    output: str,
    said: Mapping[str, Any],
    **options: Any,
) -> None:
    """Plans a draft, or deploys it to its end."""
    session, names = made["session"], names_in(newest(client, environment))
    try:
        if output == "table":
            said = tell_way_back(client, session, said, made["report"]["not_restorable"])
        if plan:
            planned(client, session, environment["name"], output, names=names, **options)
            return
        say_cloud(client, environment)
        task, session = begin(client, session, True, body=said), None
    finally:
        if session is not None:
            discard(client, session)
    finish(client, task, environment, names=names, what="upgrading", **options)


def one_by_one(
    client: Client,
    name: str,
    given: Mapping[str, Any],
    paths: Sequence[str],
    plan: bool,
    output: str,
    said: Mapping[str, Any],
    together: bool,
    **options: Any,
) -> None:
    """`vetro upgrade --one-by-one`: each application for itself, those that others use first.

    All that is open has to be answered before the first begins. It stops where one does not go well, as that ended; the
    same command goes on with the rest. ``together``: then all of them go back. The service goes on by itself; where
    there is no way back, this command makes one upgrade after the other.
    """
    environment = _environment(client, name)
    body = {**given, **_archives(client, paths, given)}
    report = client.post(f"/environments/{environment['id']}/upgrades", {**body, "draft": False})["report"]
    if not report["ready"]:
        _tell_open(report, output)
    names = names_in(newest(client, environment))
    called = [", ".join(names.get(id, id) for id in group) for group in report["order"]]
    for number, text in enumerate(called, 1):
        out.note(f"{number}. {text}")
    if plan:
        out.note(UNCHANGED)
        return
    if said.get("guard") is not False:
        row = _chain(client, environment, body, report, said, together)
        if row is not None:
            _print_report(report, output)
            say_cloud(client, environment)
            task = {"procedure_id": row["id"], "kind": "deploy"}
            finish(client, task, environment, names=names, what="upgrading", **options)
            return
    for number, group in enumerate(report["order"]):
        out.note(out.style(f"{number + 1} of {len(called)}: {called[number]}", bold=True))
        try:
            made = _made(client, environment, {**body, **_part(report, body, group)}, output)
            _carry_out(client, environment, made, False, output, said, **options)
        except BaseException:
            if number:
                out.note(f"what went before stays: {', '.join(called[:number])}")
            if called[number + 1 :]:
                out.note(f"not begun: {', '.join(called[number + 1 :])}")
            raise


def _chain(
    client: Client,
    environment: Mapping[str, Any],
    body: Mapping[str, Any],
    report: Mapping[str, Any],
    said: Mapping[str, Any],
    together: bool,
) -> dict[str, Any] | None:
    """The procedure that does it; None where there is no way back, and nobody wants one."""
    asked = {name: body[name] for name in ("to", "answers", "drops", "beside") if name in body}
    asked |= {name: said[name] for name in ("settle", "hold") if said.get(name) is not None}
    known = [] if report["guard"] and not said.get("confirmed") else list(report["not_restorable"])
    may_go = not report["guard"] or bool(said.get("confirmed"))
    path = f"/environments/{environment['id']}/upgrades/one-by-one"
    while True:
        try:
            return dict(client.post(path, {**asked, "confirmed": known if may_go else False, "together": together}))
        except Refused as error:
            codes, details = (error.answered, error.code), error.details
            found = details.get("losses") if isinstance(details, Mapping) else None
            new = [text for text in found or () if text not in known]
            if _UNCONFIRMED in codes and new:
                for text in new:
                    out.echo(f"does not come back: {text}")
                known += new
                if may_go:
                    continue
            unwanted = not (said.get("guard") or report["guard"] or together)
            if unwanted and (error.status in (404, 405) or _NO_WAY_BACK in codes):
                if _NO_WAY_BACK in codes:
                    out.note(error.message)
                return None
            raise


def _part(report: Mapping[str, Any], body: Mapping[str, Any], group: Sequence[str]) -> dict[str, Any]:
    """What a request says of the upgrade of some applications, of what was said of all."""
    drops = [(own, name) for own, _, name in (text.rpartition(".") for text in body["drops"])]
    part = request_of_group(report, group, body["answers"], drops)
    return {**part, "drops": [f"{own}.{name}" for own, name in part["drops"]]}


def _environment(client: Client, name: str) -> dict[str, Any]:
    """Raises `NotThere` for one with changes of ours that are not deployed."""
    environment = find.environment(client, name)
    if own_draft(client, environment) is not None:
        hint = f"deploy them first: vetro env deploy {environment['name']}"
        raise NotThere(f"environment '{environment['name']}' has changes that are not deployed", hint)
    return dict(environment)


def _made(client: Client, environment: Mapping[str, Any], body: Mapping[str, Any], output: str) -> dict[str, Any]:
    """The draft, with its report, which is printed. Ends the command with status 1 while something is open."""
    try:
        made = dict(client.post(f"/environments/{environment['id']}/upgrades", body))
    except Refused as error:
        report = (error.details or {}).get("report") if isinstance(error.details, Mapping) else None
        if _INCOMPLETE not in (error.answered, error.code) or report is None:
            raise
        _tell_open(report, output)
    _print_report(made["report"], output)
    return made


def _tell_open(report: Mapping[str, Any], output: str) -> NoReturn:
    """Says what is open, and ends the command."""
    _print_report(report, output)
    _print_open(report)
    out.note(out.style("nothing was changed", fg="red"))
    sys.exit(out.FAILED)


def _archives(client: Client, paths: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """What a request says of packages on this machine. Raises `NotThere` where a server is asked."""
    if not paths:
        return {}
    if not is_local(client):
        raise NotThere("a server upgrades to versions of its catalog", f"vetro package publish {paths[0]}")
    packages = load_packages(list(paths))
    versions = {package.name: str(package.version) for package in packages}
    return {"to": {**given["to"], **versions}, "beside": client.stored(packages)}


def _print_report(report: Mapping[str, Any], output: str) -> None:
    if output != "table":
        out.print_data(report, output)
        return
    for item in report["objects"]:
        kind = class_name(item["new_type"])
        added = item.get("added")
        versions = item["new"] if added else f"{item['old']} -> {item['new']}"
        sign = out.style("+", fg="green", bold=True) if added else out.style("~", fg="yellow", bold=True)
        out.echo(f"{sign} {item['name']}  ({kind}) {versions}")
        for step in item["steps"]:
            what = f"{step['from']} is called {step['name']}" if "from" in step else f"migration {step['name']}"
            out.echo(f"    {what} (since {step['to']})")
        if item["changed"]:
            out.echo(f"    changed: {', '.join(item['changed'])}")
        for value in item["dropped"]:
            if value["lost"]:
                out.echo(f"    lost: {value['name']}, which was {_short(value['value'])}")
    for item in report["removed"]:
        out.echo(f"{out.style('-', fg='red', bold=True)} {item['name']}  ({class_name(item['type'])})")
    for text in report["not_restorable"]:
        out.echo(f"does not come back: {text}")


def _print_open(report: Mapping[str, Any]) -> None:
    """What keeps an upgrade from being a draft; answers as options to be copied."""
    for item in report["problems"]:
        out.echo(f"{out.style('problem', fg='red')}: {item['message']}")
    for item in report["asked"]:
        why = "" if item["missing"] else f"; {item['message']}"
        out.echo(f"  --set {item['ref']}.{item['property']}=VALUE    {item['contract']}{why}")
    for item in report["objects"]:
        for value in item["dropped"]:
            if value["lost"] and not value["confirmed"]:
                out.echo(f"  --drop {item['ref']}.{value['name']}    it was {_short(value['value'])}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
