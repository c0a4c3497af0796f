"""Environments out of the archives that `exports` makes: `import_environment`. What is in them is described there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.db import transaction

from vetro.clouds import kinds
from vetro.diagnostics import Text, decode_messages
from vetro.packages.lock import Lock, parse_lock
from vetro.server.audit.models import AuditRecord
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.inspection.pool import pool, reason_of
from vetro.server.catalog.models import Package
from vetro.server.catalog.service import visible
from vetro.server.catalog.storage import from_blob
from vetro.server.environments import (
    fixed_properties,
    history,
    limits,
    packages,
    removal,
    service,
    substitution,
)
from vetro.server.environments.errors import ResourcesElsewhere
from vetro.server.environments.models import Environment, Session, State
from vetro.server.errors import Conflict, Invalid
from vetro.server.ids import new_id
from vetro.server.quotas import enforcement
from vetro.server.secrets.encryption import CompressedJSON, dumps, loads_compressed, unpacked_size
from vetro.server.setup import config
from vetro.server.tasks.models import Task

#: Files of an archive.
MOST_FILES: Final = 20_000
#: Packages of one environment; each is looked up.
_MOST_PACKAGES: Final = 500
#: Values of one model, and of all together, roughly.
MOST_PARTS: Final = limits.MOST_PARTS
MOST_ALL_PARTS: Final = 6_000_000
#: States that are imported where all are kept.
_MOST_STATES: Final = 1000
#: Seconds that one question about an archive may take.
SECONDS: Final = 60.0
#: What `new_id` gives.
_ID = re.compile(r"[0-9a-f]{32}")


def import_environment(
    caller: Caller,
    data: bytes | memoryview,
    *,
    name: str | None = None,
    fresh: bool = False,
    keep_ids: bool = False,
    into_catalog: bool = True,
) -> dict[str, Any]:
    """An environment from such an archive: {environment_id, session_id, notes, driver}.

    ``notes`` say what was left out, ``driver`` what made its servers, where the archive says so.

    It has the newest states of the archive (``retention.states``) and counts as deployed as they say: right where it
    comes back as itself.
    ``fresh``: its applications become a draft with new ids instead, and nothing counts as deployed; with ``keep_ids``
    under the ids that they had, which is for whom everything here belongs to (`_kept_id`). Packages that the
    project does not see are imported; without ``into_catalog`` the environment uses those of the archive, and nobody
    else sees them. Raises `Invalid` for an archive that is not one of ours, `Conflict` for a name
    that is taken and for a copy whose model knows resources that are another environment's, and what importing
    packages raises.
    """
    ask = _Archive(caller, data)
    told = ask.facts(want="head")
    # No more than would be kept: each is a row, and others wait while they are written.
    kept = 1 if fresh else int(config()["retention.states"]) or _MOST_STATES
    head, numbers = told["head"], told["numbers"][-kept:]
    notes = list(_left_out(told, kept))
    locks = _Locks(caller, ask, numbers if head.get("locks") else [])
    read = _read_packages if into_catalog else _stored_packages
    wanted = limits.name_of(name or head.get("name"), Text("the archive names no environment"), "Environment")
    if fresh:
        _, found = ask.of(want="states", numbers=numbers[-1:], root_id="")
        root = loads_compressed(found[0], limits.LARGEST_MODEL * 4).get("Objects")
        if not isinstance(root, dict):
            raise Invalid(Text("the newest model of the archive has no objects"))
        used = read(caller, ask, head.get("packages"))
        lock = locks.of(numbers[-1])
        digests = [e["digest"] for e in used] if lock is None else [package.digest for package in lock.packages]
        with transaction.atomic():
            id = _kept_id(head.get("id")) if keep_ids else None
            made = history.begin(caller, wanted, root, fixed_properties.classes_of(digests), id=id, imported=True)
            if lock is not None:
                # What it was deployed with, whatever the catalog has that would do as well.
                row = packages.adopt(made["environment_id"], lock)
                Session.objects.filter(id=made["session_id"]).update(lock=row)
            elif not into_catalog:
                packages.adopt(made["environment_id"], packages.listed(used))
        notes += locks.notes
        if lock is None and substitution.migrate(caller, made["environment_id"], made["session_id"]):
            notes.append(Text("versions that are not here were replaced, and objects migrated to those that are"))
        told = {"notes": notes, "driver": head.get("driver")}
        return {"environment_id": made["environment_id"], "session_id": made["session_id"], **told}
    # Its root object has the environment's id: a second copy beside the first one gets another.
    own = str(head["id"]) if _is_free(caller, head.get("id")) else new_id()
    facts, models = ask.of(want="states", numbers=numbers, root_id=own)
    if own != head.get("id") and facts["resources"]:
        raise ResourcesElsewhere(
            Text(
                "the environment of the archive has resources in a cloud, and they stay those of "
                "the environment that made them: a copy that counts as deployed would have none"
            ),
            details={"id": head.get("id")},
        )
    used = read(caller, ask, head.get("packages"))
    removal.drop_rows(own)  # of one with this id that was removed a moment ago
    states = dict(zip(numbers, models, strict=True))
    with transaction.atomic():
        _restore(caller, wanted, own, states, locks.of(numbers[-1]) or packages.listed(used), head.get("driver"))
    _restore_older(own, states, locks)
    notes += locks.notes
    return {"environment_id": own, "session_id": None, "notes": notes, "driver": head.get("driver")}


def _left_out(told: Mapping[str, Any], kept: int) -> Iterator[str]:
    """What of an archive an import does not take."""
    older, tasks = len(told["numbers"]) - kept, told["besides"]["tasks"]
    if older > 0:
        yield Text("older states were left out: {older}; the newest are imported: {kept}", older=older, kept=kept)
    if tasks:
        yield Text("the history of tasks was left out: {tasks}; reports and logs are not imported", tasks=tasks)
    if told["besides"]["files"]:
        more = told["besides"]["more"]
        files = ", ".join([*told["besides"]["files"], *([f"… ({more})"] if more else [])])
        yield Text("files that no environment has were left out: {files}", files=files)


class _Archive:
    """Questions about an archive to the process behind walls that reads it."""

    def __init__(self, caller: Caller, data: bytes | memoryview) -> None:
        self._owner = caller.project_id
        self._data = data

    def facts(self, **question: Any) -> dict[str, Any]:
        """What it says. Raises `Invalid`."""
        return self.of(**question)[0]

    def of(self, **question: Any) -> tuple[dict[str, Any], list[bytes | memoryview]]:
        """What it says, and compressed models; they are of a size that can be read. Raises `Invalid`."""
        facts, blobs = self.files(**question)
        left = limits.LARGEST_ARCHIVE
        for blob in blobs:
            left -= unpacked_size(blob, min(left, limits.LARGEST_MODEL * 4))
        return facts, blobs

    def files(self, **question: Any) -> tuple[dict[str, Any], list[bytes | memoryview]]:
        """What it says, and bytes. Raises `Invalid`."""
        package = int(config()["packages.max_upload_mib"]) << 20
        bounds = {
            "bytes": limits.LARGEST_ARCHIVE,
            "files": MOST_FILES,
            "package": package,
            "parts": MOST_PARTS,
            "all_parts": MOST_ALL_PARTS,
        }
        head = {"op": "environment", "bounds": bounds, **question}
        try:
            told, blobs = pool().ask(self._owner, head, [self._data], SECONDS)
        except Invalid as error:
            raise Invalid(
                Text("the archive cannot be read: {message}", message=reason_of(error.message)), hint=error.hint
            ) from None
        if "invalid" in told:
            refused = decode_messages(told["invalid"])
            raise Invalid(refused["message"], hint=refused["hint"])
        return told, blobs


def _restore(
    caller: Caller,
    name: str,
    own: str,
    states: Mapping[int, bytes | memoryview],
    lock: Lock,
    driver: Any,
) -> None:
    """Makes the environment with its newest state, for which it counts as deployed, and room for the older ones.

    What was only written down stays so; any other ``driver`` would be an archive's word about where servers are made.
    """
    newest = max(states)
    cloud = {"kind": kinds.RECORD} if driver == kinds.RECORD else None
    row = service.insert(caller, own, name, {}, CompressedJSON(states[newest]), cloud)
    State.objects.filter(environment=row).update(number=newest, lock=packages.adopt(own, lock))
    row.version = newest
    row.save(update_fields=["version"])
    older = (len(dumps(CompressedJSON(model))) for number, model in states.items() if number != newest)
    enforcement.check_space(caller.project_id, "states", sum(older))
    record(caller, "environment.import", own, name)


def _restore_older(own: str, states: Mapping[int, bytes | memoryview], locks: _Locks) -> None:
    """The older states, the newest of them first, each on its own: others write in between.

    An import that is killed meanwhile leaves a history that begins later.
    """
    for number in sorted(states, reverse=True)[1:]:
        with transaction.atomic():
            if not Environment.objects.filter(id=own).exists():
                return
            lock = locks.of(number)
            row = None if lock is None else packages.store(lock)
            State.objects.create(environment_id=own, number=number, model=CompressedJSON(states[number]), lock=row)


def _kept_id(id: Any) -> str:
    """The id of an archive for an environment that is new here. Raises `Conflict` where one had it.

    An id opens what is made for it: stacks that were abandoned, queues of agents, tasks. Records of who had it are
    dropped after a while, so that nobody had it cannot be told for good: only whoever may have all of that anyway may
    say it, as the one person of a workspace, or an administrator.
    """
    known = isinstance(id, str) and _ID.fullmatch(id) is not None
    if not known or any(
        rows.exists()
        for rows in (
            Environment.objects.filter(id=id),
            Task.objects.filter(environment_id=id),
            AuditRecord.objects.filter(target_id=id),
        )
    ):
        raise Conflict(
            Text("an environment with the id of the archive is here, or was"), hint=Text("import it with new ids")
        )
    return str(id)


def _is_free(caller: Caller, id: Any) -> bool:
    """Whether an environment can have this id again: the caller's project had it, and nobody has it now.

    An id opens what outlives its environment: tasks with their models and reports, events, stacks that were abandoned,
    queues of agents, whose names hold it in lower case. So whoever says an id must have owned it.
    """
    if not isinstance(id, str) or not _ID.fullmatch(id) or Environment.objects.filter(id=id).exists():
        return False
    begun = AuditRecord.objects.filter(target_id=id, action__in=("environment.create", "environment.import"))
    owners = set(begun.values_list("project_id", flat=True))
    owners |= set(Task.objects.filter(environment_id=id).values_list("project_id", flat=True))
    return owners == {caller.project_id}


class _Locks:
    """The locks of an archive whose packages the project may have: those that came with it, and those it sees.

    Whoever only knows a digest gets nobody's archive by writing it into a lock.
    """

    def __init__(self, caller: Caller, archive: _Archive, numbers: Sequence[int]) -> None:
        facts = archive.facts(want="locks", numbers=numbers) if numbers else {"locks": [], "packages": []}
        read = {text: parse_lock(text) for _, text in facts["locks"]}
        digests = {package.digest for lock in read.values() for package in lock.packages}
        rows = visible(caller, everything=False).filter(digest__in=digests)
        there = set(rows.values_list("fqn", "version", "digest"))
        seen = {digest for _, _, digest in there}
        wanted = sorted(digests.intersection(facts["packages"]) - seen)
        if wanted:
            _, files = archive.files(want="files", paths=[f"packages/{digest}.zip" for digest in wanted])
            enforcement.check_space(caller.project_id, "states", sum(map(len, files)))
            for digest, data in zip(wanted, files, strict=True):
                if blobs.put(data) != digest:
                    raise Invalid(Text("the archive has package {digest} changed", digest=digest))
        # An archive counts for what it is, not for what the lock calls it.
        for package in {package for lock in read.values() for package in lock.packages if package.digest in wanted}:
            if from_blob(caller.project_id, package.name, package.version, package.digest) is not None:
                there.add((package.name, package.version, package.digest))
        self._there = there
        self._by_number = {number: read[text] for number, text in facts["locks"]}
        #: What of them is not taken.
        self.notes: list[str] = []

    def of(self, number: int) -> Lock | None:
        """The lock of a state; None where it has none, or an archive is missing, which is noted."""
        lock = self._by_number.get(number)
        missing = (
            [] if lock is None else [str(p) for p in lock.packages if (p.name, p.version, p.digest) not in self._there]
        )
        if missing:
            names = ", ".join(missing[:10])
            self.notes.append(
                Text("the lock of state {number} was left out: there is no {names}", number=number, names=names)
            )
            return None
        return lock


def _read_packages(caller: Caller, archive: _Archive, listed: Any) -> list[dict[str, str]]:
    """The archive's packages as the project sees them, {fqn, version, digest}; missing ones are imported."""
    used, missing = [], []
    for entry in _listed_packages(listed):
        row = visible(caller, everything=False).filter(fqn=entry["name"], version=entry["version"]).first()
        if row is None:
            missing.append(entry)
        else:
            used.append(_entry(row))
    if missing:
        _, files = archive.files(want="files", paths=[f"packages/{e['digest']}.zip" for e in missing])
        result = import_packages(caller, files)
        rows: list[Package] = list(result.packages)
        used += [_entry(row) for row in rows]
    return used


