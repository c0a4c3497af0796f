"""`make`: the cloud of a plan: a recorder in a folder of its own that begins with what the environment has.

It runs in the effects host's process (`vetro.engine.host.config`, a cloud of kind ``module:function``), which knows
nothing of the database of the service. The state of a real local cloud is copied, other clouds are asked; neither is
changed. Settings: ``folder``, ``real`` (the settings of the real cloud), ``owner`` (that of the real environment).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Channel, Cloud, Owner, StackChange
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.settings import StackSettings
from vetro.engine.host.local_cloud import quotas_of
from vetro.library.stackdata import digest_of, parts_of

#: What was there before the plan: ``[[region, name, [[section, key, value], ...]], ...]``.
BEFORE = "before.json"

Stacks = dict[tuple[str, str], dict[tuple[str, str], Any]]


def make(settings: Mapping[str, Any], owner: Owner) -> tuple[Cloud, Channel]:
    """The recorder and its channel. A host that is started again finds the state of the one before."""
    folder = Path(settings["folder"])
    real = settings["real"]
    begun = (folder / BEFORE).exists()
    if not begun and real.get("kind") == "local":
        _copy(Path(real["directory"]), folder)
    cloud = _open(folder, real)
    try:
        if not begun:
            if real.get("kind") != "local":
                _ask(real, owner, cloud)
            before = [[*name, [[*part, value] for part, value in parts.items()]]
                      for name, parts in stacks_of(cloud, owner).items()]  # fmt: skip
            draft = folder / f".{BEFORE}"
            draft.write_text(json.dumps(before), encoding="utf-8")
            draft.rename(folder / BEFORE)
        return cloud, cloud.channel(owner)
    except BaseException:
        cloud.close()
        raise


@contextmanager
def opened(folder: Path, real: Mapping[str, Any]) -> Iterator[StackCloud]:
    """The recorder after the plan."""
    with closing(_open(folder, real)) as cloud:
        yield cloud


def before(folder: Path) -> Stacks:
    """The stacks that were there before."""
    data = json.loads((folder / BEFORE).read_text("utf-8"))
    return {(region, name): {(s, k): value for s, k, value in parts} for region, name, parts in data}


def stacks_of(cloud: Cloud, owner: Owner) -> Stacks:
    """Parts of all stacks of an environment by region and name."""
    found: Stacks = {}
    for stack in cloud.stacks(owner):
        state = cloud.read_stack(owner, stack.region, stack.name)
        if state is not None and not state.status.startswith("DELETE_COMPLETE"):
            found[stack.region, stack.name] = parts_of(state.template, state.parameters)
    return found


def _open(folder: Path, real: Mapping[str, Any]) -> StackCloud:
    settings = _settings(real)
    quotas = quotas_of(real) if real.get("kind") == "local" else {}
    driver = RecordDriver(folder)
    try:
        return StackCloud(folder, driver, settings, quotas=quotas)
    except BaseException:
        driver.close()
        raise


def _settings(real: Mapping[str, Any]) -> StackSettings:
    """Settings of a recorder that plays the real cloud."""
    given = real.get("settings") or {}
    if real.get("kind") == "local":
        return StackSettings.from_json(given)
    if real.get("kind") == "openstack":
        regions = [name for name in (given.get("region"), *(given.get("regions") or ())) if name]
        return StackSettings(regions=list(dict.fromkeys(regions)), inert_types=True)
    return StackSettings()


def _copy(directory: Path, folder: Path) -> None:
    """The state of a local cloud, and its servers as the recorder knows them."""
    source = directory / "cloud.db"
    if not source.exists():
        return
    target = folder / "cloud.db"
    target.touch(0o600)
    with (
        closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True, timeout=30)) as theirs,
        closing(sqlite3.connect(target)) as ours,
    ):
        theirs.backup(ours)
        servers = [
            (item["id"], project, environment, item["name"], queue or "", "ACTIVE", 0.0, "{}", "")
            for item, project, environment, queue in (
                (json.loads(body), *rest)
                for body, *rest in ours.execute(
                    "SELECT r.body, r.project, r.environment, q.queue FROM records r"
                    " LEFT JOIN queues q ON q.server = r.id WHERE r.kind = 'server'"
                )
            )
        ]
    driver = RecordDriver(folder)
    try:
        with driver.store.transaction():
            for row in servers:
                driver.store.run("INSERT OR REPLACE INTO servers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    finally:
        driver.close()


def _ask(real: Mapping[str, Any], owner: Owner, cloud: StackCloud) -> None:
    """Makes the stacks of another cloud in the recorder."""
    from vetro.engine.host.config import cloud_of

    theirs, channel = cloud_of(real, owner)
    try:
        for (region, stack), parts in stacks_of(theirs, owner).items():
            put = [[*part, value] for part, value in parts.items()]
            cloud.push_stack(owner, region, stack, StackChange(digest_of(parts), None, put, []))
    finally:
        channel.close()
        theirs.close()
