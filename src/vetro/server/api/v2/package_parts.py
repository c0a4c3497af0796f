"""Parts of a package: archive, form definition, pictures, classes, files; who uses it."""

from __future__ import annotations

import zipfile
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Schema

from vetro.diagnostics import Text
from vetro.server.api.paging import page
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes
from vetro.server.api.v2.shapes import Page
from vetro.server.catalog import service
from vetro.server.catalog.models import Ancestor, PackageClass
from vetro.server.environments.models import Environment, EnvironmentPackage
from vetro.server.environments.simulation import of_environments
from vetro.server.errors import NotFound, TooLarge, Unavailable

routes = Routes("packages")
#: Bytes of a file that is shown.
_LARGEST = 4 << 20
_PICTURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
#: Content of packages is anybody's: no browser may run it as ours.
_INERT = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}


def _binary(*media: str) -> dict[str, Any]:
    data = {"schema": {"type": "string", "format": "binary"}}
    return {"responses": {200: {"content": dict.fromkeys(media, data)}}}


class ClassShown(Schema):
    """A class of a package."""

    name: str
    abstract: bool = Field(description="It cannot be picked (metadata classes).")
    ancestors: list[str]
    schema_url: str = Field(alias="schema")


class FileRow(Schema):
    """A file of the archive."""

    path: str
    size: int


class Use(Schema):
    """An environment of the project whose last task used the package."""

    environment_id: str
    environment: str
    version: str
    simulated: bool = Field(description="Nothing of it exists: its cloud executes nothing.")


class Usage(Schema):
    """Who uses a package, as far as the caller may know."""

    environments: list[Use]
    required_by: list[dict[str, str]] = Field(description="[{id, fqn, version}] of packages that require it.")


@routes.add(
    "GET", "/packages/{package_id}/archive", "downloadPackage", "download_package", extra=_binary("application/zip")
)
def archive(request: HttpRequest, package_id: str) -> HttpResponse:
    """The archive."""
    package = service.get_package(who(request), package_id)
    name = f"{package.fqn}-{package.version}.zip".encode("ascii", "replace").decode().replace('"', "")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "ETag": f'"{package.digest}"', **_INERT}
    return HttpResponse(service.content(package, "digest"), content_type="application/zip", headers=headers)


@routes.add("GET", "/packages/{package_id}/ui", "readUiDefinition", "get_package", extra=_binary("text/plain"))
def ui(request: HttpRequest, package_id: str) -> HttpResponse:
    """The form definition. 404 where the package has none: its form is made from the class."""
    return _text(_content(request, package_id, "ui", "form definition"))


@routes.add("GET", "/packages/{package_id}/logo", "showLogo", "get_package", extra=_binary("image/*"))
def logo(request: HttpRequest, package_id: str) -> HttpResponse:
    """The picture."""
    return _picture(_content(request, package_id, "logo", "logo"))


@routes.add("GET", "/packages/{package_id}/supplier-logo", "showSupplierLogo", "get_package", extra=_binary("image/*"))
def supplier_logo(request: HttpRequest, package_id: str) -> HttpResponse:
    """The supplier's picture."""
    return _picture(_content(request, package_id, "supplier_logo", "supplier's logo"))


@routes.add("GET", "/packages/{package_id}/classes", "listClasses", "get_package", Page[ClassShown])
def classes(request: HttpRequest, package_id: str) -> Any:
    """The classes of a package with what they inherit."""
    package = service.get_package(who(request), package_id)
    ancestors: dict[int, list[str]] = {}
    rows = Ancestor.objects.filter(of__package=package).order_by("id").values_list("of_id", "name")
    for of, name in rows:
        ancestors.setdefault(of, []).append(name)
    asked = urlencode({"package": package.fqn, "version": f"=={package.version}"})
    found = PackageClass.objects.filter(package=package).order_by("name").values_list("id", "name", "abstract")
    items = [
        {
            "name": name,
            "abstract": abstract,
            "ancestors": ancestors.get(id, []),
            "schema": f"/v2/schemas/{quote(name)}?{asked}",
        }
        for id, name, abstract in found
    ]
    return page(items, len(items))


