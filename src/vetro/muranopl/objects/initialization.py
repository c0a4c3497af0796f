"""How objects get their property values (SEMANTICS 5.6, 6.2, 13.1).

A `Filler` works through a queue of (bare object, values). Classes are filled in from the derived one to the base. What
cannot be resolved yet (a reference to an object that has not been met, a default or check that reads a property
without value) is put aside and tried again after the queue is empty, until nothing moves any more.
"""

from __future__ import annotations

import gc
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from vetro.muranopl.errors import CircularDefaults, ContractViolation, ObjectNotFound, UninitializedProperty
from vetro.muranopl.objects.forward_references import (
    NOT_YET,
    ForwardReference,
    Pending,
    UnfinishedObject,
    definitions_with,
    reason_to_wait,
)
from vetro.muranopl.objects.load_plans import LoadPlan, PropertyPlan, Shape
from vetro.muranopl.objects.violations import holds_definition, nested_violation
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.yaql.values import FROZEN, MISSING, FDict, freeze

if TYPE_CHECKING:
    from vetro.muranopl.objects.registry import ObjectRegistry
    from vetro.muranopl.runtime.protocol import LinkedClass

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())  # silent unless the program that embeds us listens


OPEN, SCALAR, ITEMS = Shape.OPEN, Shape.SCALAR, Shape.ITEMS


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


