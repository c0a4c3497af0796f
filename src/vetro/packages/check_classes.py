"""Everything that can be found wrong in a package's classes without running them.

Reads each class file collecting all problems, then links each class with the packages at hand and compiles every method,
contract and default: unknown parents and classes, ambiguous members, targets that cannot be assigned, unknown
functions. `vetro check` lists the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vetro.muranopl.declarations import ClassDecl, Contract, ContractList, ContractMap, Expression, Position, SourceFile
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.reader import read_file
from vetro.packages.errors import Problem
from vetro.yaql import ast
from vetro.yaql.errors import VetroError


def as_problem(error: VetroError, fallback: Position) -> Problem:
    """A finding from an error."""
    position = getattr(error, "position", None) or fallback
    warning = getattr(error, "severity", "error") == "warning"
    return Problem(error.message, position, error.hint, "warning" if warning else "error", error.code)


def check_classes(package: Any, others: Iterable[Any] = ()) -> list[Problem]:
    """Findings in the classes of ``package``; ``others`` are packages that it may require."""
    problems: list[Problem] = []
    sound = _check_sources(package, problems)
    if sound:
        _check_links(package, others, problems)
    unique = {(p.message, str(p.position), p.code): p for p in problems}
    return sorted(unique.values(), key=lambda p: (p.position.file, p.position.line, p.position.column))


def _check_sources(package: Any, problems: list[Problem]) -> bool:
    """Reads every file once; False when an error makes linking pointless."""
    seen: set[str] = set()
    for name, file in package.classes.items():
        if file in seen:
            continue
        seen.add(file)
        try:
            text, file_id, _ = package.read_class(name)
        except MuranoError as error:
            problems.append(as_problem(error, Position(file, 1, 1)))
            continue
        found: list[MuranoError] = []
        source: SourceFile = read_file(
            text, file_id, format_version=tuple(package.format)[:2], default_name=name, problems=found
        )
        problems.extend(as_problem(e, Position(file_id, 1, 1)) for e in found)
        for declared in (n for n, f in package.classes.items() if f == file):
            if declared not in source.classes and not any(p.severity == "error" for p in problems):
                problems.append(
                    Problem(
                        f"the file does not define class '{declared}' that the manifest promises",
                        Position(file_id, 1, 1),
                        f"it defines: {', '.join(source.classes) or 'no class'}",
                        code="PKG120",
                    )
                )
    return not any(p.severity == "error" for p in problems)


def _check_links(package: Any, others: Iterable[Any], problems: list[Problem]) -> None:
    from vetro.muranopl.api import Engine

    session = Engine([package, *others]).session()
    for name in package.classes:
        try:
            kind = session.types.in_package(package, name)
            kind.properties  # noqa: B018 - raises for ambiguous properties
        except VetroError as error:
            decl = _declaration(session, package, name)
            problems.append(as_problem(error, decl.position if decl else Position(package.classes[name], 1, 1)))
            continue
        for position, use in _class_names(kind.decl):
            try:
                kind.resolve_class(use)
            except VetroError as error:
                problems.append(as_problem(error, position))
        for method in kind.own_methods.values():
            if method.native is not None or method.decl is None:
                continue
            try:
                method.function  # noqa: B018 - compiles it
            except VetroError as error:
                problems.append(as_problem(error, method.decl.position))


def _declaration(session: Any, package: Any, name: str) -> ClassDecl | None:
    try:
        found: ClassDecl = session.types.declaration(package, name)
    except VetroError:
        return None
    return found


def _class_names(decl: ClassDecl) -> Iterator[tuple[Position, str]]:
    """Class names written in the contracts of a class, with their places."""
    contracts: list[Contract] = [p.contract for p in decl.properties.values()]
    for method in decl.methods.values():
        contracts += [a.contract for a in method.arguments]
    while contracts:
        contract = contracts.pop()
        if isinstance(contract, ContractList):
            contracts += contract.items
        elif isinstance(contract, ContractMap):
            contracts += [c for _, c in contract.entries]
            for key, value in contract.rest:
                contracts += [key, value]
        elif isinstance(contract, Expression):
            for node in ast.walk(contract.node):
                if isinstance(node, ast.MethodCall) and node.name in ("class", "template") and node.args:
                    name = _written_name(node.args[0])
                    if name is not None:
                        line, column = contract.locate(node.args[0].span.start)
                        yield Position(contract.position.file, line, column), name


def _written_name(node: ast.Node) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Unary) and node.op == ":" and isinstance(node.operand, ast.Constant):
        return f":{node.operand.value}"
    if isinstance(node, ast.Binary) and node.op == ":":
        left, right = node.left, node.right
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            return f"{left.value}:{right.value}"
    return None
