"""Fields and rules of a definition, read and checked as far as nothing has to be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from vetro.diagnostics import Text
from vetro.forms.dynamic.attributes import COMMON, PRESENTATION, convert, fold, is_safe_html, usual
from vetro.forms.dynamic.definition import FieldDefinition, Rule, Setting
from vetro.forms.dynamic.errors import BadAttribute, DefinitionError, UnknownAttribute
from vetro.forms.dynamic.expressions import Expression, expressions_in, form_dialect, is_dynamic, parsed
from vetro.forms.dynamic.names import answers_read
from vetro.forms.dynamic.plain_texts import soften
from vetro.forms.dynamic.resolve import compiled
from vetro.forms.dynamic.snippets import Reader, describe
from vetro.forms.dynamic.types import FieldType, type_of
from vetro.forms.dynamic.types.cloud import is_requirement
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.source.nodes import PLAIN, YNode
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError
from vetro.yaql.values import FDict

_HINT = Text("a field is written '- name: …' with 'type: …' and its attributes below")
#: A rule that is read from an attribute of its own and one that stands in a list.
_RULES = ("regexp_validator", "validators")
#: Attributes that are mappings: which keys mean something, and what to tell those who write others.
_PARTS: dict[str, tuple[Callable[[str], bool], str]] = {
    "widget_attrs": (is_safe_html, "authors may set harmless HTML attributes only"),
    "widget_media": (lambda part: fold(part) in ("js", "css"), "there are js and css"),
    "requirements": (lambda part: is_requirement(fold(part)), "there are min_ and max_ with disk, vcpus, memory_mb"),
}


def read_field(reader: Reader, node: YNode) -> FieldDefinition:
    """The field described by ``node``. Raises `DefinitionError`, `UnknownAttribute`, `BadAttribute`."""
    given: dict[str, tuple[YNode, YNode]] = {}
    for written, key, value in reader.pairs(node, Text("a field"), _HINT):
        name = fold(written)
        if name in given:
            reader.warn(f"attribute '{written}' is written twice; the later one counts", reader.at(key))
            del given[name]  # the place counts: of two kinds of rules the later one wins
        given[name] = (key, value)
    name = _name(reader, node, given)
    declared = _type(reader, node, given, name)
    field_type = type_of(declared)
    settings: dict[str, Setting] = {}
    static: dict[str, Any] = {}
    moving: list[Setting] = []
    for attribute, (key, value) in given.items():
        if attribute in ("name", "type"):
            continue
        try:
            setting = _setting(reader, attribute, key, value, name, field_type)
            if setting is None:
                continue
            settings[attribute] = setting
            if attribute in _RULES:
                continue
            if is_dynamic(setting.snippet):
                moving.append(setting)
            else:
                static[attribute] = convert(
                    attribute, setting.snippet, field_type.converter(attribute), setting.position
                )
        except DefinitionError as error:
            reader.fail(error)
    rules = _rules(reader, given)
    reads: set[tuple[str, str]] = set()
    for snippet in (*(s.snippet for s in moving), *(r.pattern for r in rules), *(r.message for r in rules)):
        for expression in expressions_in(snippet):
            reads |= answers_read(expression.node, form_dialect().table)
    return FieldDefinition(
        name, declared, field_type, reader.at(node), settings, rules, static, moving, frozenset(reads)
    )


def _name(reader: Reader, node: YNode, given: dict[str, tuple[YNode, YNode]]) -> str:
    if "name" not in given:
        raise DefinitionError(Text("a field has no name"), position=reader.at(node), hint=_HINT)
    value = given["name"][1]
    # Names are never evaluated, so text that looks like an expression is just text.
    if value.__class__ is not ScalarNode or reader.null(value) or not value.value.strip():
        raise DefinitionError(
            Text("a field's name must be text, not {describe}", describe=describe(value)),
            position=reader.at(value),
            hint=_HINT,
        )
    return str(value.value)


def _type(reader: Reader, node: YNode, given: dict[str, tuple[YNode, YNode]], name: str) -> str | tuple[str, ...]:
    if "type" not in given:
        raise DefinitionError(Text("field '{name}' has no type", name=name), position=reader.at(node), hint=_HINT)
    value = given["type"][1]
    words = value.value if value.__class__ is SequenceNode else [value]
    if not words or not all(
        word.__class__ is ScalarNode and not reader.null(word) and word.value.strip() for word in words
    ):
        raise DefinitionError(
            Text(
                "the type of field '{name}' must be a word or a list of class names, not {describe}",
                name=name,
                describe=describe(value),
            ),
            position=reader.at(value),
            hint=Text("write one of string, text, integer, boolean, choice, password, … or the name of a class"),
        )
    names = tuple(str(word.value).strip() for word in words)
    return names if value.__class__ is SequenceNode else names[0]


def _setting(
    reader: Reader, attribute: str, key: YNode, value: YNode, field: str, field_type: FieldType
) -> Setting | None:
    if not field_type.knows(attribute):
        known = sorted(map(usual, COMMON | field_type.own))
        meant = suggest(usual(attribute), known)
        raise UnknownAttribute(
            Text(
                "field '{field}' has an attribute '{value}' that its type does not know", field=field, value=key.value
            ),
            position=reader.at(key),
            hint=Text("did you mean {meant}?", meant=meant)
            if meant
            else Text("known are {known}", known=", ".join(known)),
        )
    if attribute in _RULES:
        return None if reader.null(value) else Setting(attribute, None, reader.at(value))
    snippet = reader.snippet(value)
    if attribute in PRESENTATION or (attribute == "choices" and not isinstance(snippet, Expression)):
        snippet = soften(snippet, reader, attribute)
    if attribute == "choices" and is_dynamic(snippet) and not isinstance(snippet, Expression):
        inner = next(expressions_in(snippet))
        raise BadAttribute(
            Text("'{short}' stands inside a list of choices, where expressions are not evaluated", short=inner.short),
            position=inner.position,
            hint=Text("quote it if it is text; to compute choices make the whole list one expression"),
        )
    if snippet is None and attribute in ("label", "description", "description_title", "help_text"):
        return None
    if attribute in _PARTS and isinstance(snippet, FDict):
        known_part, hint = _PARTS[attribute]
        for part in snippet:
            if not known_part(str(part)):
                reader.warn(f"'{part}' in {attribute} is ignored", reader.at(value), hint)
    return Setting(attribute, snippet, reader.at(value))


# -- rules ------------------------------------------------------------------------------------------------------------


def _rules(reader: Reader, given: dict[str, tuple[YNode, YNode]]) -> Sequence[Rule]:
    """The rules of a field: of `regexpValidator` and `validators` the one that is written later."""
    rules: Sequence[Rule] = ()
    for attribute, (_, value) in given.items():
        if reader.null(value):
            continue
        if attribute == "regexp_validator":
            rules = [_pattern_rule(reader, value, reader.at(value), None, by_attribute=True)]
        elif attribute == "validators":
            rules = read_rules(reader, value, of_form=False)
    return rules


def read_rules(reader: Reader, node: YNode, *, of_form: bool) -> Sequence[Rule]:
    """The rules of a `validators` list. Raises `DefinitionError`."""
    if reader.null(node):
        return ()
    hint = Text("write '- expr: …' and below it 'message: …'")
    found = []
    for item in reader.items(node, "validators", hint):
        parts = {fold(name): value for name, _, value in reader.pairs(item, Text("a validator"), hint)}
        if "expr" not in parts:
            raise DefinitionError(Text("a validator has no expr"), position=reader.at(item), hint=hint)
        message = None
        if "message" in parts:
            message = soften(reader.snippet(parts["message"]), reader, "message")
        rule = _listed_rule(reader, parts["expr"], reader.at(item), message, of_form)
        if rule is not None:
            found.append(rule)
    return found


def _listed_rule(reader: Reader, node: YNode, place: Position, message: Any, of_form: bool) -> Rule | None:
    if node.__class__ is MappingNode and not of_form:
        hint = Text("write 'expr: {{regexpValidator: …}}'")
        for name, _, value in reader.pairs(node, "expr", hint):
            if fold(name) == "regexp_validator":
                return _pattern_rule(reader, value, place, message, by_attribute=False)
        raise DefinitionError(Text("expr has no regexpValidator"), position=place, hint=hint)
    condition = reader.snippet(node)
    if isinstance(condition, Expression):
        return Rule(place, condition=condition, message=message)
    hint = Text("take the quotes away, or write !yaql before them")
    if node.tag == PLAIN and isinstance(condition, str):
        # No quotes there: it is text because it cannot be read as an expression, and why is what helps.
        try:
            parsed(condition)
        except VetroError as error:
            hint = Text("as an expression it cannot be read: {message}", message=error.message)
    if of_form:
        raise DefinitionError(
            Text("the validator of a form must be an expression, not {describe}", describe=describe(node)),
            position=place,
            hint=hint,
        )
    reader.warn("this validator is text and never checks anything", reader.at(node), hint)
    return None


def _pattern_rule(reader: Reader, node: YNode, place: Position, message: Any, *, by_attribute: bool) -> Rule:
    pattern = reader.snippet(node)
    rule = Rule(place, pattern=pattern, message=message, by_attribute=by_attribute)
    if isinstance(pattern, Expression):
        return rule
    return Rule(place, pattern=compiled(pattern, rule), message=message, by_attribute=by_attribute)
