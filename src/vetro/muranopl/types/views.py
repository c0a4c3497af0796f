"""Views: an object seen as one of its ancestor classes (SEMANTICS 4.6), as `super` and `cast` give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vetro.muranopl.types.access import Writable, read_property

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, MuranoContext
    from vetro.muranopl.types.murano_object import MuranoObject


class View(Writable):
    """``_object`` with the members of ``_type`` only. Not equal to the object; equal to the same view of it."""

    __slots__ = ("_object", "_type")

    def __init__(self, obj: MuranoObject, of: LinkedClass) -> None:
        self._object = obj
        self._type = of

    @property
    def _id(self) -> str:
        return self._object._id

    @property
    def _name(self) -> str | None:
        return self._object._name

    @property
    def _owner(self) -> MuranoObject | None:
        return self._object._owner

    @property
    def _header(self) -> Any:
        return self._object._header

    @property
    def _state(self) -> str:
        return self._object._state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and other._object is self._object and other._type.key == self._type.key

    def __hash__(self) -> int:
        return hash((id(self._object), self._type.key))

    def __repr__(self) -> str:
        return f"<{self._type.name} view of {self._object!r}>"

    def __getattr__(self, name: str) -> Any:
        # Generated code calls methods as attributes ``m_x`` and reads properties as ``p_x``.
        if name.startswith("m_"):
            method = self._type.find_method(name[2:])
            if method is not None and not method.extension:
                this = method.declaring.type_object if method.static else self._object
                return method.function.__get__(this)
        elif name.startswith("p_") and self._type.find_property(name[2:]) is not None:
            return getattr(self._object, name)
        raise AttributeError(f"{self!r} has no attribute {name!r}", name=name, obj=self)

    def yaql_attribute(self, name: str, context: Any) -> Any:
        """A property of the view's class."""
        return read_property(self._object, self._type, name, context)

    def write_property(self, context: MuranoContext, name: str, value: Any) -> None:
        """Sets a property of the whole object."""
        self._object.write_property(context, name, value)

    def yaql_method(self, name: str, context: Any) -> Callable[..., Any] | None:
        """A method as the view's class has it; it runs with ``$this`` = the whole object."""
        method = self._type.find_method(name)
        if method is None or method.extension:
            return None
        return lambda *args, **kwargs: method.invoke(self._object, args, kwargs)
