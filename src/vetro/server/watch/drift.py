"""What of an environment is not as its last task left it: what is kept of a cloud's lists, and what follows from them.

A server that is gone, or stopped and nobody here stopped it; a stack that somebody changed, or that nobody here made; a
package that is not in the catalog any more; a draft that is older than the environment. Nothing follows from a cloud
that does not answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from vetro.data_classes import dataclass
from vetro.diagnostics import Text, decode_messages
from vetro.engine.watching.inventory import EVERY
from vetro.model.environment import deployed_objects
from vetro.server.catalog.models import Package, RetiredVersion
from vetro.server.environments import packages, power, queries
from vetro.server.environments.models import Environment, Session
from vetro.server.environments.power_steps import machines
from vetro.server.tasks import clock
from vetro.server.watch.models import Inventory
from vetro.server.watch.queries import NOBODY, SIMULATED, of_environment

#: Seconds after which a list of a cloud says nothing about now.
STALE = 2 * EVERY + 120.0
#: Drafts that are told.
_DRAFTS = 20


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that is not as it was left."""

    #: server-ended, server-stopped, server-missing, server-unseen, server-unknown, stack-changed, stack-missing,
    #: stack-unknown, package-missing, draft-older.
    kind: str
    #: What it is about: id of a server, name of a stack or package, id of a session.
    id: str
    text: str
    #: Whether repairing the environment does something about it.
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Drift:
    """What is told of an environment. ``looked``: when its cloud was listed last; ``text``: why that says nothing."""

    items: tuple[Deviation, ...] = ()
    looked: datetime | None = None
    text: str = ""
    #: What happens about it (`Environment.REPAIRS`).
    repair: str = "propose"

    @property
    def repairable(self) -> bool:
        """Whether a repair does something about any of it."""
        return any(item.repaired for item in self.items)


# -- what is written ---------------------------------------------------------------------------------------------------


def note(told: Iterable[Mapping[str, Any]]) -> None:
    """Keeps what clouds were found to have (`vetro.engine.watching.inventory.CloudListings.take`).

    Of environments that are as before only the time is written, for all of them at once.
    """
    found = {str(item["id"]): item for item in told}
    now, same = clock.read(), []
    values: dict[str, Any]
    with transaction.atomic():
        versions = dict(Environment.objects.filter(id__in=list(found)).values_list("id", "version"))
        fields = Inventory.objects.filter(environment_id__in=list(found)).defer("first", "last", "trouble")
        known = {row.environment_id: row for row in fields}
        for id, item in found.items():
            row = known.get(id)
            if versions.get(id) != item["number"]:
                continue  # a task has changed it meanwhile, or it is gone
            if "trouble" in item:
                trouble = {name: item[name] for name in ("trouble", "texts") if name in item}
                values = {"digest": "", "trouble": trouble}
                if row is None or row.version != item["number"]:
                    values |= {"first": None, "last": None, "looked": None}
                _keep(id, item["number"], values)
                continue
            content = {"stacks": item["stacks"], "servers": item["servers"]}
            digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
            if row is not None and (row.version, row.digest) == (item["number"], digest):
                same.append(row.pk)
                continue
            values = {"last": content, "digest": digest, "looked": now, "trouble": None}
            if row is None or row.version != item["number"] or row.looked is None:
                values |= {"first": content}
            _keep(id, item["number"], values)
        if same:
            Inventory.objects.filter(pk__in=same).update(looked=now)


def _keep(environment_id: str, version: int, values: Mapping[str, Any]) -> None:
    """Writes a row without reading it: what no key opens is nobody else's trouble."""
    values = {"version": version, **values}
    Inventory.objects.bulk_create(
        [Inventory(environment_id=environment_id, **values)],
        update_conflicts=True,
        unique_fields=["environment"],
        update_fields=list(values),
    )


# -- what is told ------------------------------------------------------------------------------------------------------


def of(found: queries.ListedEnvironment) -> Drift:
    """What of an environment is not as its last task left it. ``found``: with its model."""
    stopped, repair = Environment.objects.values_list("stopped", "repair").get(id=found.id)
    return replace(_of(found, power.on_purpose(stopped)), repair=repair)


