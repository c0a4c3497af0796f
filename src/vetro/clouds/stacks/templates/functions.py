"""Functions of templates: what ``{get_param: x}`` and its like give.

`resolve` walks a value of a template; a mapping with one key that is the name of a function is a call of it. Names and
attributes come from a `Scope`. Functions of later template versions work in all versions: nothing that an author could
mean otherwise is lost, and packages declare old versions. Reference: LOCAL_CLOUD.md 2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from vetro.clouds.interface import TemplateInvalid
from vetro.clouds.stacks.templates.limits import Meter


class FunctionError(TemplateInvalid):
    """A function of a template was called with arguments that it cannot work with."""

    code = "CLD122"


class ReferenceInvalid(TemplateInvalid):
    """A template names a resource, attribute, parameter, file or condition that is not there."""

    code = "CLD123"


class Unknown(Exception):
    """The value depends on something that is not made yet: only for checks ahead of time."""


class Scope(Protocol):
    """Where names of a template lead."""

    meter: Meter
    functions: Mapping[str, Callable[[Any, Any], Any]]

    def parameter(self, name: str) -> Any:
        """Value of a parameter. Raises `ReferenceInvalid`."""
        ...  # pragma: no cover - protocol

    def reference(self, name: str) -> Any:
        """What ``get_resource`` gives. Raises `ReferenceInvalid`, `Unknown`."""
        ...  # pragma: no cover - protocol

    def attribute(self, name: str, attribute: str | None, path: list[Any]) -> Any:
        """An attribute of a resource; null where the path leads nowhere. Raises `ReferenceInvalid`, `Unknown`."""
        ...  # pragma: no cover - protocol

    def file(self, name: str) -> str:
        """Text of a file of the stack. Raises `ReferenceInvalid`."""
        ...  # pragma: no cover - protocol

    def condition(self, name: str) -> bool:
        """Value of a condition. Raises `ReferenceInvalid`."""
        ...  # pragma: no cover - protocol

    def mapping(self, name: str) -> Mapping[str, Any]:
        """A mapping of a CFN template. Raises `ReferenceInvalid`."""
        ...  # pragma: no cover - protocol


class Literal:
    """A value that is not looked into for functions any more."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def resolve(node: Any, scope: Scope) -> Any:
    """``node`` with all functions in it replaced by their values. Raises what the scope and functions raise."""
    if node.__class__ is str:  # most are
        return node
    if isinstance(node, dict):
        if len(node) == 1:
            ((key, argument),) = node.items()
            function = scope.functions.get(key)
            if function is not None:
                return function(argument, scope)
        return {key: resolve(value, scope) for key, value in node.items()}
    if isinstance(node, list):
        return [resolve(item, scope) for item in node]
    if isinstance(node, Literal):
        return node.value
    return node


def text_of(value: Any) -> str:
    """A value as text within a longer one: mappings and lists as JSON, null as nothing."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return str(value)


def truth(value: Any, scope: Scope, what: str) -> bool:
    """A condition: a boolean, the name of one, or a function that gives one. Raises `FunctionError`."""
    if isinstance(value, str):
        return scope.condition(value)
    result = resolve(value, scope)
    if isinstance(result, str) and not isinstance(value, str) and result.lower() in ("true", "false"):
        return result.lower() == "true"
    if not isinstance(result, bool):
        raise FunctionError(f"{what} must be a condition: its name, true, false, or a function like equals")
    return result


def pair(argument: Any, name: str, form: str, *, least: int = 2, most: int = 2) -> list[Any]:
    """The arguments as a list of so many items. Raises `FunctionError` that shows the right form."""
    if not isinstance(argument, list) or not least <= len(argument) <= most:
        raise FunctionError(f"{name} is written as {name}: {form}")
    return argument


def walk(value: Any, path: list[Any]) -> Any:
    """What a path of keys and indices leads to; null when it leads nowhere."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step if isinstance(step, str) else text_of(step))
        elif isinstance(value, list):
            try:
                value = value[int(step)]
            except (TypeError, ValueError, IndexError):
                return None
        else:
            return None
    return value


# -- names ------------------------------------------------------------------------------------------------------------


def get_param(argument: Any, scope: Scope) -> Any:
    """``get_param: name`` or ``get_param: [name, key, index, ...]``."""
    argument = resolve(argument, scope)
    if isinstance(argument, str):
        return scope.meter.copy(scope.parameter(argument), "get_param")
    if not isinstance(argument, list) or not argument or not isinstance(argument[0], str):
        raise FunctionError("get_param is written as get_param: name or get_param: [name, key, ...]")
    return scope.meter.copy(walk(scope.parameter(argument[0]), argument[1:]), "get_param")


def get_resource(argument: Any, scope: Scope) -> Any:
    """``get_resource: name``."""
    argument = resolve(argument, scope)
    if not isinstance(argument, str):
        raise FunctionError("get_resource is written as get_resource: name")
    return scope.reference(argument)


def get_attr(argument: Any, scope: Scope) -> Any:
    """``get_attr: [resource, attribute, key, index, ...]``."""
    argument = resolve(argument, scope)
    if not isinstance(argument, list) or not argument or not isinstance(argument[0], str):
        raise FunctionError("get_attr is written as get_attr: [resource, attribute, key or index, ...]")
    attribute = argument[1] if len(argument) > 1 else None
    found = scope.attribute(argument[0], None if attribute is None else text_of(attribute), argument[2:])
    return scope.meter.copy(found, "get_attr")


def get_file(argument: Any, scope: Scope) -> Any:
    """``get_file: name``: a file that was sent with the template, never one of this machine."""
    argument = resolve(argument, scope)
    if not isinstance(argument, str):
        raise FunctionError("get_file is written as get_file: name")
    text = scope.file(argument)
    scope.meter.spend(len(text), "get_file")
    return text


def resource_facade(argument: Any, scope: Scope) -> Any:
    """Refused: the cloud has no facades."""
    raise FunctionError("resource_facade is not supported; pass the value to the nested template as a parameter")


# -- conditions -------------------------------------------------------------------------------------------------------


def choose(argument: Any, scope: Scope) -> Any:
    """``if: [condition, value if true, value if false]``; only the chosen value is looked at."""
    items = pair(argument, "if", "[condition, value if true, value if false]", least=3, most=3)
    return resolve(items[1] if truth(items[0], scope, "the first item of if") else items[2], scope)


def equals(argument: Any, scope: Scope) -> bool:
    """``equals: [one, other]``."""
    one, other = (resolve(item, scope) for item in pair(argument, "equals", "[one, other]"))
    return bool(one == other)


def negate(argument: Any, scope: Scope) -> bool:
    """``not: condition``."""
    if isinstance(argument, list) and len(argument) == 1:  # the way in which CFN writes it
        argument = argument[0]
    return not truth(argument, scope, "the argument of not")


def both(argument: Any, scope: Scope) -> bool:
    """``and: [condition, condition, ...]``."""
    items = pair(argument, "and", "[condition, condition, ...]", least=2, most=1000)
    found = [truth(item, scope, "every item of and") for item in items]  # all are checked
    return all(found)


def either(argument: Any, scope: Scope) -> bool:
    """``or: [condition, condition, ...]``."""
    items = pair(argument, "or", "[condition, condition, ...]", least=2, most=1000)
    found = [truth(item, scope, "every item of or") for item in items]
    return any(found)
