"""Execution plans: what an agent gets, made of a template and the files of a package (AGENT.md 5, 6).

Pure: ids, stamps and files come from the caller.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from vetro.muranopl.errors import MuranoError
from vetro.muranopl.package_resolver import ResourceNotFound
from vetro.yaql.values import check_depth, thaw

FOLDER = "scripts/"


class PlanError(MuranoError):
    """A template that is no execution plan."""

    code = "LIB210"
    kind = "bad-argument"
    aliases = ("ValueError",)


class Files(Protocol):
    """The resources of a package."""

    def resource(self, path: str) -> bytes:
        """A file as bytes. Raises `ResourceNotFound`."""
        ...  # pragma: no cover - protocol

    def resource_text(self, path: str) -> str:
        """A file as text. Raises `ResourceNotFound`."""
        ...  # pragma: no cover - protocol


def build_plan(template: Mapping[str, Any], files: Files, new_id: Callable[[], str], stamp: int) -> dict[str, Any]:
    """The plan of a template as plain data; the id of a plan of format 2 is under ``ID``.

    ``new_id`` gives ids of files and of the plan. Raises `PlanError` for a malformed template and `ResourceNotFound`,
    naming package, file and script, for a file that the package lacks.
    """
    check_depth(template)
    plan: dict[str, Any] = thaw(template)
    version = plan.get("FormatVersion")
    if version is None or str(version).startswith("1."):
        return _plan_1(plan, files, stamp)
    plan["FormatVersion"] = str(version)
    plan["ID"] = new_id()
    plan["Stamp"] = stamp
    plan.setdefault("Action", "Execute")
    if plan.get("Files") is None:
        plan["Files"] = {}
    return _Builder(plan, files, new_id).build()


def empty_plan(new_id: Callable[[], str], stamp: int) -> dict[str, Any]:
    """A plan that does nothing: its answer says that the agent is there."""
    return {
        "FormatVersion": "2.0.0",
        "ID": new_id(),
        "Stamp": stamp,
        "Action": "Execute",
        "Body": "return",
        "Parameters": {},
        "Scripts": {},
        "Files": {},
    }


def _plan_1(plan: dict[str, Any], files: Files, stamp: int) -> dict[str, Any]:
    scripts = plan.get("Scripts") or []
    if not isinstance(scripts, list) or not all(isinstance(name, str) for name in scripts):
        raise PlanError("Scripts of an execution plan of format 1 must be a list of file names")
    plan["Scripts"] = [_encoded(_bytes(files, name, name)) for name in scripts]
    plan["Stamp"] = stamp
    return plan


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _missing(error: ResourceNotFound, script: str) -> ResourceNotFound:
    return ResourceNotFound(
        f"{error.message}, which the execution plan needs for its script '{script}'",
        hint=f"files of execution plans are looked for below Resources/{FOLDER}",
    )


def _bytes(files: Files, name: str, script: str) -> bytes:
    try:
        return files.resource(FOLDER + name)
    except ResourceNotFound as error:
        raise _missing(error, script) from None


def _text(files: Files, name: str, script: str) -> str:
    try:
        return files.resource_text(FOLDER + name)
    except ResourceNotFound as error:
        raise _missing(error, script) from None


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)


class _Builder:
    """Places the files of one plan of format 2. Names once placed are shared by all scripts."""

    def __init__(self, plan: dict[str, Any], files: Files, new_id: Callable[[], str]) -> None:
        self.plan = plan
        self.package = files
        self.new_id = new_id
        self.files = self._mapping(plan["Files"], "Files")
        self.known = {
            entry["Name"]: file_id
            for file_id, entry in self.files.items()
            if isinstance(entry, dict) and isinstance(entry.get("Name"), str)
        }

    @staticmethod
    def _mapping(value: Any, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise PlanError(f"{what} of an execution plan must be a mapping")
        return value

    def build(self) -> dict[str, Any]:
        scripts = self.plan.get("Scripts")
        if scripts is None:
            scripts = self.plan["Scripts"] = {}
        for name, script in self._mapping(scripts, "Scripts").items():
            self._script(str(name), self._mapping(script, f"script '{name}'"))
        return self.plan

    def _script(self, name: str, script: dict[str, Any]) -> None:
        entry = script.get("EntryPoint")
        if not entry:
            raise PlanError(f"script '{name}' of the execution plan has no EntryPoint")
        if str(script.get("Type", "Application")) == "Application":
            script["EntryPoint"] = self._placed(entry, name)
        given = script.get("Files") or []
        # YAML authors also write a mapping of names where the list of one-key mappings is meant.
        entries = [{key: value} for key, value in given.items()] if isinstance(given, dict) else given
        if not isinstance(entries, list):
            raise PlanError(f"Files of script '{name}' of the execution plan must be a list")
        script["Files"] = [self._placed(item, name) for item in entries]

    def _placed(self, entry: Any, script: str) -> str:
        """The id of a file of the plan: a known one, else a new one."""
        if isinstance(entry, dict) and len(entry) == 1:
            ((name, source),) = entry.items()
        else:
            name, source = None, entry
        if not isinstance(source, str) or not source or not isinstance(name, str | None):
            raise PlanError(
                f"script '{script}' of the execution plan names a file as {entry!r}",
                hint="write a path, <path> for a binary file, a URL, or one name with one of these",
            )
        known = self.known.get(name if name is not None else source)
        if known is None and name is None and source in self.files:
            known = source
        if known is not None:
            return known
        made = self._file(name, source, script)
        if made["Name"] in self.known:
            return self.known[made["Name"]]
        file_id = self.new_id()
        self.files[file_id] = made
        self.known[made["Name"]] = file_id
        return file_id

    def _file(self, name: str | None, source: str, script: str) -> dict[str, Any]:
        if _is_url(source):
            last = source.rstrip("/").rpartition("/")[2]
            return {"Name": name if name is not None else last, "URL": source, "Type": "Downloadable"}
        if source.startswith("<") and source.endswith(">"):
            path = source[1:-1].strip()
            body = _encoded(_bytes(self.package, path, script)) + "\n"
            return {"Name": name if name is not None else path, "BodyType": "Base64", "Body": body}
        body = _text(self.package, source, script)
        return {"Name": name if name is not None else source, "BodyType": "Text", "Body": body}
