"""Rows of packages as the pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vetro.packages.texts import authored
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog import answers, cursors, search
from vetro.server.catalog.models import Package


def found(caller: Caller, query: search.Query, most: int, after: str = "") -> tuple[list[dict[str, Any]], str]:
    """(packages, where the next page begins; '' at the end), at most ``most`` of what the query finds behind ``after``.

    Raises `Invalid`.
    """
    query.limit = most + 1
    query.after = cursors.begin(query, after)
    rows = [answers.package_json(row) for row in search.page(caller, query)]
    end = cursors.end(caller, query, [row["id"] for row in rows[:most]]) if len(rows) > most else None
    return completed(caller, rows[:most]), end or ""


def completed(caller: Caller, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with what `answers.package_json` leaves out: picture, address, state."""
    more: dict[str, Any] = {
        row["id"]: row
        for row in Package.objects.filter(id__in=[row["id"] for row in rows]).values(
            "id", "logo", "usable", "embedded", "prerelease", "created", "updated", "texts"
        )
    }
    made = []
    for row in rows:
        about = more.get(row["id"], {})
        texts = about.get("texts", {})
        made.append(
            {
                **row,
                **about,
                "name": authored(row["name"], texts),
                "description": authored(row["description"], texts),
                "picture": f"/app/packages/{row['id']}/logo" if about.get("logo") else "",
                "own": row["owner_id"] == caller.project_id,
            }
        )
    return made


def of_packages(caller: Caller, packages: Iterable[Package]) -> list[dict[str, Any]]:
    """The same for instances."""
    return completed(caller, [answers.shown(package) for package in packages])


def rights(caller: Caller, package: Package) -> dict[str, bool]:
    """What the caller may do with a package."""
    own = caller.sees(package.project_id) and (not package.is_public or allows(caller, "manage_public_package"))
    change = own and allows(caller, "modify_package")
    return {
        "change": change,
        "switch": change and not package.embedded,
        "publish": change and (package.is_public or allows(caller, "publicize_package")) and not package.embedded,
        "delete": own and allows(caller, "delete_package") and not package.embedded,
        "download": allows(caller, "download_package"),
        "plan": allows(caller, "plan_environment") and package.readable and not package.embedded,
    }


def texts(values: Iterable[str], most: int = 50) -> list[str]:
    """Words that a person gave, each once, without those that are empty."""
    return list(dict.fromkeys(value.strip()[:255] for value in values if value.strip()))[:most]
