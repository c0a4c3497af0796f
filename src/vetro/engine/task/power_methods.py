"""`PowerMethods`: what authors want done before servers of their components stop, and after they have started.

Methods with ``io.vetro.lifecycle.Power``. They have the deployed model, and a deadline that the task's answers tell: a
task that goes on in another process comes to the same end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vetro.clouds.interface import NotAvailable
from vetro.diagnostics import Text
from vetro.engine.failure import describe
from vetro.engine.task.lifecycle_meta import lifecycle_meta
from vetro.engine.task.pipe_effects import Disconnected
from vetro.model.environment import applications_of
from vetro.model.header import id_of, label_of
from vetro.model.tree import objects
from vetro.muranopl.session import Session
from vetro.yaql.errors import Cancelled, Stop

#: Seconds of one method.
SECONDS = 120.0
#: Effects that change what no state of the environment tells.
_LASTING = frozenset({"stack.push", "stack.delete", "server.power", "workflow"})
_LONGEST = 500


class PowerMethods:
    """``root``: the environment, as it is deployed. Raises what loading ``model`` raises."""

    def __init__(self, session: Session, model: Mapping[str, Any]) -> None:
        self._session = session
        session.load(model)
        #: Component -> (its name, ids of its objects).
        self._parts = {
            str(id_of(item)): (label_of(item), [str(id_of(obj)) for obj in objects(item) if id_of(obj)])
            for item in applications_of(model.get("Objects"))
        }
        self._known: dict[str, dict[str, list[str]]] = {}

    def methods(self, component: str, event: str) -> Iterator[tuple[str, str]]:
        """(Id of the object, method) of what is called on ``event``: start, stop, or restart, where those for
        ``stop`` stand for what an object has none of."""
        for id in self._parts.get(component, ("", []))[1]:
            obj = self._session.store.get(id)
            if obj is None:
                continue
            declared = self._declared(obj._type)
            names = declared.get(event) or (declared.get("stop") if event == "restart" else None) or ()
            yield from ((id, name) for name in names)

    def call(self, component: str, id: str, method: str) -> Text | None:
        """Calls one; why it failed, None: it did not."""
        session = self._session
        try:
            session.guard = guard = _Deadline(session, method)
            try:
                session.call(method, object_id=id, public_only=False)
            finally:
                session.finish()  # what it has put off is its own, too
            guard.check()
        except (Disconnected, SystemExit, MemoryError, Cancelled):
            raise
        except (Exception, Stop) as error:
            if isinstance(error, Stop):
                session.rt.pardon()
            why = str(session.redaction.data(str(describe(error).get("message") or "")))[:_LONGEST]
            label = self._parts[component][0]
            return Text("method '{method}' of '{label}' failed: {why}", method=method, label=label, why=why)
        finally:
            session.guard = None
        return None

    def _declared(self, type_: Any) -> dict[str, list[str]]:
        found = self._known.get(type_.qualified)
        if found is None:
            found = self._known[type_.qualified] = {}
            for name, method in type_.methods.items():
                for values in lifecycle_meta(self._session, method, "Power"):
                    found.setdefault(str(values["on"]), []).append(name)
        return found


class _Deadline:
    """The guard of one method: effects that last are refused, others end in time."""

    def __init__(self, session: Session, method: str) -> None:
        self._session = session
        self._method = method
        self._until = self._now() + SECONDS

    def __call__(self, kind: str, args: dict[str, Any]) -> dict[str, Any]:
        if kind in _LASTING:
            raise NotAvailable(Text("a method that is called when servers are switched changes no stacks"))
        if kind not in ("sleep", "agent.call"):
            return args
        left, name = self.check(), "seconds" if kind == "sleep" else "timeout"
        return {**args, name: min(float(args[name]), left)}

    def check(self) -> float:
        """The seconds that are left. Raises `NotAvailable` when there are none."""
        left = self._until - self._now()
        if left <= 0:
            raise NotAvailable(Text("it did not end within {seconds:g} seconds", seconds=SECONDS))
        return left

    def _now(self) -> float:
        return float(self._session.perform("clock", {}))
