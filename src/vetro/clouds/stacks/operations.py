"""Stacks as owners see them: read, push, delete (`vetro.clouds.interface.Cloud`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from vetro.clouds.drivers.values import Name, ValueInvalid, short
from vetro.clouds.interface import (
    CloudError,
    Owner,
    PowerAction,
    StackChange,
    StackFailed,
    StackState,
    StaleStack,
    Taken,
    TemplateInvalid,
)
from vetro.clouds.stacks.convergence import restart
from vetro.clouds.stacks.convergence.interpreter import Interpreter, StackBroken
from vetro.clouds.stacks.convergence.live import LiveStack
from vetro.clouds.stacks.default_networks import ensure_defaults
from vetro.clouds.stacks.listing import region_named
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.snapshots import EnvironmentSnapshots
from vetro.clouds.stacks.state.inventory import fixed_id
from vetro.clouds.stacks.state.locks import StackLocks
from vetro.clouds.stacks.state.rows import StackRow, State
from vetro.clouds.stacks.state.snapshot_rows import named_by_another, refuse_unfinished
from vetro.library.stackdata import EMPTY, Part, changed_digest, whole_of


class Stacks:
    """All stacks of a directory."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.interpreter = Interpreter(services)
        self._locks = StackLocks(None if services.directory is None else services.directory / "locks", services.waits)
        self.snapshots = EnvironmentSnapshots(services, self._locks, self.interpreter.forget)

    def read(self, owner: Owner, region: str, name: str, *, settled: bool) -> StackState | None:
        """See `Cloud.read_stack`."""
        region = region_named(self.services.settings, region)
        rows = self.interpreter.rows
        if settled:
            row = self._own(owner, region, name)
            if row is None:
                return None
            with self._locks.held(owner, region, name):
                return self._checked(self._read(owner, region, name), row.id)
        with rows.database.transaction():
            return self._read(owner, region, name)

    def _read(self, owner: Owner, region: str, name: str) -> StackState | None:
        row = self._own(owner, region, name)
        if row is None:
            return None
        rows = self.interpreter.rows
        template, values, _, _ = whole_of(rows.parts(row.id))
        return _state(row, template=template, parameters=values, outputs=rows.outputs(row.id))

    def _checked(self, state: StackState | None, stack: str) -> StackState | None:
        """A stack whose servers do not all run has failed its check, as Heat calls it: pushing it starts them again."""
        if state is not None and state.status.endswith("_COMPLETE"):
            gone = restart.ended(self.services, stack)
            if gone:
                return replace(state, status="CHECK_FAILED", reason=restart.words(gone))
        return state

    def heal(self, owner: Owner) -> list[str]:
        """Starts the servers of all stacks of an environment that ended by themselves; their names."""
        started = []
        for row in self.interpreter.rows.of_owner(owner):
            with self._operating(owner, row.region, row.name):
                gone = restart.ended(self.services, row.id)
                restart.start_again(self.services, gone)
                started += [str(server["name"]) for server in gone]
        return started

    def power(self, owner: Owner, server: str, action: PowerAction) -> None:
        """See `vetro.clouds.interface.Power.power`."""
        row, item = restart.found(self.services, owner, server)
        with self._operating(owner, row.region, row.name):
            restart.switch(self.services, item, action)

    @contextlib.contextmanager
    def _operating(self, owner: Owner, region: str, name: str) -> Iterator[None]:
        """Waits for the lock of a stack and holds it. Raises `Conflict` while a snapshot is being made or restored."""
        with self._locks.held(owner, region, name):
            refuse_unfinished(self.services.database, owner)
            yield

    def _own(self, owner: Owner, region: str, name: str) -> StackRow | None:
        row = self.interpreter.rows.find(owner.project, region, name)
        return row if row is not None and row.owner.environment == owner.environment else None

    def list(self, owner: Owner) -> Sequence[StackState]:
        """See `Cloud.stacks`."""
        rows = self.interpreter.rows
        return [_state(row, outputs=rows.outputs(row.id)) for row in rows.of_owner(owner)]

    def resources_of(self, owner: Owner) -> dict[tuple[str, str], Sequence[State]]:
        """See `StackCloud.resources_of`."""
        rows = self.interpreter.rows
        return {
            (row.region, row.name): [state for state in rows.states(row.id) if not state.old]
            for row in rows.of_owner(owner)
        }

    def push(self, owner: Owner, region: str, name: str, change: StackChange) -> StackState:
        """See `Cloud.push_stack`. The answer is without template and parameters: its cost follows the change."""
        region = region_named(self.services.settings, region)
        if not name:
            raise TemplateInvalid("a stack needs a name")
        try:
            Name(name)
        except ValueInvalid as error:
            raise TemplateInvalid(f"a stack cannot have the name {short(name)}: {error}") from None
        ensure_defaults(self.services.database, self.services.settings, region, owner.project)
        with self._operating(owner, region, name):
            row = self.interpreter.rows.find(owner.project, region, name)
            taken = row is None and named_by_another(self.services.database, owner, region, name)
            if taken or (row is not None and row.owner.environment != owner.environment):
                raise Taken(f"there is a stack '{name}' of another environment in this project; use another name")
            if row is None:
                if change.base not in (None, EMPTY):
                    raise StaleStack(f"there is no stack '{name}'")
                row = StackRow(_stack_id(owner, region, name), owner, region, name, "", "", "", EMPTY, 0.0, 0.0)
                live = self.interpreter.begin(row)
            elif row.status.startswith("DELETE"):
                # A deletion that failed or died comes first; then the stack is made anew.
                self._remove(row)
                if change.base not in (None, EMPTY):
                    raise StaleStack(f"the stack '{name}' was deleted")
                row = StackRow(_stack_id(owner, region, name), owner, region, name, "", "", "", EMPTY, 0.0, 0.0)
                live = self.interpreter.begin(row)
            else:
                if row.digest == change.digest and row.status.endswith("_COMPLETE"):
                    live = self.interpreter.load(row)
                    restart.start_again(self.services, restart.ended(self.services, row.id))
                    return _state(row, outputs=dict(live.values))
                if change.base is not None and row.digest not in (change.base, change.digest):
                    raise StaleStack(f"the stack '{name}' is in another state")
                live = self.interpreter.load(row)
            return self._bring(live, change)

    def _bring(self, live: LiveStack, change: StackChange) -> StackState:
        row = live.row
        if row.generation:
            restart.await_answer(self.services, row.id)
        put: dict[Part, Any] = {}
        drop: list[Part] = []
        if row.digest != change.digest or row.generation == 0:
            put, drop = _difference(live, change)
            old = [(part, _there(live, part)) for part in [*put, *drop] if _has(live, part)]
            if changed_digest(row.digest, old, put.items()) != change.digest:
                self.interpreter.forget(row.id)
                raise TemplateInvalid(
                    f"the digest of the change of stack '{row.name}' is not that of its content; send the whole"
                )
        self.interpreter.stage(live, put, drop)
        gone = restart.ended(self.services, row.id) if row.generation else []
        with contextlib.suppress(CloudError):  # one that does not start may be about to be replaced or removed
            restart.start_again(self.services, gone)
        try:
            self.interpreter.converge(live, put, drop, change.digest)
        except StackBroken as error:
            raise StackFailed(f"stack '{row.name}' is in state {row.status}: {error}") from None
        if gone:
            restart.start_again(self.services, restart.ended(self.services, row.id))
        return _state(row, outputs=dict(live.values))

    def delete(self, owner: Owner, region: str, name: str) -> None:
        """See `Cloud.delete_stack`."""
        region = region_named(self.services.settings, region)
        if self._own(owner, region, name) is None:
            return
        with self._operating(owner, region, name):
            row = self._own(owner, region, name)
            if row is not None:
                self._remove(row)
                self._locks.remove(owner.project, region, name)

    def _remove(self, row: StackRow) -> None:
        try:
            live = self.interpreter.load(row)
            self.interpreter.remove(live)
        except StackBroken as error:
            raise StackFailed(f"stack '{row.name}' is in state DELETE_FAILED: {error}") from None


