"""Things of a server by the names that people give them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from vetro.cli.client.requests import Client, ClientError, Refused
from vetro.muranopl.declarations.versions import parse_version
from vetro.yaql.didyoumean import suggest

_ID = re.compile(r"[0-9a-f]{32}")


class NotFound(ClientError):
    """The server has no such thing, or several."""

    kind = "not-found"
    code = "CLI136"


def is_id(text: str) -> bool:
    """Whether a text looks like an id of a server."""
    return _ID.fullmatch(text) is not None


def choice(names: Sequence[str]) -> str:
    """What to say to somebody who named something else than these."""
    some = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    return f"there are {some}" if len(names) > 1 else f"there is only {some}" if names else "there are none"


def by_name(rows: Sequence[dict[str, Any]], wanted: str, what: str) -> dict[str, Any]:
    """The row with this name or id. Raises `NotFound`, with the likely one."""
    for key in ("id", "name"):
        found = [row for row in rows if row[key] == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(row["id"] for row in found)
            raise NotFound(f"there are {len(found)} of the name '{wanted}'", f"give an id: {ids}")
    names = [str(row["name"]) for row in rows]
    close = suggest(wanted, names)
    hint = f"did you mean '{close}'?" if close else choice(names)
    raise NotFound(f"there is no {what} '{wanted}'", hint)


def by_prefix(rows: Sequence[dict[str, Any]], wanted: str, what: str) -> dict[str, Any]:
    """The row whose id begins so, or that has this name. Raises `NotFound`."""
    found = [row for row in rows if row["id"] == wanted] or [row for row in rows if row["id"].startswith(wanted)]
    if len(found) == 1 and wanted:
        return found[0]
    if len(found) > 1 and wanted:
        raise NotFound(f"{len(found)} ids begin with '{wanted}'", "give more of it")
    named = [row for row in rows if wanted and row.get("name") == wanted]
    if len(named) == 1:
        return named[0]
    raise NotFound(f"there is no {what} '{wanted}'", "give its id, or the first letters of it")


def environment(client: Client, wanted: str) -> dict[str, Any]:
    """The environment of this name, or id; the command tells when it is simulated. Raises `NotFound`."""
    found = find_environment(client, wanted)
    if found is not None:
        return found
    return by_name(list(client.items("/environments", limit=1000)), wanted, "environment")


def find_environment(client: Client, wanted: str) -> dict[str, Any] | None:
    """The same, None where there is none."""
    found = None
    if _ID.fullmatch(wanted):
        try:
            found = dict(client.get(f"/environments/{wanted}"))
        except Refused as error:
            if error.status != 404:
                raise
    if found is None:
        found = next((e for e in client.items("/environments", search=wanted) if e["name"] == wanted), None)
    if found is not None and found.get("simulated"):
        client.note_simulated()
    return found


def package(client: Client, wanted: str, spec: str | None = None, *, disabled: bool = True) -> dict[str, Any]:
    """The package ``NAME``, ``NAME/VERSION`` (a version or a spec) or id: its newest version. Raises `NotFound`.

    ``spec``: a version spec as requirements have it, for a name alone.
    """
    if _ID.fullmatch(wanted):
        try:
            return dict(client.get(f"/packages/{wanted}"))
        except Refused as error:
            if error.status != 404:
                raise
    name, _, version = wanted.partition("/")
    if version:
        spec = f"=={version}" if re.fullmatch(r"\d+(\.\d+)*([-+].*)?", version) else version
    found = list(client.items("/packages", fqn=name, version=spec or None, all_versions=True, disabled=disabled))
    if not found:
        others = list(client.items("/packages", fqn=name, all_versions=True, disabled=disabled))
        if others:
            there = choice(sorted(row["version"] for row in others))
            raise NotFound(f"there is no version {version or spec} of package '{name}'", there)
        likely = [row["fqn"] for row in client.items("/packages", search=name.rpartition(".")[2], most=5)]
        hint = f"did you mean {', '.join(likely)}?" if likely else "'vetro package search WORD' looks for it"
        raise NotFound(f"there is no package '{name}'", hint)
    best = max(found, key=lambda row: (parse_version(row["version"]), row["own"]))
    return dict(client.get(f"/packages/{quote(best['id'])}"))
