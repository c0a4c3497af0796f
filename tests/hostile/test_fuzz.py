# ruff: noqa: E501 - tables of attacks read best with one attack a line
"""Noise for lexer, parser, reader and compiler: only the language's own errors, and only permitted Python constructs."""

from __future__ import annotations

import ast as py
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.muranopl.compiler.test_tiers_agree import BODIES, EXPRESSIONS, _outcome, _text, _yaql
from tests.support.fuzzing import examples
from tests.support.host import HEAD
from vetro.muranopl.api import Engine
from vetro.muranopl.compiler import unit
from vetro.packages import memory_package
from vetro.yaql.api import compile
from vetro.yaql.codegen.binding import ALLOWED_NODES
from vetro.yaql.context import Limits
from vetro.yaql.errors import ParsingError, VetroError

pytestmark = pytest.mark.attack("language", "generated programs")

LIMITS = Limits(max_steps=20_000, max_sequence=1_000, max_expression_memory=1 << 16)
TOKENS = (
    "(", ")", "[", "]", "{", "}", ",", ".", "?.", "=>", "->", "$", "$x", "$1", "a", "f", "len", "not", "and", "or", "in", "mod", "+",
    "-", "*", "/", "<", ">=", "=", "!=", "=~", "1", "2.5", "'t'", '"t"', "`t`", ":", "is", "null", "true", " ", "\\", "#", "@", "\n",
    "let", "def", "call", "switch", "select", "where", "\u00e9", "\ud800", "\0", "1e9", "0x1",
)  # fmt: skip
NOISE = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(TOKENS), max_size=25).map("".join),
    st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join),
)
SETTINGS = settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))


@SETTINGS
@given(NOISE, st.sampled_from(["standard", "legacy"]))
def test_any_text_is_an_expression_or_a_parsing_error(text: str, dialect: str) -> None:
    try:
        compiled = compile(text, dialect=dialect, limits=LIMITS)
    except ParsingError as error:
        assert error.position is None or 0 <= error.position <= len(text)
        return
    except VetroError:
        return
    assert compiled.node is not None


@pytest.fixture(autouse=True)
def whitelist(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Every tree that goes to Python's compiler in these tests is looked at."""
    original = unit.compile_unit
    seen: list[int] = []

    def checked(made: Any, file: str) -> Any:
        for node in py.walk(made.function):
            assert type(node) in ALLOWED_NODES, f"generated code has a {type(node).__name__}"
            if isinstance(node, py.Attribute):
                assert not node.attr.startswith("__") or node.attr == "__class__", node.attr
            if isinstance(node, py.Name):
                assert not node.id.startswith("__"), node.id
        seen.append(1)
        return original(made, file)

    monkeypatch.setattr(unit, "compile_unit", checked)
    yield seen


@SETTINGS
@given(NOISE)
def test_any_expression_compiles_in_a_method_or_is_refused(text: str) -> None:
    package = f"{HEAD}Name: Main\nMethods:\n  run:\n    Scope: Public\n    Body:\n    - $x: 1\n    - Return: {_yaql(_escaped(text))}\n"
    _run(package)


def _escaped(text: str) -> str:
    return "".join(c for c in text if c >= " " and not "\ud800" <= c <= "\udfff")


PIECES = (
    "Name: Main", "Methods:", "Properties:", "Extends: ", "  run:", "    Body:", "    - Return: 1", "    - $x: 1", "    - If: $x", "      Then:",
    "    - Try:", "      Catch:", "    - Throw: X", "    Arguments:", "    - a: {Contract: $.int()}", "  p: {Contract: [$.int(), 1, 2]}",
    "    Scope: Public", "    Usage: Static", "&a", "*a", "!yaql", "? ", ": ", "- ", "[", "]", "{", "}", "'", '"', "|", "#", "\t", "\n", "  ", "Meta:",
    "Import: io.murano.Object", "Namespaces:", "<<: {a: 1}", "- Match: {1: []}", "  Default: $.p", "Usage: Meta", "---", "...", "%YAML 1.1", "\u2028",
)  # fmt: skip


@SETTINGS
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["\n", "", " "]))
def test_any_class_file_is_read_or_refused(pieces: list[str], between: str) -> None:
    _run(between.join(pieces))
    _run(f"{HEAD}Name: Main\n" + between.join(pieces))


def _run(text: str) -> None:
    host_errors = (ValueError, TypeError, KeyError, IndexError, ArithmeticError)
    try:
        session = Engine(
            [memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": text}})], limits=LIMITS
        ).session(seed=1)
        session.load({"Objects": {"?": {"type": "t.Main", "id": "root"}}})
        session.call("run")
    except VetroError:
        return
    except host_errors as error:
        # Functions of the library raise these on purpose; anything of the compiler itself would be a defect.
        trace = error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_globals.get("__name__", "")
            assert not name.startswith(
                ("vetro.muranopl.compiler", "vetro.muranopl.read", "vetro.muranopl.source.nodes")
            ) or name.endswith("runtime"), repr(error)
            trace = trace.tb_next


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(BODIES)
def test_generated_methods_consist_of_permitted_constructs(body: list[list[str]]) -> None:
    assert _outcome(_text(body), "compiled")[0] in ("value", "error")


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(EXPRESSIONS)
def test_generated_contracts_consist_of_permitted_constructs(expression: str) -> None:
    contract = _yaql(f"$.check({expression})")
    _run(
        f"{HEAD}Name: Main\nProperties:\n  p: {{Contract: {contract}, Default: 1}}\n  l: {{Contract: [{contract}], Default: []}}\nMethods:\n  run: {{Scope: Public, Body: []}}\n"
    )