def _of(found: queries.ListedEnvironment, stopped: Mapping[str, Any]) -> Drift:
    own = (*_packages(found), *_drafts(found))
    if found.version == 0:
        return Drift(own, None, Text("nothing of it is deployed"))
    if of_environment(found.id) == SIMULATED:
        return Drift(own, None, SIMULATED.text)
    row = Inventory.objects.filter(environment_id=found.id, version=found.version).first()
    if row is not None and row.trouble is not None:
        why = str(decode_messages(row.trouble).get("trouble") or "")
        return Drift(own, row.looked, Text("the cloud does not answer: {why}", why=why))
    if row is None or row.last is None or row.looked is None:
        return Drift(own, None, NOBODY)
    if row.looked < clock.read() - timedelta(seconds=STALE):
        return Drift(own, row.looked, Text("nobody looks: no worker that reaches it lives"))
    servers = {m.id: m.name for wave in machines(deployed_objects(found.model or {})) for m in wave}
    return Drift((*_cloud(row.first or {}, row.last, servers, stopped), *own), row.looked)


def _cloud(
    first: Mapping[str, Any], last: Mapping[str, Any], servers: Mapping[str, str], stopped: Mapping[str, Any]
) -> Iterator[Deviation]:
    """What two lists of a cloud and the model say. ``servers``: id -> name, as the model has them."""
    there: Mapping[str, Any] = last.get("servers") or {}
    known = {id: name for id, (name, _) in (first.get("servers") or {}).items()} | dict(servers)
    for id, name in known.items():
        state = there[id][1] if id in there else None
        if state is None:
            yield Deviation("server-missing", id, Text("server '{name}' is gone", name=name), True)
        elif state == "ERROR":
            yield Deviation("server-ended", id, Text("server '{name}' has ended by itself", name=name), True)
        elif state == "SHUTOFF" and id not in stopped:
            text = Text("server '{name}' is stopped, and nobody here stopped it", name=name)
            yield Deviation("server-stopped", id, text, True)
        elif state == "UNKNOWN":
            yield Deviation("server-unseen", id, Text("server '{name}': its machine does not answer", name=name))
    for id, (name, _) in there.items():
        if id not in known:
            text = Text("server '{name}' is in the cloud, and nobody here made it", name=name)
            yield Deviation("server-unknown", id, text)
    before, now = first.get("stacks") or {}, last.get("stacks") or {}
    for name, digest in before.items():
        if name not in now:
            yield Deviation("stack-missing", name, Text("stack '{name}' is gone", name=name), True)
        elif now[name] != digest:
            text = Text("stack '{name}' is not as it was pushed: somebody has changed it", name=name)
            yield Deviation("stack-changed", name, text, True)
    for name in now.keys() - before.keys():
        text = Text("stack '{name}' is in the cloud, and nobody here made it", name=name)
        yield Deviation("stack-unknown", name, text)


def _packages(found: queries.ListedEnvironment) -> Iterator[Deviation]:
    """Packages that the environment uses and that somebody has taken out of the catalog."""
    used = packages.pinned(found.id)
    digests = [package.digest for package in used]
    taken = set(RetiredVersion.objects.filter(digest__in=digests).values_list("fqn", "version", "digest"))
    there = set(Package.objects.filter(digest__in=digests).values_list("digest", flat=True)) if taken else ()
    for one in used:
        if (one.name, one.version, one.digest) in taken and one.digest not in there:
            text = Text("package {name} {version} was taken out of the catalog", name=one.name, version=one.version)
            yield Deviation("package-missing", one.name, text)


def _drafts(found: queries.ListedEnvironment) -> Iterator[Deviation]:
    """Drafts with changes that cannot be deployed any more."""
    rows = Session.objects.filter(
        environment_id=found.id, state=Session.OPENED, version__lt=found.version, draft__isnull=False
    )
    for id, updated in rows.order_by("-updated").values_list("id", "updated")[:_DRAFTS]:
        text = Text("a draft of {day} is older than the environment: it cannot be deployed", day=str(updated.date()))
        yield Deviation("draft-older", id, text)
