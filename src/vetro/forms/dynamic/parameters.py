"""`Parameters` and `ParametersSource`: evaluated once, when a wizard begins (DYNAMIC_UI 8)."""

from __future__ import annotations

import re
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.dynamic.definition import Definition
from vetro.forms.dynamic.environment import StaticCall, Surroundings
from vetro.forms.dynamic.errors import StaticActionFailed
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import MapSnippet, evaluate
from vetro.forms.dynamic.plaindata import recall, remember
from vetro.yaql.values import FDict

_LETTER_FIRST = re.compile(r"[^\W\d_]")


def begin_parameters(definition: Definition, surroundings: Surroundings) -> dict[str, Any]:
    """The values of all parameters, as JSON data for `recall`, in their order.

    Raises `StaticActionFailed` and what expressions raise.
    """
    snippets = dict(definition.parameters)
    for name, value in _from_source(definition, surroundings).items():
        if isinstance(name, str) and _LETTER_FIRST.match(name):
            snippets[name] = value
    evaluation = Evaluation(surroundings, may_encrypt=True)
    for name, snippet in snippets.items():
        evaluation.parameters[name] = evaluate(snippet, evaluation.env(None))
    return {name: remember(value) for name, value in evaluation.parameters.items()}


def static_call(definition: Definition, surroundings: Surroundings) -> StaticCall | None:
    """The call that `ParametersSource` asks for, None without one."""
    if definition.parameters_source is None:
        return None
    package = surroundings.package
    class_name, _, method = definition.parameters_source.rpartition(".")
    return StaticCall(class_name or own_class(definition) or package.fqn, method, package.fqn, package.version)


def own_class(definition: Definition) -> str | None:
    """The class that the header of `Application` names as plain text."""
    found = _member(_member(definition.application, "?"), "type")
    return found.partition("/")[0] if isinstance(found, str) and found else None


def _member(snippet: Any, name: str) -> Any:
    pairs = snippet.pairs if isinstance(snippet, MapSnippet) else snippet.items() if isinstance(snippet, FDict) else ()
    return next((value for key, value in pairs if key == name), None)


def _from_source(definition: Definition, surroundings: Surroundings) -> FDict:
    call = static_call(definition, surroundings)
    if call is None:
        return FDict()
    what = Text("{class_name}.{method_name}", class_name=call.class_name, method_name=call.method_name)
    if surroundings.call_static is None:
        raise StaticActionFailed(
            Text("ParametersSource {what} cannot be called here", what=what),
            position=definition.source_position,
            hint=Text("static actions need an engine"),
        )
    try:
        found = recall(surroundings.call_static(call))
    except Exception as error:
        raise StaticActionFailed(
            Text("ParametersSource {what} failed: {error}", what=what, error=error), position=definition.source_position
        ) from error
    return found if isinstance(found, FDict) else FDict()
