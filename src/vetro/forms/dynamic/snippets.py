"""From the text of a definition to snippets with places (DYNAMIC_UI 1, 2).

YAML is read by `vetro.muranopl.source.nodes`, which refuses what is hostile. A plain scalar that YAML gives no type of
its own becomes an expression when it has more than word characters, blanks, points and colons and the YAQL parser takes
it; so does every scalar with the tag ``!yaql``.
"""

from __future__ import annotations

import re
from typing import Any

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from vetro.diagnostics import ERROR, WARNING, Diagnostic, Text
from vetro.forms.dynamic.errors import DefinitionError
from vetro.forms.dynamic.expressions import DYNAMIC, Expression, ListSnippet, MapSnippet, parsed
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import SourceError
from vetro.muranopl.source.documents import load_documents
from vetro.muranopl.source.nodes import PLAIN, TEXT, YAQL, YNode, position
from vetro.muranopl.source.scalars import construct
from vetro.muranopl.source.tags import implicit_tag
from vetro.yaql.environment import Env
from vetro.yaql.errors import ParsingError
from vetro.yaql.values import SCALARS, FDict

_ONLY_WORDS = re.compile(r"[\s\w.:]*").fullmatch
#: Longer scalars are never tried as expressions: nobody writes one without the tag, and trying takes time.
_LONGEST_GUESS = 20_000
#: Nested lists and mappings inside one another.
_DEEPEST = 60


