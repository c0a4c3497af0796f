"""What holds for every piece of generated code: names, lines, constructs, and that nothing is interpreted."""

from __future__ import annotations

import ast as py
import cProfile
import io
import pstats
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from vetro.library import core_package
from vetro.muranopl.api import Engine
from vetro.muranopl.compiler import unit
from vetro.packages import open_package
from vetro.packages.memory import memory_package
from vetro.yaql.codegen.binding import ALLOWED_NODES

MAIN = """\
Namespaces: {=: t}
Name: Main
Properties:
  total: {Contract: $.int().notNull().check($ >= 0), Usage: InOut, Default: 0}
  rows: {Contract: [{name: $.string().notNull(), size: $.int()}], Usage: InOut, Default: []}
Methods:
  add:
    Arguments:
      - by: {Contract: $.int().notNull()}
    Body:
      - $.total: $.total + $by
  run:
    Scope: Public
    Arguments:
      - n: {Contract: $.int().notNull()}
    Body:
      - $i: 0
      - While: $i < $n
        Do:
          - $.add($i)
          - If: $i mod 2 = 0
            Then:
              - $.rows: $.rows + [{name => str($i), size => $i}]
          - $i: $i + 1
      - Try:
          - Throw: Oops
            Message: no
        Catch:
          With: Oops
          As: e
          Do:
            - $message: $e.message
      - Return:
          total: $.total
          sizes: $.rows.where($.size > 2).select($.size).sum()
          text: format('{0}-{1}', $message, $n)
"""


@pytest.fixture
def session() -> Any:
    package = memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": MAIN}})
    made = Engine([package]).session()
    made.load({"Objects": {"?": {"type": "t.Main", "id": "root"}}})
    return made


def codes(code: CodeType) -> list[CodeType]:
    return [code, *(c for inner in code.co_consts if isinstance(inner, CodeType) for c in codes(inner))]


def test_code_objects_are_named_after_the_yaml_file_and_carry_its_lines(session: Any) -> None:
    kind = session.root._type
    for name in ("add", "run"):
        method = kind.own_methods[name]
        for code in codes(method.function.__code__):
            assert code.co_filename == method.decl.position.file
            assert code.co_filename.endswith(".yaml")
            lines = {line for _, _, line in code.co_lines() if line is not None}
            assert min(lines) >= method.decl.position.line
            assert max(lines) <= len(MAIN.splitlines())


def test_positions_name_the_failing_part_of_an_expression() -> None:
    text = "Namespaces: {=: t}\nName: Main\nMethods:\n  run:\n    Scope: Public\n    Body:\n"
    text += "      - $x: 1 + 2 * $this.nothing\n"
    session = Engine([memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": text}})]).session()
    session.load({"Objects": {"?": {"type": "t.Main"}}})
    with pytest.raises(Exception) as caught:
        session.call("run")
    line, column, _, end = caught.value.murano_frames[-1].place  # type: ignore[attr-defined]
    assert text.splitlines()[line - 1][column - 1 : end - 1] == "$this.nothing"


def test_a_warm_method_visits_no_syntax_tree(session: Any) -> None:
    expected = session.call("run", [50])["text"]
    profile = cProfile.Profile()
    profile.enable()
    assert session.call("run", [50])["text"] == expected
    profile.disable()
    shown = io.StringIO()
    pstats.Stats(profile, stream=shown).print_stats()
    ran = shown.getvalue()
    for module in (
        "yaql/ast.py",
        "yaql/parser.py",
        "yaql/lexer.py",
        "closures.py",
        "closure_",
        "codegen/",
        "muranopl/reader/files.py",
    ):
        assert module not in ran.replace("codegen/binding.py", ""), ran


def test_generated_trees_use_only_allowed_constructs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method, contract and default of the core library and of the example packages."""
    seen: set[type] = set()
    compile_unit = unit.compile_unit

    def checked(made: unit.Unit, file: str) -> CodeType:
        for node in py.walk(made.function):
            seen.add(type(node))
        return compile_unit(made, file)

    monkeypatch.setattr(unit, "compile_unit", checked)
    packages = [core_package(), memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": MAIN}})]
    examples = Path(__file__).parents[3] / "examples"
    packages += [open_package(m.parent) for m in sorted(examples.rglob("manifest.yaml"))]
    session = Engine(packages).session()
    for package in packages:
        for name in package.classes:
            kind = session.types.in_package(package, name)
            for method in kind.own_methods.values():
                assert method.function is not None
            for prop in kind.own_properties.values():
                assert prop.transform is not None
    assert seen <= ALLOWED_NODES, seen - ALLOWED_NODES


def test_generated_code_reaches_no_builtins(session: Any) -> None:
    function = session.root._type.own_methods["run"].function
    assert function.__globals__["__builtins__"] == {}
    dangerous = {"eval", "exec", "open", "getattr", "__import__", "compile", "globals", "vars", "type", "object"}
    assert not dangerous & function.__globals__.keys()


def test_generation_is_deterministic() -> None:
    package = memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": MAIN}})

    def dump() -> list[bytes]:
        kind = Engine([package]).session().types.in_package(package, "t.Main")
        import marshal

        return [marshal.dumps(m.function.__code__) for m in kind.own_methods.values()]

    assert dump() == dump()
