"""JSON Schemas of a session's classes: `schema` with meta objects and constants from the running engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vetro.muranopl import schema
from vetro.muranopl.declarations.tree import Expression, Position
from vetro.muranopl.schema_hints import Hint
from vetro.muranopl.types.reflection import ArgumentInfo
from vetro.yaql import ast
from vetro.yaql.parser import parse
from vetro.yaql.printer import to_text

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, Runtime


def class_schemas(
    session: Runtime, type_: LinkedClass, methods: Iterable[str] | str | None = None, *, form: bool = False
) -> dict[str, dict[str, Any]]:
    """Schemas of ``type_`` and its methods by name; see `schema.class_schemas`. ``form``: those of forms."""

    def hints(thing: Any) -> list[Hint]:
        if isinstance(thing, schema.Argument):
            thing = ArgumentInfo(thing.method, thing.decl)
        return [
            Hint(obj._type.name, _values(obj), declaring) for obj, declaring in session.meta_objects.declared(thing)
        ]

    def evaluate(node: ast.Node, owner: Any) -> Any:
        text = to_text(node)
        return session.evaluate(Expression(text, parse(text, owner.context.grammar), _NOWHERE), owner)

    names = [methods] if isinstance(methods, str) else methods
    return schema.class_schemas(type_, names, hints=hints, evaluate=evaluate, form=form)


_NOWHERE = Position("<schema>", 1, 1)


def _values(obj: Any) -> dict[str, Any]:
    """Property values of a meta object."""
    return {name: getattr(obj, prop.attr, None) for name, prop in obj._type.properties.items()}
