"""Reading values: templates, contracts, names and the keys of structured mappings.

`ReadContext` carries what every reading function needs of one file: positions, the scalar rules of the package format,
and where problems go. Reading raises at the first problem, or, when a list of problems is given, notes it there and
goes on with what can be salvaged (`attempt`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import (
    Expression,
    ListTemplate,
    Literal,
    MapTemplate,
    Namespaces,
    Position,
    Template,
)
from vetro.muranopl.errors import DeclarationError, DslSyntaxError, MuranoError, UnknownPrefix
from vetro.muranopl.source.nodes import PLAIN, YNode, position
from vetro.muranopl.source.scalars import ScalarReader
from vetro.yaql.errors import VetroError
from vetro.yaql.values import SCALARS, FDict

T = TypeVar("T")
#: Name -> (key node, value node); of repeated names the last stands.
Entries = dict[str, tuple[ScalarNode, YNode]]
#: What is read, for errors: a text, or what makes it when there is one (files have thousands of members).
What = str | Callable[[], str]
#: A problem of `MuranoError` that does not make the file unusable has this severity.
WARNING = "warning"


def _said(what: What) -> str:
    return what if isinstance(what, str) else what()


class ReadContext:
    """One file being read."""

    __slots__ = ("file", "format_version", "problems", "scalars", "text")

    def __init__(
        self, text: str, file: str, format_version: tuple[int, int], problems: list[MuranoError] | None = None
    ) -> None:
        self.file = file
        self.text = text = text.removeprefix("\ufeff")
        self.format_version = format_version
        self.problems = problems
        self.scalars = ScalarReader(file, text)

    @property
    def collecting(self) -> bool:
        """Problems are collected, not raised."""
        return self.problems is not None

    def raising(self) -> ReadContext:
        """The same file, raising at the first problem."""
        return self if self.problems is None else ReadContext(self.text, self.file, self.format_version)

    def attempt(self, read: Callable[..., T], *arguments: Any) -> T | None:
        """``read(*arguments)``; when collecting, None and a noted problem instead of an error."""
        if self.problems is None:
            return read(*arguments)
        try:
            return read(*arguments)
        except MuranoError as error:
            self.problems.append(error)
            return None

    def warn(self, error: MuranoError) -> None:
        """Notes a problem that harms nobody; dropped unless problems are collected."""
        if self.problems is not None:
            error.severity = WARNING
            self.problems.append(error)

    def position(self, node: YNode) -> Position:
        """Where ``node`` stands."""
        start, end = node.start_mark, node.end_mark
        return Position(self.file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    # -- structure -----------------------------------------------------------------------------------------------------

    def is_null(self, node: YNode) -> bool:
        """``~``, ``null`` or nothing at all."""
        return node.__class__ is ScalarNode and self.scalars.read(node) is None

    def entries(self, node: YNode, what: What, hint: str = Text("write 'key: value' lines")) -> Entries:
        """The pairs of a mapping whose keys are names; null is empty. Raises `DslSyntaxError`."""
        if node.__class__ is not MappingNode:
            if self.is_null(node):
                return {}
            raise DslSyntaxError(
                Text("{what} must be a mapping, not {describe}", what=_said(what), describe=describe(node)),
                position=position(node, self.file),
                hint=hint,
            )
        result: Entries = {}
        for key, value in node.value:
            if key.__class__ is not ScalarNode:
                raise DslSyntaxError(
                    Text("a key of {what} must be a name", what=_said(what)),
                    position=position(key, self.file),
                    hint=Text("lists and mappings cannot name anything"),
                )
            result[key.value] = (key, value)
        return result

    def check_keys(self, entries: Entries, known: Collection[str], what: What) -> None:
        """Warns of keys that mean nothing (SEMANTICS 4.1: they are ignored)."""
        if self.problems is None:
            return
        for name, (key, _) in entries.items():
            if name not in known:
                hint = did_you_mean(name, known) or Text("known are: {known}", known=", ".join(sorted(known)))
                self.warn(
                    DeclarationError(
                        Text("{what} has no key '{name}', it is ignored", what=_said(what), name=name),
                        position=self.position(key),
                        hint=hint,
                    )
                )

    def present(self, entries: Entries, key: str) -> bool:
        """The key is there and is not null."""
        return key in entries and not self.is_null(entries[key][1])

    def items(self, node: YNode) -> list[YNode]:
        """A list, or one item written without it; null is empty."""
        if node.__class__ is SequenceNode:
            return list(node.value)
        return [] if self.is_null(node) else [node]

    # -- scalars -------------------------------------------------------------------------------------------------------

    def name(self, node: YNode, what: What) -> str:
        """Text that names something, as written. Raises `DeclarationError`."""
        if node.__class__ is ScalarNode and node.value:
            value = self.scalars.read(node)
            if value.__class__ is str or value.__class__ not in SCALARS:
                return str(node.value)
        raise DeclarationError(
            Text("{what} must be a name, not {describe}", what=_said(what), describe=describe(node)),
            position=position(node, self.file),
            hint=Text("quote it if YAML reads it as something else"),
        )

    def class_name(self, node: YNode, what: What, namespaces: Namespaces) -> str:
        """A class name as written whose prefix is declared. Raises `UnknownPrefix`."""
        name = self.name(node, what)
        self.resolve(name, node, namespaces)
        return name

    def resolve(self, name: str, node: YNode, namespaces: Namespaces) -> str:
        """The full name of ``name``; an unknown prefix is reported at ``node``."""
        try:
            return namespaces.resolve(name)
        except UnknownPrefix as error:
            error.position = self.position(node)
            error.hint = did_you_mean(name.split(":", 1)[0], namespaces.prefixes, 0.6) or error.hint
            raise

    def choice(self, node: YNode, allowed: Iterable[str], what: str, error: type[MuranoError]) -> str:
        """One of the words ``allowed``, else ``error``."""
        if node.__class__ is ScalarNode and node.value in allowed:
            return str(node.value)
        words = list(allowed)
        described = Text("'{value}'", value=node.value) if node.__class__ is ScalarNode else describe(node)
        hint = did_you_mean(node.value, words) if node.__class__ is ScalarNode else None
        listed = Text("one of: {words}", words=", ".join(words))
        raise error(
            Text("unknown {what} {described}", what=what, described=described),
            position=self.position(node),
            hint=Text("{hint} ({listed})", hint=hint, listed=listed) if hint else listed,
        )

    def identifier(self, node: ScalarNode, what: str) -> str:
        """A name that expressions can use. Raises `DeclarationError`."""
        name = str(node.value)
        if not name.isidentifier():
            raise DeclarationError(
                Text("{what} '{name}' is not a valid name", what=what, name=name),
                position=self.position(node),
                hint=Text("use letters, digits and _, not beginning with a digit"),
            )
        return name

    # -- values --------------------------------------------------------------------------------------------------------

    def template(self, node: YNode) -> Template:
        """Any value whose scalars may be expressions (SEMANTICS 1.6)."""
        if isinstance(node, ScalarNode):
            value = self.scalars.read(node)
            if value.__class__ in SCALARS:
                return Literal(value, self.position(node))
            return self.scalars.expression(node, value)
        if isinstance(node, SequenceNode):
            items = tuple([self.template(item) for item in node.value])
            if all(item.__class__ is Literal for item in items):
                return Literal(tuple([item.value for item in items]), self.position(node))  # type: ignore[union-attr]
            return ListTemplate(items, self.position(node))
        pairs = tuple([(self.template(key), self.template(value)) for key, value in node.value])
        if all(key.__class__ is Literal and value.__class__ is Literal for key, value in pairs):
            try:
                plain = FDict([(key.value, value.value) for key, value in pairs])  # type: ignore[union-attr]
            except VetroError as error:
                raise DslSyntaxError(
                    Text("not a possible key: {error}", error=error),
                    position=self.position(node),
                    hint=Text("use text or numbers as keys"),
                ) from None
            return Literal(plain, self.position(node))
        return MapTemplate(pairs, self.position(node))

    def expression(self, node: YNode) -> Expression | None:
        """The expression in ``node``; None when it holds anything else."""
        if node.__class__ is ScalarNode:
            value = self.scalars.read(node)
            if value.__class__ not in SCALARS:
                return self.scalars.expression(node, value)
        return None


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """``did you mean 'x'?`` for the nearest known word, ignoring case; None when none is near."""
    if len(name) > 60:
        return None
    by_fold = {word.casefold(): word for word in known}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=cutoff)
    return Text("did you mean '{close}'?", close=by_fold[near[0]]) if near else None


def describe(node: YNode) -> str:
    """What ``node`` is, in a message."""
    if node.__class__ is SequenceNode:
        return Text("a list")
    if node.__class__ is MappingNode:
        return Text("a mapping")
    if not node.value and node.tag is PLAIN:
        return Text("empty")
    text = node.value if len(node.value) <= 40 else node.value[:37] + "..."
    return f"'{text}'"
