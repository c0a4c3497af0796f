"""`ObjectRegistry`: the objects of a session, by id and by owner (SEMANTICS 11.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from vetro.muranopl.contracts.runtime import accepts
from vetro.muranopl.errors import ObjectNotFound
from vetro.muranopl.objects.load_plans import LoadPlan, load_plan
from vetro.muranopl.types.murano_object import DESTROYED, MuranoObject

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, Runtime


class _Plans(dict[Any, LoadPlan]):
    """Load plans by class, made when first asked for."""

    def __missing__(self, type_: LinkedClass) -> LoadPlan:
        plan = self[type_] = load_plan(type_)
        return plan


class ObjectRegistry:
    """All objects that exist or, destroyed, can still be named.

    Objects made at run time whose classes have no ``.destroy`` are held weakly: nobody can notice when they go, so
    they go when nothing refers to them any more, without waiting for a collection.
    """

    def __init__(self, session: Runtime) -> None:
        self.session = session
        self.plans = _Plans()
        #: Classes of headers that say no more than ``type``, by its text.
        self.header_types: dict[str, LinkedClass] = {}
        #: Kept for the serialiser: what it writes of the objects of a class.
        self.output_plans: dict[Any, Any] = {}
        self.reference_plans: dict[Any, frozenset[str]] = {}
        #: The root of the model; None when the model has no Objects.
        self.root: MuranoObject | None = None
        #: Objects that only ObjectsCopy has: the clean-up before a deployment destroys them (13.1).
        self.removed: list[MuranoObject] = []
        self._objects: dict[str, MuranoObject] = {}
        self._weak: WeakValueDictionary[str, MuranoObject] = WeakValueDictionary()

    def restart(self) -> None:
        """Forgets all objects; what was worked out of classes stays."""
        self.header_types.clear()
        self.root = None
        self.removed = []
        self._objects = {}
        self._weak = WeakValueDictionary()

    # -- contents ------------------------------------------------------------------------------------------------------

    def plan(self, type_: LinkedClass) -> LoadPlan:
        """The load plan of a class."""
        return self.plans[type_]

    def add(self, obj: MuranoObject) -> None:
        """Keeps an object until it is destroyed."""
        self._objects[obj._id] = obj

    def add_new(self, obj: MuranoObject) -> None:
        """Keeps an object that was made at run time: weakly when its end needs no attention."""
        if self.plans[obj._type].has_destructor:
            self._objects[obj._id] = obj
        else:
            self._weak[obj._id] = obj

    def pin(self, obj: MuranoObject) -> None:
        """Keeps an object whose end now does need attention (somebody subscribed to it)."""
        if self._weak.pop(obj._id, None) is not None:
            self._objects[obj._id] = obj

    def discard(self, obj: MuranoObject) -> None:
        """Forgets an object."""
        if self._objects.get(obj._id) is obj:
            del self._objects[obj._id]
        elif self._weak.get(obj._id) is obj:
            del self._weak[obj._id]

    def get(self, object_id: str) -> MuranoObject | None:
        """The object with that id, None when there is none."""
        found = self._objects.get(object_id)
        return self._weak.get(object_id) if found is None else found

    def require(self, object_id: str) -> MuranoObject:
        """The object with that id. Raises `ObjectNotFound`."""
        found = self.get(object_id)
        if found is None:
            raise ObjectNotFound(f"there is no object with id '{object_id}'")
        return found

    def __iter__(self) -> Iterator[MuranoObject]:
        yield from tuple(self._objects.values())
        yield from tuple(self._weak.values())

    def pinned(self) -> Iterable[MuranoObject]:
        """The objects that the store itself keeps from going."""
        return self._objects.values()

    def __len__(self) -> int:
        return len(self._objects) + len(self._weak)

    def is_alive(self, object_id: str) -> bool:
        """Whether the object exists and is not destroyed."""
        found = self.get(object_id)
        return found is not None and found._state != DESTROYED

    # -- owners --------------------------------------------------------------------------------------------------------

    def find_owner(
        self, obj: MuranoObject, type_: LinkedClass, required: bool = False, package: Any = None
    ) -> MuranoObject | None:
        """The nearest owner of ``obj`` that is of the class; destroyed ones do not count (11.2).

        With ``package`` (that of the asking code) every version it may use counts as the class. None when there is
        no such owner; with ``required`` raises `ObjectNotFound` instead.
        """
        owner = obj._owner
        while owner is not None:
            if owner._state != DESTROYED and accepts(owner, type_, None, package):
                return owner
            owner = owner._owner
        if required:
            raise ObjectNotFound(f"{obj!r} has no owner of class {type_.name}")
        return None
