"""Plans: what a deployment would do. Its real code runs; every outside effect goes to a recorder (`recorder`).

What a plan says:

```
{"objects": [...],     differences of the object model, see `vetro.model.differences`
 "stacks": [{"region", "name", "what": created|changed|deleted,
             "resources": [{"name", "label", "type", "what": created|changed|replaced|deleted,
                            "properties": [names that differ]}]}],
 "servers": [{"id", "name", "was": stopped|ended}],   those that are there and are started; several at once
 "scripts": [{"server", "plan", "label", "scripts": [entry points], "files": [names]}],   in their order within a server
 "no_way_back": [texts],   servers that would be gone and that the cloud could not bring back, where there are some
 "unused": [texts],     values of the model that no class declares, where there are some
 "unknown": [texts]}   what is only known when it really happens
```

``label``: the name or plan with names of objects instead of their ids, where there are ids in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from vetro.clouds.drivers.base import Recorder
from vetro.clouds.interface import CloudError, Owner, Snapshots
from vetro.clouds.stacks.cloud import StackCloud
from vetro.diagnostics import Text, encode_messages
from vetro.engine.host.config import cloud_of
from vetro.engine.models.unknown_properties import warning_text
from vetro.engine.outcome import Outcome
from vetro.engine.planning import recorder
from vetro.engine.planning.labels import Labels
from vetro.engine.worker.journal import Journal
from vetro.model.differences import diff
from vetro.model.secrets import Secret


class PerformedEffect(Protocol):
    """An effect that a run asked for, as a journal has it."""

    @property
    def key(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def about(self) -> Mapping[str, Any]: ...


#: Id, type and properties of a resource.
Made = tuple[str, str, dict[str, Any]]


def host_config(real: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The settings of an effects host for a plan: those of the deployment's host, with a recorder in ``folder``.

    Servers are told the key that plans are signed with: with another one every server would be another server. Where
    there is no key yet, nothing was ever deployed, and the plan does not make one.
    """
    cloud = {"kind": "vetro.engine.planning.recorder:make", "folder": folder, "real": real["cloud"]}
    key = real["signing_key"]
    if key is not None and not Path(key).exists():
        key = str(Path(folder) / "signing-key.pem")
    return {**real, "cloud": cloud, "signing_key": key, "broker": None, "dry_run": True}


def told(
    outcome: Outcome,
    journal: Journal,
    *,
    model: Mapping[str, Any],
    owner: Owner,
    real: Mapping[str, Any],
    folder: str,
    secret: Secret | None = None,
) -> Outcome:
    """The outcome of the run with the plan as its result, and without a model: nothing was deployed.

    A run that came to no end (cancelled, killed) tells nothing: its outcome is given back as it is. ``model`` is what
    the run started from, ``real`` the settings of the real cloud, ``folder`` that of the recorder, ``secret`` which
    properties are masked besides those whose names say so.
    """
    if outcome.state not in ("done", "failed"):
        return outcome
    place = Path(folder)
    with recorder.opened(place, real) as cloud:
        lines = [note.args for note in journal.notes("log")]
        before = recorder.before(place)
        made = told_of(outcome, journal.entries(), lines, before, cloud, model, owner, secret)
        gone = set(before.servers) - {server.id for server in cloud.servers(owner)}
    lost = _no_way_back(gone, real, owner) if gone else []
    return made if not lost else replace(made, result={**(made.result or {}), **encode_messages({"no_way_back": lost})})


def told_of(
    outcome: Outcome,
    effects: Iterable[PerformedEffect],
    lines: Iterable[Mapping[str, Any]],
    before: recorder.Content,
    cloud: StackCloud,
    model: Mapping[str, Any],
    owner: Owner,
    secret: Secret | None,
) -> Outcome:
    """The same of a recorder that is open. ``effects``: what the run asked for, in order; ``lines``: of its log."""
    after = None if outcome.model is None else outcome.model.get("Objects")
    labels = Labels(after, model.get("Objects"), model.get("ObjectsCopy"))
    found = _stacks(before, recorder.content_of(cloud, owner))
    stacks = [{**stack, "resources": labels.resources(stack["resources"])} for stack in found]
    servers = list(_servers(before, cloud, owner))
    scripts = [labels.script(script) for script in _scripts(cloud, owner)]
    lost = list(_unused(lines))
    unused = {"unused": lost} if lost else {}
    made = {
        "objects": [item.as_json() for item in diff(model.get("ObjectsCopy"), after, secret)],
        "stacks": stacks,
        "servers": servers,
        "scripts": scripts,
        **encode_messages({**unused, "unknown": list(_unknown(effects, stacks, labels))}),
    }
    return replace(outcome, result=made, model=None)


