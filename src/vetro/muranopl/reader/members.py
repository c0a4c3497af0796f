"""Reading properties, arguments and methods (SEMANTICS 4.1, 5.1, 7.1)."""

from __future__ import annotations

from typing import Final

from yaml.nodes import MappingNode, ScalarNode

from vetro.diagnostics import Text
from vetro.muranopl.contracts.model import Contract
from vetro.muranopl.contracts.reader import read_contract
from vetro.muranopl.declarations.tree import (
    NO_DEFAULT,
    ArgumentDecl,
    ArgumentUsage,
    MethodDecl,
    MethodScope,
    MethodUsage,
    Namespaces,
    PropertyDecl,
    PropertyUsage,
    Template,
    _NoDefault,
)
from vetro.muranopl.errors import DeclarationError, DslSyntaxError, MissingKey
from vetro.muranopl.reader.instructions import read_block
from vetro.muranopl.reader.meta import read_member_meta
from vetro.muranopl.reader.values import Entries, ReadContext, describe, did_you_mean
from vetro.muranopl.source.nodes import YNode

PROPERTY_KEYS: Final = ("Contract", "Usage", "Default", "Meta")
METHOD_KEYS: Final = ("Usage", "Scope", "Arguments", "Body", "Meta")
#: Methods that run by themselves have names no code can call (SEMANTICS 4.1).
SPECIAL: Final = {"initialize": ".init", "destroy": ".destroy"}

_PROPERTY_USAGES = {usage.value: usage for usage in PropertyUsage}
_ARGUMENT_USAGES = {usage.value: usage for usage in ArgumentUsage}
_METHOD_USAGES = {usage.value: usage for usage in MethodUsage}
_SCOPES = {scope.value: scope for scope in MethodScope}
_ORDER = {ArgumentUsage.STANDARD: 0, ArgumentUsage.VAR_ARGS: 1, ArgumentUsage.KW_ARGS: 2}
# Made once: a large package has thousands of members, and these are only shown where one is wrong.
_PROPERTY, _ARGUMENT, _METHOD = Text("property"), Text("argument"), Text("method")
_CONTRACT_BELOW = Text("indent 'Contract: …' below the name")
_BODY_BELOW = Text("indent 'Body:' and the instructions below the name")


def _default(context: ReadContext, entries: Entries) -> Template | _NoDefault:
    return context.template(entries["Default"][1]) if "Default" in entries else NO_DEFAULT


def _contract(context: ReadContext, entries: Entries, key: ScalarNode, what: str) -> Contract:
    if "Contract" not in entries:
        hint = next((h for n in entries if (h := did_you_mean(n, ("Contract",))) and n not in PROPERTY_KEYS), None)
        raise MissingKey(
            Text("{what} '{value}' has no Contract", what=what, value=key.value),
            position=context.position(key),
            hint=hint or Text("add Contract: $ to accept any value"),
        )
    return read_contract(context, entries["Contract"][1])


def read_property(context: ReadContext, key: ScalarNode, node: YNode, namespaces: Namespaces) -> PropertyDecl:
    """One property. Raises `MissingKey`, `DslSyntaxError`, `DeclarationError`."""
    name = context.identifier(key, _PROPERTY)

    def what() -> Text:
        return Text("property '{name}'", name=name)

    entries = context.entries(node, what, _CONTRACT_BELOW)
    context.check_keys(entries, PROPERTY_KEYS, what)
    usage = PropertyUsage.IN
    if context.present(entries, "Usage"):
        usage = _PROPERTY_USAGES[
            context.choice(entries["Usage"][1], _PROPERTY_USAGES, Text("property usage"), DslSyntaxError)
        ]
    contract = _contract(context, entries, key, _PROPERTY)
    meta = read_member_meta(context, entries, namespaces) if "Meta" in entries else ()
    return PropertyDecl(name, usage, contract, _default(context, entries), meta, context.position(key))


def read_argument(context: ReadContext, key: ScalarNode, node: YNode, namespaces: Namespaces) -> ArgumentDecl:
    """One argument. Raises `MissingKey`, `DslSyntaxError`, `DeclarationError`."""
    name = context.identifier(key, _ARGUMENT)

    def what() -> Text:
        return Text("argument '{name}'", name=name)

    entries = context.entries(node, what, _CONTRACT_BELOW)
    context.check_keys(entries, PROPERTY_KEYS, what)
    usage = ArgumentUsage.STANDARD
    if context.present(entries, "Usage"):
        usage = _ARGUMENT_USAGES[
            context.choice(entries["Usage"][1], _ARGUMENT_USAGES, Text("argument usage"), DslSyntaxError)
        ]
    contract = _contract(context, entries, key, _ARGUMENT)
    meta = read_member_meta(context, entries, namespaces) if "Meta" in entries else ()
    return ArgumentDecl(name, usage, contract, _default(context, entries), meta, context.position(key))


