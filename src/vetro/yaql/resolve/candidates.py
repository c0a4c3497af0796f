"""From a name and the shape of a call to the overloads that may serve it (YAQL.md 3.3, items 1 to 5)."""

from __future__ import annotations

from vetro.data_classes import dataclass
from vetro.yaql.context import Dialect
from vetro.yaql.errors import MappingTranslation
from vetro.yaql.resolve import failures
from vetro.yaql.resolve.shape import Binding, Shape, bind
from vetro.yaql.resolve.signature import FunctionTable, Overload
from vetro.yaql.types import describe_class


@dataclass(frozen=True, slots=True)
class Candidates:
    """The overloads left after everything that needs no values was checked, one list a layer, innermost first."""

    name: str
    style: str
    layers: tuple[tuple[Binding, ...], ...]
    #: Per argument: is it handed over unevaluated, and for how many values.
    lazy: tuple[tuple[bool, int | None], ...]
    overloads: tuple[Overload, ...]


def takes_rules(table: FunctionTable, name: str, style: str) -> bool:
    """True when ``key => value`` arguments of this function are mapping rules instead of keyword arguments.

    Raises `NoFunctionRegistered` or `NoMethodRegistered` for unknown names.
    """
    layers = table.layers(name, style)
    if not layers:
        raise failures.unknown(table, name, style)
    return any(overload.rules for overload in layers[0])


def candidates(table: FunctionTable, dialect: Dialect, name: str, style: str, shape: Shape) -> Candidates:
    """What may serve the call. Raises the errors of resolution that need no values.

    The messages lack receivers and argument types, as nothing is evaluated yet.
    """
    layers = table.layers(name, style)
    if not layers:
        raise failures.unknown(table, name, style)
    everything = tuple(overload for layer in layers for overload in layer)
    if not dialect.legacy and len({any(o.rules for o in layer) for layer in layers}) > 1:
        raise failures.ambiguous(name, style, everything)
    bound = []
    for layer in layers:
        fitting = tuple(b for b in (bind(o, shape, dialect) for o in layer) if b is not None)
        if fitting:
            bound.append(fitting)
    if not bound:
        raise failures.no_match(name, style, everything, None, shape.keywords, _known(shape))
    flat = [binding for layer in bound for binding in layer]
    first = [is_lazy for is_lazy, _ in flat[0].lazy]
    for other in flat[1:]:
        if [is_lazy for is_lazy, _ in other.lazy] != first:
            raise failures.ambiguous(name, style, everything)
    lazy = tuple(
        (is_lazy, arity if all(b.lazy[i][1] == arity for b in flat) else None)
        for i, (is_lazy, arity) in enumerate(flat[0].lazy)
    )
    return Candidates(name, style, tuple(bound), lazy, everything)


def _known(shape: Shape) -> list[str]:
    """What can be said of the arguments' types before evaluation."""
    count = shape.positional + len(shape.keywords)
    classes = [*shape.classes, *[None] * (count - len(shape.classes))][:count]
    words = ["expression" if cls is None else describe_class(cls) for cls in classes]
    return [*words, *["rule"] * shape.pairs]


def mapping_error() -> MappingTranslation:
    """``key => value`` where the key is no bare word and the function takes keyword arguments."""
    error = MappingTranslation("Cannot convert mapping to keyword argument")
    error.hint = "only a bare word may name an argument: f(name => value)"
    return error