class Filler(ABC):
    """Fills in the objects of one load. The loader defines the objects and queues them here."""

    store: ObjectRegistry
    parent: Any
    keep_ids: bool
    shadow: bool
    created: list[MuranoObject]
    init_values: dict[MuranoObject, dict[str, Any]]
    local: dict[str, MuranoObject]

    def __init__(self) -> None:
        self.queue: deque[tuple[MuranoObject, Mapping[Any, Any], Fill, int]] = deque()
        #: Objects that have to wait; `waiting` are those of the round that is being tried again.
        self.blocked: list[UnfinishedObject] = []
        self.waiting: list[UnfinishedObject] = []
        #: Templates only: for each object the property paths that are left out.
        self.excluded: dict[MuranoObject, list[list[str]]] | None = None
        self._trail: list[tuple[Any, MuranoObject]] | None = None
        #: Definitions met before the contract got to them, by identity.
        self.ahead: dict[int, tuple[Any, MuranoObject]] = {}
        #: Classes that ObjectsCopy names for objects of the model, where they differ from those they have now; None
        #: where there is no such class any more.
        self.stored_types: dict[MuranoObject, LinkedClass | None] = {}
        self._cursor = 0
        self._property = ""
        self._depth = 0
        self._progress = 0

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
                self.waiting, self.blocked = self.blocked, []
                before = self._progress
                for entry in reversed(self.waiting):
                    self._retry(entry)
                    self._wait(entry)
                self.waiting = []
                if self._progress == before and not self.queue and self.blocked and not self._look_ahead():
                    self._give_up()
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
                if self.shadow:
                    self._undeclared(obj, values, plan)
                if plan.fast_load is not None and plan.fast_load(obj, values, self):
                    continue
                for index, level in enumerate(plan.levels):
                    pending = self._level(obj, values, level)
                    if pending is not None:
                        self._wait(UnfinishedObject(obj, values, plan, depth, index, pending))
                        break
            elif fill is Fill.AGAIN:
                self._values_only(obj, values, plan, depth)
            elif fill is Fill.SHADOW:
                self._shadow(obj, values, plan)
            else:
                self._lenient(obj, values, plan)

    def _wait(self, entry: UnfinishedObject) -> None:
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
        checking: PropertyPlan | None = None
        for plan in level:
            raw: Any = values.get(plan.name, MISSING) if plan.from_model else MISSING
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
                if plan.validators:
                    checking = plan
                    for other in plan.validators:
                        other.validate(value, obj)
            except NOT_YET as error:
                if waiting is None:
                    waiting = []
                trail = None if shape is SCALAR else self._trail
                waiting.append(Pending(plan, raw, trail, reason_to_wait(error)))
            except ContractViolation as error:
                if not plan.runtime or given:
                    self._violated(error, obj, None if checking is plan else plan)
                    if self.shadow and given and shape is not OPEN:
                        self._definitions_in(raw, obj)
            else:
                setattr(obj, plan.attr, value)
        return waiting

    def _retry(self, entry: UnfinishedObject) -> bool:
        """Tries the waiting properties of an object again; True when at least one got its value."""
        obj = entry.obj
        waiting, entry.pending = entry.pending, []
        moved = False
        self._depth = entry.depth
        for pending in waiting:
            plan = pending.plan
            if getattr(obj, plan.attr, MISSING) is not MISSING:
                continue  # a second definition gave the value meanwhile
            checking = False
            self._property = plan.name
            self._trail = pending.trail
            self._cursor = 0
            try:
                if pending.raw is MISSING:
                    pending.raw = plan.prop.default(obj)
                value = plan.transform(pending.raw, obj)
                checking = True
                for other in plan.validators:
                    other.validate(value, obj)
            except NOT_YET as error:
                pending.error = reason_to_wait(error)
                pending.trail = self._trail
                entry.pending.append(pending)
                continue
            except ContractViolation as error:
                if not plan.runtime or plan.name in entry.values:
                    self._violated(error, obj, None if checking else plan)
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
                self._wait(UnfinishedObject(obj, given, plan._replace(levels=levels), depth, index, pending))
                break

    def _shadow(self, obj: MuranoObject, values: Mapping[Any, Any], plan: LoadPlan) -> None:
        """Meets the definitions inside without touching the object; what it had before need not fit any more.

        The values are those of the class that wrote them: a newer one may lack the property that owned objects.
        """
        if obj in self.stored_types:
            stored = self.stored_types[obj]
            if stored is None:
                self._definitions_in([value for name, value in values.items() if name != "?"], obj)
                return
            plan = self.store.plans[stored]
        self._undeclared(obj, values, plan)
        for level in plan.levels:
            for prop in level:
                raw = values.get(prop.name) if prop.from_model else None
                if raw is None or not holds_definition(raw):
                    continue
                self._trail, self._cursor = None, 0
                loading, obj._loader = obj._loader, self
                try:
                    prop.transform(freeze(raw), obj)
                except (ContractViolation, *NOT_YET) as error:
                    log.info("what was in %r.%s no longer fits: %s", obj, prop.name, error)
                    if prop.shape is not OPEN:
                        self._definitions_in(raw, obj)
                finally:
                    obj._loader = loading

    def _undeclared(self, obj: MuranoObject, values: Mapping[Any, Any], plan: LoadPlan) -> None:
        """Meets the definitions in values of ObjectsCopy whose properties the class does not have any more."""
        declared = {prop.name for level in plan.levels for prop in level} | plan.init_arguments
        for name, raw in values.items():
            if name != "?" and name not in declared and holds_definition(raw):
                log.info("%r has no property %s any more: what it owned there is met all the same", obj, name)
                self._definitions_in(raw, obj)

    def _definitions_in(self, raw: Any, owner: MuranoObject) -> None:
        """Meets every definition in a value without a contract that makes objects of them."""
        work = [raw]
        while work:
            item = work.pop()
            if isinstance(item, Mapping):
                if isinstance(item.get("?"), Mapping) and item["?"].get("type") is not None:
                    self.define(item, owner, None, None)
                else:
                    work.extend(reversed(list(item.values())))
            elif isinstance(item, (list, tuple)):
                work.extend(reversed(item))

    def _look_ahead(self) -> bool:
        """Meets the definitions behind a reference to them that holds up their property; True when there were any.

        In ``[a, {'?': {id: a, …}}]`` the contract stops at the first item and never gets to the second.
        """
        met = False
        for entry in self.blocked:
            for pending in entry.pending:
                error = pending.error
                if not isinstance(error, ForwardReference) or error.object_id in self.local:
                    continue
                self._depth, self._property = entry.depth, pending.plan.name
                placed = {id(known) for known, _ in pending.trail or ()}
                for found in definitions_with(pending.raw, error.object_id):
                    if id(found) not in self.ahead and id(found) not in placed:
                        self.ahead[id(found)] = found, self.define(found, entry.obj, None, pending.plan.prop.declaring)
                        met = True
        return met

    @abstractmethod
    def define(self, mapping: Any, owner: Any, default: Any, context: Any) -> MuranoObject:
        """The object of a definition, queued."""

    def _lenient(self, obj: MuranoObject, values: Mapping[Any, Any], plan: LoadPlan) -> None:
        """What a destroyed object still shows: values that fit."""
        for level in plan.levels:
            for prop in level:
                self._trail, self._cursor = None, 0
                try:
                    if prop.from_model and prop.name in values:
                        setattr(obj, prop.attr, prop.transform(freeze(values[prop.name]), obj))
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

    # -- errors --------------------------------------------------------------------------------------------------------

    def _violated(self, error: ContractViolation, obj: MuranoObject, plan: PropertyPlan | None) -> None:
        """A value does not fit: raises the violation, located at the property unless a base class found it (6.6).

        What only ObjectsCopy has is there to be destroyed, and its classes may have changed since: there the property
        stays without value.
        """
        if plan is not None:
            error.located(plan.prop.location)
        if not self.shadow:
            # With the way to the contract's line, which is where people look.
            raise nested_violation(error, obj, self).with_traceback(error.__traceback__) from None
        log.warning("%r, which is to be destroyed, no longer fits its class: %s", obj, error)

    def _give_up(self) -> None:
        error = self._stuck()
        if not self.shadow:
            raise error
        log.warning("objects that are to be destroyed stay incomplete: %s", error)
        blocked, self.blocked = self.blocked, []
        for entry in blocked:
            entry.pending.clear()
            self._wait(entry)

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
