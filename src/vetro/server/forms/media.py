"""Serving the files of ``widgetMedia`` from our own host: setting ``forms.media_folders``, then built-in ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified
from django.urls import path
from django.utils.http import http_date, parse_http_date_safe
from django.views.decorators.http import require_safe

from vetro.server.forms.media_files import find_in
from vetro.server.setup import config

PREFIX = "/app/media/"
#: A file opened by itself runs nothing and loads nothing.
_HEADERS = {
    "Cache-Control": "public, max-age=300",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}


def find(name: str) -> tuple[Path, str] | None:
    """The file of this name and its type; None where there is none. Relative folders: below the data directory."""
    settings = config()
    return find_in([settings.data / str(folder) for folder in settings["forms.media_folders"]], name)


def url(name: str) -> str | None:
    """The address of a file, for pages; None where there is none."""
    return None if find(name) is None else PREFIX + quote(name)


@require_safe
def serve(request: HttpRequest, name: str) -> HttpResponseBase:
    """Such a file, for everybody: there is nothing of a project in it."""
    found = find(name)
    if found is None:
        return HttpResponse("There is no such file.\n", status=404, content_type="text/plain; charset=utf-8")
    file, kind = found
    try:
        stream = file.open("rb")
    except OSError:  # gone since, or nothing that this process may read
        return HttpResponse("There is no such file.\n", status=404, content_type="text/plain; charset=utf-8")
    changed = int(file.stat().st_mtime)
    since = parse_http_date_safe(request.headers.get("If-Modified-Since", ""))
    headers = {**_HEADERS, "Last-Modified": http_date(changed)}
    if since is not None and since >= changed:
        stream.close()
        return HttpResponseNotModified(headers=headers)
    return FileResponse(stream, content_type=kind, headers=headers)


urlpatterns: list[Any] = [path("<path:name>", serve, name="form-media")]
