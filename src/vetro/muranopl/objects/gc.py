"""The end of objects (SEMANTICS 13): who goes, in which order, and who is told.

`collect` finds objects that nothing refers to although the store keeps them for their ``.destroy``. Locals, private
properties and values of native code all count as references, so the answer comes from CPython's reference counts: an
object with more references than its fellow objects and their containers account for is held from outside.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vetro.muranopl.contracts.runtime import unwrap
from vetro.muranopl.errors import InvalidOperation, MethodNotFound
from vetro.muranopl.objects.placement import held_objects
from vetro.muranopl.objects.serializer import output_plan
from vetro.muranopl.types.murano_object import ALIVE, DESTROYED, MuranoObject, mark_destroyed
from vetro.muranopl.types.views import View
from vetro.yaql.brief import brief
from vetro.yaql.values import FDict, FSet

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import Objects, Runtime


#: ``.destroy`` may make objects that have to go, too; so many rounds of that are played along with.
ROUNDS = 16


class GarbageCollector:
    """Destroys the objects of one session."""

    def __init__(self, session: Runtime) -> None:
        self.session = session
        self._round: set[MuranoObject] = set()

    # -- what package code and the engine ask for ----------------------------------------------------------------------

    def collect(self) -> None:
        """Destroys the objects that nothing refers to. Within a ``.destroy`` it does nothing."""
        if not self._round:
            self.session.scheduler.let_go()
            self.destroy(unreferenced(self.session.store))

    def cleanup(self) -> None:
        """Before a deployment: destroys what only ObjectsCopy has (13.1)."""
        store = self.session.store
        removed, store.removed = store.removed, []
        self.destroy(obj for obj in removed if obj._state == ALIVE)

    def finalize(self) -> None:
        """At the end of a deployment: destroys what the root does not hold in serialised properties (13.1)."""
        store = self.session.store
        for _ in range(ROUNDS):
            kept = reachable(self.session, store.root)
            doomed = [o for o in store if o not in kept and o._state == ALIVE and not o._type.is_meta]
            if not doomed:
                return
            self.destroy(doomed)

    @property
    def destroying(self) -> bool:
        """Whether objects are being destroyed: errors of package code stop nothing then."""
        return bool(self._round)

    def is_doomed(self, obj: Any) -> bool:
        """Whether the object goes, or went, in this round."""
        found = _object(obj)
        return found in self._round or found._state == DESTROYED

    def is_destroyed(self, obj: Any) -> bool:
        """Whether the object is gone."""
        return _object(obj)._state == DESTROYED

    # -- subscriptions -------------------------------------------------------------------------------------------------

    def subscribe(self, publisher: Any, subscriber: Any, handler: str | None = None) -> None:
        """Has ``subscriber.handler(publisher)`` called before the publisher goes; twice is once (13.3).

        Without handler only the order counts. Raises `MethodNotFound` when the subscriber has no such method.
        """
        source, target = _object(publisher), _object(subscriber)
        if handler is not None and target._type.find_method(handler) is None:
            raise MethodNotFound(f"class {target._type.name} has no method '{handler}' to be told of a destruction")
        row = (target._id, handler)
        if source._deps is None:
            source._deps = [row]
        elif row not in source._deps:
            source._deps.append(row)
        self.session.store.pin(source)

    def unsubscribe(self, publisher: Any, subscriber: Any, handler: str | None = None) -> None:
        """Ends a subscription; nothing happens when there is none."""
        source, target = _object(publisher), _object(subscriber)
        if source._deps is not None:
            source._deps = [row for row in source._deps if row != (target._id, handler)] or None

    # -- destruction ---------------------------------------------------------------------------------------------------

    def destroy(self, objects: Iterable[MuranoObject]) -> None:
        """Destroys these objects: tells subscribers, then runs ``.destroy``, owned ones before owners (13.2).

        Errors of package code are logged and otherwise ignored.
        """
        doomed = [obj for obj in objects if obj._state != DESTROYED]
        if not doomed:
            return
        outer = self._round
        self._round = outer | set(doomed)
        try:
            layers = self._layers(doomed)
            for layer in reversed(layers):
                for obj in layer:
                    self._notify(obj)
            for layer in layers:
                for obj in layer:
                    self._run_destructors(obj)
                for obj in layer:
                    mark_destroyed(obj)
                    self.session.store.discard(obj)
                    self.session.attributes.forget(obj._id)
        finally:
            self._round = outer

    def _layers(self, doomed: list[MuranoObject]) -> list[list[MuranoObject]]:
        """Layers in the order of destruction: an object goes before its owner and before its subscribers."""
        mine = set(doomed)
        store = self.session.store
        after: dict[MuranoObject, list[MuranoObject]] = {}
        waits: dict[MuranoObject, int] = dict.fromkeys(doomed, 0)
        for obj in doomed:
            later = []
            owner = obj._owner
            while owner is not None and owner not in mine:
                owner = owner._owner
            if owner is not None:
                later.append(owner)
            for subscriber_id, _ in obj._deps or ():
                subscriber = store.get(subscriber_id)
                if subscriber is not None and subscriber in mine and subscriber is not obj:
                    later.append(subscriber)
            after[obj] = later
            for other in later:
                waits[other] += 1
        layers: list[list[MuranoObject]] = []
        layer = [obj for obj in doomed if not waits[obj]]
        left = iter(doomed)
        while waits:
            if not layer:
                # A circle of subscriptions: the order in it is open, somebody has to begin.
                layer = [next(obj for obj in left if obj in waits)]
            layers.append(layer)
            for obj in layer:
                waits.pop(obj, None)
            following = []
            for obj in layer:
                for other in after[obj]:
                    if other in waits:
                        waits[other] -= 1
                        if not waits[other]:
                            following.append(other)
            layer = following
        return layers

    def _notify(self, publisher: MuranoObject) -> None:
        for subscriber_id, handler in tuple(publisher._deps or ()):
            subscriber = self.session.store.get(subscriber_id)
            if handler is None or subscriber is None or subscriber._state == DESTROYED:
                continue
            try:
                method = subscriber.yaql_method(handler, None)
                if method is not None:
                    method(publisher)
            except Exception as error:
                self.session.warn(f"{subscriber!r} failed when told that {publisher!r} goes: {error}")

    def _run_destructors(self, obj: MuranoObject) -> None:
        for level in obj._type.ancestors:
            method = level.own_methods.get(".destroy")
            if method is not None:
                try:
                    method.invoke(obj)
                except Exception as error:
                    self.session.warn(f"{level.name}::.destroy of {obj!r} failed: {error}")


def _object(value: Any) -> MuranoObject:
    found = unwrap(value)
    if found is None:
        raise InvalidOperation(f"an object is required, got {brief(value)}")
    return found


def reachable(session: Runtime, root: MuranoObject | None) -> set[MuranoObject]:
    """The objects that the root holds in serialised properties, directly or through others."""
    if root is None:
        return set()
    seen = {root}
    work = [root]
    while work:
        obj = work.pop()
        for value in held_objects(obj, output_plan(session, obj._type).properties):
            if value not in seen:
                seen.add(value)
                work.append(value)
    return seen


#: What references lead through from object to object; everything else counts as outside.
_INSIDE = (MuranoObject, View, tuple, dict, FDict, FSet, list)


def unreferenced(store: Objects) -> list[MuranoObject]:
    """Objects of the store that only the store and each other refer to."""
    gc.collect()  # frames that only a traceback in a circle keeps are no references
    kept = {id(obj) for obj in store.pinned()}
    # No name may stay bound to an object below: each binding is a reference that would have to be known.
    nodes: dict[int, Any] = {id(obj): obj for obj in store.pinned()}
    inner: dict[int, int] = dict.fromkeys(nodes, 0)
    work = list(nodes)
    while work:
        for target in gc.get_referents(nodes[work.pop()]):
            if isinstance(target, _INSIDE):
                key = id(target)
                if key in inner:
                    inner[key] += 1
                else:
                    inner[key] = 1
                    nodes[key] = target
                    work.append(key)
    target = None
    held: list[int] = []
    for key in nodes:
        # Known references: the argument of getrefcount, `nodes`, for kept objects the store, and the inner ones.
        if sys.getrefcount(nodes[key]) > 2 + (key in kept) + inner[key]:
            held.append(key)
    alive = set(held)
    while held:
        for target in gc.get_referents(nodes[held.pop()]):
            if id(target) in inner and id(target) not in alive:
                alive.add(id(target))
                held.append(id(target))
    target = None
    return [
        node
        for key, node in nodes.items()
        if key not in alive and isinstance(node, MuranoObject) and node._state == ALIVE and not node._type.is_meta
    ]
