"""Versions of packages compared: what a new one breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, File, Form, Schema
from ninja.files import UploadedFile

from vetro.diagnostics import Text, decode_messages
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes
from vetro.server.api.v2.shapes import Given, Short
from vetro.server.caller import Caller
from vetro.server.catalog import compatibility, drafts, service
from vetro.server.catalog.compatibility import Version
from vetro.server.catalog.inspection.protocol import content_of
from vetro.server.catalog.verdicts import verdict_of
from vetro.server.errors import Invalid
from vetro.server.language import translated_data

routes = Routes("packages")


class Place(Schema):
    """A place in a file of the archive."""

    file: str
    line: int
    column: int


class Difference(Schema):
    """What differs between two versions."""

    level: str = Field(description="major (it breaks somebody), unknown, minor or patch.")
    code: str = Field(description="docs/errors.md lists all.", examples=["CMP112"])
    element: str = Field(examples=["com.example.Web.port"])
    message: str
    old: Place | None
    new: Place | None
    witness: str | None = Field(description="JSON: a value that the old version takes and the new one refuses.")
    declared: bool = Field(description="False: the witness is no value that the contract names, but it was taken.")


class Compared(Schema):
    """Two versions of a package."""

    name: str
    old: str
    new: str
    level: str = Field(description="The greatest of all findings that are known.")
    required: str = Field(description="The least number for the newer version.")
    sufficient: bool = Field(description="Its number is high enough.")
    findings: list[Difference]
    more: int = Field(description="How many findings are left out.")


class Against(Schema):
    """The version that one was compared with."""

    id: str
    version: str


class Compatibility(Schema):
    """What was found when a version was imported or published."""

    verdict: str = Field(description="breaking, unknown or compatible.")
    against: Against
    reason: str | None = Field(description="Why the two could not be compared; null: they were.")
    forced: bool = Field(description="Its number is too low, and somebody with rule force_version took it anyway.")
    required: str
    sufficient: bool
    findings: list[Difference]
    more: int


class Asked(Given):
    """Which versions; archives come as parts `old_archive` and `new_archive` instead."""

    old: Short | None = Field(
        None, description="Id, NAME or NAME/VERSION. Left out: the newest lower version that the project sees."
    )
    new: Short | None = Field(None, description="Id, NAME or NAME/VERSION.")


def shown(compat: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is kept with a package, in the language of the reader; None for a first version."""
    if not compat:
        return None
    told: dict[str, Any] = translated_data(decode_messages(compat))
    return {**told, "verdict": verdict_of(compat)}


@routes.add("POST", "/packages/compare", "comparePackages", "compare_packages", Compared, takes="multipart")
def compare(
    request: HttpRequest,
    given: Annotated[Asked, Form()],
    old_archive: Annotated[UploadedFile | None, File()] = None,
    new_archive: Annotated[UploadedFile | None, File()] = None,
) -> Any:
    """What a new version of a package breaks. Nothing is stored."""
    caller = who(request)
    old = _version(caller, "old", given.old, old_archive)
    new = _version(caller, "new", given.new, new_archive)
    if new is None:
        raise Invalid(Text("Give 'new' or 'new_archive'."))
    return translated_data(compatibility.between(caller, old, new))


def _version(caller: Caller, side: str, name: str | None, file: UploadedFile | None) -> Version | None:
    """One of the two. Raises `NotFound`, `Invalid`, `ArchiveRefused`."""
    if name is not None and file is not None:
        raise Invalid(Text("Give one of '{side}' and '{side}_archive'.", side=side))
    if file is not None:
        draft = drafts.read(caller, content_of(file), drafts.Options(strict=False))
        return Version(draft.data, draft.row)
    return None if name is None else Version.stored(service.package_named(caller, name))
