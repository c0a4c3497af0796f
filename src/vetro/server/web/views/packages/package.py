"""One package: facts, findings, classes, files, who uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.diagnostics import decode_messages
from vetro.server.caller import Caller
from vetro.server.catalog import service
from vetro.server.catalog.models import Package
from vetro.server.catalog.verdicts import verdict_of
from vetro.server.environments.models import Environment, EnvironmentPackage
from vetro.server.errors import ServiceError
from vetro.server.language import reader_language
from vetro.server.web.marked_names import marked_names
from vetro.server.web.page import go, missing, page, render
from vetro.server.web.views.packages import contents
from vetro.server.web.views.packages.rows import of_packages, rights


@page(rule="get_package")
def show(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """What it is, and what `vetro check` found in it."""
    row = service.get_package(caller, package)
    context = shell(caller, row, "overview")
    context |= {
        "requires": requirements_of(caller, row),
        "versions": [
            {"package": other, "own": other.project_id == caller.project_id}
            for other in service.visible(caller).filter(fqn=row.fqn).order_by("-version_key", "id")[:100]
        ],
        "environments": environments_with(caller, row),
        "required_by": service.visible(caller)
        .filter(requirements__name=row.fqn)
        .exclude(fqn=row.fqn)
        .order_by("fqn", "-version_key")[:50],
    }
    return render(request, "packages/show.html", context)


@page(rule="get_package")
def classes(request: HttpRequest, caller: Caller, package: str, name: str = "") -> HttpResponse:
    """The classes; one of them with its properties, methods and contracts."""
    row = service.get_package(caller, package)
    told = contents.described(caller, row)["classes"]
    known = {item["name"]: item for item in told}
    if name and name not in known:
        raise missing(_("class"))
    chosen = known.get(name) or (known.get(row.fqn) or told[0] if told else None)
    context = shell(caller, row, "classes")
    if chosen is not None:
        context |= {
            "chosen": chosen,
            "parents": [linked(row, item) for item in chosen["parents"]],
            "ancestors": [linked(row, item) for item in chosen["ancestors"]],
            "inherited": [{**item, **linked(row, item)} for item in chosen["inherited"]],
            "heirs": [item["name"] for item in told if chosen["name"] in {p["name"] for p in item["parents"]}],
        }
    context["classes"] = told
    return render(request, "packages/classes.html", context)


@page(rule="download_package")
def files(request: HttpRequest, caller: Caller, package: str, path: str = "") -> HttpResponse:
    """The files of the archive, or one of them in colours."""
    row = service.get_package(caller, package)
    listed = contents.files(row)
    if not path:
        path = next((name for name, _size in listed if name == "manifest.yaml"), "")
    context = shell(caller, row, "files") | {
        "files": listed[: contents.FILES],
        "more_files": len(listed) > contents.FILES,
        "path": path,
    }
    if path:
        try:
            text = contents.text_of(contents.read_file(row, path))
        except ServiceError as error:
            if error.status == 404:
                raise
            context["problem"] = error
        else:
            context["lines"] = None if text is None else contents.source(caller, row, path, text)
            context["cut"] = text is not None and text.count("\n") >= contents.LINES
    return render(request, "packages/files.html", context)


@page(rule="get_package")
def compatibility(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """What the version breaks, compared with the one before it: finding by finding, with the lines of both."""
    row = service.get_package(caller, package)
    found = decode_messages(row.compat)
    context = shell(caller, row, "compatibility") | {"found": found}
    if found and context["may"]["download"]:
        old = service.visible(caller).filter(id=found["against"]["id"]).first()
        for side, version in (("old", old), ("new", row)):
            if version is not None:
                contents.add_lines(version, [one[side] for one in found["findings"] if one[side] is not None])
        context |= {"base": row.id, "old_base": "" if old is None else old.id}
    return render(request, "packages/compatibility.html", context)


def shell(caller: Caller, row: Package, tab: str) -> dict[str, Any]:
    """What all pages of one package need."""
    return {
        "package": row,
        "tab": tab,
        "shown": of_packages(caller, [row])[0],
        "may": rights(caller, row),
        "verdict": verdict_of(row.compat),
        "findings": findings_of(row.findings),
        "releases": releases_of(row.changes),
    }


def releases_of(found: Any) -> list[dict[str, Any]]:
    """What is new in which version, in the language of whoever reads it."""
    language = reader_language()

    def said(texts: Mapping[str, str]) -> str:
        return texts.get(language) or texts.get("") or texts.get("en") or next(iter(texts.values()), "")

    return [
        {**one, "changes": [{**c, "text": said(c["text"]), "do": said(c.get("do") or {})} for c in one["changes"]]}
        for one in found or ()
    ]


def findings_of(found: Any) -> list[dict[str, Any]]:
    """Findings of `vetro check`: errors first."""
    order = {"error": 0, "warning": 1}
    return sorted(decode_messages(found or []), key=lambda item: order.get(item["severity"], 2))


def linked(row: Package, item: dict[str, str]) -> dict[str, str]:
    """A class with the address of its page: in this package, or of the newest version of another one."""
    name, package = item["name"], item["package"]
    if not package:
        return {"name": name, "package": "", "url": ""}
    if package == row.fqn:
        return {"name": name, "package": package, "url": f"/app/packages/{row.id}/classes/{quote(name)}"}
    return {"name": name, "package": package, "url": f"/app/packages/class/{quote(package)}/{quote(name)}"}


@page(rule="get_package")
def class_of(request: HttpRequest, caller: Caller, fqn: str, name: str) -> HttpResponse:
    """Leads to a class of the newest version of a package."""
    rows = service.visible(caller).filter(fqn=fqn.replace("\0", ""), enabled=True)
    newest = rows.order_by("prerelease", "-version_key").values_list("id", flat=True).first()
    if newest is None:
        raise missing(_("package"))
    return go(request, f"/app/packages/{newest}/classes/{quote(name)}")


def requirements_of(caller: Caller, row: Package) -> list[dict[str, Any]]:
    """[{name, spec, title}] of what a package requires; ``title`` is empty for what the person does not see."""
    names = dict(
        service.visible(caller)
        .filter(fqn__in=list(row.required), enabled=True)
        .order_by("version_key")
        .values_list("fqn", "name")
    )
    return [
        {"name": name, "spec": str(spec or ""), "title": names.get(name, "")} for name, spec in row.required.items()
    ]


def environments_with(caller: Caller, row: Package) -> list[tuple[str, str]]:
    """(id, name) of environments of the project whose last task used just this package."""
    mine = Environment.objects.filter(project_id=caller.project_id)
    rows = EnvironmentPackage.objects.filter(fqn=row.fqn, digest=row.digest, environment__in=mine)
    return marked_names(rows.order_by("environment__name").values_list("environment_id", "environment__name")[:100])