@routes.add("GET", "/packages/{package_id}/files", "listFiles", "download_package", Page[FileRow])
def files(request: HttpRequest, package_id: str) -> Any:
    """The files of the archive."""
    package = service.get_package(who(request), package_id)
    with service.open_archive(package) as found:
        items = [{"path": i.filename, "size": i.file_size} for i in found.infolist() if not i.is_dir()]
    items.sort(key=lambda item: str(item["path"]))
    return page(items, len(items))


@routes.add(
    "GET",
    "/packages/{package_id}/files/{path:path}",
    "readFile",
    "download_package",
    extra=_binary("text/plain", "application/octet-stream"),
)
def read_file(
    request: HttpRequest,
    package_id: str,
    path: str,
    download: Annotated[bool, Query(description="As bytes to be saved, whatever it is.")] = False,
) -> HttpResponse:
    """One file of the archive: text as plain text, everything else as bytes. Only names that `files` lists exist."""
    package = service.get_package(who(request), package_id)
    with service.open_archive(package) as found:
        try:
            info = found.getinfo(path)
        except KeyError:
            info = None
        if info is None or info.is_dir():
            raise NotFound(Text("There is no file '{path}' in the package.", path=path[:200]))
        if info.file_size > _LARGEST:
            raise TooLarge(
                Text(
                    "The file has {file_size:,} bytes; {largest:,} are shown. Download the archive.",
                    file_size=info.file_size,
                    largest=_LARGEST,
                )
            )
        try:
            with found.open(info) as file:
                data = file.read(_LARGEST + 1)
        except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError) as error:
            raise Unavailable(Text("The file cannot be read: {error}", error=error)) from None
    try:
        if download or b"\0" in data:
            raise UnicodeError
        data.decode()
    except UnicodeError:
        headers = {"Content-Disposition": "attachment", **_INERT}
        return HttpResponse(data, content_type="application/octet-stream", headers=headers)
    return _text(data)


@routes.add("GET", "/packages/{package_id}/usage", "showUsage", "get_package", Usage)
def usage(request: HttpRequest, package_id: str) -> Any:
    """Environments of the project that use the package, and packages that require it."""
    caller = who(request)
    package = service.get_package(caller, package_id)
    mine = Environment.objects.all() if caller.is_admin else Environment.objects.filter(project_id=caller.project_id)
    rows = list(
        EnvironmentPackage.objects.filter(fqn=package.fqn, digest=package.digest, environment__in=mine)
        .order_by("environment__name")
        .values_list("environment_id", "environment__name", "version")
    )
    asking = service.visible(caller).filter(requirements__name=package.fqn).order_by("fqn", "-version_key")
    simulated = of_environments([id for id, *_ in rows])
    return {
        "environments": [
            {"environment_id": i, "environment": n, "version": v, "simulated": i in simulated} for i, n, v in rows
        ],
        "required_by": [{"id": i, "fqn": f, "version": v} for i, f, v in asking.values_list("id", "fqn", "version")],
    }


def _content(request: HttpRequest, package_id: str, what: str, called: str) -> bytes:
    data = service.content(service.get_package(who(request), package_id), what)
    if not data:
        raise NotFound(Text("The package has no {called}.", called=called))
    return data


def _picture(data: bytes) -> HttpResponse:
    media = next((media for begin, media in _PICTURES if data.startswith(begin)), "application/octet-stream")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        media = "image/webp"
    return HttpResponse(data, content_type=media, headers={"Cache-Control": "private, max-age=300", **_INERT})


def _text(data: bytes) -> HttpResponse:
    return HttpResponse(data, content_type="text/plain; charset=utf-8", headers=_INERT)
