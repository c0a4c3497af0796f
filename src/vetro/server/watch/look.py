"""`look`: how an environment is, found out by this process: for those that no worker watches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from typing import Any

from vetro.clouds.interface import CloudError, Owner
from vetro.engine.host.config import cloud_of
from vetro.engine.task.launcher import Launcher
from vetro.engine.watching.inventory import listed
from vetro.engine.watching.states import State
from vetro.engine.watching.watch import Watch
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of
from vetro.server.config import cloud_settings
from vetro.server.config.cloud_settings import simulated
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.environments.models import State as State_
from vetro.server.ids import new_id
from vetro.server.tasks import effect_hosts
from vetro.server.watch import drift, service
from vetro.server.watch.guesses import guess
from vetro.server.watch.models import Health
from vetro.server.watch.prober import Prober
from vetro.server.watch.target_reader import TargetReader

#: Seconds that it takes at most, also where packages are asked, and between two looks at whether all is known.
SECONDS, ASKING, _PAUSE = 8.0, 45.0, 0.1
#: Seconds for which checks are waited for that nobody declared, and that may never be answered.
_GUESSING = 3.0


def look_around(config: Config, environment_id: str) -> None:
    """Lists once what the cloud has of an environment, and keeps it. Nothing for one that is simulated, or that a task
    works on."""
    row = Environment.objects.filter(id=environment_id, version__gt=0).first()
    if row is None or simulated(config, row.cloud) or environment_id in service.at_work():
        return
    told: dict[str, Any] = {"id": row.id, "number": row.version}
    owner = Owner(row.project_id, row.id, "system")
    try:
        with closing(cloud_of(cloud_settings.cloud(config, row.cloud), owner)) as cloud:
            told |= listed(cloud, owner)
    except CloudError as error:
        told["trouble"] = error.message
    drift.note([told])


def seen(
    config: Config, row: Environment, launcher: Launcher, guesses: Collection[str] | None = None
) -> dict[str, State]:
    """How the components of an environment are at this moment, whatever was known of them before; nothing is written.

    Those of which nobody can tell are left out; those that did not answer in time are unknown. A component whose cloud
    executes nothing is simulated. Checks that nobody declared are told besides (`guess`): those that answer; of
    ``guesses``, which answered before, also those that do not.
    """
    if simulated(config, row.cloud):
        model: Any = State_.objects.filter(environment=row).order_by("-number").values_list("model", flat=True).first()
        root = deployed_objects(model or {})
        return {str(id_of(item)): State.SIMULATED for item in applications_of(root)}
    reader = TargetReader(config, launcher)
    found = reader.components(row)
    if not found:
        return {}
    key, settings = reader.cloud(row)
    target = reader.target(row, found, key, {})
    watch = Watch(lambda _, owner: cloud_of(settings, owner), spread=0.0)
    prober = Prober(config, launcher, effect_hosts.host)
    reports = reader.told(row.id, asyncio.run(_reports(watch, target, len(found), prober, guesses)))
    told = {str(item["id"]): str(item["state"]) for item in reports}
    states = {component.id: told.get(component.id, State.UNKNOWN.value) for component in found}
    made = {id: State(state) for id, state in states.items() if state}
    for name, reached in _guessed(reports).items():
        if reached or name in (guesses or ()):
            made[name] = State.RUNNING if reached else State.DEGRADED
    return made


def _guessed(reports: Iterable[Mapping[str, Any]]) -> dict[str, bool]:
    """The checks that nobody declared, by their names: whether they were answered."""
    return {
        guess(str(item["id"]), str(check["name"])): bool(check["reached"])
        for item in reports
        for check in item["checks"]
        if check["guessed"]
    }


def look(config: Config, environment_id: str, launcher: Launcher) -> None:
    """Looks once at servers and checks, and writes what it found; it holds for as long as a watcher's word.

    What it could not find out in its time is unknown. Nothing for an environment that is simulated, or that a task
    works on.
    """
    row = Environment.objects.filter(id=environment_id, version__gt=0).first()
    if row is None or simulated(config, row.cloud) or environment_id in service.at_work():
        return
    reader, mark = TargetReader(config, launcher), new_id()
    found = reader.components(row)
    service.retarget(row.id, mark, [component.id for component in found])
    # What another look told is not what this one sees.
    Health.objects.filter(environment_id=row.id).exclude(state="").update(label="")
    if found:
        key, settings = reader.cloud(row)
        # What was told the last time may be of long ago: this looks anew.
        target = reader.target(row, found, key, {})
        watch = Watch(lambda _, owner: cloud_of(settings, owner), spread=0.0)
        prober = Prober(config, launcher, effect_hosts.host)
        reports = asyncio.run(_reports(watch, target, len(found), prober))
        service.record([(row.id, row.version, reader.told(row.id, reports))], mark)
    service.believe([mark], "", service.BELIEVED)


async def _reports(
    watch: Watch, target: Mapping[str, Any], wanted: int, prober: Prober, guesses: Collection[str] | None = ()
) -> list[dict[str, Any]]:
    """``guesses``: checks that nobody declared and that are waited for; None: all, for a moment."""
    watch.put(target)
    work = asyncio.get_running_loop().create_task(watch.run())
    told: dict[str, dict[str, Any]] = {}
    begun, asked = time.monotonic(), False
    while time.monotonic() - begun < (ASKING if asked else SECONDS) and not work.done():
        for question in watch.questions():
            asked = True
            prober.begin(question)
        for answer in prober.answers():
            watch.answered(answer)
        for item in watch.changes():
            told |= {str(one["id"]): one for one in item["components"]}
        if len(told) == wanted:
            open_ = {name for name, reached in _guessed(told.values()).items() if not reached}
            if not (open_ if guesses is None and time.monotonic() - begun < _GUESSING else open_ & set(guesses or ())):
                break
        await asyncio.sleep(_PAUSE)
    prober.give_up()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return list(told.values())
