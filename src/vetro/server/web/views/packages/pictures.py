"""Pictures and archives of packages: content of anybody, which no browser may run as ours."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.server.caller import Caller
from vetro.server.catalog import service
from vetro.server.web.page import missing, page
from vetro.server.web.views.packages import contents

_INERT = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
_KINDS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
          (b"RIFF", "image/webp"))  # fmt: skip


@page(rule="get_package")
def logo(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """The logo."""
    return _picture(request, caller, package, "logo")


@page(rule="get_package")
def supplier(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """The supplier's logo."""
    return _picture(request, caller, package, "supplier_logo")


@page(rule="get_package")
def inside(request: HttpRequest, caller: Caller, package: str, path: str) -> HttpResponse:
    """A picture of the archive that its page or its README shows."""
    row = service.get_package(caller, package)
    if not path.lower().endswith(contents.PICTURES):
        raise missing(_("picture"))
    headers = {"Cache-Control": "private, max-age=3600", "ETag": f'"{row.digest}"', **_INERT}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return HttpResponse(status=304, headers=headers)
    return _sent(contents.read_file(row, path), headers)


@page(rule="download_package")
def archive(request: HttpRequest, caller: Caller, package: str) -> HttpResponse:
    """The archive, to be saved."""
    row = service.get_package(caller, package)
    name = f"{row.fqn}-{row.version}.zip".encode("ascii", "replace").decode().replace('"', "")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', **_INERT}
    return HttpResponse(service.content(row, "digest"), content_type="application/zip", headers=headers)


def _picture(request: HttpRequest, caller: Caller, package: str, what: str) -> HttpResponse:
    row = service.get_package(caller, package)
    digest = getattr(row, what)
    if not digest:
        raise missing(_("picture"))
    headers = {"Cache-Control": "private, max-age=3600", "ETag": f'"{digest}"', **_INERT}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return HttpResponse(status=304, headers=headers)
    return _sent(service.content(row, what), headers)


def _sent(data: bytes, headers: dict[str, str]) -> HttpResponse:
    # Unknown content is sent as bytes: a picture that browsers would run as a document is shown as none.
    media = next((media for begin, media in _KINDS if data.startswith(begin)), "application/octet-stream")
    return HttpResponse(data, content_type=media, headers=headers)
