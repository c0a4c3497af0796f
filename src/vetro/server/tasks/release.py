"""`release`: tasks of a worker become free again."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from vetro.server.tasks import clock, waits
from vetro.server.tasks.claim import Lease
from vetro.server.tasks.dispatch import dispatcher
from vetro.server.tasks.models import Task


def release(owner: str, *, lease: Lease | None = None, pause: float = 0.0, why: str = "") -> int:
    """Gives tasks of a worker back, to be claimed after ``pause`` seconds; what it still writes is refused.

    ``lease``: that of one task; nothing where it is lost, be it to the same worker. ``why``: what failed around it,
    told to those who wait.
    """
    mine = Task.objects.filter(owner=owner, state=Task.RUNNING)
    if lease is not None:
        mine = mine.filter(id=lease.task_id, fence=lease.fence)
    with transaction.atomic():
        ids = [] if pause else list(mine.select_for_update().values_list("id", flat=True))
        told = None if lease is None or not pause else waits.of_retry(lease.fence + 1, why)
        count = mine.update(fence=F("fence") + 1, lease_until=clock.after(pause), owner="", waits=told)
        for task in Task.objects.filter(id__in=ids).defer("spec", "action", "result", "error", "waits"):
            dispatcher().notify(task)
    return count
