"""How Python implements MuranoPL: native classes beside YAML declarations, and plain host functions.

A native class is a Python class whose decorated functions become methods of the MuranoPL class of the given name::

    natives = NativeRegistry()

    @natives.native_class("com.example.Counter")
    class Counter:
        @method()
        def add(this, amount: int = 1) -> int:
            ...

* ``this`` (when the function has it) is the receiver as the caller wrote it: a `MuranoObject`, or for static methods
  also the type object. ``cx`` in front of it is the context of the *calling* code (its class, package, session).
* All other parameters are MuranoPL arguments in camelCase; types come from the annotations or from explicit
  `Param`s. Values are frozen data; what is returned is frozen before MuranoPL sees it.
* Names that begin with ``_`` are never exposed (CORE_LIBRARY.md, reading help).

The YAML declaration of the class may add properties and MuranoPL methods.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, TypeVar, overload

from vetro.data_classes import dataclass
from vetro.muranopl.types.native_method import NativeMethod, camel_case, infer_params
from vetro.yaql.resolve.signature import FunctionTable, Overload, Param

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


@dataclass(frozen=True, slots=True)
class NativeClass:
    """The Python side of one MuranoPL class."""

    name: str
    python_class: type
    methods: Mapping[str, NativeMethod]
    #: ``created(cx, this)`` runs when code of ``cx`` makes an object with `new`, after its ``.init``.
    created: Callable[[Any, Any], None] | None = None


def method(
    *names: str,
    params: tuple[Param, ...] | None = None,
    static: bool = False,
    public: bool = False,
    extension: bool = False,
) -> Callable[[F], F]:
    """Exposes a function of a native class as method(s) ``names`` (default: its own name in camelCase).

    ``params`` default to what the signature says. Static methods need no object but may be called on one. With
    ``extension`` the method is callable on every value that its first parameter accepts, in classes that derive from
    this one or import it (SEMANTICS 8.3). Raises `TypeError` when it is used without parentheses or, as an extension,
    has no parameter.
    """
    if any(callable(name) for name in names):
        raise TypeError("write @method() with parentheses")

    def mark(implementation: F) -> F:
        python = list(inspect.signature(implementation).parameters)
        needs_cx = python[:1] == ["cx"]
        needs_this = "this" in python[: 1 + needs_cx]
        given = infer_params(implementation) if params is None else params
        if extension and not given:
            raise TypeError("an extension method needs a parameter for the value that it extends")
        exposed = names or (camel_case(implementation.__name__),)
        doc = (inspect.getdoc(implementation) or "").strip()
        implementation.__native__ = tuple(  # type: ignore[attr-defined]
            NativeMethod(
                name,
                given,
                static or extension,
                implementation,
                public=public,
                needs_cx=needs_cx,
                needs_this=needs_this,
                doc=doc,
                extension=extension,
            )
            for name in exposed
        )
        return implementation

    return mark


def class_of(full_name: str, python_class: type) -> NativeClass:
    """Collects the decorated functions of ``python_class`` and its bases; the most derived one of a name wins."""
    methods: dict[str, NativeMethod] = {}
    for cls in reversed(python_class.__mro__):
        for value in vars(cls).values():
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            for record in getattr(function, "__native__", ()):
                methods[record.name] = record
    created = inspect.getattr_static(python_class, "created", None)
    if isinstance(created, staticmethod):
        created = created.__func__
    return NativeClass(full_name, python_class, methods, created)


@dataclass(slots=True)
class NativeRegistry:
    """Native classes by full MuranoPL name and host functions. ``parent`` is asked for what is not here."""

    parent: NativeRegistry | None = None
    classes: dict[str, NativeClass] = field(default_factory=dict)
    functions: dict[str, Overload] = field(default_factory=dict)

    @overload
    def native_class(self, full_name: str) -> Callable[[C], C]: ...

    @overload
    def native_class(self, full_name: str, python_class: C) -> C: ...

    def native_class(self, full_name: str, python_class: C | None = None) -> Any:
        """Registers a Python class for ``full_name``; usable as a decorator. A later registration replaces it."""

        def register(cls: C) -> C:
            self.classes[full_name] = class_of(full_name, cls)
            return cls

        return register if python_class is None else register(python_class)

    def register_function(
        self, name: str, implementation: Callable[..., Any], params: tuple[Param, ...] | None = None
    ) -> None:
        """Makes a Python callable a function of every package's code; ``cx`` as first parameter is its context.

        Raises `ValueError` when ``name`` is no identifier.
        """
        if not name.isidentifier():
            raise ValueError(f"'{name}' cannot be the name of a function")
        given = infer_params(implementation, skip=("cx",)) if params is None else params
        python = list(inspect.signature(implementation).parameters)
        needs_cx = python[:1] == ["cx"] or getattr(implementation, "__needs_env__", False)
        doc = (inspect.getdoc(implementation) or "").strip()
        self.functions[name] = Overload(name, implementation, given, "F", needs_cx, doc)

    def get(self, class_name: str) -> NativeClass | None:
        """The Python side of a class, or None."""
        found = self.classes.get(class_name)
        if found is None and self.parent is not None:
            return self.parent.get(class_name)
        return found

    def overloads(self) -> Iterator[Overload]:
        """All host functions, the parent's first unless replaced."""
        if self.parent is not None:
            for record in self.parent.overloads():
                if record.name not in self.functions:
                    yield record
        yield from self.functions.values()

    def layer(self, parent: FunctionTable) -> FunctionTable:
        """A function table with the host functions over ``parent``."""
        table = FunctionTable(parent=parent)
        for record in self.overloads():
            table.add(record)
        return table


def state(this: Any) -> dict[str, Any]:
    """Python-side state of a MuranoPL object: a private mapping that lives as long as the object."""
    values: dict[str, Any] | None = getattr(this, "_native_state", None)
    if values is None:
        values = {}
        this._native_state = values
    return values


__all__ = [
    "NativeClass", "NativeMethod", "NativeRegistry", "camel_case", "class_of", "infer_params", "method", "state",
]  # fmt: skip
