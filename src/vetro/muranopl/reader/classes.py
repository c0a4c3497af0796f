"""Reading class documents (SEMANTICS 2.1, 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeVar

from yaml.nodes import MappingNode, ScalarNode

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import ClassDecl, ClassUsage, MethodDecl, Namespaces
from vetro.muranopl.errors import DeclarationError, MissingKey
from vetro.muranopl.reader.members import read_method, read_property
from vetro.muranopl.reader.meta import read_member_meta
from vetro.muranopl.reader.values import Entries, ReadContext, describe
from vetro.muranopl.source.nodes import YNode

D = TypeVar("D")

CLASS_KEYS: Final = ("Name", "Namespaces", "Extends", "Properties", "Methods", "Workflow", "Usage", "Meta", "Import")
META_CLASS_KEYS: Final = ("Cardinality", "Applies", "Inherited")
PLACES: Final = ("All", "Package", "Type", "Property", "Method", "Argument")

_CLASS = Text("a class")
_CLASS_USAGES = {usage.value: usage for usage in ClassUsage}


def read_namespaces(context: ReadContext, node: YNode) -> Namespaces:
    """The value of ``Namespaces`` (SEMANTICS 2.1). Raises `DeclarationError`."""
    prefixes: dict[str, str] = {}
    for prefix, (key, value) in context.entries(node, "Namespaces").items():
        if prefix != "=" and not prefix.isidentifier():
            raise DeclarationError(
                Text("'{prefix}' cannot be a namespace prefix", prefix=prefix),
                position=context.position(key),
                hint=Text("prefixes are '=' or words of letters, digits and _, not beginning with a digit"),
            )
        if context.is_null(value) or (isinstance(value, ScalarNode) and value.value == ""):
            prefixes[prefix] = ""
            continue
        space = context.name(value, Text("namespace of '{prefix}'", prefix=prefix))
        if not is_dotted(space):
            raise DeclarationError(
                Text("'{space}' cannot be a namespace", space=space),
                position=context.position(value),
                hint=Text("write words joined by dots, as com.example.app"),
            )
        prefixes[prefix] = space
    return Namespaces(MappingProxyType(prefixes))


def is_dotted(name: str) -> bool:
    """Words of letters, digits and ``_`` joined by single dots."""
    return all(part and f"_{part}".isidentifier() for part in name.split("."))


def read_class(
    context: ReadContext, node: MappingNode, namespaces: Namespaces, default_name: str | None, digest: str
) -> ClassDecl:
    """One class document. ``default_name`` is the full name it has when it states none."""
    entries = context.entries(node, _CLASS)
    where = context.position(entries["Name"][0] if "Name" in entries else node)
    name = _class_name(context, entries, node, namespaces, default_name)
    usage = ClassUsage.CLASS
    if context.present(entries, "Usage"):
        chosen = context.attempt(
            context.choice, entries["Usage"][1], _CLASS_USAGES, Text("class usage"), DeclarationError
        )
        usage = _CLASS_USAGES[chosen] if chosen else usage
    known = CLASS_KEYS + META_CLASS_KEYS if usage is ClassUsage.META else CLASS_KEYS
    context.check_keys(entries, known, _CLASS)
    marks: tuple[str, frozenset[str], bool] = ("One", frozenset({"All"}), False)
    if usage is ClassUsage.META:
        marks = context.attempt(_meta_marks, context, entries) or marks
    return ClassDecl(
        name=name,
        namespaces=namespaces,
        usage=usage,
        extends=_names(context, entries, "Extends", namespaces),
        properties=_members(context, entries, "Properties", read_property, namespaces),
        methods=_methods(context, entries, namespaces),
        imports=_names(context, entries, "Import", namespaces),
        meta=read_member_meta(context, entries, namespaces),
        position=where,
        cardinality=marks[0],
        applies=marks[1],
        inherited=marks[2],
        digest=digest,
    )


def _class_name(
    context: ReadContext, entries: Entries, node: YNode, namespaces: Namespaces, default_name: str | None
) -> str:
    if not context.present(entries, "Name"):
        if default_name is None:
            raise MissingKey(
                Text("the class has no Name"), position=context.position(node), hint=Text("add Name: ClassName")
            )
        return default_name
    written = context.name(entries["Name"][1], "Name")
    full = context.resolve(written, entries["Name"][1], namespaces)
    if not is_dotted(full):
        raise DeclarationError(
            Text("'{written}' cannot be a class name", written=written),
            position=context.position(entries["Name"][1]),
            hint=Text("use letters, digits, _ and dots"),
        )
    return full


def _names(context: ReadContext, entries: Entries, key: str, namespaces: Namespaces) -> tuple[str, ...]:
    if key not in entries:
        return ()
    names = [context.attempt(context.class_name, n, key, namespaces) for n in context.items(entries[key][1])]
    return tuple(name for name in names if name is not None)


def _meta_marks(context: ReadContext, entries: Entries) -> tuple[str, frozenset[str], bool]:
    cardinality, applies, inherited = "One", frozenset({"All"}), False
    if context.present(entries, "Cardinality"):
        cardinality = context.choice(entries["Cardinality"][1], ("One", "Many"), Text("cardinality"), DeclarationError)
    if context.present(entries, "Applies"):
        places = [
            context.choice(n, PLACES, Text("place"), DeclarationError) for n in context.items(entries["Applies"][1])
        ]
        applies = frozenset(places)
    if context.present(entries, "Inherited"):
        node = entries["Inherited"][1]
        value = context.scalars.read(node) if node.__class__ is ScalarNode else None
        if value.__class__ is not bool:
            raise DeclarationError(
                Text("Inherited is true or false, not {describe}", describe=describe(node)),
                position=context.position(node),
                hint=Text("write true or false without quotes"),
            )
        inherited = bool(value)
    return cardinality, applies, inherited


def _members(
    context: ReadContext,
    entries: Entries,
    key: str,
    read: Callable[[ReadContext, ScalarNode, YNode, Namespaces], D],
    namespaces: Namespaces,
) -> MappingProxyType[str, D]:
    result: dict[str, D] = {}
    if key in entries:
        members = context.attempt(context.entries, entries[key][1], key) or {}
        for name, (key_node, value) in members.items():
            member = context.attempt(read, context, key_node, value, namespaces)
            if member is not None:
                result[name] = member
    return MappingProxyType(result)


def _methods(context: ReadContext, entries: Entries, namespaces: Namespaces) -> MappingProxyType[str, MethodDecl]:
    source = "Methods"
    if "Workflow" in entries and not (context.present(entries, source) and _has_items(entries[source][1])):
        source = "Workflow"
    read = _members(context, entries, source, read_method, namespaces)
    result: dict[str, MethodDecl] = {}
    for method in read.values():
        if method.name in result:
            context.attempt(_declared_twice, method)
        result[method.name] = method
    return MappingProxyType(result)


def _has_items(node: YNode) -> bool:
    return node.__class__ is ScalarNode or bool(node.value)


def _declared_twice(method: MethodDecl) -> None:
    raise DeclarationError(
        Text("method '{name}' is declared twice", name=method.name),
        position=method.position,
        hint=Text("initialize is another name of .init, and destroy of .destroy"),
    )
