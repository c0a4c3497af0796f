"""Model builders: other ways to begin a form, and forms of actions.

A builder is listed as "start from"; it has a form of its own. The caller runs it in a task process (kind ``builder``)
with `builder_arguments` and loads what it returns into the class form with `built`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.answers import Merger
from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.generated import method_form
from vetro.forms.keywords import Schema
from vetro.forms.model import Choice, Form
from vetro.model.header import header_of, type_of
from vetro.model.paths import is_list
from vetro.yaql.errors import VetroError


class BadBuilderResult(VetroError):
    """A model builder returned something that is no object of the class of the form."""

    kind = "bad-argument"
    code = "FRM310"
    hint = Text("a model builder returns a mapping with the properties, and '?' with the type")


def builders_of(schemas: Mapping[str, Schema]) -> list[Choice]:
    """The model builders among the schemas of a class (by method name), by title."""
    found = [
        Choice(name, str(schema.get("title") or name))
        for name, schema in schemas.items()
        if name and (schema.get("muranoMethod") or {}).get("builder")
    ]
    return sorted(found, key=lambda choice: choice.label.casefold())


def builder_form(schema: Schema) -> Form:
    """The form of a builder's own arguments; its first one, the model so far, is not asked for."""
    return method_form(schema)


def builder_arguments(
    describer: Describer, schema: Schema, answers: Mapping[str, Any], current: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments for the call: the model so far under the name of the first one, and the answers."""
    form = method_form(schema)
    first = (schema.get("muranoMethod") or {}).get("model")
    return {**({first: dict(current)} if first else {}), **Merger(describer, lambda: "").arguments(form, answers)}


def built(describer: Describer, described: DescribedClass, result: Any, current: Mapping[str, Any]) -> dict[str, Any]:
    """The object that a builder made, as the form is to show it; ``current`` is what the form showed.

    The object keeps its id and name; what the builder does not say gets its default. Raises `BadBuilderResult` for
    what is no object of the class.
    """
    if not isinstance(result, Mapping):
        raise BadBuilderResult(
            Text(
                "the model builder returned {kind}, not an object of class {name}",
                kind=_kind(result),
                name=described.name,
            )
        )
    written = type_of(result)
    if written:
        made = describer.described(written)
        if made is None or not made.is_a(described.name):
            raise BadBuilderResult(
                Text(
                    "the model builder returned an object of class {written}, not {name}",
                    written=written,
                    name=described.name,
                )
            )
    header = {**dict(header_of(current) or {})}
    own = {key: value for key, value in (header_of(result) or {}).items() if key not in ("id",) and value is not None}
    if written:
        own["type"] = written
    return {"?": {**header, **own}, **{str(key): value for key, value in result.items() if key != "?"}}


def _kind(value: Any) -> str:
    return (
        Text("nothing")
        if value is None
        else Text("a list")
        if is_list(value)
        else "text"
        if isinstance(value, str)
        else "a value"
    )
