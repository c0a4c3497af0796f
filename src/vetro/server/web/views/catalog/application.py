"""One application: what it is, its versions side by side, its form, its classes, its licence, who uses it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.packages.texts import authored
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.catalog.package_texts import texts_of
from vetro.server.environments.models import Environment, EnvironmentPackage
from vetro.server.environments.queries import names_of
from vetro.server.errors import Invalid
from vetro.server.forms.subjects import check_addable
from vetro.server.forms.submit import free_name
from vetro.server.language import translated
from vetro.server.web import value_words
from vetro.server.web.marked_names import marked_names
from vetro.server.web.page import missing, page, render
from vetro.server.web.views.catalog import into, recent
from vetro.server.web.views.packages import contents
from vetro.server.web.views.packages.package import releases_of, requirements_of
from vetro.server.web.views.packages.rows import of_packages
from vetro.server.web.views.wizard.words import named

#: Versions that are shown side by side, environments named for each, environments offered beside the button.
_VERSIONS, _NAMED, OFFERED = 20, 10, 20
#: Environments that can be chosen on the page itself, and releases whose changes are told.
_INLINE, _RELEASES = 6, 3
_CHANGELOG = ("changelog", "changes", "history", "news", "release_notes", "releasenotes")
_HEADING = re.compile(r"^(?:#+\s*|={2,}\s*)?\[?v?\d+(?:\.\d+)+[^\n]{0,80}$", re.IGNORECASE | re.MULTILINE)


@page(rule="get_package")
def show(request: HttpRequest, caller: Caller, fqn: str) -> HttpResponse:
    """The page of an application or library; ``?version=`` names a version, without it is the newest release."""
    rows = versions_of(caller, fqn)
    row = chosen(rows, request.GET.get("version"))
    uses = _uses(caller, fqn)
    hindrance = _hindrance(row)
    target = into.of(request, caller)
    mine = offered(request, caller)
    listed = [
        {
            "package": other,
            "own": other.project_id == caller.project_id,
            "current": other.id == row.id,
            "requires": requirements_of(caller, other),
            "release": _release(other),
            "changes": changes_in(contents.document(other, *_CHANGELOG), other.version),
            "environments": uses.pop(other.version, []),
        }
        for other in rows[:_VERSIONS]
    ]
    releases = [one for one in releases_of(row.changes) if one["changes"]]
    context = {
        "package": row,
        "shown": of_packages(caller, [row])[0],
        "versions": listed,
        "more_versions": max(0, len(rows) - _VERSIONS),
        "other_uses": sorted(uses.items()),
        "named": _NAMED,
        "readme": contents.readme(caller, row),
        "pictures": contents.screenshots(row),
        "releases": releases[:_RELEASES],
        # What a change log says in its own words is in no list of changes.
        "changes_by_version": not releases or any(one["changes"] and one["release"] is None for one in listed),
        "license": contents.document(row, "license", "licence", "copying"),
        "into": target,
        "into_url": target.add(row.id) if target else "",
        "environments": mine,
        "more_environments": len(mine) > _INLINE,
        "stencil": recent.template(request, caller),
        "last": recent.environment(request),
        "name": free_name(row.name, names_of(caller.project_id)),
        "may_add": allows(caller, "update_environment") and row.type == "Application" and not hindrance,
        "hindrance": hindrance,
        "may_try": row.type == "Application" and row.usable and not hindrance,
        "may_create": allows(caller, "create_environment"),
    }
    return render(request, "catalog/application.html", context)


def _release(row: Package) -> dict[str, Any] | None:
    """What a version brought, where its author says it change by change."""
    told = (one for one in releases_of(row.changes) if one["version"] == row.version and one["changes"])
    return next(told, None)


def _hindrance(row: Package) -> str:
    """Why nobody can fill in a form for an application; empty where one can, or where more is amiss than that."""
    if row.type == "Application" and row.usable:
        try:
            check_addable(row)
        except Invalid as error:
            return error.message
    return ""


@page(rule="get_package")
def form(request: HttpRequest, caller: Caller, fqn: str) -> HttpResponse:
    """What will be asked: the steps and fields of its form, or the properties that its class asks for, in words."""
    row = chosen(versions_of(caller, fqn), request.GET.get("version"))
    told = contents.described(caller, row)
    steps, licence = told["form"], ""
    texts = texts_of([row])

    def word(text: str) -> str:
        return translated(authored(text, texts))

    if steps is not None:
        fields = [field for step in steps for field in step["fields"]]
        licence = next((word(field["help"]) for field in fields if field["name"] == "license"), "")
        steps = [{"name": word(named(step["name"])), "fields": _fields(step["fields"], word)} for step in steps]
        steps = [step for step in steps if step["fields"]]
    else:
        steps = [{"name": "", "fields": asked}] if (asked := _asked(told["asked"], word)) else []
    context = {"package": row, "steps": steps, "licence": licence}
    part = request.headers.get("HX-Target") == "form"
    return render(request, "catalog/form.html" if part else "catalog/form_page.html", context)


def _fields(fields: list[dict[str, Any]], word: Callable[[str], str]) -> list[dict[str, Any]]:
    """Fields of a definition: {label, help, required, computed, words, initial}."""
    return [
        {
            **field,
            "label": word(field["label"]),
            "help": word(field["help"]),
            "words": value_words.of_field(field["type"], [word(text) for text in field["choices"]]),
            # What is not plain text is an expression: it is nothing for whoever fills the form in.
            "initial": "" if "initial" in field["computed"] else value_words.of_value(field["initial"]),
        }
        for field in fields
        if not field["hidden"]
    ]


def _asked(asked: list[dict[str, Any]], word: Callable[[str], str]) -> list[dict[str, Any]]:
    """The same of properties of a class."""
    return [
        {
            "label": word(item["words"].get("title") or item["name"]),
            "help": word(item["words"].get("help") or item["words"].get("description") or ""),
            "required": "default" not in item["schema"],
            "words": value_words.of_schema(item["schema"], said_as=word),
            "initial": value_words.of_value(item["schema"].get("default")),
        }
        for item in asked
    ]


def versions_of(caller: Caller, fqn: str) -> list[Package]:
    """The versions that the project can use, the newest release first; its own before a public one of the same name.

    Raises `NotFound` when there is none.
    """
    seen = Q(is_public=True) | Q(project_id=caller.project_id)
    rows = Package.objects.filter(seen, fqn=fqn.replace("\0", ""), enabled=True).defer("findings", "references")
    found: dict[str, Package] = {}
    for row in sorted(rows.order_by("prerelease", "-version_key"), key=lambda r: r.project_id != caller.project_id):
        found.setdefault(row.version, row)
    if not found:
        raise missing(_("application"))
    # Releases before pre-releases, the newest first.
    listed = sorted(found.values(), key=lambda r: r.version_key, reverse=True)
    return sorted(listed, key=lambda r: r.prerelease)


def chosen(rows: list[Package], version: str | None) -> Package:
    """The version that is asked for; without one the newest. Raises `NotFound`."""
    if not version:
        return next((row for row in rows if row.usable), rows[0])
    for row in rows:
        if row.version == version:
            return row
    raise missing(_("version"))


def changes_in(text: str, version: str) -> str:
    """What a change log says of one version; '' where it does not name it."""
    heads = list(_HEADING.finditer(text))
    own = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.])")
    for number, head in enumerate(heads):
        if own.search(head.group()):
            end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
            return text[head.end() : end].strip()[:4000]
    return ""


def offered(request: HttpRequest, caller: Caller) -> list[tuple[str, str]]:
    """(id, name) of environments to add to: the one of last time first, then those that changed last."""
    mine = Environment.objects.filter(project_id=caller.project_id)
    rows = list(mine.order_by("-updated").values_list("id", "name")[:OFFERED])
    last = recent.environment(request)
    if last and last not in dict(rows):
        rows = [*mine.filter(id=last).values_list("id", "name"), *rows]
    return marked_names(sorted(rows, key=lambda row: row[0] != last))


def _uses(caller: Caller, fqn: str) -> dict[str, list[tuple[str, str]]]:
    """Version -> environments of the project whose last task used it."""
    rows = EnvironmentPackage.objects.filter(fqn=fqn, environment__project_id=caller.project_id)
    found: dict[str, list[tuple[str, str]]] = {}
    listed = rows.order_by("environment__name").values_list("version", "environment_id", "environment__name")
    used = list(listed[:1000])
    shown = dict(marked_names((id, name) for _version, id, name in used))
    for version, id, _name in used:
        found.setdefault(version, []).append((id, shown[id]))
    return found
