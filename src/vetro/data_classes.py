"""`dataclass` for modules that every process loads: that of `dataclasses`, made in a third of the time.

Python compiles six functions for a frozen class, each from a text of its own, which was a third of importing the
language. Here it compiles ``__init__`` alone, and the others are shared. The type checker sees the original, so
``frozen`` is what it holds: at run time nothing tests it. What plug-ins make (`vetro.clouds.interface` and the like)
are data classes of Python's (docs/decisions/0051-data-classes-and-versions-of-our-own.md).
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
        eq: bool = True,
        order: bool = False,
    ) -> Any:
        """See `dataclasses.dataclass`. Those with other options are made by that one."""
        if cls is None:
            return lambda it: dataclass(it, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq, order=order)
        if not cls.__doc__:
            cls.__doc__ = cls.__name__  # the original would write the signature there, which takes as long as all else
        own = cls.__dict__
        hashed = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
        # What extends a frozen class of Python's has to be one.
        strict = frozen and any(_is_frozen(base) for base in cls.__mro__[1:])
        made = dataclasses.dataclass(cls, slots=slots, kw_only=kw_only, frozen=strict, eq=False, repr=False)
        if "__repr__" not in own:
            made.__repr__ = _shown
        if not eq:
            return made
        key = _key(made)
        if "__eq__" not in own:
            made.__eq__ = _equality(key)
        if not hashed:
            made.__hash__ = (lambda self: hash(key(self))) if frozen else None
        for name in ("__lt__", "__le__", "__gt__", "__ge__") if order else ():
            setattr(made, name, _comparison(key, getattr(operator, name)))
        return made


def _is_frozen(cls: type) -> bool:
    found = cls.__dict__.get("__dataclass_params__")
    return found is not None and bool(found.frozen)


def _key(cls: type) -> Callable[[Any], tuple[Any, ...]]:
    """What is compared of an instance."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda it: tuple([getattr(it, name) for name in names])


def _equality(key: Callable[[Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda self, other: key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented


def _comparison(key: Callable[[Any], Any], compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda self, other: compare(key(self), key(other)) if other.__class__ is self.__class__ else NotImplemented


def _shown(self: Any) -> str:
    parts = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"
