"""`make`: the cloud of a plan: a recorder in a folder of its own that begins with what the environment has.

It runs in the effects host's process (`vetro.engine.host.config`, a cloud of kind ``module:function``), which knows
nothing of the database of the service. The state of a cloud around a driver is copied, other clouds are asked; neither
is changed. Settings: ``folder``, ``real`` (the settings of the real cloud), ``owner`` (that of the real environment).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.drivers.base import Recorder
from vetro.clouds.interface import Cloud, CloudKind, Owner, Place, StackChange
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.kind import DriverKind
from vetro.engine.host.config import cloud_of, quotas_of
from vetro.library.stackdata import digest_of, parts_of

#: What was there before the plan: ``[[region, name, [[section, key, value], ...]], ...]``.
BEFORE = "before.json"

Stacks = dict[tuple[str, str], dict[tuple[str, str], Any]]


def make(settings: Mapping[str, Any], owner: Owner) -> Cloud:
    """The recorder. A host that is started again finds the state of the one before."""
    folder = Path(settings["folder"])
    real = settings["real"]
    begun = (folder / BEFORE).exists()
    copied = isinstance(_kind(real), DriverKind)
    if not begun and copied:
        _copy(Path(real["directory"]), folder)
    cloud = _open(folder, real)
    try:
        if not begun:
            if copied:
                _adopt(cloud)
            else:
                _ask(real, owner, cloud)
            before = [[*name, [[*part, value] for part, value in parts.items()]]
                      for name, parts in stacks_of(cloud, owner).items()]  # fmt: skip
            draft = folder / f".{BEFORE}"
            draft.write_text(json.dumps(before), encoding="utf-8")
            draft.rename(folder / BEFORE)
        return cloud
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


def _kind(real: Mapping[str, Any]) -> CloudKind | None:
    """The kind of the real cloud; None for one that a function makes."""
    name = str(real.get("kind"))
    return None if ":" in name else kinds.find(name)


def _open(folder: Path, real: Mapping[str, Any]) -> StackCloud:
    kind = kinds.find(kinds.RECORD)
    assert isinstance(kind, DriverKind)
    target = _kind(real)
    able = None if target is None else target.capabilities(target.settings.from_json(real.get("settings") or {}))
    settings = kind.settings.from_json(_settings(real))
    return kind.opened(settings, Place(directory=folder, quotas=quotas_of(real)), able, target.name if target else "")


def _settings(real: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a recorder that plays the real cloud."""
    kind = _kind(real)
    if kind is None:
        return {}
    settings = kind.settings.from_json(real.get("settings") or {})
    if isinstance(kind, DriverKind):
        return kind.shared_settings(settings)
    # What it has of regions it can name; its types of resources are not known here.
    regions = [name for name in (getattr(settings, "region", ""), *getattr(settings, "regions", ())) if name]
    return {"regions": list(dict.fromkeys(regions)), "inert_types": True}


def _copy(directory: Path, folder: Path) -> None:
    """The state of a cloud."""
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


def _adopt(cloud: StackCloud) -> None:
    """The servers of a copied state, as the recorder knows them."""
    assert isinstance(cloud.driver, Recorder)
    cloud.driver.adopt(cloud.agents())


def _ask(real: Mapping[str, Any], owner: Owner, cloud: StackCloud) -> None:
    """Makes the stacks of another cloud in the recorder."""
    theirs = cloud_of(real, owner)
    try:
        for (region, stack), parts in stacks_of(theirs, owner).items():
            put = [[*part, value] for part, value in parts.items()]
            cloud.push_stack(owner, region, stack, StackChange(digest_of(parts), None, put, []))
    finally:
        theirs.close()
