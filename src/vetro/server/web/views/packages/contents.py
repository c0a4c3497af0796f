"""What is inside a package, for pages: classes, the form's outline, files, source in colours.

Archives never change under their digest, so what was found out is kept. Parsing is left to a process behind walls
(`vetro.server.catalog.inspection`).
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from vetro.server.cache import RecentCache, as_text
from vetro.server.caller import Caller
from vetro.server.catalog import blobs, service
from vetro.server.catalog.dependencies import packages_for
from vetro.server.catalog.inspection.client import SECONDS, archive_limits
from vetro.server.catalog.inspection.pool import pool
from vetro.server.catalog.models import Package
from vetro.server.errors import Invalid, NotFound, ServiceError, TooLarge, Unavailable
from vetro.server.language import reader_language
from vetro.server.web import markdown
from vetro.yaql.errors import VetroError

#: Bytes of a file that is shown, and of one that is shown in colours; longer ones are plain.
LARGEST, COLOURED = 1 << 20, 200_000
#: Lines of a file and files of a package that one page shows.
LINES, FILES = 5000, 2000
#: Characters of a line that is shown beside a finding.
LONGEST_LINE = 300
_SAFE = re.compile(r"[a-z]?")


#: Ends of names of pictures that are shown, and pictures of an application.
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_SCREENSHOTS = 8

_readmes = RecentCache(64, 8 << 20, len)
_described = RecentCache(64, 16 << 20, as_text)
_files = RecentCache(500, 32 << 20, as_text)
_sources = RecentCache(32)


def described(caller: Caller, package: Package) -> dict[str, Any]:
    """Classes and form of a package, as `vetro.server.catalog.inspection.describe.describe` tells them.

    Raises `Invalid` when it cannot be examined, `Unavailable` when there is no time for it now.
    """
    try:
        needed = packages_for(caller, [(package.fqn, f"=={package.version}")])
    except ServiceError:  # something that it requires is missing: its classes say so
        needed = []
    others = sorted({row.digest for row in needed if row.digest != package.digest})

    def ask() -> dict[str, Any]:
        paths = []
        for digest in others:
            try:
                paths.append(str(blobs.local_path(digest)))
            except blobs.BlobMissing:
                continue
        head = {
            "op": "describe",
            "location": str(blobs.location_of(package.digest)),
            "others": paths,
            "limits": archive_limits(),
        }
        answer, _more = pool().ask(caller.project_id, head, [service.content(package, "digest")], SECONDS, paths)
        found: dict[str, Any] = answer["described"]
        return found

    return _described.get((package.digest, *others), ask)


def files(package: Package) -> list[tuple[str, int]]:
    """(path, size) of the files of the archive, by path."""

    def read() -> list[tuple[str, int]]:
        with service.open_archive(package) as archive:
            return sorted((item.filename, item.file_size) for item in archive.infolist() if not item.is_dir())

    return _files.get(("files", package.digest), read)


def read_file(package: Package, path: str) -> bytes:
    """One file of the archive. Raises `NotFound`, `TooLarge`, `Unavailable`."""
    size = dict(files(package)).get(path)
    if size is None:
        raise NotFound(_("There is no file %s in the package.") % path[:200])
    if size > LARGEST:
        raise TooLarge(
            _("%(path)s is too large to be shown.") % {"path": path[:200]}, hint=_("Download the archive instead.")
        )
    with service.open_archive(package) as archive:
        try:
            with archive.open(path) as file:
                return file.read(LARGEST + 1)
        except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError) as error:
            raise Unavailable(_("The file cannot be read: %s") % error) from None


def text_of(data: bytes) -> str | None:
    """The text that a file holds; None where it is none."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def document(package: Package, *names: str) -> str:
    """Text of the file at the top of the archive that is called so, with any suffix; '' where there is none.

    Of several the one in the reader's language (``README.de.md``), or else the one that names no language.
    """
    language = reader_language()

    def read() -> str:
        found = []
        for path, size in files(package):
            stem, *suffixes = path.lower().split(".")
            if "/" not in path and stem in names and size <= COLOURED:
                spoken = suffixes[0].partition("-")[0] if len(suffixes) > 1 else ""
                found.append((spoken != language, bool(spoken), path))
        return (text_of(read_file(package, min(found)[-1])) or "") if found else ""

    try:
        return _files.get((names, package.digest, language), read)
    except VetroError:  # an archive that is gone or broken has no such file; other pages say what is wrong with it
        return ""


