"""One run that brings a stack to its wanted state: what is kept, changed, replaced (`_usable`) or made, and when."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vetro.clouds.drivers.base import NotingDriver
from vetro.clouds.interface import CloudError
from vetro.clouds.stacks import reservations
from vetro.clouds.stacks.convergence.live import LiveStack
from vetro.clouds.stacks.convergence.quota_needs import fresh_id, needs_of
from vetro.clouds.stacks.convergence.removal import Removal, failed_text
from vetro.clouds.stacks.convergence.schedule import Job, work
from vetro.clouds.stacks.convergence.scope import LiveScope
from vetro.clouds.stacks.state.batch import Collecting
from vetro.clouds.stacks.state.rows import State
from vetro.clouds.stacks.state.snapshot_rows import refuse_unfinished
from vetro.clouds.stacks.templates.functions import Unknown, resolve, truth
from vetro.clouds.stacks.templates.graph import closure
from vetro.clouds.stacks.types.base import Call, ResourceType, checked
from vetro.library.stackdata import Part

if TYPE_CHECKING:
    from vetro.clouds.stacks.convergence.protocol import StackInterpreter


class Convergence:
    """Makes and changes resources in order, removes what is left over, evaluates outputs."""

    def __init__(self, interpreter: StackInterpreter, live: LiveStack, action: str) -> None:
        self.interpreter = interpreter
        self.live = live
        self.action = action
        self.rows = interpreter.rows
        self.database = interpreter.services.database
        driver = interpreter.services.driver
        notes = driver if isinstance(driver, NotingDriver) and driver.instant else None
        #: Collects what only writes records; it is settled before anything else is done.
        self._changes = Collecting(self.database, notes)
        self._ended = True

    def run(self, put: Mapping[Part, Any], drop: list[Part], digest: str) -> str:
        """The reason of the failure, or ''. The stack's row says how it ended.

        Raises `QuotaExceeded`: nothing was begun.
        """
        self._changes.begin()
        try:
            self._start(put, drop, digest)
            return self._run()
        finally:
            self._changes.settle()

    def _start(self, put: Mapping[Part, Any], drop: list[Part], digest: str) -> None:
        row, now = self.live.row, self.interpreter.services.clock()
        refuse_unfinished(self.database, row.owner)  # from here on who makes a snapshot sees the stack, and waits
        self._reserve(self.live.quota_needs)
        # Whoever came to no end before left what he had reserved.
        self._ended = row.generation == 0 or row.status.endswith("_COMPLETE")
        row.status, row.reason, row.digest = f"{self.action}_IN_PROGRESS", "", digest
        row.created = row.created or now
        # Times must differ between two updates, however quick they are.
        row.updated = max(now, row.updated + 1e-6) if row.updated else now
        self.rows.save(row)
        self.rows.change_parts(row.id, put, drop)

    def _run(self) -> str:
        live = self.live
        self._set_aside()
        todo = [name for name in live.dirty if live.enabled(name)]
        live.dirty.clear()
        live.dirty.update(dict.fromkeys(todo))
        nodes = closure(todo, lambda name: (user for user in live.dependents(name) if live.enabled(user)))
        needs = {name: live.needs(name) & nodes for name in nodes}
        ordered = [*todo, *sorted(nodes.difference(todo))]
        failures = work(
            ordered,
            needs,
            self._begin,
            first=lambda name: self.interpreter.handler(live.types[name]).driven,
            idle=self._changes.settle,
            parallel=self.parallel(),
        )
        reason = ""
        if failures:
            name, error = next(iter(failures.items()))
            reason = failed_text(self.action, name, error)
        elif live.old:
            self._changes.settle()
            reason = Removal(self.interpreter, live).old(self.action)
        self._changes.begin()
        self._outputs()
        row = live.row
        if reason or not self._ended:
            reservations.forget(self.database, live.row.id)
        else:
            reservations.give_back_unmade(self.database, live.quota_needs.keys() - live.names.keys())
        row.status = f"{self.action}_{'FAILED' if reason else 'COMPLETE'}"
        row.reason = reason or f"Stack {self.action} completed successfully"
        row.updated = max(self.interpreter.services.clock(), row.updated + 1e-6)
        self.rows.save(row)
        return reason

    def _reserve(self, needs: Mapping[str, Mapping[str, int]]) -> None:
        row = self.live.row
        with self.database.transaction():
            reservations.reserve(self.database, self.interpreter.services.quotas, row.owner.project, row.id, needs)

    def parallel(self) -> int:
        """Threads for this stack: fewer the deeper it is, so that nested ones do not multiply."""
        return max(1, self.interpreter.services.settings.parallel >> (2 * self.live.depth))

    def _set_aside(self) -> None:
        """What is not wanted any more will be removed at the end."""
        live = self.live
        gone = [name for name in live.dirty if name in live.states and not live.enabled(name)]
        if not gone:
            return
        with self.database.transaction():
            for name in gone:
                self._age(live.states.pop(name))

    def _age(self, state: State) -> None:
        state.old = True
        self.live.old[state.id] = state
        self.rows.save_state(self.live.row.id, state)

    def _begin(self, name: str) -> Job | None:
        """What has to be done about a resource. Raises `CloudError`."""
        live = self.live
        if name not in live.dirty:
            return None
        type_name = live.types[name]
        handler: ResourceType = self.interpreter.handler(type_name)
        state = live.states.get(name)
        try:
            props = self._properties(name, handler)
        except CloudError as error:
            self._failed(state or self._state(name, type_name, {}), error, "UPDATE" if state else "CREATE")
            raise
        requires = tuple(sorted(live.needs(name)))
        policy = live.definitions[name].deletion_policy
        if state is not None and self._usable(state, type_name, handler, props):
            if state.status == "CREATE_IN_PROGRESS" or (state.status == "CREATE_FAILED" and handler.resumes):
                state.properties, state.requires, state.policy = props, requires, policy
                return self._job(state, handler, props, None)
            # Stacks inside look for themselves: files or the environment may have changed, too.
            changed = state.properties != props or handler.resumes
            if changed or state.status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
                old, state.requires, state.policy = state.properties, requires, policy
                return self._job(state, handler, props, old)
            if (state.requires, state.policy) != (requires, policy):
                state.requires, state.policy = requires, policy
                self.rows.save_state(live.row.id, state)
            live.dirty.pop(name, None)
            return None
        if state is not None:
            self._retire(state, handler)
        fresh = self._state(name, type_name, props)
        fresh.requires, fresh.policy = requires, policy
        return self._job(fresh, handler, props, None)

    def _usable(self, state: State, type_name: str, handler: ResourceType, props: dict[str, Any]) -> bool:
        """Whether the resource can become what is wanted; otherwise it is replaced."""
        if state.type != type_name:
            return False
        if state.status == "CREATE_IN_PROGRESS":  # its process died: making it again with this id leads there
            return handler.resumes or state.properties == props
        if state.status == "CREATE_FAILED":
            return handler.resumes
        if state.status.startswith("DELETE_"):
            return False
        return state.properties == props or not handler.replaces(state.properties, props)

    def _state(self, name: str, type_name: str, props: dict[str, Any]) -> State:
        """A resource that is to be made. Its id follows from stack and name: repeated runs end in the same model."""
        live = self.live
        live.place += 1
        return State(fresh_id(live, name), name, type_name, properties=props, place=live.place)

    def _retire(self, state: State, handler: ResourceType) -> None:
        """Its successor gets what only one can have; it is removed when all others point to the successor."""
        live = self.live
        live.states.pop(state.name, None)
        self._age(state)
        self._changes.settle()
        handler.retire(self._call(state, state.properties))

    def _call(self, state: State, props: dict[str, Any]) -> Call:
        call = self.interpreter.call(self.live, state.name, state.type, state.id, copy.copy(props))
        call.data = dict(state.data)
        definition = self.live.definitions.get(state.name)
        call.metadata = definition.metadata if definition else None
        return call

    def _properties(self, name: str, handler: ResourceType) -> dict[str, Any]:
        live = self.live
        definition, scope = live.definitions[name], LiveScope(self.interpreter, live)
        values: dict[str, Any] = {}
        for key, raw in definition.properties.items():
            try:
                values[key] = resolve(raw, scope)
            except Unknown:  # a resource that this one needs has failed before
                raise CloudError(f"properties.{key}: it needs a resource that is not there") from None
            except CloudError as error:
                raise type(error)(f"properties.{key}: {error}") from None
        known = values.keys() | set(handler.properties)
        return checked(live.types[name], handler, values, self.interpreter.things(live.row), known=known)

    def _job(self, state: State, handler: ResourceType, props: dict[str, Any], old: dict[str, Any] | None) -> Job:
        """Making a resource (``old`` is None) or changing it."""
        live, services, stack = self.live, self.interpreter.services, self.live.row.id
        action = "CREATE" if old is None else "UPDATE"
        call = self._call(state, props)

        def settle() -> None:
            if call.alone:
                call.alone = False
                state.status, state.reason = f"{action}_IN_PROGRESS", ""
                self.rows.save_state(stack, state)
            self._changes.settle()

        call.settle = settle
        # Nobody else knows a fresh id, so nobody who waits for the database holds its lock.
        keeps = handler.settles and old is None and not state.status
        inline = keeps and self._changes.notes
        call.alone = inline
        live.states[state.name] = state
        live.names[state.id] = state.name
        needs = needs_of(state.type, props, call.things)

        def run() -> None:
            if not (handler.driven or inline):
                made()
                return
            with call.told(handler.awaited(call, action)):
                made()

        def made() -> None:
            now = services.clock()
            state.created, state.updated = state.created or now, now
            try:
                if needs and live.quota_needs.get(state.id) != needs:  # the template alone did not tell
                    self._reserve({state.id: needs})
                if old is None and handler.plain:
                    self._changes.begin()
                    with self.database.transaction():
                        handler.create(call)
                    self._done(state, call, props, action)
                    return
                if inline:
                    self._changes.note()
                    handler.create(call)
                    self._done(state, call, props, action)
                    return
                if not keeps:
                    self._changes.settle()
                state.status, state.reason = f"{action}_IN_PROGRESS", ""
                self.rows.save_state(stack, state)
                if old is None:
                    handler.create(call)
                else:
                    handler.update(call, old)
                self._done(state, call, props, action)
                if needs and old is not None:
                    reservations.lower(self.database, state.id, needs)
            except (CloudError, OSError) as error:
                state.data = call.data
                self._failed(state, error, action)
                raise

        def finish() -> None:
            live.dirty.pop(state.name, None)
            live.changed(state.name, reference=old is None)
            for id in call.touched:
                if id in live.names:
                    for kind, user in live.users.of(("attr", live.names[id])):
                        if kind == "output":
                            live.dirty_outputs[user] = None

        return Job(run, finish, handler.driven and not inline)

    def _done(self, state: State, call: Call, props: dict[str, Any], action: str) -> None:
        self._changes.begin()
        state.status, state.reason = f"{action}_COMPLETE", ""
        state.properties, state.data = props, call.data
        self.rows.save_state(self.live.row.id, state)

    def _failed(self, state: State, error: Exception, action: str) -> None:
        state.status, state.reason = f"{action}_FAILED", str(error)
        self.live.states[state.name] = state
        self.live.names[state.id] = state.name
        self.rows.save_state(self.live.row.id, state)

    def _outputs(self) -> None:
        """Evaluates the outputs that may have changed; what cannot be resolved is null."""
        live = self.live
        put: dict[str, Any] = {}
        drop: list[str] = []
        for key in live.dirty_outputs:
            definition = live.outputs.get(key)
            scope = LiveScope(self.interpreter, live)
            try:
                value = None
                if definition is not None and definition.condition is not None:
                    definition = definition if truth(definition.condition, scope, "condition") else None
                if definition is not None:
                    value = resolve(definition.value, scope)
            except (CloudError, Unknown):
                pass
            if definition is None:
                if live.values.pop(key, put) is not put:
                    drop.append(key)
            elif key not in live.values or live.values[key] != value:
                live.values[key] = put[key] = value
        if put or drop:
            with self.database.transaction():
                self.rows.change_outputs(live.row.id, put, drop)
        live.dirty_outputs.clear()
