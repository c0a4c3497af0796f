"""`import_report`: what an import would say, without storing anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vetro.server.caller import Caller
from vetro.server.catalog import compatibility, imports
from vetro.server.catalog.imports import ImportResult, Options
from vetro.server.catalog.inspection.client import ArchiveRefused
from vetro.server.errors import ServiceError


def import_report(caller: Caller, archives: Sequence[bytes | memoryview]) -> dict[str, Any]:
    """{ok, items: [{ok, fqn, version, findings, compatibility, problems}], problems}; ``items`` as the archives are.

    Everything that an import finds out one after the other is looked at, so that one answer has it all; ``problems``
    besides ``items`` are those of the archives together.
    """
    chosen = Options()
    items: list[dict[str, Any]] = []
    drafts = []
    for data in archives:
        item: dict[str, Any] = {"ok": True, "fqn": None, "version": None, "findings": []}
        item |= {"compatibility": {}, "problems": []}
        items.append(item)
        try:
            draft = imports.read(caller, data, chosen)
        except ServiceError as error:
            _refused(item, error)
            continue
        item.update(fqn=draft.row.fqn, version=draft.row.version, findings=draft.row.findings)
        drafts.append((draft, item))
    problems: list[dict[str, Any]] = []
    for draft, item in drafts:
        _try(item["problems"], imports.check_names, caller, [draft])
        _try(item["problems"], imports.check_conflicts, caller, [draft], chosen)
    together = [draft for draft, _ in drafts]
    _try(problems, imports.check_among, together)
    _try(problems, imports.check_requirements, caller, together, chosen, ImportResult())
    lenient = Options(strict=False, allow_missing=True)
    imports.check_code(caller, together, lenient)
    for draft, item in drafts:
        _try(item["problems"], compatibility.judge, caller, [draft], beside=together)
        item["compatibility"] = draft.row.compat
        item["findings"] = draft.row.findings
        item["ok"] = not item["problems"] and not any(f["severity"] == "error" for f in draft.row.findings)
    return {"ok": not problems and all(item["ok"] for item in items), "items": items, "problems": problems}


def _try(problems: list[dict[str, Any]], check: Callable[..., None], *arguments: Any, **named: Any) -> None:
    try:
        check(*arguments, **named)
    except ServiceError as error:
        problems.append(_told(error))


def _refused(item: dict[str, Any], error: ServiceError) -> None:
    item["ok"] = False
    if isinstance(error, ArchiveRefused):
        item["findings"] = list((error.details or {}).get("findings") or ())
    item["problems"].append(_told(error))


def _told(error: ServiceError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint, "details": error.details}
