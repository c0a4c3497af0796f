"""The bodies of uploads, rebuilt from packages/ and packages/uploads.yaml."""

from __future__ import annotations

import functools
import io
import json
import random
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.acceptance.golden.recording import PACKAGES, Exchange

BOUNDARY: Final = "golden-7f3a9c"
#: Our own standard packages take the place of the old ones.
_LIBRARY: Final = Path(__file__).parents[3] / "src" / "vetro" / "library"
_OWN: Final = {
    "the core library io.murano of the server under test": _LIBRARY / "io.murano",
    "the library io.murano.applications of the server under test": _LIBRARY / "io.murano.applications",
}
#: What the client of 40-42 said beside the archives whose parts were not recorded.
_CLIENT_META: Final = '{"is_public": false}'


@functools.cache
def recipes() -> dict[str, Any]:
    """uploads.yaml."""
    found: dict[str, Any] = yaml.safe_load((PACKAGES / "uploads.yaml").read_text())
    return found


def multipart_of(exchange: Exchange) -> bytes | None:
    """The form that an upload carried (boundary `BOUNDARY`); None for a request that carries no rebuilt form."""
    body = exchange.request.get("body", {})
    kind = exchange.request["headers"].get("content-type", "")
    if not kind.startswith("multipart/form-data; boundary"):
        return None
    if "multipart" in body:
        return _form(_recorded_parts(exchange, body["multipart"]))
    return _form(_made_parts(exchange))


def _recorded_parts(exchange: Exchange, recorded: list[dict[str, Any]]) -> list[tuple[str, bytes]]:
    parts = []
    for part in recorded:
        headers = "".join(f"{name.title()}: {value}\r\n" for name, value in part["headers"].items())
        data = part["text"].encode() if "text" in part else _archive_of(exchange, part)
        parts.append((headers, data))
    return parts


def _archive_of(exchange: Exchange, part: Mapping[str, Any]) -> bytes:
    """The archive of a part of which only the names of the entries are recorded."""
    named = re.search(r'name="(com\.[\w.]+)"', part["headers"]["content-disposition"])
    if named:
        return zipped(contents_of(PACKAGES / named[1]))
    for recipe in recipes()[exchange.file]:
        if recipe.get("note") == exchange.note:
            return _large(recipe["files"])
    answer = exchange.response.get("body", {}).get("json", {})
    # The one upload that is refused repeats the one before.
    fqn = answer.get("fully_qualified_name", "com.example.pp.C")
    return _archive({"simple": {"fqn": fqn}})


def _large(files: Mapping[str, str | None]) -> bytes:
    contents: dict[str, bytes] = {}
    for path, text in files.items():
        if text is None:  # "stored uncompressed" reads as a key of its own
            continue
        size = re.match(r"(\d+) random bytes", text)
        contents[path] = random.Random(5).randbytes(int(size[1])) if size else text.encode()
    return zipped(contents, zipfile.ZIP_STORED)


def _made_parts(exchange: Exchange) -> list[tuple[str, bytes]]:
    recipe = _recipe(exchange)
    if "command" in recipe:
        fqn = recipe["package"]
        archive = (_disposition(fqn, "p.zip"), _archive(recipe))
        return [(_disposition("__metadata__"), _CLIENT_META.encode()), archive]
    if "parts" in recipe:
        return [
            (
                _disposition(part["name"], part.get("filename")),
                part["text"].encode() if "text" in part else _archive(part),
            )
            for part in recipe["parts"]
        ]
    parts = []
    if not recipe.get("no_file"):
        kind = "Content-Type: application/octet-stream\r\n"
        parts.append((_disposition(recipe.get("part", "file"), "p.zip") + kind, _archive(recipe)))
    if "meta" in recipe and "alone" not in exchange.request:
        meta = recipe["meta"]
        parts.append((_disposition("JsonString"), (meta if isinstance(meta, str) else json.dumps(meta)).encode()))
    return parts


def _recipe(exchange: Exchange) -> Mapping[str, Any]:
    for recipe in recipes()[exchange.file]:
        if recipe.get("index") == exchange.index:
            return dict(recipe)
        if "index" not in recipe and exchange.note in (recipe.get("note"), recipe.get("command")):
            older = exchange.file == "50-heat" and exchange.index == 0
            return {**recipe, "older": older}
    raise LookupError(f"uploads.yaml has no recipe for {exchange}")


def _archive(recipe: Mapping[str, Any]) -> bytes:
    if "raw" in recipe:
        raw = recipe["raw"]
        return raw.encode() if isinstance(raw, str) else random.Random(3).randbytes(raw["random"])
    if "files" in recipe:
        return zipped({path: text.encode() for path, text in recipe["files"].items()})
    if "package" in recipe:
        files = contents_of(_OWN.get(recipe["package"]) or PACKAGES / recipe["package"])
        if recipe.get("older"):
            # The first text of the class had the types of resources without quotes, which makes them expressions.
            classes = "Classes/HeatApp.yaml"
            files[classes] = re.sub(rb"type: '(OS::Heat::\w+)'", rb"type: \1", files[classes])
        return zipped(files)
    return zipped(_simple(**recipe["simple"]))


def _simple(
    fqn: str, class_text: str | None = None, version: str | None = None, name: str | None = None
) -> dict[str, bytes]:
    template = recipes()["simple_template"]
    lines = template["manifest.yaml"].splitlines(keepends=True)
    # The last line of the template only says when there is a version.
    manifest = "".join(line for line in lines if not line.startswith("#")).replace("{fqn}", fqn)
    if name is not None:
        manifest = manifest.replace(f"\nName: {fqn}\n", f"\nName: {name}\n")
    if version is not None:
        manifest += f"Version: {version}\n"
    parent, _, last = fqn.rpartition(".")
    text = template["Classes/c.yaml"].replace("{fqn without its last part}", parent)
    text = text.replace("{last part of fqn}", last)
    return {"manifest.yaml": manifest.encode(), "Classes/c.yaml": (class_text or text).encode()}


def contents_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their relative paths."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def zipped(files: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of these entries, their names literally."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


def _disposition(name: str, filename: str | None = None) -> str:
    file = f'; filename="{filename}"' if filename else ""
    return f'Content-Disposition: form-data; name="{name}"{file}\r\n'


def _form(parts: list[tuple[str, bytes]]) -> bytes:
    lines = [f"--{BOUNDARY}\r\n{headers}\r\n".encode() + data + b"\r\n" for headers, data in parts]
    return b"".join(lines) + f"--{BOUNDARY}--\r\n".encode()
