"""`ObjectStore`: the objects of a session, by id and by owner (SEMANTICS 11.2, 11.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from vetro.muranopl.contracts.runtime import accepts
from vetro.muranopl.errors import DeclarationError, ObjectNotFound
from vetro.muranopl.objects.header import NOTHING, split
from vetro.muranopl.objects.load_plans import LoadPlan, load_plan
from vetro.muranopl.objects.loader import Loader
from vetro.muranopl.objects.murano_object import DESTROYED, MuranoObject

if TYPE_CHECKING:
    from vetro.muranopl.runtime.session import Session
    from vetro.muranopl.types.murano_type import MuranoType


class _Plans(dict[Any, LoadPlan]):
    """Load plans by class, made when first asked for."""

    def __missing__(self, type_: MuranoType) -> LoadPlan:
        plan = self[type_] = load_plan(type_)
        return plan


class ObjectStore:
    """All objects that exist or, destroyed, can still be named.

    Objects made at run time whose classes have no ``.destroy`` are held weakly: nobody can notice when they go, so
    they go when nothing refers to them any more, without waiting for a collection.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.plans = _Plans()
        #: Classes of headers that say no more than ``type``, by its text.
        self.header_types: dict[str, MuranoType] = {}
        #: Kept for the serialiser: what it writes of the objects of a class.
        self.output_plans: dict[Any, Any] = {}
        self.reference_plans: dict[Any, frozenset[str]] = {}
        #: The root of the model; None when the model has no Objects.
        self.root: MuranoObject | None = None
        #: Objects that only ObjectsCopy has: the clean-up before a deployment destroys them (13.1).
        self.removed: list[MuranoObject] = []
        self._objects: dict[str, MuranoObject] = {}
        self._weak: WeakValueDictionary[str, MuranoObject] = WeakValueDictionary()

    # -- contents ------------------------------------------------------------------------------------------------------

    def plan(self, type_: MuranoType) -> LoadPlan:
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
        self, obj: MuranoObject, type_: MuranoType, required: bool = False, package: Any = None
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

    # -- making objects ------------------------------------------------------------------------------------------------

    def load_model(self, model: Mapping[str, Any]) -> MuranoObject | None:
        """Loads Objects, ObjectsCopy and Attributes of a model; the root object, None without Objects (11.1, 13.1).

        Raises what contracts, defaults and ``.init`` raise; the store is not to be used after that.
        """
        rows = model.get("Attributes") or ()
        if not isinstance(rows, (list, tuple)):
            raise DeclarationError("Attributes of a model must be a list of rows [id, class, name, value]")
        self.session.attributes.load(rows)
        objects = model.get("Objects")
        if objects is not None:
            self.root = self._load_tree(objects, shadow=False)
        copy = model.get("ObjectsCopy")
        if copy is not None:
            self._load_tree(copy, shadow=True)
        return self.root

    def _load_tree(self, tree: Any, *, shadow: bool) -> MuranoObject:
        if not isinstance(tree, Mapping):
            raise DeclarationError("the root of an object model must be a mapping")
        loader = Loader(self, keep_ids=True, shadow=shadow)
        root = loader.define(tree, None, None, None)
        loader.run()
        if shadow:
            self.removed.extend(loader.created)
        return root

    def create(
        self,
        type_: MuranoType,
        properties: Mapping[str, Any],
        owner: MuranoObject | None = None,
        name: str | None = None,
        header: Mapping[Any, Any] | None = None,
        keep_id: bool = False,
    ) -> MuranoObject:
        """A new object with property values (unknown ones are ignored), initialised.

        ``header`` may give metadata and designer keys; its id counts with ``keep_id`` only. Raises what contracts,
        defaults and ``.init`` raise; then nothing of the object stays.
        """
        loader = Loader(self, keep_ids=keep_id, parent=None if owner is None else owner._loader)
        parsed = NOTHING
        if header is not None:
            parsed = split(self.session, {"?": header}, None)[0]
        if name is not None:
            parsed = parsed._replace(name=name)
        return self._finish(loader, loader.allocate(type_, parsed, properties, owner))

    def from_mapping(
        self,
        mapping: Mapping[Any, Any],
        default_type: MuranoType | None,
        owner: MuranoObject | None,
        context_type: MuranoType | None,
    ) -> MuranoObject:
        """The object of a definition met at run time; ids in it are not kept (11.3).

        ``context_type`` is the class whose code or contract holds the definition. Raises `MissingType` without a
        class, and as `create` does.
        """
        loader = Loader(self, keep_ids=False, parent=None if owner is None else owner._loader)
        return self._finish(loader, loader.define(mapping, owner, default_type, context_type))

    @staticmethod
    def _finish(loader: Loader, obj: MuranoObject) -> MuranoObject:
        loader.run()
        return obj
