"""What comes with Vetro goes into the catalog: its applications, one after the other, and the examples."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from vetro.packages.bundle import applications as bundled_applications
from vetro.packages.bundle import behind_required, bundled_folder, categories
from vetro.packages.checks.paths import package_paths
from vetro.packages.load import open_package
from vetro.packages.package import LoadedPackage
from vetro.server.caller import Caller
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Category, Package
from vetro.server.catalog.storage import store_changed
from vetro.server.errors import ServiceError, Unavailable
from vetro.server.language import translated
from vetro.server.web.page import go, is_htmx, page, render
from vetro.server.web.views.catalog import facets

#: Seconds after which no further application is begun in one answer: the page shows how far it is, and asks again.
_AT_ONCE = 3.0


@page("POST", rule="upload_package")
def applications(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Imports the applications that come with Vetro into the project, each with all its versions or not at all.

    A page shows which ones are there, and asks for the next until all have had their turn: one that cannot be imported
    is named with the reason, and those behind it come all the same. What is there already is left alone, so whoever
    comes again goes on.
    """
    known = _applications()
    if not known:
        raise Unavailable(_("These packages are not part of this installation."))
    failed = dict(zip(request.POST.getlist("failed"), request.POST.getlist("why"), strict=False))
    left = [name for name in _left(caller) if name not in failed]
    until = time.monotonic() + _AT_ONCE
    while request.POST.get("on") and left and time.monotonic() < until:
        name = left.pop(0)
        try:
            data = [package.blob for package in known[name]]
            import_packages(caller, data, skip_existing=True, categories=_known(known[name][0].name))
        except ServiceError as error:
            failed[name] = translated(error.message)
    facets.forget(caller.project_id)
    if not left and not failed:
        number = len(known)
        text = ngettext(
            "%d application of Vetro is in the catalog.", "%d applications of Vetro are in the catalog.", number
        )
        messages.success(request, text % number)
        return go(request, "/app/catalog/")
    rows = [(name, failed.get(name), name in left) for name in known]
    there = sum(not why and not waits for _name, why, waits in rows)
    context = {"rows": rows, "failed": failed, "next": left[0] if left else None, "there": there, "all": len(known)}
    return render(request, "catalog/bundled_part.html" if is_htmx(request) else "catalog/bundled.html", context)


@page("POST", rule="upload_package")
def examples(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Imports the example packages into the project; those that are there already are left alone."""
    data = _archives()
    if not data:
        raise Unavailable(_("These packages are not part of this installation."))
    with transaction.atomic():
        done = import_packages(caller, data, skip_existing=True)
        for package in done.packages:
            if names := _known(package.fqn):
                store_changed(package, list(Category.objects.filter(name__in=names).order_by("name")))
    facets.forget(caller.project_id)
    number = len(done.packages)
    messages.success(request, ngettext("%d package is imported.", "%d packages are imported.", number) % number)
    return go(request, "/app/catalog/")


def offered(caller: Caller) -> dict[str, int]:
    """How much of what comes with Vetro the project has not got yet: {applications, examples}, packages of examples."""
    wanted = _examples()
    there = _there(caller, [name for name, _version in wanted])
    return {"applications": len(_left(caller)), "examples": sum(one not in there for one in wanted)}


def _left(caller: Caller) -> list[str]:
    """The applications of which the project lacks a version."""
    known = _applications()
    there = _there(caller, [package.name for packages in known.values() for package in packages])
    return [
        name for name, packages in known.items() if any((one.name, str(one.version)) not in there for one in packages)
    ]


def _there(caller: Caller, names: Sequence[str]) -> set[tuple[str, str]]:
    """The versions of these packages that the project has."""
    rows = Package.objects.filter(project_id=caller.project_id, fqn__in=names).values_list("fqn", "version")
    return set(rows)


def _known(fqn: str) -> list[str]:
    """The categories of a package that comes with Vetro, as far as this installation has them."""
    wanted = categories().get(fqn, ())
    return list(Category.objects.filter(name__in=wanted).order_by("name").values_list("name", flat=True))


@cache
def _archives() -> tuple[bytes, ...]:
    """The packages of examples/, in all their versions: what fills an empty catalog with one click."""
    place = bundled_folder("examples")
    return () if place is None else tuple(open_package(path).blob for path in package_paths(str(place)))


@cache
def _examples() -> frozenset[tuple[str, str]]:
    """Name and version of each."""
    place = bundled_folder("examples")
    packages = [] if place is None else [open_package(path) for path in package_paths(str(place))]
    return frozenset((package.name, str(package.version)) for package in packages)


@cache
def _applications() -> dict[str, tuple[LoadedPackage, ...]]:
    """The applications of catalog/ with all their versions by name, each behind those that it requires."""
    found = {name: tuple(map(open_package, folders)) for name, folders in bundled_applications().items()}
    return {name: found[name] for name in behind_required(found)}
