"""Fields as they are now: every attribute evaluated, choices read, hidden fields found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from vetro.diagnostics import Text
from vetro.forms.dynamic.attributes import convert, default_label, text
from vetro.forms.dynamic.definition import FieldDefinition, Rule
from vetro.forms.dynamic.environment import Row
from vetro.forms.dynamic.errors import BadAttribute, ChoicesUnavailable
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import evaluate, is_dynamic
from vetro.forms.dynamic.patterns import FormPattern, read_pattern
from vetro.forms.dynamic.types.base import Resolved, ResolvedRule
from vetro.yaql.environment import Env
from vetro.yaql.errors import LimitExceeded
from vetro.yaql.values import FDict

T = TypeVar("T")


class Look:
    """One look at a form: what expressions see now, and what was read from outside in its course.

    ``env`` is the scope of attributes; whoever walks over the fields replaces it as answers become known.
    """

    def __init__(self, evaluation: Evaluation, memo: dict[Any, Any] | None = None) -> None:
        self.evaluation = evaluation
        self.surroundings = evaluation.surroundings
        self.env: Env = evaluation.env(None)
        self.region: str | None = None
        self._memo: dict[Any, Any] = {} if memo is None else memo

    def see(self, data: FDict) -> None:
        """Makes ``data`` the ``$`` of attributes."""
        self.env = self.evaluation.env(data)

    def _once(self, key: Any, read: Callable[[], T]) -> T:
        if key not in self._memo:
            try:
                self._memo[key] = read()
            except ChoicesUnavailable as error:
                self._memo[key] = error
        found: T | ChoicesUnavailable = self._memo[key]
        if isinstance(found, ChoicesUnavailable):
            raise found
        return found

    def cloud(self, source: str) -> Sequence[Any]:
        """A list of the cloud, by the name of the method of `Cloud`. Raises `ChoicesUnavailable`."""
        read = getattr(self.surroundings.cloud, source)
        return self._once((source, self.region), lambda: read(self.region))

    def packages(self, class_name: str) -> Sequence[Row]:
        """Packages of a class. Raises `ChoicesUnavailable`."""
        return self._once(("packages", class_name), lambda: self.surroundings.catalog.packages(class_name))

    def services(self) -> Sequence[Row]:
        """Applications in the environment. Raises `ChoicesUnavailable`."""
        return self._once("services", self.surroundings.catalog.services)

    def environment_names(self) -> Sequence[str]:
        """Names of environments, longest first. Raises `ChoicesUnavailable`."""
        return self._once(
            "environments",
            lambda: sorted(self.surroundings.catalog.environment_names(), key=lambda name: (-len(name), name)),
        )

    def ask(self, read: Callable[[], T], field: Resolved) -> T | None:
        """``read()``; where the choices cannot be read None, and the field says so."""
        try:
            return read()
        except ChoicesUnavailable as error:
            field.unavailable = error.civil
            return None


def resolve(field: FieldDefinition, look: Look) -> Resolved:
    """The field as it is now. The result may be shared: it must not be changed.

    Raises `ExpressionFailed` and `BadAttribute`.
    """
    if field.resolved is not None:
        return field.resolved  # type: ignore[no-any-return]
    values: Mapping[str, Any] = field.static
    if field.moving:
        values = dict(field.static)
        for setting in field.moving:
            found = evaluate(setting.snippet, look.env)
            values[setting.name] = convert(setting.name, found, field.type.converter(setting.name), setting.position)
    label = values.get("label")
    resolved = Resolved(
        field,
        field.name,
        label=default_label(field.name) if label is None else label,
        description=values.get("description", ""),
        description_title=values.get("description_title", ""),
        help=values.get("help_text", ""),
        hidden=values.get("hidden", False),
        required=values.get("required", True),
        enabled=values.get("enabled", True),
        disabled=values.get("disabled", False),
        initial=values.get("initial"),
        messages=values.get("error_messages") or {},
        media=values.get("widget_media") or {},
        attributes=values.get("widget_attrs") or {},
    )
    if field.rules:
        resolved.rules = [_rule(rule, resolved, look) for rule in field.rules]
    field.type.settle(resolved, values, look)
    resolved.initial = field.type.shown(resolved.initial, resolved)
    if not field.moving and not field.type.moving and not any(_moves(rule) for rule in field.rules):
        field.resolved = resolved
    return resolved


def _moves(rule: Rule) -> bool:
    return is_dynamic(rule.pattern) or is_dynamic(rule.message)


def _rule(rule: Rule, field: Resolved, look: Look) -> ResolvedRule:
    if rule.by_attribute:
        own = field.messages.get("invalid")
        message, stock = (field.definition.type.invalid, True) if own is None else (own, False)
    else:
        message, stock = text(evaluate(rule.message, look.env)), False
    if rule.condition is not None:
        return ResolvedRule(message, condition=rule.condition, stock=stock)
    pattern = rule.pattern
    if not isinstance(pattern, FormPattern):
        pattern = compiled(evaluate(pattern, look.env), rule)
    return ResolvedRule(message, pattern=pattern, stock=stock)


def compiled(pattern: Any, rule: Rule) -> FormPattern:
    """A regular expression that a definition gives. Raises `BadAttribute`."""
    if pattern is None or isinstance(pattern, (tuple, dict)):
        raise BadAttribute(Text("a regular expression must be text"), position=rule.position)
    try:
        return read_pattern(pattern)
    except (ValueError, LimitExceeded) as error:
        raise BadAttribute(
            Text("not a regular expression: {error}", error=error),
            position=rule.position,
            hint=Text("it is written as in Python"),
        ) from None
