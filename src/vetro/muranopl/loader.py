"""From object definitions to objects (SEMANTICS 5.6, 6.2, 7.7, 11.3).

One `Loader` does one load: a whole model, one ``new(…)``, one definition given to a class contract. It never recurses
into the model. A class contract that meets a definition gets a bare object at once and the definition goes to the
end of a queue; so nesting costs no Python frames, and all objects of one level exist before any of them is filled in.

Whatever cannot be resolved yet (a reference to an object that has not been met, a default or check that reads a
property without value) is put aside and tried again after the queue is empty, until nothing moves any more. Then
``.init`` runs for owned objects before their owners.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from vetro.muranopl.errors import (
    CircularDefaults,
    ContractViolation,
    DeclarationError,
    NestingLimit,
    ObjectNotFound,
    UninitializedProperty,
)
from vetro.muranopl.header import Header, parse_type_text, split
from vetro.muranopl.objects import (
    ALIVE,
    DESTROYED,
    INITIALISING,
    NO_HEADER,
    MuranoObject,
    mark_destroyed,
    new_object,
    owns,
)
from vetro.muranopl.plans import LoadPlan, PropertyPlan, Shape
from vetro.muranopl.violations import holds_definition, nested_violation
from vetro.yaql.values import FROZEN, MISSING, FDict, freeze

if TYPE_CHECKING:
    from vetro.muranopl.store import ObjectStore
    from vetro.muranopl.types import MuranoType


class ForwardReference(ObjectNotFound):
    """An id that no definition has introduced so far; final when the load ends without it."""


class MissingType(DeclarationError):
    """A definition that names no class where the contract gives none."""

    code = "MPL105"


OPEN, SCALAR, ITEMS = Shape.OPEN, Shape.SCALAR, Shape.ITEMS

#: What compiled code raises when it meets something that may still come; an unset slot is an `AttributeError`.
NOT_YET = (UninitializedProperty, ForwardReference, AttributeError)


def reason_to_wait(error: Exception) -> Exception:
    """``error`` as the reason why a property has to wait; raised again when it is none."""
    from vetro.muranopl.exceptions import translate

    better = translate(error)
    if isinstance(better, (UninitializedProperty, ForwardReference)):
        return better
    raise error


class Fill(Enum):
    """What happens with the values of a definition."""

    #: A new object: every property gets a value.
    FULL = 0
    #: Met again: the values given replace those met before (11.3).
    AGAIN = 1
    #: ObjectsCopy of an object that the model still has: only the definitions inside count.
    SHADOW = 2
    #: The model says that it is destroyed: what is given is kept where it fits.
    GONE = 3


class Entry:
    """An object whose properties are not all set: what is left to do for it."""

    __slots__ = ("depth", "level", "obj", "pending", "plan", "values")

    def __init__(
        self,
        obj: MuranoObject,
        values: Mapping[Any, Any],
        plan: LoadPlan,
        depth: int,
        level: int,
        pending: list[Pending],
    ) -> None:
        self.obj = obj
        self.values = values
        self.plan = plan
        self.depth = depth
        self.level = level
        self.pending = pending


class Pending:
    """One property that waits for others: its raw value once known, and the objects its definitions became."""

    __slots__ = ("error", "plan", "raw", "trail")

    def __init__(self, plan: PropertyPlan, raw: Any, trail: list[tuple[Any, MuranoObject]] | None, error: Exception):
        self.plan = plan
        self.raw = raw
        self.trail = trail
        self.error = error


class Loader:
    """One load. ``keep_ids`` is for models; elsewhere ids in definitions only connect them with each other."""

    def __init__(self, store: ObjectStore, *, keep_ids: bool, shadow: bool = False, parent: Loader | None = None):
        self.store = store
        self.session = store.session
        self.keep_ids = keep_ids
        #: Definitions of objects that the store already has only lead to further definitions (ObjectsCopy).
        self.shadow = shadow
        #: The load during which this one was started; its objects can be referred to.
        self.parent = parent
        self.local: dict[str, MuranoObject] = {}
        self.created: list[MuranoObject] = []
        self.queue: deque[tuple[MuranoObject, Mapping[Any, Any], Fill, int]] = deque()
        self.blocked: list[Entry] = []
        self.init_values: dict[MuranoObject, dict[str, Any]] = {}
        self.gone: list[MuranoObject] = []
        self.needs_init = False
        #: Templates only: for each object the property paths that are left out.
        self.excluded: dict[MuranoObject, list[list[str]]] | None = None
        self._trail: list[tuple[Any, MuranoObject]] | None = None
        self._cursor = 0
        self._property = ""
        self._depth = 0
        self._progress = 0
        self._types: dict[str, MuranoType] = store.header_types
        self._max_depth: int = store.session.rt.limits.max_object_nesting

    # -- definitions and references ------------------------------------------------------------------------------------

    def define(
        self, mapping: Mapping[Any, Any], owner: MuranoObject | None, default: MuranoType | None, context: Any
    ) -> MuranoObject:
        """The object of a definition; its properties are filled in later. Raises `MissingType`, `ClassNotFound`."""
        raw = mapping.get("?")
        if raw is not None and len(raw) == 2:
            # Most headers are just a type and an id.
            written, given = raw.get("type"), raw.get("id")
            if written.__class__ is str and given.__class__ is str and given:
                type_ = self._types.get(written)
                if type_ is None:
                    type_ = self._types[written] = self.session.type_for(*parse_type_text(written))
                return self._bare(type_, given, None, mapping, owner)
        header, values = split(self.session, mapping, context)
        type_ = header.type or default
        if type_ is None:
            raise MissingType("an object definition must name its class", hint="add a '?' header with 'type'")
        return self.allocate(type_, header, values, owner)

    def allocate(
        self, type_: MuranoType, header: Header, values: Mapping[Any, Any], owner: MuranoObject | None
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
        type_: MuranoType,
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
        if given is not None and self.keep_ids:
            known = local.get(given)
            if known is not None:
                return self._again(known, type_, values, owner, depth)
            if self.shadow:
                known = self.store.get(given)
                if known is not None:
                    self.queue.append((known, values, Fill.SHADOW, depth))
                    return known
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

    def _again(
        self, known: MuranoObject, type_: MuranoType, values: Mapping[Any, Any], owner: MuranoObject | None, depth: int
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

    def place(self, mapping: Mapping[Any, Any], owner: MuranoObject, default: MuranoType, context: Any) -> MuranoObject:
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
        obj = self.define(mapping, owner, default, context)
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
                raise ForwardReference(f"there is no object with id '{object_id}'")
        return found

    # -- the load ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Fills in everything that was defined and runs ``.init``. Nothing is in the store when it raises before."""
        self.fill()
        self.publish()
        if self.needs_init:
            self.initialise()

    def fill(self) -> None:
        """Gives every property its value. Raises what contracts and defaults raise, and `CircularDefaults`."""
        # A load makes many objects and no garbage: the cyclic collector would only walk them again and again.
        pause = len(self.queue) > 0 and self.keep_ids and gc.isenabled()
        if pause:
            gc.disable()
        try:
            while True:
                self._drain()
                if not self.blocked:
                    return
                waiting, self.blocked = self.blocked, []
                before = self._progress
                for entry in reversed(waiting):
                    self._retry(entry)
                    self._wait(entry)
                if self._progress == before and not self.queue and self.blocked:
                    raise self._stuck()
        finally:
            if pause:
                gc.enable()

    def _drain(self) -> None:
        queue = self.queue
        pop = queue.popleft
        plans = self.store.plans
        while queue:
            obj, values, fill, depth = pop()
            self._depth = depth
            plan = plans[obj._type]
            if self.excluded is not None:
                plan = self._without_excluded(obj, plan)
            if fill is Fill.FULL:
                if plan.fast_load is not None and plan.fast_load(obj, values, self):
                    continue
                for index, level in enumerate(plan.levels):
                    pending = self._level(obj, values, level)
                    if pending is not None:
                        self._wait(Entry(obj, values, plan, depth, index, pending))
                        break
            elif fill is Fill.AGAIN:
                self._values_only(obj, values, plan, depth)
            elif fill is Fill.SHADOW:
                self._shadow(obj, values, plan)
            else:
                self._lenient(obj, values, plan)

    def _wait(self, entry: Entry) -> None:
        """Goes on with an object some of whose properties have to wait, as far as that is possible now.

        A default that waits holds up the classes below it; a value that waits does not (5.6: a derived default cannot
        read a base property).
        """
        levels = entry.plan.levels
        while True:
            while any(isinstance(p.error, UninitializedProperty) for p in entry.pending) and self._retry(entry):
                pass
            if any(p.raw is MISSING for p in entry.pending):
                break
            entry.level += 1
            if entry.level >= len(levels):
                break
            more = self._level(entry.obj, entry.values, levels[entry.level])
            if more is not None:
                entry.pending.extend(more)
        if entry.pending or entry.level < len(levels):
            self.blocked.append(entry)

    def _level(
        self, obj: MuranoObject, values: Mapping[Any, Any], level: tuple[PropertyPlan, ...]
    ) -> list[Pending] | None:
        """The properties that one class declares; those that have to wait, None when all got their values."""
        waiting: list[Pending] | None = None
        for plan in level:
            raw = values.get(plan.name, MISSING) if plan.from_model else MISSING
            given = raw is not MISSING
            shape = plan.shape
            if shape is not SCALAR:
                self._property = plan.name
                self._trail = None
                self._cursor = 0
            try:
                if given:
                    cls = raw.__class__
                    if cls not in FROZEN:
                        if shape is OPEN:
                            raw = freeze(raw)
                        elif shape is ITEMS:
                            raw = tuple(raw) if cls is list else FDict(raw) if cls is dict else freeze(raw)
                elif plan.has_default:
                    raw = plan.constant
                    if raw is MISSING:
                        raw = plan.prop.default(obj)
                elif plan.runtime:
                    continue
                else:
                    raw = None
                value = plan.transform(raw, obj)
                for other in plan.validators:
                    other.validate(value, obj)
            except NOT_YET as error:
                if waiting is None:
                    waiting = []
                waiting.append(Pending(plan, raw, self._trail, reason_to_wait(error)))
            except ContractViolation as error:
                if not plan.runtime or given:
                    raise self._nested(error.located(plan.prop.location), obj) from None
            else:
                setattr(obj, plan.attr, value)
        return waiting

    def _retry(self, entry: Entry) -> bool:
        """Tries the waiting properties of an object again; True when at least one got its value."""
        obj = entry.obj
        waiting, entry.pending = entry.pending, []
        moved = False
        self._depth = entry.depth
        for pending in waiting:
            plan = pending.plan
            if getattr(obj, plan.attr, MISSING) is not MISSING:
                continue  # a second definition gave the value meanwhile
            self._property = plan.name
            self._trail = pending.trail
            self._cursor = 0
            try:
                if pending.raw is MISSING:
                    pending.raw = plan.prop.default(obj)
                value = plan.transform(pending.raw, obj)
                for other in plan.validators:
                    other.validate(value, obj)
            except NOT_YET as error:
                pending.error = reason_to_wait(error)
                pending.trail = self._trail
                entry.pending.append(pending)
                continue
            except ContractViolation as error:
                if not plan.runtime or plan.name in entry.values:
                    raise self._nested(error.located(plan.prop.location), obj) from None
            else:
                setattr(obj, plan.attr, value)
            moved = True
            self._progress += 1
        return moved

    def _values_only(self, obj: MuranoObject, values: Mapping[Any, Any], plan: LoadPlan, depth: int) -> None:
        """A definition met again: only what it gives."""
        for level in plan.levels:
            for prop in level:
                if prop.from_model and prop.name in values and hasattr(obj, prop.attr):
                    delattr(obj, prop.attr)
        given = {n: v for n, v in values.items() if n != "?"}
        levels = tuple(tuple(p for p in level if p.from_model and p.name in given) for level in plan.levels)
        if plan.init_arguments:
            known = self.init_values.setdefault(obj, {})
            known.update({n: given[n] for n in plan.init_arguments if n in given})
        for index, level in enumerate(levels):
            pending = self._level(obj, given, level)
            if pending is not None:
                self._wait(Entry(obj, given, plan._replace(levels=levels), depth, index, pending))
                break

    def _shadow(self, obj: MuranoObject, values: Mapping[Any, Any], plan: LoadPlan) -> None:
        """Meets the definitions inside without touching the object; what it had before need not fit any more."""
        for level in plan.levels:
            for prop in level:
                raw = values.get(prop.name) if prop.from_model else None
                if raw is None or not holds_definition(raw):
                    continue
                self._trail, self._cursor = None, 0
                loading, obj._loader = obj._loader, self
                try:
                    prop.prop.apply(freeze(raw), obj)
                except NOT_YET as error:
                    reason_to_wait(error)
                finally:
                    obj._loader = loading

    def _lenient(self, obj: MuranoObject, values: Mapping[Any, Any], plan: LoadPlan) -> None:
        """What a destroyed object still shows: values that fit."""
        for level in plan.levels:
            for prop in level:
                self._trail, self._cursor = None, 0
                try:
                    if prop.from_model and prop.name in values:
                        setattr(obj, prop.attr, prop.prop.apply(freeze(values[prop.name]), obj))
                except ContractViolation:
                    pass
                except NOT_YET as error:
                    reason_to_wait(error)

    def _without_excluded(self, obj: MuranoObject, plan: LoadPlan) -> LoadPlan:
        assert self.excluded is not None
        names = {path[0] for path in self.excluded.get(obj, ()) if len(path) == 1}
        if not names:
            return plan
        return plan._replace(levels=tuple(tuple(p for p in level if p.name not in names) for level in plan.levels))

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

    # -- errors --------------------------------------------------------------------------------------------------------

    def _nested(self, error: ContractViolation, obj: MuranoObject) -> ContractViolation:
        return nested_violation(error, obj, self)

    def _stuck(self) -> Exception:
        """Why nothing moves any more (6.2, 5.6)."""
        waiting = [(entry, pending) for entry in self.blocked for pending in entry.pending]
        place = {obj: index for index, obj in enumerate(self.created)}
        waiting.sort(key=lambda pair: place.get(pair[0].obj, 0))
        for _, pending in waiting:
            if isinstance(pending.error, ForwardReference):
                # Inside another load the object may still come.
                return pending.error if self.parent is not None else ObjectNotFound(pending.error.message)
        circular = [(entry, pending) for entry, pending in waiting if pending.raw is MISSING]
        if not circular:
            return waiting[0][1].error
        first = circular[0][0].obj
        names = ", ".join(f"'{p.plan.name}'" for entry, p in circular if entry.obj is first)
        return CircularDefaults(
            f"defaults of {names} in {first!r} cannot be resolved: {circular[0][1].error}",
            position=circular[0][1].plan.prop.decl.position,
            hint="a default may read properties of the same class or of derived ones, never in a circle",
        )
