"""`look`: how the components of an environment are after an update, found out now, by who goes on with it.

A check that fails is asked again before it counts: what was just started may need a moment. While what was brought
back recovers, whoever goes on asks again, so one look is enough.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from vetro.engine.procedures.guarded_update import GuardedUpdate, worsened
from vetro.engine.task.launcher import Launcher
from vetro.engine.watching.states import State
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.procedures.models import Procedure
from vetro.server.watch.look import seen

#: How often what is worse is looked at, and seconds between two looks.
LOOKS, PAUSE = 3, 5.0


def look(config: Config, launcher: Launcher, row: Procedure) -> dict[str, State]:
    """The components whose health counts; nothing for an environment that is gone."""
    record = GuardedUpdate.from_json(row.record)
    found: dict[str, State] = {}
    for number in range(1 if record.step == "recovering" else LOOKS):
        if number:
            time.sleep(PAUSE)
        environment = Environment.objects.filter(id=row.environment_id).first()
        if environment is None:
            return {}
        found = _counting(row, seen(config, environment, launcher, record.before))
        if not worsened(record, found):
            break
    return found


def _counting(row: Procedure, found: Mapping[str, State]) -> dict[str, State]:
    ignored = set(row.about.get("ignored") or ())
    return {id: state for id, state in found.items() if id not in ignored}
