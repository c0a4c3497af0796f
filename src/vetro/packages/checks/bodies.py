"""What can be said for certain about the code of a class without running it.

Compiling a method says what is malformed. This pass says what would fail, or never work, whenever the line runs:
branches of ``Match`` and ``Switch`` that do not parse (they are read when they are first executed), functions that
nobody defines, class names that mean nothing here, variables that nothing assigns. What depends on the values of a run
is left alone: methods of unknown receivers, members of derived classes, names that are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.diagnostics import ERROR, WARNING, Diagnostic, Text
from vetro.muranopl.compiler.variables import assigned_variables, expressions_of, walk_instructions
from vetro.muranopl.contracts.resolver import class_name_of, qualified_name
from vetro.muranopl.declarations import tree as d
from vetro.muranopl.errors import MuranoError
from vetro.packages.checks.deprecation import deprecated_arguments, deprecated_class, new_pairs
from vetro.packages.checks.values import text_as_number
from vetro.yaql import ast
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError
from vetro.yaql.resolve.signature import FunctionTable

#: Calls that bring variables or functions of their own: what stands beside them is not judged.
SCOPES = frozenset({"let", "with", "def", "unpack", "as", "lambda", "call", "inject", "withMock", "withOriginal"})
#: Functions whose first argument is a class.
CLASS_FUNCTIONS = frozenset({"new"})


def check_bodies(kind: Any) -> Iterator[Diagnostic]:
    """Findings in the methods and defaults of the linked class ``kind``."""
    for prop in kind.decl.properties.values():
        for expression in template_expressions(prop.default):
            yield from _check_expression(kind, expression)
    for method in kind.decl.methods.values():
        for argument in method.arguments:
            for expression in template_expressions(argument.default):
                yield from _check_expression(kind, expression)
        yield from _check_method(kind, method)


def template_expressions(template: Any) -> Iterator[d.Expression]:
    """The expressions in a value written in YAML, in file order."""
    if isinstance(template, d.Expression):
        yield template
    elif isinstance(template, d.ListTemplate):
        for item in template.items:
            yield from template_expressions(item)
    elif isinstance(template, d.MapTemplate):
        for key, value in template.pairs:
            yield from template_expressions(key)
            yield from template_expressions(value)


def _check_method(kind: Any, method: d.MethodDecl) -> Iterator[Diagnostic]:
    known = {"1", "this", *(a.name for a in method.arguments), *assigned_variables(method.body)}
    for instruction in walk_instructions(method.body):
        yield from _lazy_branches(instruction)
        yield from _exception_names(kind, instruction)
        for expression in expressions_of(instruction):
            target = isinstance(instruction, d.Assign) and expression is instruction.target
            yield from _check_expression(kind, expression)
            if not target:
                yield from _check_variables(expression, known)


def _lazy_branches(instruction: d.Instruction) -> Iterator[Diagnostic]:
    if not isinstance(instruction, (d.Match, d.Switch)):
        return
    branches = [branch for _, branch in instruction.cases]
    for branch in [*branches, *([instruction.default] if instruction.default is not None else [])]:
        try:
            branch.parse()
        except MuranoError as error:
            yield Diagnostic(error.code, ERROR, error.message, error.hint, error.position or branch.position)


def _exception_names(kind: Any, instruction: d.Instruction) -> Iterator[Diagnostic]:
    names: list[tuple[str, d.Position]] = []
    if isinstance(instruction, d.Try):
        names = [(name, handler.position) for handler in instruction.handlers for name in handler.names]
    elif isinstance(instruction, d.Throw) and isinstance(instruction.names, d.Literal):
        given = instruction.names.value
        given = given if isinstance(given, tuple) else (given,)
        names = [(name, instruction.names.position) for name in given if isinstance(name, str)]
    for name, position in names:
        try:
            kind.decl.namespaces.resolve(name)
        except MuranoError as error:
            yield Diagnostic(error.code, ERROR, error.message, error.hint, position)


def _check_expression(kind: Any, expression: d.Expression) -> Iterator[Diagnostic]:
    yield from text_as_number(expression, place_of)
    nodes = list(ast.walk(expression.node))
    if not any(isinstance(n, (ast.Call, ast.MethodCall)) and n.name == "def" for n in nodes):
        for node in nodes:
            if isinstance(node, ast.Call):
                yield from _check_call(kind, expression, node)
    for node in nodes:
        name = qualified_name(node)
        if name is None and isinstance(node, ast.Call) and node.name in CLASS_FUNCTIONS and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                node, name = first, first.value
        if name is not None:
            yield from class_problems(kind, name, place_of(expression, node))
    for node in nodes:
        if isinstance(node, ast.Call) and node.name in CLASS_FUNCTIONS and node.args:
            yield from _given(kind, expression, node)


def _given(kind: Any, expression: d.Expression, call: ast.Call) -> Iterator[Diagnostic]:
    """Findings about the properties that a new object is given."""
    name = class_name_of(call.args[0])
    try:
        used = None if name is None else kind.resolve_class(name)
    except VetroError:  # told where it is named
        return
    if used is not None:
        places = ((given, place_of(expression, node)) for given, node in new_pairs(call))
        yield from deprecated_arguments(kind, used, places)


def _check_call(kind: Any, expression: d.Expression, node: ast.Call) -> Iterator[Diagnostic]:
    table = kind.context.dialect.table
    if node.name.startswith("#") or table.layers(node.name, "F") or node.name in kind.extension_names():
        return
    place = place_of(expression, node)
    if table.layers(node.name, "M"):
        behind = Text("write it behind a value: $value.{name}(...)", name=node.name)
        yield Diagnostic("YAQ201", ERROR, Text("'{name}' is a method, not a function", name=node.name), behind, place)
        return
    if kind.find_method(node.name) is not None:
        yield Diagnostic(
            "YAQ201",
            ERROR,
            Text("there is no function '{name}'", name=node.name),
            Text("write $.{name}(...)", name=node.name),
            place,
        )
        return
    close = suggest(node.name, _function_names(table))
    hint = Text("did you mean '{close}'?", close=close) if close else None
    yield Diagnostic("YAQ201", ERROR, Text("there is no function '{name}'", name=node.name), hint, place)


def _function_names(table: FunctionTable | None) -> Iterator[str]:
    while table is not None:
        for name, overloads in table.functions.items():
            if name.isidentifier() and any("F" in o.style for o in overloads):
                yield name
        table = table.parent


def _check_variables(expression: d.Expression, known: set[str]) -> Iterator[Diagnostic]:
    nodes = list(ast.walk(expression.node))
    if any(isinstance(n, (ast.Call, ast.MethodCall)) and n.name in SCOPES for n in nodes):
        return
    for node in nodes:
        if isinstance(node, ast.Variable) and node.name not in known and not node.name.isdigit():
            close = suggest(node.name, known)
            hint = (
                Text("did you mean '${close}'?", close=close)
                if close
                else Text("for a property write $.{name}", name=node.name)
            )
            yield Diagnostic(
                "CHK100",
                WARNING,
                Text("nothing gives variable '${name}' a value, it is always null", name=node.name),
                hint,
                place_of(expression, node),
            )


def place_of(expression: d.Expression, node: ast.Node) -> d.Position:
    """Where ``node`` stands in the file."""
    line, column = expression.locate(node.span.start)
    end_line, end_column = expression.locate(max(node.span.start, node.span.end - 1))
    return d.Position(expression.position.file, line, column, end_line, end_column + 1)


def class_problems(kind: Any, name: str, place: d.Position) -> Iterator[Diagnostic]:
    """Findings about a class name as written in the file of ``kind``: it means no class, or one that is deprecated."""
    try:
        used = kind.resolve_class(name)
    except VetroError as error:
        yield Diagnostic(error.code, ERROR, error.message, error.hint, place)
        return
    yield from deprecated_class(kind, used, place)