def readme(caller: Caller, package: Package) -> SafeString:
    """The file README of the archive as HTML: Markdown, whatever its name ends in; '' where there is none.

    Pictures and links lead into the archive or, links, elsewhere.
    """

    def render() -> SafeString:
        text = _without_title(document(package, "readme"), package.name)
        if not text.strip():
            return SafeString("")
        head = {"op": "markdown", "limits": archive_limits()}
        try:
            answer, _more = pool().ask(caller.project_id, head, [text.encode()], 5.0)
        except (Invalid, Unavailable):
            return format_html('<pre class="document" tabindex="0">{}</pre>', text)
        return markdown.html(answer["tokens"], lambda kind, target: _into_archive(package, kind, target), headings=2)

    return _readmes.get((reader_language(), package.id, package.digest), render)


def _without_title(text: str, name: str) -> str:
    """Without a heading that the page has above it already: the name of the package."""
    first, _, rest = text.lstrip().partition("\n")
    return rest if first.startswith("# ") and first[2:].strip().casefold() == name.casefold() else text


def _into_archive(package: Package, kind: str, target: str) -> str | None:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return target if kind == "href" and parts.scheme in ("http", "https", "mailto") else None
    path = posixpath.normpath(unquote(parts.path)).lstrip("/") if parts.path else ""
    if not path:
        return f"#{parts.fragment}" if kind == "href" and parts.fragment else None
    if path not in dict(files(package)):
        return None
    return f"/app/packages/{package.id}/{'pictures' if kind == 'src' else 'files'}/{quote(path)}"


def screenshots(package: Package) -> list[str]:
    """Paths of the pictures in the folder ``screenshots`` of the archive, by name; none where it cannot be read."""
    try:
        found = [path for path, size in files(package) if path.startswith("screenshots/") and size <= LARGEST]
    except VetroError:
        return []
    return [path for path in found if path.lower().endswith(PICTURES)][:_SCREENSHOTS]


def source(caller: Caller, package: Package, path: str, text: str) -> list[SafeString]:
    """The first `LINES` lines of a file as HTML, coloured where that can be done."""

    def colour() -> list[SafeString]:
        if len(text) > COLOURED:
            return _plain(text)
        head = {"op": "highlight", "path": path, "limits": archive_limits()}
        try:
            answer, _more = pool().ask(caller.project_id, head, [text.encode()], 5.0)
        except (Invalid, Unavailable):
            return _plain(text)
        return [_line(line) for line in answer["lines"][:LINES]]

    return _sources.get((package.digest, path), colour)


def _plain(text: str) -> list[SafeString]:
    return [mark_safe(escape(line)) for line in text.split("\n")[:LINES]]


def _line(parts: list[list[str]]) -> SafeString:
    """That process tells letters and texts; the HTML is made here."""
    return mark_safe(
        "".join(
            format_html('<span class="hl-{}">{}</span>', kind, text) if kind and _SAFE.fullmatch(kind) else escape(text)
            for kind, text in parts
        )
    )


def add_lines(package: Package, places: Iterable[dict[str, Any]]) -> None:
    """Gives places in files of a package the text of their line; none where it cannot be read."""
    read: dict[str, list[str]] = {}
    for place in places:
        path = str(place["file"])
        if path not in read:
            try:
                read[path] = (text_of(read_file(package, path)) or "").splitlines()
            except ServiceError:
                read[path] = []
        number = int(place["line"]) - 1
        if 0 <= number < len(read[path]):
            place["text"] = read[path][number].strip()[:LONGEST_LINE]