def _no_way_back(gone: Collection[str], real: Mapping[str, Any], owner: Owner) -> list[str]:
    """Of servers that would be gone those that no snapshot of their cloud would bring back, as sentences."""
    with closing(cloud_of(real, owner, sweeps=False)) as cloud:
        try:
            found = cloud.snapshot_report(owner) if isinstance(cloud, Snapshots) else ()
        except CloudError:  # it does not say: the update asks once more before it begins
            found = ()
    return [
        Text("server '{name}' would be gone: this cloud cannot bring it back as it was", name=one.name)
        for one in found
        if one.kind == "server" and one.lost_when_replaced and one.id in gone
    ]


def _stacks(old: recorder.Content, new: recorder.Content) -> Iterator[dict[str, Any]]:
    for place in sorted({*old.stacks, *new.stacks}):
        before, after = old.stacks.get(place), new.stacks.get(place)
        resources = list(_resources(old.resources.get(place, {}), new.resources.get(place, {})))
        if before == after and not resources:
            continue
        what = "created" if before is None else "deleted" if after is None else "changed"
        yield {"region": place[0], "name": place[1], "what": what, "resources": resources}


def _resources(old: Mapping[str, Made], new: Mapping[str, Made]) -> Iterator[dict[str, Any]]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        what = "created" if before is None else "deleted" if after is None else "changed"
        properties: list[str] = []
        if before is not None and after is not None:
            was, now = before[2], after[2]
            if before[1] == after[1]:  # of another type all is another: no property of the one is one of the other
                properties = sorted(key for key in {*was, *now} if was.get(key) != now.get(key))
            what = "changed" if before[0] == after[0] else "replaced"
        made = after or before
        assert made is not None
        yield {"name": name, "type": made[1], "what": what, "properties": properties}


def _servers(before: recorder.Content, cloud: StackCloud, owner: Owner) -> Iterator[dict[str, Any]]:
    """Servers that are there before and after, and were started."""
    assert isinstance(cloud.driver, Recorder)
    names = {server.id: server.name for server in cloud.servers(owner)}
    for id in dict.fromkeys(cloud.driver.started()):
        state = before.servers.get(id)
        if state not in (None, "ACTIVE") and id in names:
            yield {"id": id, "name": names[id], "was": "stopped" if state == "SHUTOFF" else "ended"}


def _scripts(cloud: StackCloud, owner: Owner) -> Iterator[dict[str, Any]]:
    assert isinstance(cloud.driver, Recorder)
    for sent in cloud.driver.plans(owner):
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


def _unused(lines: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for line in lines:
        if line.get("logger") == "model" and "property" in line:
            yield warning_text(line)


def _unknown(entries: Iterable[PerformedEffect], stacks: Iterable[Mapping[str, Any]], labels: Labels) -> Iterator[str]:
    for stack in stacks:
        fresh = [r.get("label", r["name"]) for r in stack["resources"] if r["what"] != "deleted"]
        if fresh:
            yield Text(
                "addresses, ids and other outputs of stack '{stack}': {fresh}",
                stack=stack["name"],
                fresh=", ".join(fresh),
            )
    told = set()
    skipped = 0.0
    for entry in entries:
        if entry.kind == "agent.call":
            text = Text(
                "what the plan '{about}' answers: it was taken to succeed with nothing",
                about=labels.text(str(entry.about.get("name") or entry.key)),
            )
        elif entry.kind.startswith("plugin:"):
            text = Text("what '{kind}' answers: it was not called", kind=entry.kind.removeprefix("plugin:"))
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
        yield Text(
            "what happens in the {skipped:g} seconds for which the deployment pauses: they were skipped",
            skipped=skipped,
        )
