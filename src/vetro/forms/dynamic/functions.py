"""The functions that definitions have beside YAQL's own (DYNAMIC_UI 8)."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from vetro.diagnostics import Text
from vetro.forms.dynamic.environment import Surroundings
from vetro.forms.dynamic.errors import EncryptionUnavailable, ExpressionFailed, TemplateLoop
from vetro.yaql.context import CodeContext
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import FDict, freeze

_BASE_36 = string.digits + string.ascii_lowercase


class EvaluationState(Protocol):
    """What the functions know of the evaluation that calls them (`Evaluation`)."""

    index: int | None
    hostnames: int
    application_name: str | None
    may_encrypt: bool
    making: set[str]
    referred: dict[str, tuple[str, Any]]
    surroundings: Surroundings
    templates: Mapping[str, Any]

    def template(self, name: str) -> Any: ...


def _of(cx: CodeContext) -> EvaluationState:
    found: EvaluationState = cx.data["forms"]
    return found


@function("generateHostname", params=(Param("pattern", Type.STR), Param("index", Type.INTEGER)))
def generate_hostname(cx: CodeContext, pattern: str, index: int) -> str:
    """``pattern`` with every ``#`` replaced by ``index``; for an empty one a random name of 14 or 15 characters."""
    if pattern:
        cx.rt.check_memory(len(pattern) + pattern.count("#") * len(str(index)))
        return pattern.replace("#", str(index))
    evaluation = _of(cx)
    evaluation.hostnames = evaluation.hostnames % 99 + 1
    letters = "".join(cx.rt.rng.choice(string.ascii_lowercase) for _ in range(5))
    return f"{letters}{_in_base_36(int(cx.rt.clock() * 1000))[-8:].rjust(8, '0')}{evaluation.hostnames}"


def _in_base_36(number: int) -> str:
    digits = ""
    while number > 0:
        number, digit = divmod(number, 36)
        digits = _BASE_36[digit] + digits
    return digits


@function("repeat", params=(Param("template", Type.LAMBDA, arity=0), Param("times", Type.INTEGER)))
def repeat(cx: CodeContext, template: Callable[[], Any], times: int) -> tuple[Any, ...]:
    """``template`` evaluated so many times, with ``$index`` counting from 1; nothing for 0 and less."""
    cx.rt.check_items(times)
    evaluation = _of(cx)
    outer = evaluation.index
    made = []
    try:
        for index in range(1, times + 1):
            cx.rt.charge(1)
            evaluation.index = index
            made.append(freeze(template(), cx.rt.limits.max_sequence))
    finally:
        evaluation.index = outer
    return tuple(made)


@function("name")
def application_name(cx: CodeContext) -> str | None:
    """The name of the application; null while it is not known."""
    return _of(cx).application_name


@function("ref", params=(Param("template", Type.STR), Param("key", Type.STR, None), Param("idOnly", Type.BOOL, None)))
def ref(cx: CodeContext, template: str, key: str | None = None, id_only: bool | None = None) -> Any:
    """The object that ``template`` describes, made once for each ``key`` (default: the name of the template).

    At its first use the object, afterwards its id; with ``idOnly`` always one or the other. Null where there is no
    such template, or it is no mapping. Raises `TemplateLoop` when the object is asked for while it is being made.
    """
    evaluation = _of(cx)
    key = template if key is None else key
    known = evaluation.referred.get(key)
    first = known is None
    if known is None:
        if template not in evaluation.templates:
            return None
        if key in evaluation.making:
            raise TemplateLoop(
                Text("ref({template}) is part of the object that it refers to", template=template),
                position=getattr(evaluation.templates[template], "position", None),
                hint=Text("one of two objects that know each other has to find the other one in its code"),
            )
        evaluation.making.add(key)
        try:
            made = evaluation.template(template)
        finally:
            evaluation.making.discard(key)
        if not isinstance(made, dict):
            return None
        header = made.get("?")
        new_id = evaluation.surroundings.new_id()
        header = {**header, "id": new_id} if isinstance(header, dict) else {"id": new_id}
        known = evaluation.referred[key] = (new_id, FDict({**made, "?": FDict(header)}))
    if id_only is True or (id_only is None and not first):
        return known[0]
    return known[1]


@function("encryptData", params=(Param("value", Type.STR),))
def encrypt_data(cx: CodeContext, value: str) -> str:
    """The id under which the secret store keeps ``value``. Raises `EncryptionUnavailable` where there is no store."""
    evaluation = _of(cx)
    if not evaluation.may_encrypt:
        raise ExpressionFailed(
            Text("encryptData is called where it would be called again and again"),
            hint=Text("call it in Application, Templates or Parameters"),
        )
    store = evaluation.surroundings.encrypt
    if store is None:
        raise EncryptionUnavailable(EncryptionUnavailable.civil, hint=Text("set up a secret store"))
    return store(value)
