"""`Parts`: the keywords of one block construct, with what their values may be read as."""

from __future__ import annotations

from collections.abc import Callable

from yaml.nodes import ScalarNode

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Block, LazyBlock, Position, Template
from vetro.muranopl.errors import DslSyntaxError
from vetro.muranopl.reader.values import Entries, ReadContext, describe
from vetro.muranopl.source.nodes import YNode

ReadBlock = Callable[[ReadContext, YNode], Block]


class Parts:
    """Keyword -> value nodes of one construct. ``read_block`` reads the instructions inside it."""

    __slots__ = ("context", "entries", "position", "read_block")

    def __init__(self, context: ReadContext, entries: Entries, position: Position, read_block: ReadBlock) -> None:
        self.context = context
        self.entries = entries
        self.position = position
        self.read_block = read_block

    def node(self, word: str) -> YNode:
        """The value of a keyword that is there."""
        return self.entries[word][1]

    def value(self, word: str) -> Template:
        """Any value with expressions."""
        return self.context.template(self.entries[word][1])

    def optional(self, word: str) -> Template | None:
        """The same; None without the keyword."""
        return self.context.template(self.entries[word][1]) if word in self.entries else None

    def block(self, word: str) -> Block:
        """Instructions; empty without the keyword."""
        return self.read_block(self.context, self.entries[word][1]) if word in self.entries else ()

    def variable(self, word: str) -> str:
        """The name of a variable, without dollar sign. Raises `DslSyntaxError`."""
        node = self.node(word)
        text = node.value if isinstance(node, ScalarNode) else ""
        if text.isidentifier():
            return text
        bare = text.lstrip("$")
        hint = Text("write a name such as item")
        if text != bare and bare.isidentifier():
            hint = Text("write {bare} without the dollar sign", bare=bare)
        raise DslSyntaxError(
            Text("{word} needs a variable name, not {describe}", word=word, describe=describe(node)),
            position=self.context.position(node),
            hint=hint,
        )

    def lazy(self, node: YNode) -> LazyBlock:
        """A branch that is read when it is first executed (SEMANTICS 4.3), or at once when problems are collected."""
        if self.context.collecting:
            self.read_block(self.context, node)
        return LazyBlock(node, self._once(node), self.context.position(node))

    def _once(self, node: YNode) -> Callable[[], Block]:
        block: Block | None = None
        context, read_block = self.context.raising(), self.read_block

        def parse() -> Block:
            nonlocal block
            if block is None:
                block = read_block(context, node)
            return block

        return parse
