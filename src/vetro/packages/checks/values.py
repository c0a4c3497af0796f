"""Values that fail or vanish for certain: text read as arithmetic, contracts that are text, mappings that YAML cuts,
unknown keys of Meta.

YAML and the language each do what they were told, and nobody says a word: `{a: f(1, b)}` is cut at the comma,
`{a => 1}` is a key without a value, and `allkeys-lru` subtracts one word from another when the line runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from vetro.diagnostics import ERROR, WARNING, Diagnostic, Text
from vetro.muranopl.contracts.model import STEP_NAMES, Contract, ContractList, ContractMap
from vetro.muranopl.declarations import tree as d
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.source.documents import load_documents
from vetro.muranopl.source.nodes import PLAIN, position
from vetro.muranopl.types.meta import MetaObjects, Slot
from vetro.packages.checks.lifecycle import lifecycle_problems
from vetro.packages.package import STANDARD
from vetro.yaql import ast
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import ParsingError, VetroError
from vetro.yaql.parser import MURANO, parse

_CLOSING = {")": "(", "]": "[", "}": "{"}
#: Operators that no text has.
_NUMERIC = ("-", "/")
#: A step of a contract in a text.
_STEP = re.compile(rf"\.\s*({'|'.join(sorted(STEP_NAMES))})\s*\(")
#: What ends a plain value of YAML.
_YAML = re.compile(r": |:$| #")


def cut_values(text: str, file: str) -> Iterator[Diagnostic]:
    """Values in flow mappings and lists (``{…}``, ``[…]``) that YAML ends at a comma inside brackets, and ``a => b``
    where it sees a key."""
    try:
        stack: list[Any] = list(reversed(load_documents(text, file)))
    except MuranoError:  # who reads the file says what is wrong
        return
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen or isinstance(node, ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, MappingNode):
            parts = [part for pair in node.value for part in pair]
        else:
            assert isinstance(node, SequenceNode)
            parts = list(node.value)
        if node.flow_style:
            cut = list(_open_brackets(parts, file))
            yield from cut
            if not cut and isinstance(node, MappingNode):
                yield from _arrows(node, file)
        stack.extend(reversed(parts))


def _arrows(node: MappingNode, file: str) -> Iterator[Diagnostic]:
    for key, value in node.value:
        empty = isinstance(value, ScalarNode) and value.tag is PLAIN and not value.value
        if empty and isinstance(key, ScalarNode) and key.tag is PLAIN and "=>" in key.value:
            name, _, rest = (part.strip() for part in key.value.partition("=>"))
            yield Diagnostic(
                "CHK102",
                WARNING,
                Text(
                    "'{value}' is a key without a value: '=>' makes a mapping only inside an expression",
                    value=key.value,
                ),
                Text("write {name}: {rest}", name=name, rest=rest),
                position(key, file),
            )


def _open_brackets(parts: list[Any], file: str) -> Iterator[Diagnostic]:
    for part in parts:
        if isinstance(part, ScalarNode) and part.tag is PLAIN and _unclosed(part.value):
            yield Diagnostic(
                "CHK101",
                WARNING,
                Text("YAML ends the value '{value}' at the comma, in the middle of brackets", value=part.value),
                Text("quote what has brackets and commas, or write the mapping in lines of its own"),
                position(part, file),
            )


def _unclosed(text: str) -> bool:
    """Whether a bracket is open at the end; quoted parts of expressions do not count."""
    open_: list[str] = []
    quote = ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            open_.append(letter)
        elif letter in _CLOSING and open_ and open_[-1] == _CLOSING[letter]:
            open_.pop()
    return bool(open_)


def text_as_number(expression: d.Expression, place: Any) -> Iterator[Diagnostic]:
    """Words that are joined by ``-`` or ``/``: no text can be subtracted or divided, so it fails when it runs.

    ``place(expression, node)`` says where a node stands.
    """
    for node in ast.walk(expression.node):
        if isinstance(node, ast.Binary) and node.op in _NUMERIC and (_word(node.left) or _word(node.right)):
            text = Text("text cannot be divided") if node.op == "/" else Text("text cannot be subtracted")
            meant = _words_only(expression.node)
            hint = (
                Text("quote it if it is text: '{text}'", text=expression.text) if meant else Text("quote what is text")
            )
            yield Diagnostic("CHK103", ERROR, text, hint, place(expression, node))
            return


def text_as_contract(contract: Contract) -> Iterator[Diagnostic]:
    """Texts in the place of contracts that were meant as expressions: in quotes, or such as cannot be read. No value
    fits but that very text."""
    left: list[Contract] = [contract]
    while left:
        item = left.pop()
        if isinstance(item, d.Literal):
            yield from _meant_as_contract(item.value, item.position)
        elif isinstance(item, ContractList):
            left += reversed(item.items)
        elif isinstance(item, ContractMap):
            for key, part in reversed((*item.entries, *item.rest)):
                left.append(part)
                if isinstance(key, str):
                    yield from _meant_as_contract(key, item.position)


def _meant_as_contract(text: Any, place: d.Position) -> Iterator[Diagnostic]:
    if not isinstance(text, str) or (text.strip() != "$" and not _STEP.search(text)):
        return
    text = text.strip()
    try:
        tree = parse(text, MURANO)
    except ParsingError:
        if text.startswith("$"):
            wrong = Text("the contract cannot be read as an expression, so it is a text that no other value fits")
            yield Diagnostic("CHK110", WARNING, wrong, Text("look for a bracket or a quote that is missing"), place)
        return
    if any(isinstance(node, ast.MethodCall) and node.name in STEP_NAMES for node in ast.walk(tree)) or text == "$":
        wrong = Text("the contract stands in quotes, so it is a text that no other value fits")
        # What YAML would take for a key or a comment keeps its quotes.
        plain = not _YAML.search(text) and "\n" not in text
        hint = Text("write {text}, without quotes", text=text) if plain else Text("write !yaql before the quotes")
        yield Diagnostic("CHK110", WARNING, wrong, hint, place)


def _word(node: ast.Node) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _words_only(node: ast.Node) -> bool:
    """Whether an expression is words, numbers and operators: what somebody meant as text."""
    return all(isinstance(one, (ast.Constant, ast.Binary, ast.Attribute)) for one in ast.walk(node))


def check_meta(kind: Any, session: Any) -> Iterator[Diagnostic]:
    """Properties of Meta that its class does not have, and values that the standard ones refuse."""
    objects = MetaObjects(session)
    for decl in _attached(kind.decl):
        meta_type = kind.resolve_class(decl.name)
        unknown = [(name, value) for name, value in decl.properties.items() if name not in meta_type.properties]
        for name, value in unknown:
            close = suggest(name, meta_type.properties)
            known = ", ".join(sorted(meta_type.properties)) or "none"
            hint = Text("did you mean '{close}'?", close=close) if close else Text("there are: {known}", known=known)
            if " " in name:  # {text: one thing, and another}
                hint = Text("quote text with a comma: it begins another entry here")
            text = Text("meta-class {name} has no property '{name2}', it is ignored", name=meta_type.name, name2=name)
            yield Diagnostic("CHK104", WARNING, text, hint, value.position)
        plain = all(isinstance(value, d.Literal) for value in decl.properties.values())
        # Contracts of the standard classes run no code of a package.
        if not unknown and plain and meta_type.package.name in STANDARD:
            try:
                made = objects.object_of(Slot(decl, meta_type, kind))
            except VetroError as error:
                yield Diagnostic(error.code, ERROR, error.message, error.hint, decl.position)
            else:
                yield from lifecycle_problems(kind, made, decl)


def _attached(decl: d.ClassDecl) -> Iterator[d.MetaDecl]:
    yield from decl.meta
    for prop in decl.properties.values():
        yield from prop.meta
    for method in decl.methods.values():
        yield from method.meta
        for argument in method.arguments:
            yield from argument.meta
