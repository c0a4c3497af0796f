"""Statistics of instances: how long applications and servers were there (API.md 12; effect ``track``)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.models import F, QuerySet

from vetro.server.caller import Caller
from vetro.server.environments import queries
from vetro.server.environments.models import InstanceUsage
from vetro.server.ids import stamp
from vetro.server.setup import config
from vetro.server.tasks.models import JournalNote, Task

_BEGIN = "murano.track_instance"
#: Largest number that every database keeps in such a column.
_MOST = 2**31 - 1
#: Rows of one statement.
_AT_ONCE = 500


def tracked_by(task: Task) -> QuerySet[JournalNote]:
    """What a task has to tell `count`."""
    return JournalNote.objects.filter(task=task, kind="track")


def count(environment_id: str, task: Task, any_tracked: bool = True) -> None:
    """Takes over what a task tracked; inside the transaction that ends it, so in few statements however much it is.

    ``any_tracked``: whether it tracked something, where that is known.
    """
    if not any_tracked:
        return
    tracked = tracked_by(task)
    there: dict[str, list[InstanceUsage]] = {}
    for row in InstanceUsage.objects.filter(environment_id=environment_id, destroyed=None).order_by("id"):
        there.setdefault(row.instance_id, []).append(row)
    begun: list[InstanceUsage] = []
    ended: list[InstanceUsage] = []
    for note in tracked.order_by("id").iterator(_AT_ONCE):
        args, at = note.args, datetime.fromtimestamp(note.at, UTC)
        instance = _text(args.get("instance"))
        if args.get("event") != _BEGIN:
            for row in there.pop(instance, ()):
                row.destroyed = at
                if row.pk is not None:
                    ended.append(row)
        elif instance not in there:
            row = InstanceUsage(
                environment_id=environment_id,
                instance_id=instance,
                created=at,
                instance_type=_number(args.get("instance_type")) or 0,
                type_name=_text(args.get("type_name")),
                type_title=_text(args.get("type_title")),
                unit_count=_number(args.get("unit_count")),
                tenant_id=task.project_id,
            )
            begun.append(row)
            there[instance] = [row]
    InstanceUsage.objects.bulk_update(ended, ["destroyed"], batch_size=_AT_ONCE)
    # One that began at that moment was counted already.
    InstanceUsage.objects.bulk_create(begun, batch_size=_AT_ONCE, ignore_conflicts=True)
    _forget(environment_id, int(config()["retention.statistics"]))


def _forget(environment_id: str, most: int) -> None:
    """Drops what is more than ``most``: the oldest of those that are gone first, then the oldest of all."""
    rows = InstanceUsage.objects.filter(environment_id=environment_id)
    more = rows.count() - most if most else 0
    while more > 0:
        ids = list(rows.order_by(F("destroyed").asc(nulls_last=True), "id").values_list("id", flat=True)[:more][:5000])
        more -= rows.filter(id__in=ids).delete()[0] or more


def _text(value: Any) -> str:
    """What a package says, as every database can keep it: the end of a task must not fail for a title."""
    text = "" if value is None else str(value)
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")[:255]


def _number(value: Any) -> int | None:
    return max(-_MOST, min(value, _MOST)) if isinstance(value, int) else None


def raw(caller: Caller, environment_id: str, instance_id: str | None = None) -> list[dict[str, Any]]:
    """One entry an instance: type, times, seconds, whether it is there. Raises `NotFound`, `NotYours`."""
    found = queries.get(caller, environment_id)
    rows = InstanceUsage.objects.filter(environment_id=found.id).order_by("created", "id")
    if instance_id is not None:
        if "\0" in instance_id:
            return []
        rows = rows.filter(instance_id=instance_id)
    return [
        {
            "instance_id": row.instance_id,
            "type": row.instance_type,
            "type_name": row.type_name,
            "type_title": row.type_title or None,
            "unit_count": row.unit_count,
            "tenant_id": row.tenant_id,
            "created": stamp(row.created),
            "destroyed": stamp(row.destroyed),
            "active": row.destroyed is None,
            "duration": _seconds(row),
        }
        for row in rows
    ]


def aggregated(caller: Caller, environment_id: str) -> list[dict[str, Any]]:
    """One entry a type: {type, count, duration in seconds}."""
    sums: dict[int, dict[str, Any]] = {}
    for row in raw(caller, environment_id):
        entry = sums.setdefault(row["type"], {"type": row["type"], "count": 0, "duration": 0})
        entry["count"] += 1 if row["unit_count"] is None else row["unit_count"]
        entry["duration"] += row["duration"]
    return [sums[key] for key in sorted(sums)]


def _seconds(row: InstanceUsage) -> int:
    return max(int(((row.destroyed or datetime.now(UTC)) - row.created).total_seconds()), 0)


def back(environment_id: str, since: datetime) -> None:
    """What was there at that moment is there again, and nothing else."""
    rows = InstanceUsage.objects.filter(environment_id=environment_id)
    rows.filter(created__gte=since, destroyed=None).update(destroyed=datetime.now(UTC))
    rows.filter(created__lt=since, destroyed__gte=since).update(destroyed=None)
