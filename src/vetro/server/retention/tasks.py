"""Drops tasks that nobody comes back to: of no environment, or of one that is gone, a while after their end.

What an environment's tasks did is its history, and stays as long as the environment. All others hold models, arguments
and results that nothing leads to any more. Whoever calls this has swept the broker before
(`broker_logins`): tasks say which logins there are this installation's.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.queries import delete_in_batches
from vetro.server.tasks import clock
from vetro.server.tasks.models import JournalEntry, JournalNote, Report, Task

#: Whoever waits for an answer reads it within this time, and counts of what has ended are settled.
LEAST = timedelta(hours=1)
#: Tasks that are dropped together, after all their reports: nobody waits long for the database.
_TOGETHER = 50
#: Rows that one statement deletes.
_ROWS = 1000
#: Environments that are looked at with one statement.
_AT_ONCE = 500


def drop(config: Config, now: datetime | None = None) -> int:
    """Drops those that ended ``retention.journal_days`` ago, with their journals and reports; how many.

    Raises `django.db.Error`; what was dropped until then stays dropped, the rest is found the next time.
    """
    before = (now or clock.read()) - max(timedelta(days=config["retention.journal_days"]), LEAST)
    count = _drop(Task.objects.filter(environment_id=""), before)
    # One pass over an index: environments that are gone and still have tasks are few.
    alone = Task.objects.filter(environment_id__gt="").filter(~_there())
    gone = list(alone.order_by().values_list("environment_id", flat=True).distinct())
    for first in range(0, len(gone), _AT_ONCE):
        # An environment may come back under its id meanwhile.
        count += _drop(Task.objects.filter(~_there(), environment_id__in=gone[first : first + _AT_ONCE]), before)
    return count


def _there() -> Exists:
    return Exists(Environment.objects.filter(id=OuterRef("environment_id")))


def _drop(tasks: QuerySet[Task], before: datetime) -> int:
    """The oldest first: of an environment the last task says whether its login at the broker is needed."""
    # Nothing ends before it is made: the index on that time leaves out what is young.
    old = tasks.filter(created__lt=before, finished__lt=before, state__in=Task.FINAL).order_by("created", "id")
    count = 0
    while ids := list(old.values_list("id", flat=True)[:_TOGETHER]):
        for table in (JournalEntry, JournalNote, Report):  # what is many goes before its task, which takes the rest
            delete_in_batches(table.objects.filter(task_id__in=ids).order_by("pk"), _ROWS, leave=_ROWS)
        # Without `only` each row would be read and deciphered to be deleted.
        count += Task.objects.filter(id__in=ids).only("id").delete()[1].get(Task._meta.label, 0)
    return count