def _has(live: LiveStack, part: Part) -> bool:
    return part[1] in live.sections.get(part[0], {})


def _there(live: LiveStack, part: Part) -> Any:
    return live.sections[part[0]][part[1]]


def _difference(live: LiveStack, change: StackChange) -> tuple[dict[Part, Any], list[Part]]:
    """What really changes; a whole is compared with what is there."""
    sent: dict[Part, Any] = {}
    for item in change.put:
        if len(item) != 3 or not isinstance(item[0], str) or not isinstance(item[1], str):
            raise TemplateInvalid("every item of 'put' must be [section, key, value]")
        sent[item[0], item[1]] = item[2]
    for part in change.drop:
        if len(part) != 2 or not all(isinstance(name, str) for name in part):
            raise TemplateInvalid("every item of 'drop' must be [section, key]")
    put = {part: value for part, value in sent.items() if not _has(live, part) or _there(live, part) != value}
    if change.base is None:
        return put, [part for part, _ in live.parts() if part not in sent]
    return put, [
        (section, key) for section, key in change.drop if _has(live, (section, key)) and (section, key) not in sent
    ]


def _state(row: StackRow, **more: Any) -> StackState:
    return StackState(
        row.name,
        row.region,
        row.status,
        row.reason,
        row.digest,
        created=row.created,
        updated=row.updated,
        **more,
    )


def _stack_id(owner: Owner, region: str, name: str) -> str:
    """Ids follow from names, so that repeated runs of a task end in the same model, byte for byte."""
    return fixed_id("stack", owner.project, owner.environment, region, name)