def _stored_packages(caller: Caller, archive: _Archive, listed: Any) -> list[dict[str, str]]:
    """The archive's packages, {fqn, version, digest}, stored. Raises `Invalid` where one is missing or changed."""
    entries = list(_listed_packages(listed))
    _, files = archive.files(want="files", paths=[f"packages/{e['digest']}.zip" for e in entries])
    used = []
    for entry, data in zip(entries, files, strict=True):
        if blobs.put(data) != entry["digest"]:
            raise Invalid(
                Text("the archive has package {entry} {entry2} changed", entry=entry["name"], entry2=entry["version"])
            )
        used.append({"fqn": entry["name"], "version": entry["version"], "digest": entry["digest"]})
    return used


def _listed_packages(listed: Any) -> Iterator[dict[str, str]]:
    entries = listed if isinstance(listed, list) else []
    if len(entries) > _MOST_PACKAGES:
        raise Invalid(
            Text(
                "environment.json: 'packages' lists {entries:,}, {most_packages} at most",
                entries=len(entries),
                most_packages=_MOST_PACKAGES,
            )
        )
    for entry in entries:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(k), str) for k in ("name", "version", "digest")):
            raise Invalid(Text("environment.json: 'packages' must list objects with name, version and digest"))
        for key in ("name", "version", "digest"):
            limits.writable(entry[key], f"environment.json: '{key}' of a package")
        yield entry


def _entry(row: Any) -> dict[str, str]:
    return {"fqn": row.fqn, "version": row.version, "digest": row.digest}
