"""`MuranoObject`: the Python side of an object, and what becomes of it when it is destroyed.

Property values are plain attributes (``p_x`` shared, ``q:…`` private); everything the engine keeps about an object
begins with an underscore. Objects compare by identity (SEMANTICS 11.6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.muranopl.errors import ObjectDestroyed
from vetro.muranopl.types.access import Writable, mock_of, read_property, write_object
from vetro.yaql.values import FDict

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, MuranoContext

#: States of an object, in order: properties get their values, ``.init`` runs, usable, gone.
CREATING, INITIALISING, ALIVE, DESTROYED = "creating", "initialising", "alive", "destroyed"

NO_HEADER: Mapping[str, Any] = FDict()


class MuranoObject(Writable):
    """Base of the flat Python classes. Instances are made by the object store, never directly."""

    __slots__ = ("__dict__", "__weakref__", "_deps", "_header", "_id", "_loader", "_name", "_owner", "_state")

    _type: ClassVar[LinkedClass]
    _id: str
    _name: str | None
    _owner: MuranoObject | None
    #: What the header holds besides type, id and name: ``metadata``, designer keys, ``_actions`` (disabled ones).
    _header: Mapping[str, Any]
    #: Subscriptions to this object's destruction: (subscriber's id, handler or None); None when there are none.
    _deps: list[tuple[str, str | None]] | None
    _state: str
    #: The loader that is filling this object in; None from the first ``.init`` on.
    _loader: Any

    def __repr__(self) -> str:
        return f"<{self._type.name} {self._id}>"

    def yaql_attribute(self, name: str, context: Any) -> Any:
        """A property by the access rules of SEMANTICS 5.5. Raises `PropertyReadError`, `UninitializedProperty`."""
        return read_property(self, self._type, name, context)

    def write_property(self, context: MuranoContext, name: str, value: Any) -> None:
        """Sets a property by the access rules of SEMANTICS 5.2. Raises `NoWriteAccess`, `PropertyWriteError`."""
        write_object(context, self, self._type, name, value)

    def yaql_method(self, name: str, context: Any) -> Callable[..., Any] | None:
        """The method ``name`` of the object's class, bound; None where it has none (or an extension method).

        Raises `AmbiguousMethodName` (4.4); the bound method raises `ObjectDestroyed` once the object is gone.
        """
        method = None if name.startswith(".") else self._type.find_method(name)
        if method is None or method.extension:
            return None
        if method.static and method.native is None:
            if self._type.session.mocking:
                mock = mock_of(type(self), name)
                if mock is not None:
                    return mock
            return lambda *args, **kwargs: method.invoke(None, args, kwargs)
        if self._state == DESTROYED and not method.static:
            raise destroyed_error(self, name)
        # The flat class's own attribute, so that a mock put there is what gets called.
        function = getattr(type(self), "m_" + name, None) or method.function
        return lambda *args, **kwargs: method.call(function, self, args, kwargs)


def new_object(
    cls: type[MuranoObject], object_id: str, name: str | None, owner: MuranoObject | None, loader: Any
) -> MuranoObject:
    """A bare object of flat class ``cls`` in state `CREATING`; no property has a value."""
    obj = cls()
    obj._id = object_id
    obj._name = name
    obj._owner = owner
    obj._header = NO_HEADER
    obj._deps = None
    obj._state = CREATING
    obj._loader = loader
    return obj


def owns(owner: Any, obj: MuranoObject) -> bool:
    """Whether ``owner`` owns ``obj`` directly or indirectly. Chains of owners never form a circle."""
    above = obj._owner
    while above is not None:
        if above is owner:
            return True
        above = above._owner
    return False


def destroyed_error(obj: MuranoObject, method: str) -> ObjectDestroyed:
    """The error for calling ``method`` of a destroyed object."""
    return ObjectDestroyed(f"{obj!r} is destroyed, its method '{method}' cannot be called")


def mark_destroyed(obj: MuranoObject) -> None:
    """Ends an object: from now on its methods raise `ObjectDestroyed`; its properties stay readable."""
    cls = type(obj)
    obj._state = DESTROYED
    if "_destroyed_twin" in cls.__dict__ and cls.__dict__["_destroyed_twin"] is cls:
        return
    twin = cls.__dict__.get("_destroyed_twin")
    if twin is None:
        twin = _make_twin(cls)
        cls._destroyed_twin = twin  # type: ignore[attr-defined]
        twin._destroyed_twin = twin
    obj.__class__ = twin


def _make_twin(cls: type[MuranoObject]) -> Any:
    """A class of the same layout whose instance methods raise."""
    body: dict[str, Any] = {"__slots__": ()}
    for name in cls._type.method_names():
        if cls._type.ambiguous(name):
            continue
        method = cls._type.find_method(name)
        if method is not None and not method.static:
            body["m_" + name] = _refusal(name)
    return type(cls.__name__, (cls,), body)


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(self: MuranoObject, *_args: Any, **_kwargs: Any) -> Any:
        raise destroyed_error(self, name)

    return refuse
