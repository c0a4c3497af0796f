"""Logins and virtual hosts at the broker that nobody needs any more: of environments that were destroyed while the
broker was away, of tasks without environment, whose virtual host has the task's id, and of servers that are gone.

Other installations may use the same broker. What is removed has an id that this installation's tasks name: ids are
random, so nobody else has it. An environment that was abandoned keeps its login: its servers run on.
"""

from __future__ import annotations

from collections.abc import Iterable

from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.tasks.models import Task

#: Ids that are looked up with one statement.
_TOGETHER = 500


def sweep(config: Config) -> int:
    """Removes them and says how many. Raises `vetro.agent.errors.AgentError`, errors of the database.

    An account that is needed after all is made again by whoever needs it.
    """
    accounts = cloud_settings.broker_accounts(config)
    if accounts is None:
        return 0
    known = accounts.environments()
    gone = left_over(known)
    for id in gone:
        accounts.remove_of(id)
    return len(gone) + accounts.remove_unused(_present(known))


def _present(ids: Iterable[str]) -> list[str]:
    """Those among the ids that are of environments of this installation."""
    wanted, found = sorted(ids), list[str]()
    for first in range(0, len(wanted), _TOGETHER):
        some = wanted[first : first + _TOGETHER]
        found += Environment.objects.filter(id__in=some).values_list("id", flat=True)
    return found


def left_over(ids: Iterable[str]) -> list[str]:
    """Those among the ids that are of tasks without environment, which have ended, or of environments that are not
    there and of which the last task has destroyed everything."""
    wanted, found = sorted(ids), list[str]()
    for first in range(0, len(wanted), _TOGETHER):
        some = set(wanted[first : first + _TOGETHER])
        some.difference_update(Environment.objects.filter(id__in=some).values_list("id", flat=True))
        alone = Task.objects.filter(id__in=some, environment_id="", state__in=Task.FINAL)
        gone = set(alone.values_list("id", flat=True))
        tasks = Task.objects.filter(environment_id__in=some).order_by("created", "id")
        last = {row[0]: row[1:] for row in tasks.values_list("environment_id", "kind", "state")}
        gone.update(id for id, task in last.items() if task == ("destroy", "done"))
        found += sorted(gone)
    return found
