"""What was sent for one step, checked: fields one after the other, then the form, then passwords (DYNAMIC_UI 6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.forms.dynamic.attributes import text
from vetro.forms.dynamic.definition import FormDefinition
from vetro.forms.dynamic.expressions import evaluate
from vetro.forms.dynamic.patterns import TooMuchToCheck
from vetro.forms.dynamic.resolve import Look, resolve
from vetro.forms.dynamic.types.base import Refused, Resolved, ResolvedRule
from vetro.forms.dynamic.types.passwords import SUFFIX, confirmation
from vetro.model.secrets import is_mark
from vetro.yaql.values import SCALARS, FDict, freeze

_REQUIRED = "This field is required."
_FORM_RULE = "Validation Error occurred"
#: What own texts may mention of the value and of the limit.
_PARAMETER = re.compile(r"%\((limit_value|show_value|value)\)[sd]")


@dataclass(slots=True)
class Checked:
    """The outcome for one step.

    ``cleaned`` holds the values of the fields that are right; ``errors`` texts by field; ``form_errors`` those of the
    form as a whole; ``fields`` is what was checked, confirmations included.
    """

    cleaned: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    form_errors: list[str] = field(default_factory=list)
    fields: list[Resolved] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.errors and not self.form_errors


def check_step(
    form: FormDefinition, raw: Mapping[str, Any], kept: Mapping[str, Any], data: Mapping[str, Any], look: Look
) -> Checked:
    """Checks what was sent for ``form``.

    ``kept`` is what was sent before, for secrets that stay; ``data`` the frozen values of the other forms. Raises
    `ExpressionFailed` and `BadAttribute`: then the definition is wrong, not the answer.
    """
    checked = Checked()
    frozen: dict[str, Any] = {}
    passwords: list[Resolved] = []
    for definition in form.fields.values():
        if definition.resolved is None:
            look.see(FDict({**data, form.name: FDict(frozen)}))
        resolved = resolve(definition, look)
        both = [resolved]
        if resolved.confirm:
            both.append(confirmation(resolved))
            passwords.append(resolved)
        for one in both:
            checked.fields.append(one)
            value, problems = check_field(one, _sent(one, raw, kept), look)
            if problems:
                checked.errors[one.name] = problems
            else:
                checked.cleaned[one.name] = value
                frozen[one.name] = value if value.__class__ in SCALARS else freeze(value)
    if not checked.errors:
        _check_form(form, checked, FDict({**data, form.name: FDict(frozen)}), passwords, look)
    return checked


def _sent(field: Resolved, raw: Mapping[str, Any], kept: Mapping[str, Any]) -> Any:
    name = field.name
    found = raw.get(name)
    if field.definition.type.secret and is_mark(found):
        before = kept.get(name)
        return field.initial if before is None or is_mark(before) else before
    return found


def _check_form(form: FormDefinition, checked: Checked, data: FDict, passwords: list[Resolved], look: Look) -> None:
    if form.rules:
        look.see(data)
    for rule in form.rules:
        if rule.condition is not None and not rule.condition.evaluate(look.env):
            checked.form_errors.append(_FORM_RULE if rule.message is None else text(evaluate(rule.message, look.env)))
    if checked.form_errors:
        return
    for password in passwords:
        if password.enabled and checked.cleaned[password.name] != checked.cleaned[password.name + SUFFIX]:
            checked.form_errors.append(f"{password.label}s don't match")
            return


def check_field(field: Resolved, raw: Any, look: Look) -> tuple[Any, list[str]]:
    """The value of what was sent for one field, and what is wrong with it. Raises as `check_step` does."""
    kind = field.definition.type
    if field.disabled:
        raw = field.initial
    elif not field.enabled:
        return kind.received(raw, field), []
    try:
        value = kind.clean(raw, field)
    except Refused as refused:
        return None, [_message(refused, field)]
    if kind.is_empty(value):
        if field.required:
            return None, [field.unavailable or field.messages.get("required", _REQUIRED)]
        return value, []
    problems = [rule.message for rule in field.rules if not _holds(rule, value, field, look)]
    problems += [_message(refused, field) for refused in kind.limits(value, field)]
    return value, problems


def _holds(rule: ResolvedRule, value: Any, field: Resolved, look: Look) -> bool:
    if rule.condition is not None:
        frozen = value if value.__class__ in SCALARS else freeze(value)
        return bool(rule.condition.evaluate(look.evaluation.value_env(frozen)))
    written = field.definition.type.text_of(value)
    if rule.test is not None:
        return rule.test(written)
    assert rule.pattern is not None
    try:
        return rule.pattern.found_in(written, look.evaluation.patterns)
    except TooMuchToCheck:
        return False


def _message(refused: Refused, field: Resolved) -> str:
    own = field.messages.get(refused.code)
    if own is None:
        return refused.message
    return _PARAMETER.sub(lambda m: str(refused.params.get(m[1], m[0])), own)
