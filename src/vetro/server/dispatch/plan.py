"""Plans: what a deployment would do. Its real code runs; every outside effect goes to a recorder (`plan_cloud`).

Result of a task of kind ``plan``:

```
{"objects": [...],     differences of the object model, see `vetro.server.environments.diff`
 "stacks": [{"region", "name", "what": created|changed|deleted,
             "resources": [{"name", "type", "what": created|changed|deleted, "properties": [names that differ]}]}],
 "scripts": [{"server", "plan", "scripts": [entry points], "files": [names]}],   in the order in which they would run
 "unknown": [texts]}   what is only known when it really happens
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.db import transaction

from vetro.clouds.interface import Owner
from vetro.clouds.local import LocalCloud
from vetro.engine.journal import Entry, Journal
from vetro.engine.outcome import Outcome
from vetro.server.caller import Caller
from vetro.server.config import Config
from vetro.server.dispatch import plan_cloud, spec
from vetro.server.dispatch.models import Task
from vetro.server.dispatch.queue import enqueue

_PRIORITY = 50


@transaction.atomic
def plan(
    caller: Caller,
    *,
    environment: Any,
    model: Mapping[str, Any],
    packages: Iterable[Any],
    session: Any = None,
) -> Task:
    """Enqueues the plan of a deployment of ``model`` (as `enqueue` takes it for a ``deploy``); wait for its result.

    ``environment`` and ``session`` are rows, ``packages`` rows of the catalog. It holds up nothing and nobody.
    """
    return enqueue(
        caller,
        "plan",
        environment=environment,
        session=session,
        model=model,
        packages=list(packages),
        priority=_PRIORITY,
    )


def host_config(config: Config, task: Task, folder: str) -> dict[str, Any]:
    """What the effects host of a plan gets: like that of the deployment, with a recorder in ``folder``."""
    found = spec.host_config(config, task)
    found["owner"]["environment"] = _environment(task)
    real = spec.cloud(config)
    found["cloud"] = {"kind": "vetro.server.dispatch.plan_cloud:make", "folder": folder, "real": real}
    found.update(signing_key=None, broker=None, rehearsal=True)
    return found


def result(task: Task, outcome: Outcome, journal: Journal, config: Config, folder: str) -> Outcome:
    """The outcome of the run with the plan as its result, and without a model: nothing was deployed."""
    from vetro.server.environments.diff import diff

    owner = Owner(task.project_id, _environment(task), task.user_id or "system")
    place, real = Path(folder), spec.cloud(config)
    with plan_cloud.opened(place, real) as cloud:
        stacks = list(_stacks(plan_cloud.before(place), plan_cloud.stacks_of(cloud, owner)))
        scripts = list(_scripts(cloud, owner))
    start = task.spec["model"]
    present = start.get("ObjectsCopy")
    after = None if outcome.model is None else outcome.model.get("Objects")
    made = {
        "objects": [item.as_json() for item in diff(present, after)],
        "stacks": stacks,
        "scripts": scripts,
        "unknown": list(_unknown(journal.entries(), stacks)),
    }
    return replace(outcome, result=made, model=None)


def _environment(task: Task) -> str:
    return str(task.spec.get("environment") or task.id)


def _stacks(old: plan_cloud.Stacks, new: plan_cloud.Stacks) -> Iterator[dict[str, Any]]:
    for region, name in sorted({*old, *new}):
        before, after = old.get((region, name)), new.get((region, name))
        if before == after:
            continue
        what = "created" if before is None else "deleted" if after is None else "changed"
        yield {
            "region": region,
            "name": name,
            "what": what,
            "resources": list(_resources(_section(before), _section(after))),
        }


def _section(parts: Mapping[tuple[str, str], Any] | None) -> dict[str, Any]:
    return {key: value for (section, key), value in (parts or {}).items() if section.lower() == "resources"}


def _resources(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        what = "created" if name not in old else "deleted" if name not in new else "changed"
        yield {
            "name": name,
            "type": _type(after if name in new else before),
            "what": what,
            "properties": _differing(before, after) if what == "changed" else [],
        }


def _type(resource: Any) -> str:
    found = resource if isinstance(resource, Mapping) else {}
    return str(found.get("type") or found.get("Type") or "")


def _differing(before: Any, after: Any) -> list[str]:
    old, new = (
        (value.get("properties") or value.get("Properties") or {}) if isinstance(value, Mapping) else {}
        for value in (before, after)
    )
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return []
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def _scripts(cloud: LocalCloud, owner: Owner) -> Iterator[dict[str, Any]]:
    driver: Any = cloud.driver
    for sent in driver.plans(owner):
        files = {id: _file(id, file) for id, file in _mapping(sent.body.get("Files")).items()}
        entries = [_mapping(script).get("EntryPoint") for script in _mapping(sent.body.get("Scripts")).values()]
        yield {
            "server": sent.server,
            "plan": sent.name,
            "scripts": [files.get(entry, str(entry)) for entry in entries if entry],
            "files": sorted(set(files.values())),
        }


def _file(id: str, file: Any) -> str:
    return str(_mapping(file).get("Name") or id)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _unknown(entries: Iterable[Entry], stacks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for stack in stacks:
        fresh = [r["name"] for r in stack["resources"] if r["what"] != "deleted"]
        if fresh:
            yield f"addresses, ids and other outputs of stack '{stack['name']}': {', '.join(fresh)}"
    told = set()
    skipped = 0.0
    for entry in entries:
        if entry.kind == "agent.call":
            text = (
                f"what the plan '{entry.about.get('name') or entry.key}' answers: it was taken to succeed with nothing"
            )
        elif entry.kind.startswith("plugin:"):
            text = f"what '{entry.kind.removeprefix('plugin:')}' answers: it was not called"
        elif entry.kind == "sleep":
            seconds = entry.about.get("seconds")
            skipped += seconds if isinstance(seconds, (int, float)) else 0.0
            continue
        else:
            continue
        if text not in told:
            told.add(text)
            yield text
    if skipped:
        yield f"what happens in the {skipped:g} seconds for which the deployment pauses: they were skipped"
