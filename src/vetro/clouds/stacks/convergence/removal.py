"""Removes resources: what was made from others goes before them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from typing import TYPE_CHECKING

from vetro.clouds.interface import CloudError
from vetro.clouds.stacks.convergence.live import LiveStack
from vetro.clouds.stacks.convergence.schedule import Job, work
from vetro.clouds.stacks.state.rows import State

if TYPE_CHECKING:
    from vetro.clouds.stacks.convergence.protocol import StackInterpreter


def failed_text(action: str, name: str, error: Exception) -> str:
    """The reason of a stack whose resource failed, in the words of Heat."""
    return f"Resource {action} failed: {type(error).__name__}: resources.{name}: {error}"


class Removal:
    """Removes what is old in a stack, or everything."""

    def __init__(self, interpreter: StackInterpreter, live: LiveStack) -> None:
        self.interpreter = interpreter
        self.live = live

    def old(self, action: str) -> str:
        """Removes what is not wanted any more; the reason of the failure, or ''."""
        return self._remove(list(self.live.old.values()), action)

    def all(self) -> str:
        """Removes everything; the reason of the failure, or ''."""
        return self._remove([*self.live.old.values(), *self.live.states.values()], "DELETE")

    def _remove(self, states: Collection[State], action: str) -> str:
        live, services = self.live, self.interpreter.services
        by_id = {state.id: state for state in sorted(states, key=lambda state: state.place, reverse=True)}
        by_name: dict[str, list[str]] = {}
        for state in by_id.values():
            by_name.setdefault(state.name, []).append(state.id)
        # A resource is removed after all that were made from it.
        needs: dict[str, set[str]] = {id: set() for id in by_id}
        for state in by_id.values():
            for required in state.requires:
                for id in by_name.get(required, ()):
                    if id != state.id:
                        needs[id].add(state.id)
        self._cut_circles(needs)
        handlers = {state.id: self.interpreter.handler(state.type) for state in states}
        failures = work(
            list(by_id),
            needs,
            lambda id: self._job(by_id[id]),
            first=lambda id: handlers[id].driven,
            idle=lambda: None,
            parallel=max(1, services.settings.parallel >> (2 * live.depth)),
        )
        for id, error in failures.items():
            return failed_text(action, by_id[id].name, error)
        return ""

    def _cut_circles(self, needs: dict[str, set[str]]) -> None:
        """Old and new resources may need each other in a circle after renamings: the youngest of it goes first."""
        following: dict[str, list[str]] = {}
        for id, needed in needs.items():
            for one in needed:
                following.setdefault(one, []).append(id)
        pending = {id: len(needed) for id, needed in needs.items()}
        free = [id for id, count in pending.items() if not count]
        left = dict.fromkeys(needs)  # from the youngest to the oldest
        while left:
            if not free:
                first = next(iter(left))
                needs[first] = {id for id in needs[first] if id not in left}
                free.append(first)
            id = free.pop()
            if id not in left:
                continue
            del left[id]
            for after in following.get(id, ()):
                pending[after] -= 1
                if not pending[after]:
                    free.append(after)

    def _job(self, state: State) -> Job:
        live, interpreter = self.live, self.interpreter
        call = interpreter.call(live, state.name, state.type, state.id, dict(state.properties))
        call.data = dict(state.data)
        handler = interpreter.handler(state.type)

        def run() -> None:
            try:
                if state.policy != "retain" and not (state.status == "CREATE_FAILED" and not state.properties):
                    state.status, state.updated = "DELETE_IN_PROGRESS", interpreter.services.clock()
                    interpreter.rows.save_state(live.row.id, state)
                    with call.told(handler.awaited(call, "DELETE")) if handler.driven else nullcontext():
                        handler.delete(call)
                interpreter.rows.drop_state(live.row.id, state.id)
            except (CloudError, OSError) as error:
                state.status, state.reason = "DELETE_FAILED", str(error)
                interpreter.rows.save_state(live.row.id, state)
                raise

        def finish() -> None:
            live.old.pop(state.id, None)
            live.names.pop(state.id, None)
            if live.states.get(state.name) is state:
                del live.states[state.name]
            for id in call.touched:
                if id in live.names:
                    live.changed(live.names[id], reference=False)

        return Job(run, finish, handler.driven)
