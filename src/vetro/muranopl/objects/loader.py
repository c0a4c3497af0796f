"""From object definitions to objects (SEMANTICS 5.6, 6.2, 7.7, 11.3).

One `Loader` does one load: a whole model, one ``new(…)``, one definition given to a class contract. It never recurses
into the model. A class contract that meets a definition gets a bare object at once and the definition goes to the
end of a queue; so nesting costs no Python frames, and all objects of one level exist before any of them is filled in.

`initialization.py` gives the properties their values. Then ``.init`` runs for owned objects before their owners.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vetro.model.header import parse_type_text
from vetro.muranopl.errors import ClassNotFound, DeclarationError, NestingLimit, PackageNotFound
from vetro.muranopl.objects.forward_references import ForwardReference
from vetro.muranopl.objects.header import Header, split
from vetro.muranopl.objects.initialization import Fill, Filler
from vetro.muranopl.types.murano_object import (
    ALIVE,
    DESTROYED,
    INITIALISING,
    NO_HEADER,
    MuranoObject,
    mark_destroyed,
    new_object,
    owns,
)
from vetro.yaql.values import FDict, freeze

if TYPE_CHECKING:
    from vetro.muranopl.objects.registry import ObjectRegistry
    from vetro.muranopl.runtime.protocol import LinkedClass


class MissingType(DeclarationError):
    """A definition that names no class where the contract gives none."""

    code = "MPL105"


class Loader(Filler):
    """One load. ``keep_ids`` is for models; elsewhere ids in definitions only connect them with each other."""

    def __init__(self, store: ObjectRegistry, *, keep_ids: bool, shadow: bool = False, parent: Loader | None = None):
        super().__init__()
        self.store = store
        self.session = store.session
        self.keep_ids = keep_ids
        #: Definitions of objects that the store already has only lead to further definitions (ObjectsCopy).
        self.shadow = shadow
        #: The load during which this one was started; its objects can be referred to.
        self.parent = parent
        self.local: dict[str, MuranoObject] = {}
        self.created: list[MuranoObject] = []
        self.init_values: dict[MuranoObject, dict[str, Any]] = {}
        self.gone: list[MuranoObject] = []
        self.needs_init = False
        self._types: dict[str, LinkedClass] = store.header_types
        self._max_depth: int = store.session.rt.limits.max_object_nesting

    # -- definitions and references ------------------------------------------------------------------------------------

    def define(
        self, mapping: Mapping[Any, Any], owner: MuranoObject | None, default: LinkedClass | None, context: Any
    ) -> MuranoObject:
        """The object of a definition; its properties are filled in later. Raises `MissingType`, `ClassNotFound`."""
        raw = mapping.get("?")
        try:
            if (raw.__class__ is dict or raw.__class__ is FDict) and len(raw) == 2:
                # Most headers are just a type and an id.
                written, given = raw.get("type"), raw.get("id")
                if written.__class__ is str and given.__class__ is str and given:
                    type_ = self._types.get(written)
                    if type_ is None:
                        type_ = self._types[written] = self.session.type_for(*parse_type_text(written))
                    return self._bare(type_, given, None, mapping, owner)
            header, values = split(self.session, mapping, context)
        except (ClassNotFound, PackageNotFound):
            # What ObjectsCopy says of an object of the model matters for what is inside only, whatever class it had.
            known = self.store.get(str(raw.get("id"))) if self.shadow and isinstance(raw, Mapping) else None
            if known is None:
                raise
            return self._shadowed(known, None, mapping, self._depth + 1)
        type_ = header.type or default
        if type_ is None:
            raise MissingType("an object definition must name its class", hint="add a '?' header with 'type'")
        return self.allocate(type_, header, values, owner)

    def allocate(
        self, type_: LinkedClass, header: Header, values: Mapping[Any, Any], owner: MuranoObject | None
    ) -> MuranoObject:
        """A bare object, queued to be filled in from ``values``; the known one when the id was met before."""
        obj = self._bare(type_, header.id, header.name, values, owner, header.destroyed)
        if obj._loader is self:
            if header.name is not None:
                obj._name = header.name
            if header.kept is not NO_HEADER:
                obj._header = header.kept
            if header.subscriptions is not None:
                obj._deps = header.subscriptions
        return obj

    def _bare(
        self,
        type_: LinkedClass,
        given: str | None,
        name: str | None,
        values: Mapping[Any, Any],
        owner: MuranoObject | None,
        destroyed: bool = False,
    ) -> MuranoObject:
        depth = self._depth + 1
        if depth > self._max_depth:
            raise NestingLimit(f"objects are nested deeper than {self._max_depth} levels")
        local = self.local
        if given is not None:
            known = local.get(given)
            if known is not None:
                return self._again(known, type_, values, owner, depth)
            if self.shadow:
                known = self.store.get(given)
                if known is not None:
                    return self._shadowed(known, type_, values, depth)
        plan = self.store.plans[type_]
        kept = given if given is not None and self.keep_ids else self.session.new_id()
        obj = new_object(plan.pyclass, kept, name, owner, self)
        local[given or kept] = obj
        self.created.append(obj)
        if plan.has_init and not destroyed:
            self.needs_init = True
            if plan.init_arguments:
                self.init_values[obj] = {n: values[n] for n in plan.init_arguments if n in values}
        if self.excluded is not None and owner is not None:
            paths = self.excluded.get(owner, ())
            self.excluded[obj] = [path[1:] for path in paths if len(path) > 1 and path[0] == self._property]
        if destroyed:
            self.gone.append(obj)
        self.queue.append((obj, values, Fill.GONE if destroyed else Fill.FULL, depth))
        return obj

    def _shadowed(
        self, known: MuranoObject, type_: LinkedClass | None, values: Mapping[Any, Any], depth: int
    ) -> MuranoObject:
        if known._type is not type_:
            self.stored_types[known] = type_
        self.queue.append((known, values, Fill.SHADOW, depth))
        return known

    def _again(
        self, known: MuranoObject, type_: LinkedClass, values: Mapping[Any, Any], owner: MuranoObject | None, depth: int
    ) -> MuranoObject:
        if known._type is not type_:
            raise DeclarationError(
                f"object '{known._id}' is defined as {known._type.name} and as {type_.name}",
                hint="an id may stand for one object only",
            )
        # An object that is defined again inside itself keeps its owner: owners never form a circle.
        if owner is not known._owner and owner is not known and not (owner is not None and owns(known, owner)):
            known._owner = owner
        self.queue.append((known, values, Fill.AGAIN, depth))
        return known

    def place(
        self, mapping: Mapping[Any, Any], owner: MuranoObject, default: LinkedClass, context: Any
    ) -> MuranoObject:
        """`define` for a contract that is being applied: a second attempt gets the object of the first."""
        trail = self._trail
        if trail is None:
            trail = self._trail = []
        index = self._cursor
        self._cursor += 1
        if index < len(trail):
            if trail[index][0] is mapping:
                return trail[index][1]
            self._forget(trail, index)
        met = self.ahead.pop(id(mapping), None) if self.ahead else None
        obj = self.define(mapping, owner, default, context) if met is None else met[1]
        trail.append((mapping, obj))
        return obj

    def _forget(self, trail: list[tuple[Any, MuranoObject]], index: int) -> None:
        """The contract went another way this time: objects of the first way never were."""
        dropped = {obj for _, obj in trail[index:]}
        del trail[index:]
        self.created = [o for o in self.created if o not in dropped]
        self.queue = deque(item for item in self.queue if item[0] not in dropped)
        self.blocked = [entry for entry in self.blocked if entry.obj not in dropped]
        self.local = {k: o for k, o in self.local.items() if o not in dropped}

    def find(self, object_id: str) -> MuranoObject:
        """The object that text under a class contract names. Raises `ForwardReference` while it is unknown."""
        found = self.local.get(object_id)
        loader = self.parent
        while found is None and loader is not None:
            found = loader.local.get(object_id)
            loader = loader.parent
        if found is None:
            found = self.store.get(object_id)
            if found is None:
                raise ForwardReference(object_id)
        return found

    # -- the load ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Fills in everything that was defined and runs ``.init``. Nothing is in the store when it raises before."""
        self.fill()
        self.publish()
        if self.needs_init:
            self.initialise()

    # -- the end -------------------------------------------------------------------------------------------------------

    def publish(self) -> None:
        """Makes the objects known to the store; they are usable from now on."""
        add = self.store.add if self.keep_ids else self.store.add_new
        state = INITIALISING if self.needs_init else ALIVE
        for obj in self.created:
            obj._loader = None
            obj._state = state
            add(obj)
        for obj in self.gone:
            mark_destroyed(obj)

    def initialise(self) -> None:
        """Runs ``.init``, owned objects before their owner, in the order of their definitions (7.7)."""
        try:
            for obj in self._post_order():
                if obj._state == DESTROYED:
                    continue
                if self.store.plans[obj._type].has_init:
                    values = self.init_values.get(obj)
                    self.session.call_init(obj, {} if values is None else freeze(values))
                obj._state = ALIVE
        except BaseException:
            for obj in self.created:
                self.store.discard(obj)
            raise

    def _post_order(self) -> list[MuranoObject]:
        mine = set(self.created)
        children: dict[MuranoObject, list[MuranoObject]] = {}
        roots: list[MuranoObject] = []
        for obj in self.created:
            owner = obj._owner
            if owner is not None and owner in mine:
                children.setdefault(owner, []).append(obj)
            else:
                roots.append(obj)
        order: list[MuranoObject] = []
        # Pre-order with siblings from the last to the first, read backwards, is post-order in order.
        stack = roots
        while stack:
            obj = stack.pop()
            order.append(obj)
            stack.extend(children.get(obj, ()))
        order.reverse()
        return order
