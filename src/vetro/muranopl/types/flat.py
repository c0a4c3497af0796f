"""The flat Python class of a MuranoPL class.

One class per linked class, with a slot for each declared property, ``m_x`` for each method by MuranoPL's look-up rule
and ``set_x``/``add_x`` holding the whole chain of contracts and usages of a property. Python's inheritance plays no
part; a mock is a plain ``setattr``. Methods are compiled when first called, by a function that
stands in their place until then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vetro.muranopl.contracts.model import ContractList
from vetro.muranopl.declarations.tree import PropertyUsage
from vetro.muranopl.errors import ContractViolation, NoWriteAccess
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.yaql.errors import NoMatchingMethod
from vetro.yaql.resolve import operators
from vetro.yaql.values import MISSING, freeze

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, LinkedMethod, LinkedProperty


def build_class(of: LinkedClass) -> type[MuranoObject]:
    """The Python class for objects of ``of``. Raises `AmbiguousPropertyName` when a property is ambiguous."""
    properties = {n: p for n, p in of.properties.items() if p.usage is not PropertyUsage.STATIC}
    body: dict[str, Any] = {
        "__slots__": tuple(p.attr for p in properties.values() if p.attr.isidentifier()),
        "__module__": of.name,
        "_type": of,
    }
    for name in properties:
        chain = of.property_chain(name)
        body["set_" + name] = _setter(chain)
        body["add_" + name] = _adder(chain)
    made: Any = type(of.name.rpartition(".")[2], (MuranoObject,), body)
    for name in of.method_names():
        if name.startswith("."):
            continue
        if of.ambiguous(name):
            setattr(made, "m_" + name, _ambiguous(of, name))
            continue
        method = of.find_method(name)
        assert method is not None
        if not method.extension:
            # Under a debugger methods are compiled at once: a step leads into the method, not into the compiler.
            eager = sys.gettrace() is not None and method.native is None and not method.static
            setattr(made, "m_" + name, method.function if eager else _compiled_on_first_call(made, method))
    return made  # type: ignore[no-any-return]


def _ambiguous(of: LinkedClass, name: str) -> Callable[..., Any]:
    def refuse(self: Any, *_args: Any, **_kwargs: Any) -> Any:
        of.find_method(name)  # raises, and names the candidates

    return refuse


def _compiled_on_first_call(owner: Any, method: LinkedMethod) -> Callable[..., Any]:
    """Compiles the method at its first call and puts it in its own place."""
    attribute = "m_" + method.name

    def first_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        function: Any = method.function
        # Static native methods get the receiver as written: it may be bound to something (Resources).
        if method.static and method.native is None:
            function = function.__get__(method.declaring.type_object)
            if owner.__dict__.get(attribute) is first_call:
                setattr(owner, attribute, function)
            return _call(method, function, args, kwargs)
        if owner.__dict__.get(attribute) is first_call:
            setattr(owner, attribute, function)
        return _call(method, function, (self, *args), kwargs)

    return first_call


def _call(method: LinkedMethod, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        trace = error.__traceback__
        if trace is not None and trace.tb_next is None:
            named = {key[2:]: value for key, value in kwargs.items()}
            this = method.declaring.type_object if method.static else args[0]
            method.check_given(this, args if method.static else args[1:], named)
            raise NoMatchingMethod(method.mismatch(str(error))) from None
        raise


# -- setters -----------------------------------------------------------------------------------------------------------


def _setter(chain: tuple[LinkedProperty, ...]) -> Callable[[Any, Any], None]:
    """``set_x``: the effective contract transforms, the other declarations validate (SEMANTICS 5.3)."""
    first, rest = chain[0], chain[1:]
    attr = first.attr
    guarded = not all(p.writable for p in chain)
    name = first.name
    transform: Callable[[Any, Any], Any] | None = None

    def set_value(self: Any, value: Any) -> None:
        nonlocal transform
        if guarded and self._state not in ("initialising", "creating"):
            raise no_write_access(self, chain)
        if transform is None:
            transform = first.transform
        try:
            value = transform(value, self)
        except ContractViolation as error:
            raise error.located(first.location) from None
        for other in rest:
            other.validate(value, self)
        setattr(self, attr, value)

    if guarded or rest:
        return set_value

    def set_free(self: Any, value: Any) -> None:
        nonlocal transform
        if transform is None:
            transform = first.transform
        try:
            setattr(self, attr, transform(value, self))
        except ContractViolation as error:
            raise error.located(first.location) from None

    set_value.__name__ = set_free.__name__ = "set_" + name
    return set_free


def no_write_access(obj: Any, chain: tuple[LinkedProperty, ...]) -> NoWriteAccess:
    """The error for writing a property whose usage forbids it."""
    blocking = next(p for p in chain if not p.writable)
    return NoWriteAccess(
        f"property '{blocking.name}' of {obj!r} has usage {blocking.usage.value}: code may not write it",
        hint="declare it with Usage: InOut (user and code), Out (code) or Runtime (code, not stored)",
    )


def _adder(chain: tuple[LinkedProperty, ...]) -> Callable[[Any, Any], None]:
    """``add_x``: appends items to a list property; only the new ones are checked where that is enough."""
    first = chain[0]
    attr = first.attr
    contract = first.decl.contract
    incremental = (
        len(chain) == 1
        and first.writable
        and isinstance(contract, ContractList)
        and len(contract.items) == 1
        and contract.minimum is None
        and contract.maximum is None
    )

    def add_items(self: Any, items: tuple[Any, ...]) -> None:
        current = getattr(self, attr, MISSING)
        if current is MISSING:
            getattr(self, attr)  # raises the error for reading an unset property
        if not incremental or current.__class__ is not tuple:
            context = first.declaring.context
            getattr(self, "set_" + first.name)(freeze(operators.add(context, current, items)))
            return
        try:
            checked = first.transform(items, self)
        except ContractViolation as error:
            if error.path and isinstance(error.path[0], int):
                error.path[0] += len(current)
            raise error.located(first.location) from None
        setattr(self, attr, current + checked)

    return add_items
