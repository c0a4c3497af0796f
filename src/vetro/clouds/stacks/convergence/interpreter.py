"""Stacks that are worked on, in memory: read, checked, and handed to `convergence` and `removal`, which do the work.

The order follows from who needs whom; independent resources are worked on beside each other. Every step is noted in
the database before and after it is done, so that whoever comes after a death goes on where it ended.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.interface import CloudError
from vetro.clouds.stacks.convergence import quota_needs
from vetro.clouds.stacks.convergence.change_validation import ChangeValidation
from vetro.clouds.stacks.convergence.convergence import Convergence
from vetro.clouds.stacks.convergence.live import LiveStack
from vetro.clouds.stacks.convergence.nested_stacks import InnerStacks
from vetro.clouds.stacks.convergence.removal import Removal
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.state.inventory import Inventory
from vetro.clouds.stacks.state.rows import Rows, StackRow
from vetro.clouds.stacks.templates.limits import Allowance
from vetro.clouds.stacks.types.base import Call
from vetro.clouds.stacks.types.registry import handler_of
from vetro.library.stackdata import Part

#: Stacks that are remembered between pushes.
_REMEMBERED = 256


class StackBroken(CloudError):
    """A stack ended in a failed state; the text is its reason."""

    code = "CLD133"


class Interpreter:
    """Works on stacks. The caller holds the lock of the (outermost) stack."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.rows = Rows(services.database)
        self.nesting = InnerStacks(self)
        self._live: OrderedDict[str, LiveStack] = OrderedDict()
        #: Stacks that are worked on now: resources inside of them ask for them.
        self._working: dict[str, LiveStack] = {}
        self._guard = threading.Lock()

    def things(self, row: StackRow) -> Inventory:
        """The records that a stack sees."""
        return self.services.things(row.region, row.owner.project, row.owner.environment)

    def begin(self, row: StackRow, depth: int = 0) -> LiveStack:
        """A new stack without anything, remembered."""
        return self._remember(LiveStack(row, depth))

    def load(self, row: StackRow, depth: int = 0) -> LiveStack:
        """A stack in memory: as remembered when nobody else changed it since, else read anew."""
        with self._guard:
            live = self._live.get(row.id)
        if live is not None and live.row.generation == row.generation:
            return live
        live = LiveStack(row, depth)
        parts = self.rows.parts(row.id)
        if parts:
            ChangeValidation(live, self.things(row), self.services, stored=True).take(parts, ())
        for state in self.rows.states(row.id):
            if state.old:
                live.old[state.id] = state
            else:
                live.states[state.name] = state
            live.names[state.id] = state.name
            live.place = max(live.place, state.place + 1)
        live.values = self.rows.outputs(row.id)
        if row.status.endswith("_COMPLETE"):
            live.dirty.clear()
            live.dirty_outputs.clear()
        else:  # nobody knows how far the last change came: everything is looked at
            live.dirty.update(dict.fromkeys(live.states))
            live.dirty_outputs.update(dict.fromkeys(live.values))
        return self._remember(live)

    def remembered(self, stack: str) -> LiveStack:
        """The stack in memory that is worked on now."""
        return self._working[stack]

    def depth(self, stack: str) -> int:
        """How many stacks are around a stack."""
        found = self._working.get(stack)
        if found is not None:
            return found.depth
        row = self.rows.by_id(stack)
        return self.depth(row.parent) + 1 if row is not None and row.parent else 0

    def check(self, live: LiveStack, parts: Mapping[Part, Any]) -> None:
        """Checks a template that is not a stack, yet. Raises `TemplateInvalid`."""
        ChangeValidation(live, self.things(live.row), self.services).take(parts, ())
        self._nested(live)

    def _nested(self, live: LiveStack) -> None:
        live.quota_needs.clear()
        self.nesting.check(live)
        quota_needs.plan(live, self.things(live.row))

    def _remember(self, live: LiveStack) -> LiveStack:
        with self._guard:
            self._live[live.row.id] = live
            self._live.move_to_end(live.row.id)
            while len(self._live) > _REMEMBERED:
                self._live.popitem(last=False)
        return live

    def forget(self, stack: str) -> None:
        """A stack in memory is of no use any more."""
        with self._guard:
            self._live.pop(stack, None)

    def stage(self, live: LiveStack, put: Mapping[Part, Any], drop: list[Part]) -> None:
        """Checks a change and takes it into the stack in memory. Raises `TemplateInvalid`; nothing was done then."""
        if live.depth == 0:
            live.allowance = Allowance()
        try:
            ChangeValidation(live, self.things(live.row), self.services).take(put, drop)
            self._nested(live)
        except BaseException:
            self.forget(live.row.id)
            raise

    def converge(self, live: LiveStack, put: Mapping[Part, Any], drop: list[Part], digest: str) -> None:
        """Brings a staged stack to its wanted state.

        Raises `QuotaExceeded`, when nothing was done, and `StackBroken` with the reason; the stack says it, too.
        """
        action = "CREATE" if live.row.generation == 0 else "UPDATE"
        convergence = Convergence(self, live, action)
        reason = self._worked(live, lambda: convergence.run(put, drop, digest))
        if reason:
            raise StackBroken(reason)

    def remove(self, live: LiveStack) -> None:
        """Removes a stack with all it has. Raises `StackBroken`; it stays and can be removed again."""
        row = live.row
        with self.services.database.transaction():
            row.status, row.reason = "DELETE_IN_PROGRESS", ""
            self.rows.save(row)
        reason = self._worked(live, Removal(self, live).all)
        if not reason:
            self.rows.remove(row.id)
            self.forget(row.id)
            return
        with self.services.database.transaction():
            row.status, row.reason = "DELETE_FAILED", reason
            row.updated = max(self.services.clock(), row.updated + 1e-6)
            self.rows.save(row)
        raise StackBroken(reason)

    def _worked(self, live: LiveStack, do: Callable[[], str]) -> str:
        self._working[live.row.id] = live
        try:
            return do()
        except BaseException:
            self.forget(live.row.id)  # broken in the middle: what is in memory may not be what is
            raise
        finally:
            del self._working[live.row.id]

    def call(self, live: LiveStack, name: str, type_name: str, id: str, props: dict[str, Any]) -> Call:
        """The piece of work for one resource."""
        row = live.row
        return Call(
            services=self.services,
            things=self.things(row),
            owner=row.owner,
            region=row.region,
            stack=row.id,
            stack_name=row.name,
            name=name,
            id=id,
            props=props,
            type=type_name,
            nesting=self.nesting,
        )

    def handler(self, type_name: str) -> Any:
        """The handler of a type that was checked before; what is stored may be of an older setting."""
        return handler_of(type_name, inert=True)