class Reader:
    """Reads one definition. What is odd but harms nothing goes to ``problems``."""

    def __init__(self, text: str, origin: str, *, collect: bool = False) -> None:
        self.text = text
        self.origin = origin
        self.problems: list[Diagnostic] = []
        #: Whether errors are noted and reading goes on, as `check` wants it.
        self.collect = collect
        #: Scope in which expressions are tried, made by `plain_texts.trial`.
        self.trial: Env | None = None
        self._memo: dict[str, Any] = {}

    def root(self) -> YNode:
        """The document. Raises `DefinitionError` for what is no YAML, for several documents and for none."""
        try:
            documents = load_documents(self.text, self.origin, allow_duplicate_keys=True, warn=self._repeated)
        except SourceError as error:
            raise DefinitionError(error.message, position=error.position, hint=error.hint) from None
        if len(documents) != 1:
            raise DefinitionError(
                Text("the file holds no definition")
                if not documents
                else Text("the file holds more than one YAML document"),
                position=self.at(documents[1]) if documents else Position(self.origin, 1, 1),
                hint=Text("a UI definition is one mapping with the keys Version, Application and Forms"),
            )
        return documents[0]

    def at(self, node: YNode) -> Position:
        """Where ``node`` stands."""
        return position(node, self.origin)

    def _repeated(self, error: SourceError) -> None:
        self.problems.append(Diagnostic("DUI110", WARNING, error.message, error.hint, error.position))

    def warn(self, message: str, place: Position, hint: str | None = None, code: str = "DUI110") -> None:
        """Notes something that is odd."""
        self.problems.append(Diagnostic(code, WARNING, message, hint, place))

    def fail(self, error: DefinitionError) -> None:
        """Raises ``error``, or notes it when problems are collected."""
        if not self.collect:
            raise error
        place = error.position or Position(self.origin, 1, 1)
        self.problems.append(Diagnostic(error.code, ERROR, error.message, error.hint, place))

    # -- scalars ------------------------------------------------------------------------------------------------------

    def scalar(self, node: YNode) -> Any:
        """A plain value or an `Expression` of a scalar. Raises `DefinitionError`."""
        tag = node.tag
        if tag is TEXT:
            return node.value
        if tag is PLAIN:
            return self._plain(node, node.value)
        if tag == YAQL:
            try:
                return Expression(node.value, parsed(node.value), self.at(node))
            except ParsingError as error:
                raise DefinitionError(
                    Text("not a valid expression: {message}", message=error.message),
                    position=self.at(node),
                    hint=Text("mend the expression, or drop the tag !yaql and quote the text"),
                ) from None
        return self._typed(node, tag)

    def _plain(self, node: YNode, text: str) -> Any:
        if text in self._memo:
            found = self._memo[text]
            return Expression(text, found, self.at(node)) if found.__class__ not in SCALARS else found
        tag = implicit_tag(text)
        if tag is not None:
            found = self._typed(node, tag)
        elif _ONLY_WORDS(text) or len(text) > _LONGEST_GUESS:
            found = text
        else:
            try:
                found = parsed(text)
            except ParsingError:
                found = text
        self._memo[text] = found
        return Expression(text, found, self.at(node)) if found.__class__ not in SCALARS else found

    def _typed(self, node: YNode, tag: str) -> Any:
        try:
            value = construct(tag, node.value)
        except ValueError as error:
            raise DefinitionError(str(error), position=self.at(node), hint=Text("quote it if it is text")) from None
        if value.__class__ is float and (value != value or value in (float("inf"), float("-inf"))):
            raise DefinitionError(
                Text("{value} is no number that JSON can hold", value=node.value),
                position=self.at(node),
                hint=Text("quote it if it is text"),
            )
        return value

    # -- values -------------------------------------------------------------------------------------------------------

    def snippet(self, node: YNode, depth: int = 0) -> Any:
        """The value of ``node``: frozen where it holds no expression. Raises `DefinitionError`."""
        cls = node.__class__
        if cls is ScalarNode:
            return self.scalar(node)
        if depth > _DEEPEST:
            raise DefinitionError(Text("nested deeper than {deepest} levels", deepest=_DEEPEST), position=self.at(node))
        if cls is SequenceNode:
            items = [self.snippet(item, depth + 1) for item in node.value]
            if DYNAMIC.isdisjoint([item.__class__ for item in items]):
                return tuple(items)
            return ListSnippet(items, self.at(node))
        pairs: dict[Any, tuple[Any, Any]] = {}
        dynamic = False
        for key_node, value_node in node.value:
            if key_node.__class__ is not ScalarNode:
                raise DefinitionError(Text("a list or mapping cannot be a key"), position=self.at(key_node))
            key = self.scalar(key_node)
            value = self.snippet(value_node, depth + 1)
            dynamic = dynamic or key.__class__ is Expression or value.__class__ in DYNAMIC
            # Expressions are equal to themselves only, so none of them replaces another here.
            pairs[key] = (pairs[key][0] if key in pairs else key, value)
        if not dynamic:
            return FDict(pairs.values())
        return MapSnippet(list(pairs.values()), self.at(node))

    def pairs(self, node: YNode, what: str, hint: str) -> list[tuple[str, YNode, YNode]]:
        """The entries of a mapping whose keys are names: (name, key, value). Raises `DefinitionError`."""
        if node.__class__ is not MappingNode:
            raise DefinitionError(
                Text("{what} must be a mapping, not {describe}", what=what, describe=describe(node)),
                position=self.at(node),
                hint=hint,
            )
        found: list[tuple[str, YNode, YNode]] = []
        for key, value in node.value:
            if key.__class__ is not ScalarNode:
                raise DefinitionError(
                    Text("a key of {what} must be a name", what=what), position=self.at(key), hint=hint
                )
            found.append((key.value, key, value))
        return found

    def items(self, node: YNode, what: str, hint: str) -> list[YNode]:
        """The items of a list. Raises `DefinitionError`."""
        if node.__class__ is not SequenceNode:
            raise DefinitionError(
                Text("{what} must be a list, not {describe}", what=what, describe=describe(node)),
                position=self.at(node),
                hint=hint,
            )
        return list(node.value)

    def null(self, node: YNode) -> bool:
        """Whether ``node`` is null or empty."""
        return node.__class__ is ScalarNode and node.tag is PLAIN and self.scalar(node) is None


def describe(node: YNode) -> str:
    """How messages call a value."""
    if node.__class__ is MappingNode:
        return Text("a mapping")
    if node.__class__ is SequenceNode:
        return Text("a list")
    return f"'{node.value[:40]}'" if node.value else Text("nothing")
