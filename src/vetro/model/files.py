"""Files as values: objects of `io.murano.File`, and mappings of the same members, which actions take and return."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
from collections.abc import Mapping
from typing import Any, Final

from vetro.visible import visible

_CLASS: Final = "io.murano.File"
#: A file of any size, which the service keeps.
STORED_CLASS: Final = "io.vetro.std.StoredFile"
_CONTENT: Final = "base64Content"
_BYTES: Final = "application/octet-stream"
#: Of a name: file systems take 255, and drafts of it are called a little longer.
_NAME_BYTES: Final = 200
_STORED = re.compile(r"[0-9a-f]{32}")
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*/[A-Za-z0-9][A-Za-z0-9.+-]*")


def file_object(name: str, content: bytes) -> dict[str, Any]:
    """A file as the model of an object."""
    return {
        "?": {"type": _CLASS},
        "filename": name,
        "mimeType": mimetypes.guess_type(name)[0] or _BYTES,
        _CONTENT: base64.b64encode(content).decode("ascii"),
    }


def file_in(value: Any) -> tuple[str, str, bytes] | None:
    """(name, type, content) of a value that is a file; None for any other. The name is of no folder, or ``result``."""
    if not isinstance(value, Mapping) or not isinstance(value.get(_CONTENT), str):
        return None
    try:
        data = base64.b64decode(value[_CONTENT], validate=False)
    except (binascii.Error, ValueError):
        return None
    return _name(value), _kind(value), data


def _name(value: Mapping[str, Any]) -> str:
    """A name that any file system takes, without what a person could not see: a name may say that it is another one."""
    name = visible(str(value.get("filename") or ""), lambda char: "_")
    name = re.sub(r"[\x00-\x1f\x7f/\\\ud800-\udfff]", "_", name).strip(". ")
    return name.encode()[:_NAME_BYTES].decode(errors="ignore").rstrip(". ") or "result"


def _kind(value: Mapping[str, Any]) -> str:
    kind = str(value.get("mimeType") or "")
    return kind if _TYPE.fullmatch(kind) else _BYTES


def stored_in(value: Any) -> tuple[str, str, str, int] | None:
    """(name, type, what the service calls it, size) of a value that is a file of any size, which the service keeps
    (`io.vetro.std.StoredFile`); None for any other."""
    if not isinstance(value, Mapping) or not _STORED.fullmatch(str(value.get("file"))):
        return None
    size = value.get("size")
    if not isinstance(size, int) or "sha256" not in value:
        return None
    return _name(value), _kind(value), str(value["file"]), size


def stored_object(name: str, file: str, size: int, sha256: str) -> dict[str, Any]:
    """Such a file as the model of an object."""
    return {
        "?": {"type": STORED_CLASS},
        "file": file,
        "filename": name or "file",
        "mimeType": mimetypes.guess_type(name)[0] or _BYTES,
        "size": size,
        "sha256": sha256,
    }


def as_file(value: Any) -> tuple[str, str, bytes]:
    """(name, type, content) of the file in which a value is saved: itself, text as text, anything else as JSON."""
    found = file_in(value)
    if found is not None:
        return found
    if isinstance(value, str):
        return "result.txt", "text/plain; charset=utf-8", value.encode("utf-8", "replace")
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "result.json", "application/json", text.encode("utf-8", "replace")
