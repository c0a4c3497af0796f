"""How library functions are declared: parameter types, overloads, tables.

A library module is a set of plain Python functions decorated with `function`; the decorator records names, style and
one `Param` per YAQL parameter. The same record serves the closure tier (dynamic resolution, YAQL.md 3.3), the
compiler (static resolution per call shape) and the documentation.

Conventions for implementations
* If the first Python parameter is called ``cx`` it receives the `CodeContext` of the calling code and is no YAQL
  parameter.
* A lazy parameter (`Type.LAMBDA`) receives a plain Python callable. ``arity`` says with how many positional values
  the function calls it (they become ``$1``..``$n``; 0 leaves ``$`` as outside; None = varying, keywords possible).
* Nothing is converted: an implementation sees exactly the value, already checked against its type.
* Containers handed back must be tuple/FDict/FSet (frozen all the way) or a lazy iterator.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeVar

from vetro.data_classes import dataclass

F = TypeVar("F", bound=Callable[..., Any])


class Type(enum.Enum):
    """Parameter types of YAQL.md; what each accepts is in `vetro.yaql.types`."""

    ANY = "any"
    STR = "str"
    INT = "int"  # booleans are accepted
    INTEGER = "integer"  # booleans are rejected
    NUM = "num"
    BOOL = "bool"
    ITER = "iter"
    SEQ = "seq"
    DICT = "dict"
    SET = "set"
    SPAN = "span"
    DATETIME = "dt"
    REGEX = "regex"
    ITERATOR = "iterator"
    ORDERED = "ordered"  # result of orderBy
    LAMBDA = "lambda"
    CALLABLE = "callable"
    CONTEXT = "context"
    #: A word that the function is given as text: a bare word, or a text constant. Anything that has to be evaluated,
    #: such as a variable, is no match, so a function can have a form for names and one for values.
    KEYWORD = "keyword"
    HOST = "host"  # any HostObject; the host language narrows it with `Param.check`


class Kind(enum.Enum):
    """How arguments reach a parameter."""

    NORMAL = "normal"
    VARARGS = "varargs"
    KWARGS = "kwargs"
    RULES = "rules"  # `cond => value` pairs; receives a tuple of (key, value), both callables when lazy


class _NoDefault:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _NoDefault()


@dataclass(frozen=True, slots=True)
class Param:
    """One YAQL parameter. ``name`` is the camelCase name a caller may use."""

    name: str
    type: Type = Type.ANY
    default: Any = REQUIRED
    nullable: bool = False
    kind: Kind = Kind.NORMAL
    arity: int | None = 1
    #: Narrows `type` further (host languages): value -> bool.
    check: Callable[[Any], bool] | None = None

    @property
    def lazy(self) -> bool:
        """True when the argument is handed over unevaluated."""
        return self.type is Type.LAMBDA

    @property
    def accepts_null(self) -> bool:
        """Null passes when marked, when the default is null, or when anything passes."""
        return self.nullable or self.default is None or self.type is Type.ANY


@dataclass(frozen=True, slots=True)
class Overload:
    """One implementation of a function name."""

    name: str
    impl: Callable[..., Any]
    params: tuple[Param, ...]
    style: str  # 'F', 'M' or 'FM'
    needs_cx: bool
    doc: str = ""

    @property
    def rules(self) -> bool:
        """True when `word => value` arguments are mapping rules, not keyword arguments."""
        return any(p.kind is Kind.RULES for p in self.params)


@dataclass(slots=True)
class FunctionTable:
    """One layer of functions. Lookup goes from the innermost table outwards through `parent`.

    ``exclusive`` names hide the outer layers' functions of that name.
    """

    parent: FunctionTable | None = None
    functions: dict[str, list[Overload]] = field(default_factory=dict)
    exclusive: set[str] = field(default_factory=set)
    #: Plans of call shapes, kept by `vetro.yaql.resolve.dispatchers`; tables are complete before the first call.
    plans: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def add(self, overload: Overload) -> None:
        """Adds one overload under its name."""
        self.functions.setdefault(overload.name, []).append(overload)
        self.plans.clear()

    def add_module(self, module: Any) -> None:
        """Adds every decorated function defined in a Python module (imported ones are not), in definition order."""
        for value in vars(module).values():
            if getattr(value, "__module__", None) == module.__name__:
                for overload in getattr(value, "__yaql__", ()):
                    self.add(overload)

    def layers(self, name: str, style: str) -> list[list[Overload]]:
        """Overloads of ``name`` usable in ``style`` ('F' or 'M'), one list a layer, innermost first."""
        found: list[list[Overload]] = []
        table: FunctionTable | None = self
        while table is not None:
            own = [o for o in table.functions.get(name, ()) if style in o.style]
            if own:
                found.append(own)
            if name in table.exclusive:
                break
            table = table.parent
        return found

    def has(self, name: str, style: str) -> bool:
        """True when some layer has ``name`` in ``style``."""
        return bool(self.layers(name, style))


def function(*names: str, style: str = "F", params: tuple[Param, ...] = ()) -> Callable[[F], F]:
    """Declares a Python function as an overload of each of ``names``.

    ``params`` are given in YAQL order; for style 'M' the first one is the receiver. Several decorators may be stacked
    to register one implementation under different shapes.
    """

    def register(impl: F) -> F:
        python = list(inspect.signature(impl).parameters)
        needs_cx = bool(python) and python[0] == "cx"
        doc = (inspect.getdoc(impl) or "").strip()
        records = [Overload(name, impl, params, style, needs_cx, doc) for name in names]
        impl.__yaql__ = [*records, *getattr(impl, "__yaql__", ())]  # type: ignore[attr-defined]
        return impl

    return register
