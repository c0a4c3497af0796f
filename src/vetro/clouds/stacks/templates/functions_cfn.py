"""Functions of the older template language (CFN), so far as a template that a package sets may carry them."""

from __future__ import annotations

from typing import Any

from vetro.clouds.stacks.templates.functions import (
    FunctionError,
    ReferenceInvalid,
    Scope,
    get_attr,
    pair,
    resolve,
    walk,
)
from vetro.clouds.stacks.templates.functions import text_of as text
from vetro.clouds.stacks.templates.functions_text import list_join, substitute


def ref(argument: Any, scope: Scope) -> Any:
    """``Ref: name`` of a parameter or resource."""
    if not isinstance(argument, str):
        raise FunctionError("Ref is written as Ref: name")
    try:
        return scope.meter.copy(scope.parameter(argument), "Ref")
    except ReferenceInvalid:
        return scope.reference(argument)


def get_att(argument: Any, scope: Scope) -> Any:
    """``Fn::GetAtt: [resource, attribute]``, also as the text ``resource.attribute``."""
    return get_attr(argument.split(".", 1) if isinstance(argument, str) else argument, scope)


def select(argument: Any, scope: Scope) -> Any:
    """``Fn::Select: [index or key, list or mapping]``; nothing there is an empty text."""
    index, items = (resolve(item, scope) for item in pair(argument, "Fn::Select", "[index or key, list or map]"))
    found = walk(items, [index])
    return "" if found is None else found


def base64_text(argument: Any, scope: Scope) -> str:
    """``Fn::Base64: text``. As with Heat the text stays as it is: servers get it encoded by themselves."""
    value = resolve(argument, scope)
    if not isinstance(value, str):
        raise FunctionError("Fn::Base64 needs text")
    return value


def replace(argument: Any, scope: Scope) -> str:
    """``Fn::Replace: [{what: by what}, text]``."""
    params, template = (resolve(item, scope) for item in pair(argument, "Fn::Replace", "[{what: by what}, text]"))
    if not isinstance(params, dict) or not isinstance(template, str):
        raise FunctionError("Fn::Replace is written as Fn::Replace: [{what: by what}, text]")
    return substitute(template, {key: text(value) for key, value in params.items() if key}, scope, "Fn::Replace")


def split(argument: Any, scope: Scope) -> list[str]:
    """``Fn::Split: [delimiter, text]``."""
    delimiter, value = (resolve(item, scope) for item in pair(argument, "Fn::Split", "[delimiter, text]"))
    if not isinstance(delimiter, str) or not delimiter or not isinstance(value, str):
        raise FunctionError("Fn::Split needs a delimiter that is not empty and a text")
    scope.meter.spend(value.count(delimiter) * 16, "Fn::Split")
    return value.split(delimiter)


def find_in_map(argument: Any, scope: Scope) -> Any:
    """``Fn::FindInMap: [mapping, key, key]``."""
    items = [resolve(i, scope) for i in pair(argument, "Fn::FindInMap", "[mapping, key, key]", least=3, most=3)]
    found = walk(scope.mapping(text(items[0])), items[1:])
    if found is None:
        raise ReferenceInvalid(f"the mapping '{items[0]}' has nothing at {items[1]!r}, {items[2]!r}")
    return found


def zones(argument: Any, scope: Scope) -> list[str]:
    """``Fn::GetAZs``: the one zone of the cloud."""
    return ["nova"]


join = list_join
