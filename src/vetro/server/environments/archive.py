"""Archives of environments, read inside of the walls of tasks (`vetro.server.sandboxed_answers`).

An archive of 0.4 MB can hold gigabytes of objects. So the process that answers requests never unpacks nor parses one:
it asks `answer`, and gets models as compressed JSON, one after the other, which it stores as they are.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vetro.diagnostics import Text
from vetro.model.header import header_of
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.packages.errors import LockError
from vetro.packages.hot.classes import STACK_NAME
from vetro.packages.lock import read_lock
from vetro.server.environments import limits
from vetro.server.errors import Invalid

#: Version of the layout of an archive.
FORMAT: Final = 1
_MODEL: Final = re.compile(r"model-(\d{1,18})\.json")
#: Bytes of one file: the largest model, written with a line for each value.
_LARGEST: Final = 4 * limits.LARGEST_MODEL
#: Classes of ours that remember in attributes what they made; those of HOT packages remember a name of a stack.
_RESOURCES: Final = ("io.murano.resources.", "io.murano.SharedIp")
#: What belongs to tasks; everything else that is known; files that are named which are neither.
_TASK: Final = re.compile(r"tasks/(\d{1,18})/")
_OURS: Final = re.compile(
    r"environment\.json|reports\.jsonl|model-\d{1,18}\.json|locks/[0-9a-f]{64}\.json|packages/[^/]+\.zip"
)
_PACKAGE: Final = re.compile(r"packages/([0-9a-f]{64})\.zip")
_NAMED: Final = 20
_HINT: Final = Text("give what 'vetro env export' wrote")


def answer(data: bytes, question: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """(facts, blobs). ``question["want"]``:

    ``head``: what environment.json says, the numbers of the states, and what there is ``besides`` that nobody takes.
    ``states``: the models of these ``numbers``,
    compressed, with ``root_id`` as the id of their root objects; ``resources``: whether the newest remembers some.
    ``locks``: the documents that environment.json names for these ``numbers``, by number, and the digests of the
    packages whose archives are there. ``files``: the files at ``paths``.
    Limits: ``bytes`` and ``files`` of the archive, ``package``, the bytes of one of
    these files, ``parts`` of one model, and of ``all_parts``. Raises `Invalid`.
    """
    bounds = question["bounds"]
    archive = _opened(data, bounds)
    if question["want"] == "head":
        head = _mapping(archive, "environment.json", bounds)
        if not isinstance(head.get("format"), int) or head["format"] > FORMAT:
            raise Invalid(Text("the archive was written by a newer Vetro, or by something else"))
        numbers = sorted(int(match[1]) for name in archive.namelist() if (match := _MODEL.fullmatch(name)))
        if not numbers:
            raise Invalid(Text("the archive has no model"), hint=_HINT)
        picked = {key: head.get(key) for key in ("id", "name", "packages", "locks", "driver")}
        return {"head": picked, "numbers": sorted(set(numbers)), "besides": _besides(archive)}, []
    if question["want"] == "states":
        return _states(archive, question["numbers"], question["root_id"], bounds)
    if question["want"] == "locks":
        return _locks(archive, question["numbers"], bounds), []
    return {}, [_read(archive, path, bounds["package"]) for path in question["paths"]]


def has_resources(model: Mapping[str, Any]) -> bool:
    """Whether a model remembers resources that its deployments made in a cloud, and so will not make them again."""
    return any(
        isinstance(entry, (list, tuple))
        and len(entry) == 4
        and (str(entry[1]).startswith(_RESOURCES) or entry[2] == STACK_NAME)
        and bool(entry[3])
        for entry in model.get("Attributes") or ()
    )


def _besides(archive: zipfile.ZipFile) -> dict[str, Any]:
    """What an import does not take: how many tasks there are, and the first files that are nothing of ours."""
    tasks, files, count = set(), [], 0
    for name in archive.namelist():
        task = _TASK.match(name)
        if task is not None:
            tasks.add(task[1])
        elif not name.endswith("/") and not _OURS.fullmatch(name):
            count += 1
            files += [name[:200]] if count <= _NAMED else []
    return {"tasks": len(tasks), "files": files, "more": count - len(files)}


def _states(
    archive: zipfile.ZipFile, numbers: Sequence[int], root_id: str, bounds: Mapping[str, int]
) -> tuple[dict[str, Any], list[bytes]]:
    found = []
    left, resources = bounds["all_parts"], False
    names = {int(match[1]): name for name in archive.namelist() if (match := _MODEL.fullmatch(name))}
    for number in numbers:
        name = names[number]
        left -= limits.check_parts(_read(archive, name), "the models of the archive", left)
        model = _mapping(archive, name, bounds)
        root = model.get("Objects")
        if root is not None and not (isinstance(root, dict) and header_of(root) is not None):
            raise Invalid(Text("{name}: 'Objects' is no object", name=name))
        limits.check_model(model, name)
        _check_besides(model, name)
        for known in (root, model.get("ObjectsCopy")):
            if isinstance(known, dict):
                limits.check_objects(known)
        resources = has_resources(model)
        with deep_calls():
            text = json.dumps(_with_root_id(model, root_id), ensure_ascii=False, separators=(",", ":"))
        found.append(zlib.compress(text.encode("utf-8", "surrogatepass"), 1))
    return {"resources": resources}, found


def _check_besides(model: Mapping[str, Any], name: str) -> None:
    """Raises `Invalid` unless what stands beside the objects has the shape that every deployment leaves."""
    system, rows = model.get("SystemData"), model.get("Attributes")
    used = system.get("Packages") if isinstance(system, dict) else None
    wrong = "SystemData" if not isinstance(system, dict | None) or not isinstance(used, dict | None) else ""
    wrong = wrong or ("Attributes" if not isinstance(rows, list | None) else "")
    if wrong:
        raise Invalid(Text("{name}: '{part}' is not as a deployment leaves it", name=name, part=wrong), hint=_HINT)


def _locks(archive: zipfile.ZipFile, numbers: Sequence[int], bounds: Mapping[str, int]) -> dict[str, Any]:
    """The locks in canonical form. Raises `Invalid` for one that is not what its name says."""
    told = _mapping(archive, "environment.json", bounds).get("locks")
    wanted = {number: str(told[str(number)]) for number in numbers if isinstance(told, dict) and str(number) in told}
    texts: dict[str, str] = {}
    for digest in dict.fromkeys(wanted.values()):
        try:
            lock = read_lock(_mapping(archive, f"locks/{digest}.json", bounds))
        except LockError as error:
            raise Invalid(Text("locks/{digest}.json: {message}", digest=digest[:64], message=error.message)) from None
        if lock.digest() != digest:
            raise Invalid(Text("the archive has lock {digest} changed", digest=digest[:64]))
        texts[digest] = lock.text()
    there = [match[1] for name in archive.namelist() if (match := _PACKAGE.fullmatch(name))]
    return {"locks": [[number, texts[digest]] for number, digest in wanted.items()], "packages": there}


def _with_root_id(model: dict[str, Any], own: str) -> dict[str, Any]:
    changed = dict(model)
    for key in ("Objects", "ObjectsCopy"):
        root = model.get(key)
        if isinstance(root, dict) and header_of(root) is not None:
            changed[key] = {**root, "?": {**root["?"], "id": own}}
    return changed


def _opened(data: bytes, bounds: Mapping[str, int]) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise Invalid(Text("this is no ZIP archive"), hint=_HINT) from None
    infos = archive.infolist()
    if len(infos) > bounds["files"] or sum(info.file_size for info in infos) > bounds["bytes"]:
        raise Invalid(
            Text(
                "the archive holds more than {bounds:,} files or {bounds2} MiB",
                bounds=bounds["files"],
                bounds2=bounds["bytes"] >> 20,
            )
        )
    return archive


def _read(archive: zipfile.ZipFile, path: str, most: int = _LARGEST) -> bytes:
    try:
        info = archive.getinfo(path)
        if info.file_size > most:
            raise Invalid(Text("{path} in the archive has more than {most} MiB", path=path, most=most >> 20))
        with archive.open(info) as file:
            data = file.read(info.file_size + 1)
    except KeyError:
        raise Invalid(Text("the archive has no {path}", path=path), hint=_HINT) from None
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, zlib.error) as error:
        raise Invalid(Text("{path} in the archive cannot be read: {error}", path=path, error=error)) from None
    if len(data) > info.file_size:
        raise Invalid(Text("{path} in the archive is larger than it says", path=path))
    return data


def _mapping(archive: zipfile.ZipFile, path: str, bounds: Mapping[str, int]) -> dict[str, Any]:
    data = _read(archive, path)
    limits.check_parts(data, path, bounds["parts"])
    try:
        with deep_calls():
            value = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise Invalid(Text("{path} in the archive is no JSON", path=path)) from None
    if not isinstance(value, dict):
        raise Invalid(Text("{path} in the archive must be an object", path=path))
    return value
