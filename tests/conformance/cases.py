"""Reading case files. README.md beside this module describes the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

#: Step keys that say what to do; a step has exactly one of them.
ACTIONS = ("call", "serialize", "cleanup", "finalize", "alive", "schema")
_CASE_KEYS = frozenset(
    ("id", "title", "tags", "upstream", "note", "mocking", "limits", "configs", "packages", "model", "load", "steps")
) | {"upstream_actual"}
_STEP_KEYS = frozenset((*ACTIONS, "object", "on_class", "args", "kwargs", "unordered", "expect"))


class CaseError(Exception):
    """A case file does not have the documented form."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what to load, what to do and what has to come out."""

    id: str
    topic: str
    file: str
    packages: list[dict[str, Any]]
    model: dict[str, Any] | None
    load_expect: dict[str, Any]
    steps: list[dict[str, Any]]
    configs: list[dict[str, Any]] = field(default_factory=list)
    mocking: bool = False
    seconds: float = 60.0


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """Case files among files and folders, folders at any depth. Raises `CaseError` for paths that hold none."""
    found: list[Path] = []
    for path in map(Path, paths):
        files = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        if not files or not all(file.is_file() for file in files):
            raise CaseError(f"{path}: no such case file or folder with *.yaml files")
        found.extend(file for file in files if file not in found)
    return found


def read_cases(paths: Iterable[str | Path]) -> Iterator[Case]:
    """Every case of the files. Raises `CaseError` for malformed files, unknown keys and repeated ids."""
    seen: dict[str, str] = {}
    for file in find_files(paths):
        for case in _read_file(file):
            if case.id in seen:
                raise CaseError(f"{file}: id '{case.id}' is already used in {seen[case.id]}")
            seen[case.id] = str(file)
            yield case


def _read_file(file: Path) -> Iterator[Case]:
    try:
        data = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise CaseError(f"{file}: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("cases"), list):
        raise CaseError(f"{file}: has to be a mapping with 'topic' and a list 'cases'")
    for item in data["cases"]:
        yield _case(item, str(data.get("topic", "")), str(file))


def _case(item: Any, topic: str, file: str) -> Case:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        raise CaseError(f"{file}: every case has to be a mapping with an 'id'")
    where = f"{file}: {item['id']}"
    _refuse_unknown(item, _CASE_KEYS, where)
    steps = item.get("steps") or []
    for number, step in enumerate(steps, 1):
        _refuse_unknown(step, _STEP_KEYS, f"{where} step {number}")
        if sum(key in step for key in ACTIONS) != 1:
            raise CaseError(f"{where} step {number}: needs exactly one of {', '.join(ACTIONS)}")
    load = item.get("load") or {}
    _refuse_unknown(load, {"expect"}, f"{where} load")
    return Case(
        id=item["id"],
        topic=topic,
        file=file,
        packages=item.get("packages") or [],
        model=item.get("model"),
        load_expect=load.get("expect") or {},
        steps=steps,
        configs=item.get("configs") or [],
        mocking=bool(item.get("mocking")),
        seconds=float((item.get("limits") or {}).get("seconds", 60)),
    )


def _refuse_unknown(data: Any, known: Iterable[str], where: str) -> None:
    if not isinstance(data, dict):
        raise CaseError(f"{where}: has to be a mapping")
    unknown = sorted(str(key) for key in data if key not in known)
    if unknown:
        raise CaseError(f"{where}: unknown key {', '.join(unknown)}")
