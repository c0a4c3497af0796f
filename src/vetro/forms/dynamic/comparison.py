"""UI definitions in two versions: what becomes of answers that were kept, and of clients that send them.

Fields are compared by their form and name. What two fields take is found out by giving both the same values; lengths,
choices and regular expressions are proven to be wider where they are. What depends on other answers or on a cloud is
unknown when it changed. Nothing is evaluated but the validators of single fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.dynamic.attributes import PRESENTATION
from vetro.forms.dynamic.definition import Definition, FieldDefinition, FormDefinition, Rule
from vetro.forms.dynamic.errors import DynamicFormError
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import Expression, ListSnippet, MapSnippet, expressions_in, form_dialect
from vetro.forms.dynamic.load import load
from vetro.forms.dynamic.names import ALL, answers_read
from vetro.forms.dynamic.patterns import FormPattern
from vetro.forms.dynamic.plain_texts import nowhere
from vetro.forms.dynamic.resolve import Look, resolve
from vetro.forms.dynamic.types.base import Resolved
from vetro.forms.dynamic.validation import check_field
from vetro.packages.compat.candidates import USUAL, texts_near
from vetro.packages.compat.findings import Finding, Level, shown
from vetro.packages.compat.languages import Automaton, Lengths, Unsupported, found_by, text_outside
from vetro.packages.compat.time_limits import TimeLimits
from vetro.packages.hot.package import HotPackage
from vetro.packages.package import LoadedPackage
from vetro.yaql import ast
from vetro.yaql.errors import VetroError

#: Steps of all validators of a field, in each of the versions.
_STEPS = 200_000
#: Attributes that do not decide which answers are taken.
_SHOWN_ONLY = PRESENTATION | {"initial", "hidden", "widget"}


def form_findings(old: LoadedPackage, new: LoadedPackage, limits: TimeLimits) -> Iterator[Finding]:
    """Differences of the UI definitions of two versions; nothing for Heat templates, whose forms are made of them."""
    if isinstance(old.plugin, HotPackage) and isinstance(new.plugin, HotPackage):
        return
    if old.ui is None or new.ui is None:
        if old.ui is not None:
            text = Text("has no form definition any more: answers that were kept mean nothing")
            yield Finding("CMP175", Level.MAJOR, old.name, text)
        elif new.ui is not None:
            yield Finding("CMP175", Level.MINOR, old.name, Text("has a form definition now"))
        return
    if old.ui == new.ui:
        return
    try:
        before = load(old.ui, _origin(old))
    except DynamicFormError:
        return  # nobody could answer it
    try:
        after = load(new.ui, _origin(new))
    except DynamicFormError as error:
        text = Text("has a form definition that cannot be read: {message}", message=error.message)
        yield Finding("CMP173", Level.UNKNOWN, old.name, text, new=error.position)
        return
    yield from _definitions(before, after, limits)


def _origin(package: LoadedPackage) -> str:
    return f"{package.location}/UI/{package.manifest.ui or 'ui.yaml'}"


def _definitions(old: Definition, new: Definition, limits: TimeLimits) -> Iterator[Finding]:
    if new.version > old.version:
        text = Text("has version {new}, was {old}", new=_version(new), old=_version(old))
        yield Finding("CMP176", Level.MINOR, "form", text, old.application_position, new.application_position)
    used = _used(old)
    forms = {form.name: form for form in new.forms}
    nothing = FormDefinition("", {}, (), old.application_position)
    for form in old.forms:
        after = forms.get(form.name, nothing)
        for name, field in form.fields.items():
            element = f"form:{form.name}.{name}"
            found = after.fields.get(name)
            if found is None:
                yield _gone(element, field, bool(used & {(form.name, name), (form.name, ALL), (ALL, ALL)}))
            else:
                pair = _Fields(element, field, found)
                yield from limits.within(pair.findings, pair.late)
        added = [rule for rule in after.rules if _rule_key(rule) not in {_rule_key(one) for one in form.rules}]
        if added:
            text = Text(
                "has another condition for all of its answers: nobody knows whether it takes those that it took"
            )
            yield Finding("CMP173", Level.UNKNOWN, f"form:{form.name}", text, form.position, added[0].position)
    before = {form.name: form for form in old.forms}
    for form in new.forms:
        for name, field in form.fields.items():
            if name not in before.get(form.name, nothing).fields:
                yield Finding("CMP119", Level.MINOR, f"form:{form.name}.{name}", Text("is new"), new=field.position)


def _version(definition: Definition) -> str:
    return ".".join(map(str, definition.version))


def _used(definition: Definition) -> set[tuple[str, str]]:
    """The answers that the object is made of."""
    snippets = [definition.application, *definition.templates.values()]
    nodes = [one.node for snippet in snippets for one in expressions_in(snippet)]
    return {pair for node in nodes for pair in answers_read(node, form_dialect().table)}


def _gone(element: str, field: FieldDefinition, used: bool) -> Finding:
    if used:
        return Finding(
            "CMP170", Level.MAJOR, element, Text("is gone, and objects were made of its answer"), field.position
        )
    return Finding("CMP170", Level.MINOR, element, Text("is gone; nothing was made of its answer"), field.position)


def _key(snippet: Any) -> object:
    """Equal for snippets that say the same."""
    if isinstance(snippet, Expression):
        return "expression", snippet.text
    if isinstance(snippet, ListSnippet):
        return "list", tuple(map(_key, snippet.items))
    if isinstance(snippet, MapSnippet):
        return "map", tuple((_key(name), _key(value)) for name, value in snippet.pairs)
    if isinstance(snippet, FormPattern):
        return "pattern", snippet.text
    return "value", repr(snippet)


def _rule_key(rule: Rule) -> object:
    return None if rule.condition is None else rule.condition.text, _key(rule.pattern)


def _field_key(field: FieldDefinition) -> object:
    settings = {
        name: _key(one.snippet)
        for name, one in field.settings.items()
        if name not in _SHOWN_ONLY and name not in ("validators", "regexp_validator")
    }
    return repr(field.declared), tuple(sorted(settings.items())), tuple(map(_rule_key, field.rules))


class _Fields:
    """One field in two versions."""

    def __init__(self, element: str, old: FieldDefinition, new: FieldDefinition) -> None:
        self.element, self.old, self.new = element, old, new

    def findings(self) -> Iterator[Finding]:
        """What has changed, and for whom."""
        if _initial(self.old) != _initial(self.new):
            yield self._found("CMP116", Level.MINOR, Text("has another default"))
        if _field_key(self.old) == _field_key(self.new):
            return
        if self._fixed() is False:
            yield self._found("CMP173", Level.UNKNOWN, Text("nobody knows whether it takes everything that it took"))
            return
        one, other = (resolve(field, _look()) for field in (self.old, self.new))
        if other.required and not one.required and not other.hidden and other.initial is None:
            yield self._found("CMP171", Level.MAJOR, Text("has to be answered now"))
            return
        doubts: list[str] = []
        proven = self._wider(one, other, doubts)
        refused = self._refused(one, other, doubts)
        if refused:
            witness = shown(min(refused, key=lambda value: (len(repr(value)), repr(value))))
            yield self._found("CMP172", Level.MAJOR, Text("refuses what it took"), witness)
        elif proven:
            yield self._found("CMP174", Level.MINOR, Text("takes more than before, or the same"))
        else:
            yield self._found("CMP173", Level.UNKNOWN, Text("nobody knows whether it takes everything that it took"))

    def late(self) -> Finding:
        """What is told when this takes too long."""
        text = Text("nobody knows what has changed: comparing it does not end in time")
        return self._found("CMP190", Level.UNKNOWN, text)

    def _found(self, code: str, level: Level, text: Text, witness: str | None = None) -> Finding:
        return Finding(code, level, self.element, text, self.old.position, self.new.position, witness)

    def _fixed(self) -> bool:
        """Whether neither field depends on anything but its answer."""
        kinds = {"initial", *PRESENTATION}
        return not any(
            one.type.moving or any(setting.name not in kinds for setting in one.moving) or _moves(one.rules)
            for one in (self.old, self.new)
        )

    def _refused(self, one: Resolved, other: Resolved, doubts: list[str]) -> list[Any]:
        """Answers that the old field takes and the new one refuses; both were asked."""
        looks = _look(), _look()
        refused = []
        for value in _values(one, other, doubts):
            try:
                if not check_field(one, value, looks[0])[1] and check_field(other, value, looks[1])[1]:
                    refused.append(value)
            except VetroError:  # a validator that fails on it, or has used up its steps
                continue
        return refused

    def _wider(self, one: Resolved, other: Resolved, doubts: list[str]) -> bool:
        """Whether everything that the old field takes is proven to be taken; else texts that may show the opposite."""
        if type(self.old.type) is not type(self.new.type) or (other.required and not one.required):
            return False
        if (one.enabled, one.disabled) != (other.enabled, other.disabled):
            return False
        offered = {choice.value for choice in other.choices if not choice.disabled}
        if not {choice.value for choice in one.choices if not choice.disabled} <= offered:
            return False
        for least in ("min_length", "minimum"):
            if (getattr(other, least) or 0) > (getattr(one, least) or 0):
                return False
        for most in ("max_length", "maximum"):
            after, before = getattr(other, most), getattr(one, most)
            if after is not None and (before is None or before > after):
                return False
        known = {_rule_key(rule) for rule in self.old.rules}
        wanted = [rule for rule in self.new.rules if _rule_key(rule) not in known]
        return all(_follows(one, rule, self.old.rules, doubts) for rule in wanted)


def _look() -> Look:
    evaluation = Evaluation(nowhere())
    evaluation.rt.steps = _STEPS
    return Look(evaluation)


def _initial(field: FieldDefinition) -> object:
    setting = field.settings.get("initial")
    return None if setting is None else _key(setting.snippet)


def _moves(rules: Any) -> bool:
    return any(isinstance(rule.pattern, (Expression, ListSnippet, MapSnippet)) for rule in rules)


def _automaton(rule: Rule) -> Automaton | None:
    """The texts that a validator takes; None where no automaton says it."""
    if rule.condition is not None:
        return None
    text = rule.pattern.text if isinstance(rule.pattern, FormPattern) else rule.pattern
    try:
        return found_by(text) if isinstance(text, str) else None
    except (Unsupported, VetroError, ValueError):
        return None


def _follows(field: Resolved, wanted: Rule, known: Any, doubts: list[str]) -> bool:
    """Whether a new validator takes whatever the old ones took; else a text that it may refuse is noted."""
    machine = _automaton(wanted)
    if machine is None:
        return False
    lengths = Lengths(field.min_length or 0, field.max_length)
    try:
        outside = text_outside([found for rule in known if (found := _automaton(rule))], lengths, machine)
    except Unsupported:
        return False
    if outside is not None:
        doubts.append(outside)
    return outside is None


def _values(one: Resolved, other: Resolved, doubts: list[str]) -> Iterator[Any]:
    """Answers to try on both."""
    yield from doubts
    for field in (one, other):
        yield from (choice.value for choice in field.choices)
        for size in (field.min_length, field.max_length):
            if size is not None and size <= 400:
                yield from ("a" * around for around in (size - 1, size, size + 1) if around >= 0)
        for number in (field.minimum, field.maximum):
            if number is not None:
                yield from (str(around) for around in (number - 1, number, number + 1))
        for rule in field.definition.rules:
            if (machine := _automaton(rule)) is not None:
                yield from texts_near(machine)
            elif rule.condition is not None:
                yield from _constants(rule.condition)
    yield from (value for value in USUAL if value.__class__ in (str, bool))
    yield from (str(value) for value in USUAL if value.__class__ is int)


def _constants(expression: Expression) -> Iterator[Any]:
    for node in ast.walk(expression.node):
        if isinstance(node, ast.Constant) and node.value.__class__ is int and abs(node.value) < 10**6:
            yield from (str(node.value + step) for step in (-1, 0, 1))
            yield from ("a" * size for size in (node.value, node.value + 1) if 0 <= size <= 400)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (node.value, node.value + "x")
