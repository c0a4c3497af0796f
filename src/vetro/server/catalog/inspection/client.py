"""Questions about archives, as the service asks them: limits and folders of this installation, errors as refusals."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from vetro.diagnostics import Text, decode_messages
from vetro.engine.version import engine_version
from vetro.muranopl.code_cache import cache_key, file_of, key_of_file
from vetro.packages.archive import ArchiveLimits
from vetro.packages.cache import DiskCache
from vetro.server.catalog import blobs
from vetro.server.catalog.inspection.pool import not_loaded, pool
from vetro.server.catalog.limits import shortened
from vetro.server.errors import Invalid
from vetro.server.sandboxed_workers import compiled_folder
from vetro.server.setup import config

#: How long one question may take, in seconds. Its process has a low priority: on a busy machine it mostly waits.
SECONDS = 60.0


class ArchiveRefused(Invalid):
    """The archive is no sound package; ``details.findings`` is the whole report."""

    kind = "bad-package"
    code = "SRV520"


def read_archive(
    owner: str, data: bytes | memoryview, location: str, *, strict: bool
) -> tuple[dict[str, Any], bytes | memoryview]:
    """(facts, the archive as it is to be stored). Raises `ArchiveRefused`."""
    head = {"op": "read", "location": location, "strict": strict, "limits": archive_limits()}
    answer, changed = pool().ask(owner, head, [data], SECONDS)
    facts = answer["facts"]
    if "refused" in facts:
        raise refusal(facts["refused"])
    return facts, changed[0] if changed else data


def facts_of(owner: str, digest: str) -> tuple[dict[str, Any], int]:
    """Facts about an archive that is stored, and its size. They are kept beside it: tasks of an environment want those
    of packages that are not in the catalog, time and again. Raises what `blobs.get` raises, and `ArchiveRefused`.
    """
    file = blobs.local_file(digest)
    kept = config().data / "cache" / "facts" / f"{digest}-{engine_version()}.json"
    with suppress(OSError, ValueError):
        return json.loads(kept.read_text("utf-8")), file.stat().st_size
    data = blobs.get(digest)
    facts, _ = read_archive(owner, data, str(file), strict=False)
    with suppress(OSError):  # a full disk is no reason to stop
        kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = kept.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        draft.write_text(json.dumps(facts), "utf-8")
        draft.replace(kept)
    return facts, len(data)


def check_archives(
    owner: str,
    archives: Sequence[tuple[bytes | memoryview, str]],
    others: Sequence[str],
    *,
    shared: Collection[str] = (),
    fresh: bool = False,
) -> list[dict[str, Any]]:
    """What `read.check` says of each of the archives (bytes, location).

    Code of archives at ``shared`` locations is not kept. ``fresh``: by a process that has seen nothing before.
    """
    locations = [location for _, location in archives]
    head = {
        "op": "check",
        "locations": locations,
        "others": list(others),
        "compile": compiles(),
        "limits": archive_limits(),
    }
    answer, code = pool().ask(owner, head, [data for data, _ in archives], SECONDS, others, fresh=fresh)
    if head["compile"]:
        _keep([place for place in locations if place not in shared], dict(zip(answer["compiled"], code, strict=True)))
    found: list[dict[str, Any]] = answer["checked"]
    return found


def _keep(locations: Sequence[str], compiled: Mapping[str, bytes | memoryview]) -> None:
    """Writes compiled code where task processes read it: of these archives only, whatever an answer says.

    So an archive that found a hole in what reads it could put code of its own under its own name, and under no other.
    """
    if not locations:
        return
    cache = DiskCache(compiled_folder(config()), writable=True)
    own = tuple(f"{location}/" for location in locations)
    for key, data in compiled.items():
        if file_of(key).startswith(own):
            cache.put(key, bytes(data))
    for location in locations:
        cache.put(_mark(location), b"compiled")


def compiles() -> bool:
    """Whether this installation keeps compiled code."""
    return os.environ.get("VETRO_CACHE") != "off"


def compiled_here(location: str) -> bool:
    """Whether this version of the program has kept the code of this archive on this machine."""
    return DiskCache(compiled_folder(config())).get(_mark(location)) is not None


def _mark(location: str) -> str:
    """Key of the entry that says so. It is written behind the code, so it is not dropped before it."""
    return key_of_file(f"{location}/", cache_key(f"package {engine_version()}", location))


def refusal(findings: Sequence[Mapping[str, Any]]) -> ArchiveRefused:
    """The error for findings of which some are errors."""
    errors = [f for f in findings if f["severity"] == "error"]
    first = decode_messages(errors[0])
    place = first["position"]
    file = place["file"].rpartition("/")[2]
    reason = first["message"]
    if f"{place['line']}" != "1" or place["column"] != 1:
        reason = Text("{file}, line {line}: {message}", file=file, line=place["line"], message=reason)
    message = not_loaded(reason)
    if len(errors) > 1:
        message = Text("{text} (and {more} more)", text=message, more=len(errors) - 1)
    return ArchiveRefused(message, hint=first["hint"], details={"findings": shortened([dict(f) for f in findings])})


def archive_limits() -> dict[str, int]:
    """What an archive may be and unpack to, for a question to the child."""
    unpacked = int(config()["packages.max_unpacked_mib"]) << 20
    most = (int(config()["packages.max_upload_mib"]) << 20) + 1
    limits = ArchiveLimits(archive=most, file=min(unpacked, 64 << 20), total=unpacked)
    return dataclasses.asdict(limits)
