"""A class file -> its declarations: the entry points of the reader (SEMANTICS 1, 2, 4, 5.1, 7.1, 9, 14.1).

`source` gives nodes with positions, `scalars` tells expressions from text, `read_values`, `read_instructions` and
`read_class` build the parts. Nothing here looks at another file: names are resolved by the linker.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from yaml.nodes import MappingNode, Node

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import (
    EMPTY,
    ClassDecl,
    Literal,
    MetaDecl,
    Namespaces,
    Position,
    SourceFile,
    Template,
)
from vetro.muranopl.errors import DeclarationError, DslSyntaxError, MuranoError
from vetro.muranopl.reader.classes import is_dotted, read_class, read_namespaces
from vetro.muranopl.reader.meta import read_meta
from vetro.muranopl.reader.values import ReadContext, describe
from vetro.muranopl.source.documents import load_documents
from vetro.yaql.values import freeze


def read_file(
    text: str,
    file: str,
    *,
    format_version: tuple[int, int],
    default_name: str | None,
    digest: str = "",
    problems: list[MuranoError] | None = None,
) -> SourceFile:
    """The classes that ``text`` declares.

    ``format_version`` is the package's (it decides the expression dialect and whether keys may repeat);
    ``default_name`` the full name of the class without ``Name``. Raises `SourceError` for what is no acceptable YAML,
    `DslSyntaxError` and `DeclarationError` for wrong declarations, all with a position. With a list of ``problems``
    every one is appended instead and what can be read is returned; those with ``severity`` ``warning`` harm nothing.
    """
    context = ReadContext(text, file, format_version, problems)
    documents = context.attempt(_documents, context) or []
    classes: dict[str, ClassDecl] = {}
    namespaces = Namespaces()
    nameless: str | None = default_name
    for document in documents:
        if document.__class__ is not MappingNode:
            context.attempt(_not_a_class, context, document)
            continue
        keys = {key.value: value for key, value in document.value if isinstance(key.value, str)}
        if "Namespaces" in keys:
            namespaces = context.attempt(read_namespaces, context, keys["Namespaces"]) or Namespaces()
            if len(document.value) == 1:
                continue
        has_name = "Name" in keys and not context.is_null(keys["Name"])
        declared = context.attempt(_read_class, context, document, namespaces, nameless, default_name, has_name, digest)
        if not has_name:
            nameless = None
        if declared is None:
            continue
        if declared.name in classes:
            context.attempt(_twice, declared)
        classes[declared.name] = declared
    return SourceFile(file, MappingProxyType(classes), nameless is not default_name)


def _documents(context: ReadContext) -> list[Any]:
    strict = context.format_version >= (1, 4)
    if strict and context.problems is not None:  # an error, but one that need not hide the others
        return load_documents(context.text, context.file, allow_duplicate_keys=True, warn=context.problems.append)
    return load_documents(context.text, context.file, allow_duplicate_keys=not strict, warn=context.warn)


def _not_a_class(context: ReadContext, document: Any) -> None:
    raise DslSyntaxError(
        Text("a class file holds mappings, not {describe}", describe=describe(document)),
        position=context.position(document),
        hint=Text("a class begins with Name: and its other keys"),
    )


def _read_class(
    context: ReadContext,
    document: MappingNode,
    namespaces: Namespaces,
    nameless: str | None,
    default_name: str | None,
    has_name: bool,
    digest: str,
) -> ClassDecl:
    if not has_name and nameless is None and default_name is not None:
        raise DeclarationError(
            Text("a second class without Name in one file"),
            position=context.position(document),
            hint=Text(
                "only one may take the name {default_name} of the manifest; add Name:", default_name=default_name
            ),
        )
    return read_class(context, document, namespaces, nameless, digest)


def _twice(declared: ClassDecl) -> None:
    raise DeclarationError(
        Text("class '{name}' is declared twice in one file", name=declared.name),
        position=declared.position,
        hint=Text("rename one"),
    )


def read_manifest_meta(source: Any, file: str = "manifest.yaml", text: str = "") -> tuple[MetaDecl, ...]:
    """The manifest's ``Meta``: a YAML node of ``text``, or plain data (whose scalars are then no expressions).

    Class names in it are full names. Raises `DslSyntaxError` and `DeclarationError`.
    """
    if isinstance(source, Node):
        return read_meta(ReadContext(text, file, (1, 4)), source, None)  # type: ignore[arg-type]
    if source is None:
        return ()
    where = Position(file, 1, 1)
    result: list[MetaDecl] = []
    for item in source if isinstance(source, (list, tuple)) else [source]:
        for name, properties in item.items() if isinstance(item, Mapping) else [(item, None)]:
            if not isinstance(name, str) or not is_dotted(name):
                raise DeclarationError(
                    Text("Meta names a class, not {name}", name=repr(name)),
                    position=where,
                    hint=Text("in a manifest write its full name"),
                )
            if properties is not None and not isinstance(properties, Mapping):
                raise DeclarationError(
                    Text("properties of meta '{name}' must be a mapping", name=name),
                    position=where,
                    hint=Text("write 'property: value' lines"),
                )
            result.append(MetaDecl(name, _plain_properties(properties, where), where))
    return tuple(result)


def _plain_properties(properties: Mapping[Any, Any] | None, where: Position) -> Mapping[str, Template]:
    if not properties:
        return EMPTY
    return MappingProxyType({str(key): Literal(freeze(value), where) for key, value in properties.items()})


__all__ = ["read_file", "read_manifest_meta"]
