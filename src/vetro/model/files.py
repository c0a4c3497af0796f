"""Files as values: objects of `io.murano.File`, and mappings of the same members, which actions take and return."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
from collections.abc import Mapping
from typing import Any, Final

_CLASS: Final = "io.murano.File"
_CONTENT: Final = "base64Content"
_BYTES: Final = "application/octet-stream"
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
    kind = str(value.get("mimeType") or "")
    name = re.sub(r"[\x00-\x1f\x7f/\\]", "_", str(value.get("filename") or "")).strip(". ")[:200]
    return name or "result", kind if _TYPE.fullmatch(kind) else _BYTES, data


def as_file(value: Any) -> tuple[str, str, bytes]:
    """(name, type, content) of the file in which a value is saved: itself, text as text, anything else as JSON."""
    found = file_in(value)
    if found is not None:
        return found
    if isinstance(value, str):
        return "result.txt", "text/plain; charset=utf-8", value.encode("utf-8", "replace")
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "result.json", "application/json", text.encode("utf-8", "replace")
