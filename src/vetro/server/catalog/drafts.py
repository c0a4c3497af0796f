"""Archives on their way into the catalog: what is asked for, and what one archive says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.catalog import blobs, limits
from vetro.server.catalog.inspection.client import read_archive
from vetro.server.catalog.inspection.pool import not_loaded
from vetro.server.catalog.models import Package
from vetro.server.catalog.storage import row_of, sort_name, storable
from vetro.server.errors import Invalid
from vetro.server.setup import config

MAX_NAME = 80


@dataclass(frozen=True)
class Options:
    """How packages are imported; `imports.import_packages` explains them."""

    is_public: bool = False
    enabled: bool = True
    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    name: str | None = None
    description: str | None = None
    allow_missing: bool = False
    strict: bool = True
    skip_existing: bool = False
    exchange: bool = False
    anyway: bool = False


@dataclass
class Draft:
    """One archive on its way."""

    data: bytes | memoryview
    digest: str
    facts: dict[str, Any]
    row: Package
    classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read(caller: Caller, data: bytes | memoryview, chosen: Options) -> Draft:
    """What an archive says, with what was asked for beside it. Raises `ArchiveRefused`, `Invalid`."""
    limit = int(config()["packages.max_upload_mib"])
    if not data:
        raise Invalid(Text("Uploading file can't be empty"))
    if len(data) > limit << 20:
        raise Invalid(Text("Uploading file is too large. The limit is {limit} Mb", limit=limit))
    # Code remembers where its archive lies; one that has to be rewritten is compiled when it is first used.
    place = str(blobs.location_of(hashlib.sha256(data).hexdigest()))
    facts, data = read_archive(caller.project_id, data, place, strict=chosen.strict)
    row = row_of(facts, caller.project_id, hashlib.sha256(data).hexdigest(), len(data))
    if facts["name"] is None and chosen.name:
        row.name = storable(chosen.name)
    row.sort_name = sort_name(row.name)
    row.description = row.description or storable(chosen.description or "")
    row.tag_names = list(dict.fromkeys([*chosen.tags, *row.tag_names]))
    row.is_public, row.enabled = chosen.is_public, chosen.enabled
    if len(row.name) > MAX_NAME:
        raise Invalid(Text("Package name should be {max_name} characters maximum", max_name=MAX_NAME))
    limits.check_size(row, not_loaded)
    _check_lengths(row)
    return Draft(data, row.digest, facts, row)


def _check_lengths(row: Package) -> None:
    """Databases that do not check lengths would take what others refuse."""
    for what, text, most in (
        *((f"version {row.version[:40]}…", row.version, 128), ("its full name", row.fqn, 512)),
        *((f"class name {name[:40]}…", name, 512) for name in row.class_names),
        *((f"tag {tag[:40]}…", tag, 255) for tag in row.tag_names),
        *((f"the version spec of {name[:80]}", spec, 255) for name, spec in row.required.items()),
        *((f"required package {name[:40]}…", name, 512) for name in row.required),
    ):
        if len(text) > most:
            raise Invalid(not_loaded(Text("{what} is longer than {most} characters", what=what, most=most)))
        if storable(text) != text:
            raise Invalid(not_loaded(Text("{what} has a character that cannot be stored", what=storable(what))))
