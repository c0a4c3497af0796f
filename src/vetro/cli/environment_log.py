"""The log of an environment: reports, log lines and, if wanted, effects, read from its journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Levels of log lines, the least important first.
LEVELS = {"trace": 0, "debug": 1, "info": 2, "warning": 3, "error": 4, "critical": 5}


def read_log(folder: Any, number: int | None, level: str | None, effects: bool) -> list[dict[str, Any]]:
    """Lines {task, at, level, text, key} in the order of time."""
    least = LEVELS[level] if level else 0
    lines: list[dict[str, Any]] = []
    reports: list[dict[str, Any]] | None = None
    for begun in folder.tasks():
        if number is not None and begun.number != number:
            continue
        found = _journalled(folder, begun, effects)
        if found is None:  # an environment that came from a server: its journals stayed there
            reports = list(folder.reports()) if reports is None else reports
            found = [_reported(entry) for entry in reports if entry.get("task") == begun.number]
        lines += [{"task": begun.number, **line} for line in sorted(found, key=lambda line: line["at"])]
    return [line for line in lines if LEVELS.get(line["level"], 2) >= least]


def _journalled(folder: Any, begun: Any, effects: bool) -> list[dict[str, Any]] | None:
    """Lines of a task from its journal; None where there is none."""
    from vetro.engine.worker.journal import NoSuchTask
    from vetro.engine.worker.sqlite_journal import SqliteJournal

    if not folder.journal.exists():
        return None
    journal = SqliteJournal(folder.journal, folder.task_id(begun))
    try:
        found = [_note(note) for note in journal.notes("report", "log")]
        if effects:
            found += [_effect(entry) for entry in journal.entries()]
        return found
    except NoSuchTask:
        return None
    finally:
        journal.close()


def _reported(entry: Mapping[str, Any]) -> dict[str, Any]:
    at = entry.get("at")
    return {
        "at": float(at) if isinstance(at, (int, float)) else 0.0,
        "level": str(entry.get("level") or "info").lower(),
        "text": str(entry.get("text", "")),
        "key": entry.get("key"),
    }


def _note(note: Any) -> dict[str, Any]:
    args = note.args
    text = str(args.get("text", ""))
    if note.kind == "log":
        text = f"{args.get('logger')}: {text}"
    return {"at": note.at, "level": str(args.get("level") or "info").lower(), "text": text, "key": note.key}


def _effect(entry: Any) -> dict[str, Any]:
    about = json.dumps(dict(entry.about), ensure_ascii=False)
    if entry.error is not None:
        state, level = f"failed: {entry.error.get('message')}", "error"
    elif entry.open:
        state, level = "open", "warning"
    else:
        state, level = f"done after {entry.ended - entry.begun:.2f} s", "debug"
    return {"at": entry.begun, "level": level, "text": f"[{entry.key}] {entry.kind} {about} {state}", "key": entry.key}
