"""Importing packages: files, an address, a repository, a bundle; or only checking what an import would say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.diagnostics import decode_messages
from vetro.server.accounts.policy import allows, enforce
from vetro.server.caller import Caller
from vetro.server.catalog import sources
from vetro.server.catalog.imports import ImportResult, import_packages
from vetro.server.catalog.inspection import dry_run
from vetro.server.catalog.inspection.protocol import content_of
from vetro.server.catalog.models import Category
from vetro.server.errors import Invalid, ServiceError, TooLarge
from vetro.server.setup import config
from vetro.server.web.page import is_htmx, page, render
from vetro.server.web.views.catalog import bundled_packages, facets, recent
from vetro.server.web.views.packages.impact import after_import
from vetro.server.web.views.packages.package import findings_of
from vetro.server.web.views.packages.rows import texts

#: Archives of one import.
MOST = 50
_WAYS = ("files", "url", "repository", "bundle")


@page("GET", "POST", rule="upload_package")
def bring(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The form; sent, it imports or checks, and tells what came of it, finding by finding."""
    given = request.POST if request.method == "POST" else request.GET
    way = given.get("way", "files")
    context: dict[str, Any] = {
        "way": way if way in _WAYS else "files",
        "address": given.get("address", ""),
        "names": given.get("names", ""),
        "tags": given.get("tags", ""),
        "chosen": given.getlist("category"),
        "public": given.get("public") == "1",
        "enabled": request.method != "POST" or given.get("enabled") == "1",
        "allow_missing": given.get("allow_missing") == "1",
        "skip_existing": given.get("skip_existing") == "1",
        "anyway": given.get("anyway") == "1",
        "may_force": allows(caller, "force_version"),
        "categories": Category.objects.order_by("name").values_list("name", flat=True),
        "may_publish": allows(caller, "publicize_package"),
        "may_fetch": allows(caller, "import_from_address"),
        "hosts": config()["packages.import_hosts"],
        "most": config()["packages.max_upload_mib"],
        "most_files": MOST,
        "bundled": bundled_packages.offered(caller) if request.method == "GET" else {},
        "own_settings": caller.is_admin,
    }
    status = 200
    if request.method == "POST":
        status, report = _report(request, caller)
        context["report"] = report
    return render(request, "packages/report.html" if is_htmx(request) else "packages/import.html", context, status)


def _report(request: HttpRequest, caller: Caller) -> tuple[int, dict[str, Any]]:
    check = request.POST.get("what") == "check"
    try:
        if check:
            return 200, _checked(request, caller)
        result, notes = _import(request, caller)
    except ServiceError as error:
        details = error.details if isinstance(error.details, dict) else {}
        return error.status, {
            "problem": error,
            "findings": findings_of(details.get("findings")),
            "missing": details.get("missing") or [],
            "compat": details.get("compatibility"),
        }
    facets.forget(caller.project_id)
    recent.note(request, [row.fqn for row in result.packages if row.type == "Application"])
    return 200, {
        "imported": [
            {
                "package": row,
                "findings": findings_of(row.findings),
                "compat": decode_messages(row.compat),
                "impact": after_import(caller, row),
            }
            for row in result.packages
        ],
        "skipped": result.skipped,
        "missing": result.missing,
        "notes": notes,
    }


def _checked(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    if request.POST.get("way", "files") != "files":
        raise Invalid(_("Only files can be checked without importing them."))
    files, data = _files(request)
    told = dry_run.import_report(caller, data)
    items = [
        {
            **item,
            "filename": name,
            "findings": findings_of(item["findings"]),
            "compat": decode_messages(item["compatibility"]),
        }
        for name, item in zip(files, told["items"], strict=True)
    ]
    return {"checked": items, "ok": told["ok"], "problems": told["problems"]}


def _import(request: HttpRequest, caller: Caller) -> tuple[ImportResult, list[str]]:
    given = request.POST
    options: dict[str, Any] = {
        "is_public": given.get("public") == "1",
        "enabled": given.get("enabled") == "1",
        "categories": texts(given.getlist("category")),
        "tags": texts(given.get("tags", "").split(",")),
        "allow_missing": given.get("allow_missing") == "1",
        "anyway": given.get("anyway") == "1",
    }
    way = given.get("way", "files")
    if way == "files":
        options["skip_existing"] = given.get("skip_existing") == "1"
        return import_packages(caller, _files(request)[1], **options), []
    enforce(caller, "import_from_address")
    address = given.get("address", "").strip()
    if not address:
        raise Invalid(_("Give the address."), hint=_("It begins with https:// or http://."))
    ways: dict[str, Callable[[], tuple[ImportResult, list[str]]]] = {
        "url": lambda: (sources.import_url(caller, address, **options), []),
        "repository": lambda: (
            sources.import_repository(caller, address, _names(given.get("names", "")), **options),
            [],
        ),
        "bundle": lambda: sources.import_bundle(caller, address, **options),
    }
    if way not in ways:
        raise Invalid(_("There is no such way to import."))
    return ways[way]()


def _names(text: str) -> list[str | tuple[str, str]]:
    """``name`` or ``name/version``, separated by white space or commas."""
    found: list[str | tuple[str, str]] = []
    for word in text.replace(",", " ").split()[:MOST]:
        name, _slash, version = word.partition("/")
        found.append((name, version) if version else name)
    if not found:
        raise Invalid(_("Name at least one package of the repository."))
    return found


def _files(request: HttpRequest) -> tuple[list[str], list[bytes | memoryview]]:
    """Names and content of what was uploaded. Raises `Invalid`, `TooLarge`."""
    files = request.FILES.getlist("archive")
    most = int(config()["packages.max_upload_mib"])
    if not files:
        raise Invalid(_("Choose at least one package."), hint=_("A package is a ZIP archive with a manifest.yaml."))
    if len(files) > MOST:
        raise Invalid(_("At most %d packages are imported at once.") % MOST)
    for file in files:
        if (file.size or 0) > most << 20:
            raise TooLarge(_("%(name)s is larger than %(most)d MiB.") % {"name": file.name, "most": most})
    return [file.name or "" for file in files], [content_of(file) for file in files]