def read_arguments(context: ReadContext, node: YNode, namespaces: Namespaces) -> tuple[ArgumentDecl, ...]:
    """A list of mappings with one key each; a plain mapping only for one argument (SEMANTICS 7.1).

    Packages before format 1.3 wrote several arguments as one mapping, too (USAGE 1.9): in the order of the file.
    """
    result: list[ArgumentDecl] = []
    items = context.items(node)
    if context.format_version < (1, 3) and node.__class__ is MappingNode:
        items = [MappingNode(node.tag, [pair], pair[0].start_mark, pair[1].end_mark) for pair in node.value]
    for item in items:
        if item.__class__ is not MappingNode or len(item.value) != 1 or item.value[0][0].__class__ is not ScalarNode:
            many = item.__class__ is MappingNode and len(item.value) > 1
            raise DslSyntaxError(
                Text("several arguments in one mapping")
                if many
                else Text("an argument is a mapping, not {describe}", describe=describe(item)),
                position=context.position(item),
                hint=Text("begin each argument with a dash: '- name:' and its Contract indented below"),
            )
        key, value = item.value[0]
        argument = context.attempt(read_argument, context, key, value, namespaces)
        if argument is None:
            continue
        for other in result:
            if other.name == argument.name:
                raise DeclarationError(
                    Text("argument '{name}' is declared twice", name=argument.name),
                    position=argument.position,
                    hint=Text("rename one"),
                )
        _check_order(result[-1] if result else None, argument)
        result.append(argument)
    return tuple(result)


def _check_order(previous: ArgumentDecl | None, argument: ArgumentDecl) -> None:
    if previous is None:
        return
    before, now = _ORDER[previous.usage], _ORDER[argument.usage]
    if before > now or before == now > 0:
        raise DslSyntaxError(
            Text(
                "{value} argument '{name}' stands behind {value2} '{name2}'",
                value=argument.usage.value,
                name=argument.name,
                value2=previous.usage.value,
                name2=previous.name,
            ),
            position=argument.position,
            hint=Text("the order is: Standard arguments, then one VarArgs, then one KwArgs"),
        )


def read_method(context: ReadContext, key: ScalarNode, node: YNode, namespaces: Namespaces) -> MethodDecl:
    """One method. Raises `DslSyntaxError`, `DeclarationError`, `MissingKey`."""
    written = str(key.value)
    name = SPECIAL.get(written, written)
    if name not in (".init", ".destroy"):
        context.identifier(key, _METHOD)

    def what() -> Text:
        return Text("method '{written}'", written=written)

    entries = context.entries(node, what, _BODY_BELOW)
    context.check_keys(entries, METHOD_KEYS, what)
    usage, scope = MethodUsage.RUNTIME, MethodScope.SESSION
    if context.present(entries, "Usage"):
        word = context.choice(entries["Usage"][1], _METHOD_USAGES, Text("method usage"), DeclarationError)
        usage = _METHOD_USAGES[word]
    if context.present(entries, "Scope"):
        scope = _SCOPES[context.choice(entries["Scope"][1], _SCOPES, Text("scope"), DeclarationError)]
    if usage is MethodUsage.ACTION:
        _check_action(context, entries, scope)
    arguments: tuple[ArgumentDecl, ...] = ()
    if "Arguments" in entries:
        arguments = context.attempt(read_arguments, context, entries["Arguments"][1], namespaces) or ()
    body = read_block(context, entries["Body"][1]) if "Body" in entries else ()
    meta = read_member_meta(context, entries, namespaces) if "Meta" in entries else ()
    return MethodDecl(name, usage, scope, arguments, body, meta, context.position(key))


def _check_action(context: ReadContext, entries: Entries, scope: MethodScope) -> None:
    if "Scope" in entries and scope is MethodScope.SESSION:
        raise DeclarationError(
            Text("Usage: Action contradicts Scope: Session"),
            position=context.position(entries["Scope"][1]),
            hint=Text("write Scope: Public and remove Usage, or remove both"),
        )
    if context.format_version >= (1, 4):
        context.warn(
            DeclarationError(
                Text("Usage: Action is out of date since format 1.4"),
                position=context.position(entries["Usage"][1]),
                hint=Text("write Scope: Public instead"),
            )
        )
