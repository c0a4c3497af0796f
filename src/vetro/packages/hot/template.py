"""What a HOT package asks and answers, read from its template: parameters, constraints, groups and outputs.

Only these sections are looked at; resources are the cloud's business. Everything keeps its place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Position
from vetro.packages.hot.constraints import Constraint, read_constraints
from vetro.packages.hot.values import boolean, mapping, refuse, text, typed
from vetro.packages.yamltree import Node, TreeError, read_documents
from vetro.yaql.didyoumean import suggest

#: The parameter types of HOT.
TYPES = ("string", "number", "boolean", "comma_delimited_list", "json")
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. ``default`` counts only with ``has_default``; it has the parameter's type, lists are texts."""

    name: str
    type: str
    position: Position
    label: str | None = None
    description: str | None = None
    has_default: bool = False
    default: Any = None
    constraints: tuple[Constraint, ...] = ()
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class HotTemplate:
    """The parts of a template that make a class and a form. Groups hold names of parameters, in order."""

    file: str
    #: Lines of the file.
    lines: int
    parameters: tuple[Parameter, ...]
    groups: tuple[tuple[str, ...], ...]
    #: Output name -> its place.
    outputs: dict[str, Position]
    #: Where `resources` stands.
    resources: Position


def read_template(source: str | bytes, file: str) -> HotTemplate:
    """Reads a template. Raises `TemplateError` with the line of what cannot be offered as an application."""
    try:
        documents = read_documents(source, file)
    except TreeError as error:
        raise refuse(error.message, error.position, error.hint) from None
    if not documents or documents[0].pairs is None:
        raise refuse(Text("the template is no mapping"), Position(file, 1, 1), Text("a Heat template has 'resources'"))
    sections = mapping(documents[0])
    if "resources" not in sections:
        close = (
            Text("write 'resources' in small letters")
            if "Resources" in sections
            else Text("a Heat template has 'resources'")
        )
        raise refuse(Text("the template has no 'resources'"), documents[0].position, close)
    parameters = tuple(_parameter(key, value) for key, value in _entries(sections, "parameters"))
    outputs = {_name(key, Text("an output")): key.position for key, _ in _entries(sections, "outputs")}
    groups = (
        _groups(sections["parameter_groups"][1], {p.name for p in parameters}) if "parameter_groups" in sections else ()
    )
    resources = sections["resources"][0].position
    size = source.count(b"\n" if isinstance(source, bytes) else "\n") + 1  # type: ignore[arg-type]
    return HotTemplate(file, size, parameters, groups, outputs, resources)


def _entries(sections: dict[str, tuple[Node, Node]], name: str) -> Iterator[tuple[Node, Node]]:
    if name not in sections or sections[name][1].null:
        return
    node = sections[name][1]
    if node.pairs is None:
        raise refuse(
            Text("'{name}' is {describe}", name=name, describe=node.describe()),
            node.position,
            Text("write a mapping: name to description"),
        )
    yield from mapping(node).values()


def _name(key: Node, what: str) -> str:
    name = text(key, Text("the name of {what}", what=what))
    if not name or len(name) > _LONGEST_NAME:
        raise refuse(
            Text("the name of {what} has {name} characters", what=what, name=len(name)),
            key.position,
            Text("at most {longest_name}", longest_name=_LONGEST_NAME),
        )
    return name


def _parameter(key: Node, node: Node) -> Parameter:
    name = _name(key, Text("a parameter"))
    what = Text("parameter '{name}'", name=name)
    if node.pairs is None:
        raise refuse(
            Text("{what} is {describe}", what=what, describe=node.describe()),
            key.position,
            Text("write a mapping with at least a type"),
        )
    keys = {name: value for name, (_, value) in mapping(node).items()}
    if "type" not in keys or keys["type"].null:
        raise refuse(
            Text("{what} has no type", what=what), key.position, Text("types are {types}", types=", ".join(TYPES))
        )
    type_ = text(keys["type"], Text("the type of {what}", what=what))
    if type_ not in TYPES:
        close = type_.lower() if type_.lower() in TYPES else suggest(type_.lower(), TYPES)
        hint = (
            Text("did you mean '{close}'?", close=close) if close else Text("types are {types}", types=", ".join(TYPES))
        )
        raise refuse(
            Text("{what} has the type '{type}', which is not supported", what=what, type=type_[:40]),
            keys["type"].position,
            hint,
        )
    default = keys.get("default")
    has_default = default is not None and not default.null
    return Parameter(
        name=name,
        type=type_,
        position=key.position,
        label=_optional(keys.get("label"), Text("the label of {what}", what=what)),
        description=_optional(keys.get("description"), Text("the description of {what}", what=what)),
        has_default=has_default,
        default=typed(default, type_, Text("the default of {what}", what=what))
        if default is not None and has_default
        else None,
        constraints=read_constraints(keys.get("constraints"), type_, what),
        hidden="hidden" in keys and boolean(keys["hidden"], f"'hidden' of {what}"),
    )


def _optional(node: Node | None, what: str) -> str | None:
    return None if node is None or node.null else text(node, what).strip()


def _groups(node: Node, known: set[str]) -> tuple[tuple[str, ...], ...]:
    if node.null:
        return ()
    if node.items is None:
        raise refuse(
            Text("'parameter_groups' is {describe}", describe=node.describe()),
            node.position,
            Text("write a list of groups"),
        )
    seen: set[str] = set()
    groups: list[tuple[str, ...]] = []
    for item in node.items:
        _, listed = mapping(item).get("parameters", (None, None))
        if listed is None or listed.items is None:
            raise refuse(
                Text("a parameter group lists no parameters"), item.position, Text("write 'parameters: [name, …]'")
            )
        names: list[str] = []
        for entry in listed.items:
            name = text(entry, Text("a parameter of a group"))
            if name not in known:
                close = suggest(name, known)
                hint = Text("did you mean '{close}'?", close=close) if close else Text("declare it below 'parameters'")
                raise refuse(Text("a group names '{name}', which is no parameter", name=name), entry.position, hint)
            if name in seen:
                raise refuse(
                    Text("parameter '{name}' is in two groups", name=name),
                    entry.position,
                    Text("name it in one of them"),
                )
            seen.add(name)
            names.append(name)
        if names:
            groups.append(tuple(names))
    return tuple(groups)
