"""Manifests and configuration files as YAML trees with positions.

Built from the parser's events with an explicit stack: PyYAML's own composer recurses in C and dies of deep nesting.
Aliases share nodes; every node knows its expanded size, so that an alias bomb is refused before anything expands it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import yaml
from yaml.constructor import SafeConstructor

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.muranopl.expressions import Position
from vetro.muranopl.source.tags import implicit_tag

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 100
MAX_NODES = 200_000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STR = "tag:yaml.org,2002:str"
_PLAIN_TAGS = {f"tag:yaml.org,2002:{t}" for t in ("null", "bool", "int", "float")}


class TreeError(ValueError):
    """The text is no YAML, or holds what these files may not hold."""

    def __init__(self, message: str, position: Position, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.hint = hint


@dataclass(slots=True, eq=False)
class Node:
    """A scalar (``text``, and ``tag`` after YAML's own typing), a list (``items``) or a mapping (``pairs``)."""

    kind: Literal["scalar", "list", "map"]
    position: Position
    text: str = ""
    tag: str = _STR
    items: list[Node] | None = None
    pairs: list[tuple[Node, Node]] | None = None
    size: int = 1

    @property
    def null(self) -> bool:
        """Whether it is a null scalar."""
        return self.kind == "scalar" and self.tag.endswith(":null")

    def describe(self) -> str:
        """How messages call it."""
        if self.kind == "scalar":
            return Text("nothing") if self.null else f"'{self.text[:40]}'"
        return Text("a list") if self.kind == "list" else Text("a mapping")


@cache
def _constructor() -> Any:
    return SafeConstructor()


class _Composer:
    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.text = text
        self.anchors: dict[str, Node] = {}
        self.open: list[tuple[Node, str | None, Node | None]] = []
        self.documents: list[Node] = []

    def compose(self) -> list[Node]:
        handlers = {
            yaml.DocumentStartEvent: self.on_document,
            yaml.AliasEvent: self.on_alias,
            yaml.ScalarEvent: self.on_scalar,
            yaml.SequenceStartEvent: self.on_sequence,
            yaml.MappingStartEvent: self.on_mapping,
            yaml.SequenceEndEvent: self.on_end,
            yaml.MappingEndEvent: self.on_end,
        }
        try:
            for event in yaml.parse(self.text, Loader=_LOADER):
                handler = handlers.get(event.__class__)
                if handler is not None:
                    handler(event)
        except UnicodeEncodeError:
            raise TreeError(Text("not valid Unicode text"), Position(self.file, 1, 1)) from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            position = Position(self.file, mark.line + 1, mark.column + 1) if mark else Position(self.file, 1, 1)
            problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
            raise TreeError(Text("not valid YAML: {problem}", problem=problem), position) from None
        return self.documents

    def at(self, event: Any) -> Position:
        start, end = event.start_mark, event.end_mark
        return Position(self.file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def on_document(self, event: Any) -> None:
        self.anchors.clear()

    def on_alias(self, event: Any) -> None:
        node = self.anchors.get(event.anchor)
        if node is None:
            raise TreeError(
                Text("alias '*{anchor}' refers to nothing that is complete here", anchor=event.anchor), self.at(event)
            )
        self.add(node)

    def on_scalar(self, event: Any) -> None:
        tag = event.tag
        if tag is None or tag == "!":
            if event.implicit[0] and tag is None:
                tag = implicit_tag(event.value)
                if tag not in _PLAIN_TAGS:
                    tag = _STR
            else:
                tag = _STR
        elif tag != _STR and tag not in _PLAIN_TAGS:
            self.refuse_tag(event)
        node = Node("scalar", self.at(event), event.value, tag)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        self.add(node)

    def on_sequence(self, event: Any) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:seq"):
            self.refuse_tag(event)
        self.enter(Node("list", self.at(event), items=[]), event)

    def on_mapping(self, event: Any) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:map"):
            self.refuse_tag(event)
        self.enter(Node("map", self.at(event), pairs=[]), event)

    def refuse_tag(self, event: Any) -> None:
        hint = Text("expressions cannot stand here") if event.tag == "!yaql" else Text("only plain data can stand here")
        raise TreeError(Text("unknown tag '{tag}'", tag=event.tag), self.at(event), hint)

    def enter(self, node: Node, event: Any) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise TreeError(Text("nested deeper than {max_depth} levels", max_depth=MAX_DEPTH), node.position)
        self.open.append((node, event.anchor, None))

    def on_end(self, event: Any) -> None:
        node, anchor, _ = self.open.pop()
        # Only a complete node can be referred to: trees stay finite.
        if anchor is not None:
            self.anchors[anchor] = node
        self.add(node)

    def add(self, node: Node) -> None:
        if not self.open:
            self.documents.append(node)
            return
        parent, anchor, key = self.open[-1]
        parent.size += node.size
        if parent.size > MAX_NODES:
            raise TreeError(
                Text("more than {max_nodes} values", max_nodes=MAX_NODES),
                node.position,
                Text("aliases that repeat aliases multiply"),
            )
        if parent.items is not None:
            parent.items.append(node)
        elif key is None:
            self.open[-1] = (parent, anchor, node)
        else:
            assert parent.pairs is not None
            parent.pairs.append((key, node))
            self.open[-1] = (parent, anchor, None)


def read_documents(text: str | bytes, file: str) -> list[Node]:
    """All documents of a file. Raises `TreeError` with the position of what cannot be read."""
    if isinstance(text, bytes):
        data = text
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise TreeError(Text("not valid UTF-8"), Position(file, line, 1), Text("save the file as UTF-8")) from None
    if len(text) > MAX_BYTES:
        raise TreeError(Text("longer than {max_bytes} characters", max_bytes=MAX_BYTES), Position(file, 1, 1))
    return _Composer(text, file).compose()


def plain(node: Node) -> Any:
    """The node as plain Python data: dates stay text; of equal keys the last wins; ``<<`` merges.

    Raises `TreeError` for keys that are no scalars.
    """
    if node.kind == "scalar":
        return _scalar(node)
    if node.items is not None:
        return [plain(item) for item in node.items]
    own: dict[Any, Any] = {}
    merged: dict[Any, Any] = {}
    for key, value in node.pairs or ():
        if key.kind != "scalar":
            raise TreeError(Text("{describe} cannot be a key", describe=key.describe()), key.position)
        if key.text == "<<" and key.tag == _STR and value.kind != "scalar":
            for source in reversed(value.items or [value]):
                data = plain(source)
                if not isinstance(data, dict):
                    raise TreeError(Text("{describe} cannot be merged", describe=source.describe()), source.position)
                merged.update(data)
        else:
            own[_scalar(key)] = plain(value)
    return {**merged, **own} if merged else own


#: Characters of a scalar that is no text.
_LONGEST_SCALAR = 4_300


def _scalar(node: Node) -> Any:
    if node.tag == _STR:
        return node.text
    try:
        if len(node.text) > _LONGEST_SCALAR:  # Python's own limit for integers is a setting of each process
            raise ValueError
        return _constructor().construct_object(yaml.ScalarNode(node.tag, node.text))
    except (ValueError, OverflowError, KeyError, yaml.YAMLError):
        word = node.tag.rpartition(":")[2]
        raise TreeError(Text("'{text}' is no {word}", text=node.text[:40], word=word), node.position) from None
