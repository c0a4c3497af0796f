"""Checks an execution plan and takes it apart (AGENT.md 4, the table of rules by version)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import VERSION, PlanError, malformed

#: The newest format this agent runs.
NEWEST = (2, 2, 0)
#: Folder of file contents inside a plan's folder; no script may be called so.
CONTENT = ".content"
_BERKSHELF = ("useBerkshelf", "berksfilePath")
_VERSION = re.compile(r"(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?(?:[-+][0-9A-Za-z.+-]*)?$")


@dataclass(frozen=True)
class PlanFile:
    """A file of a plan: bytes, or an address from where it is fetched."""

    id: str
    name: str
    content: bytes | None
    url: str | None


@dataclass(frozen=True)
class Script:
    """A script of a plan: an entry point with its files and options."""

    name: str
    type: str
    entry_point: str
    files: list[PlanFile]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """A plan of format 2 that keeps the rules."""

    id: str
    body: str
    parameters: Mapping[str, Any]
    scripts: Mapping[str, Script]


def format_version(data: Mapping[str, Any]) -> tuple[int, int, int]:
    """The version of the format; 1.0.0 where none is given. Raises `PlanError`."""
    value = data.get("FormatVersion")
    if value is None:
        return (1, 0, 0)
    found = _VERSION.match(str(value)) if isinstance(value, (str, int, float)) else None
    if found is None:
        raise malformed(f"FormatVersion must be a version such as 2.1.0, not {value!r}")
    major, minor, patch = (int(part or 0) for part in found.groups())
    return (major, minor, patch)


def read_plan(id: str, data: Mapping[str, Any]) -> Plan:
    """The plan in ``data``. Raises `PlanError` with code 9 for its version and 2 for everything else."""
    version = format_version(data)
    if version > NEWEST:
        asked = ".".join(map(str, version))
        raise PlanError(VERSION, f"format version {asked} is not supported, the newest is {'.'.join(map(str, NEWEST))}")
    action = data.get("Action", "Execute")
    if action != "Execute":
        raise malformed(f"Action must be Execute, not {action!r}")
    files = {key: _file(key, entry, version) for key, entry in _map(data, "Files").items()}
    scripts = {name: _script(name, entry, files, version) for name, entry in _map(data, "Scripts").items()}
    _options(data, "the plan")
    parameters = data.get("Parameters")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, Mapping):
        raise malformed("Parameters must be a map")
    body = data.get("Body")
    if not isinstance(body, str) or not body.strip():
        raise malformed("Body must be text that is not empty; the shortest is 'return'")
    return Plan(id=id, body=body, parameters=parameters, scripts=scripts)


def relative_name(name: Any, what: str) -> str:
    """A name that stays inside a folder, its parts joined by single slashes. Raises `PlanError` with code 2."""
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise malformed(f"the name of {what} must be text that is not empty")
    if name.startswith("/"):
        raise malformed(f"the name '{name}' of {what} is absolute; files belong into the plan's folder")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise malformed(f"the name '{name}' of {what} leaves the plan's folder")
    if any(len(part.encode("utf-8", "surrogatepass")) > 255 for part in parts) or len(name) > 2000:
        raise malformed(f"the name '{name[:100]}...' of {what} is too long")
    return "/".join(parts)


def last_part(url: str) -> str:
    """The last part of an address, which names what is fetched from there."""
    return url.split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1]


def _map(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name)
    if not isinstance(value, Mapping):
        raise malformed(f"{name} must be there and be a map")
    return value


def _options(entry: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    options = entry.get("Options")
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise malformed(f"Options of {what} must be a map")
    return options


def _file(id: str, entry: Any, version: tuple[int, int, int]) -> PlanFile:
    what = f"file '{id}'"
    if not isinstance(entry, Mapping):
        raise malformed(f"{what} must be a map")
    if entry.get("Type") == "Downloadable":
        if version < (2, 1, 0):
            raise malformed(f"{what} is Downloadable, which needs format version 2.1.0")
        url = entry.get("URL")
        if not isinstance(url, str) or not url.strip():
            raise malformed(f"{what} is Downloadable and has no URL")
        return PlanFile(id, relative_name(entry.get("Name") or last_part(url), what), None, url)
    name = relative_name(entry.get("Name"), what)
    body = entry.get("Body")
    kind = entry.get("BodyType", "Text")
    if not isinstance(body, str):
        raise malformed(f"the Body of {what} must be text")
    if kind == "Text":
        return PlanFile(id, name, body.encode("utf-8", "surrogatepass"), None)
    if kind != "Base64":
        raise malformed(f"the BodyType of {what} must be Text or Base64, not {kind!r}")
    try:
        return PlanFile(id, name, base64.b64decode("".join(body.split()), validate=True), None)
    except (binascii.Error, ValueError):
        raise malformed(f"the Body of {what} is no Base64") from None


def _script(name: str, entry: Any, files: Mapping[str, PlanFile], version: tuple[int, int, int]) -> Script:
    what = f"script '{name}'"
    if relative_name(name, "a script") != name or "/" in name or name == CONTENT:
        raise malformed(f"{what} must have a plain name")
    if not isinstance(entry, Mapping):
        raise malformed(f"{what} must be a map")
    kind, entry_point = entry.get("Type"), entry.get("EntryPoint")
    types = ("Application",) if version < (2, 1, 0) else ("Application", "Chef", "Puppet")
    if not isinstance(kind, str) or kind not in types:
        raise malformed(f"the Type of {what} must be one of {', '.join(types)}, not {kind!r}")
    if not isinstance(entry_point, str) or not entry_point:
        raise malformed(f"the EntryPoint of {what} must be text that is not empty")
    if kind == "Application":
        if entry_point not in files:
            raise malformed(f"the EntryPoint '{entry_point}' of {what} is not among the Files of the plan")
    elif "::" not in entry_point:
        raise malformed(f"the EntryPoint '{entry_point}' of {what} must have the form module::name")
    options = _options(entry, what)
    for option in _BERKSHELF:
        if option in options and (version < (2, 2, 0) or kind != "Chef"):
            raise malformed(f"the option {option} of {what} needs format version 2.2.0 and Type Chef")
    if "berksfilePath" in options:
        relative_name(options["berksfilePath"], f"berksfilePath of {what}")
    return Script(name, kind, entry_point, _script_files(entry.get("Files"), what, kind, entry_point, files), options)


def _script_files(
    entries: Any, what: str, kind: str, entry_point: str, files: Mapping[str, PlanFile]
) -> list[PlanFile]:
    if entries is None:
        entries = []
    if not isinstance(entries, list):
        raise malformed(f"Files of {what} must be a list")
    ids = [entry_point] if kind == "Application" else []
    for entry in entries:
        if isinstance(entry, Mapping):
            if len(entry) != 1:
                raise malformed(f"a map among the Files of {what} must have one key")
            entry = next(iter(entry))
        if not isinstance(entry, str) or entry not in files:
            raise malformed(f"{entry!r} among the Files of {what} is not among the Files of the plan")
        if entry not in ids:
            ids.append(entry)
    names: dict[str, str] = {}
    for id in ids:
        other = names.setdefault(files[id].name, id)
        if other != id:
            raise malformed(f"{what} has two files called '{files[id].name}'")
    return [files[id] for id in ids]
