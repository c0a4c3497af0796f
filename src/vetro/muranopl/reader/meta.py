"""Reading attached meta objects (SEMANTICS 14.1)."""

from __future__ import annotations

from types import MappingProxyType

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import EMPTY, MetaDecl, Namespaces, Template
from vetro.muranopl.errors import DslSyntaxError
from vetro.muranopl.reader.values import Entries, ReadContext, describe
from vetro.muranopl.source.nodes import YNode


def read_member_meta(context: ReadContext, entries: Entries, namespaces: Namespaces) -> tuple[MetaDecl, ...]:
    """The ``Meta`` of a declaration, if it has one."""
    if "Meta" not in entries:
        return ()
    return context.attempt(read_meta, context, entries["Meta"][1], namespaces) or ()


def read_meta(context: ReadContext, node: YNode, namespaces: Namespaces | None) -> tuple[MetaDecl, ...]:
    """A name, ``{name: properties}`` or a list of those; prefixes are checked where ``namespaces`` are known."""
    result: list[MetaDecl] = []
    for item in context.items(node):
        if item.__class__ is SequenceNode or (item.__class__ is ScalarNode and context.is_null(item)):
            raise DslSyntaxError(
                Text("a meta object is a name or 'name: properties', not {describe}", describe=describe(item)),
                position=context.position(item),
                hint=Text("write Meta: Name, Meta: {{Name: {{property: value}}}} or a list of those"),
            )
        for key, value in item.value if item.__class__ is MappingNode else [(item, None)]:
            name = context.name(key, Text("a meta-class"))
            if namespaces is not None:
                context.resolve(name, key, namespaces)
            properties: dict[str, Template] = {}
            if value is not None:
                for prop, (_, template) in context.entries(value, Text("meta '{name}'", name=name)).items():
                    properties[prop] = context.template(template)
            result.append(MetaDecl(name, MappingProxyType(properties) if properties else EMPTY, context.position(key)))
    return tuple(result)
