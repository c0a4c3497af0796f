"""Everything that can be found wrong in a package's classes without running them.

Reads each class file collecting all problems, then links each class with the packages at hand, compiles every method,
contract and default, and looks through the code (`bodies`): unknown parents and classes, ambiguous members, targets
that cannot be assigned, unknown functions. `vetro check` lists the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from operator import contains, eq
from typing import Any

from vetro.diagnostics import ERROR, WARNING, Diagnostic, Text
from vetro.muranopl.contracts.model import Contract, OfClass, OtherMethod, StepName, expressions, object_calls
from vetro.muranopl.contracts.resolver import class_name_of
from vetro.muranopl.declarations.tree import ClassDecl, Position, SourceFile
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.reader.files import read_file
from vetro.muranopl.tools.fixtures import test_engine
from vetro.muranopl.types.linker import misnamed
from vetro.packages.checks.bodies import check_bodies, class_problems, place_of
from vetro.packages.checks.deprecation import deprecated_class, deprecated_members, deprecated_package
from vetro.packages.checks.values import check_meta, cut_values, text_as_contract
from vetro.packages.checks.version_steps import replaced_twice, version_step_problems
from vetro.packages.yamltree import TreeError, read_documents
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError


def as_problem(error: VetroError, fallback: Position) -> Diagnostic:
    """A finding from an error."""
    position = getattr(error, "position", None) or fallback
    warning = getattr(error, "severity", "error") == "warning"
    return Diagnostic(error.code, WARNING if warning else ERROR, error.message, error.hint, position)


def check_classes(package: Any, others: Iterable[Any] = (), *, natives: Any = None) -> list[Diagnostic]:
    """Findings in the classes of ``package``; ``others`` are packages that it may require.

    ``natives`` are the native classes there are (default: those of the core library).
    """
    problems: list[Diagnostic] = []
    broken = _check_sources(package, problems)
    told = {p.message for p in problems}
    linked: list[Diagnostic] = []
    _check_links(package, others, linked, natives, broken)
    problems += [p for p in linked if p.message not in told]  # who uses what is broken fails for the same reason
    unique = {(p.message, str(p.place), p.code): p for p in problems}
    return sorted(unique.values(), key=lambda p: (p.place.file, p.place.line, p.place.column))


def _check_sources(package: Any, problems: list[Diagnostic]) -> set[str]:
    """Reads every file once; those whose errors make linking pointless."""
    seen: set[str] = set()
    broken: set[str] = set()
    for name, file in package.classes.items():
        if file in seen:
            continue
        seen.add(file)
        try:
            text, file_id, _ = package.read_class(name)
        except MuranoError as error:
            problems.append(as_problem(error, Position(file, 1, 1)))
            broken.add(file)
            continue
        found: list[MuranoError] = []
        source: SourceFile = read_file(
            text, file_id, format_version=tuple(package.format)[:2], default_name=name, problems=found
        )
        said = [as_problem(e, Position(file_id, 1, 1)) for e in found]
        said += cut_values(text, file_id)
        for declared in (n for n, f in package.classes.items() if f == file):
            if declared not in source.classes and not any(p.severity == "error" for p in said):
                said.append(
                    Diagnostic(
                        "PKG114",
                        ERROR if misnamed(package, source, declared) is None else WARNING,
                        Text(
                            "the file does not define class '{declared}' that the manifest promises", declared=declared
                        ),
                        Text("it defines: {classes}", classes=", ".join(source.classes) or "no class"),
                        Position(file_id, 1, 1),
                    )
                )
        if any(p.severity == "error" for p in said):
            broken.add(file)
        problems += said
    return broken


def _check_links(
    package: Any, others: Iterable[Any], problems: list[Diagnostic], natives: Any, broken: Collection[str]
) -> None:
    session = test_engine([package, *others], natives=natives).session()  # with the functions of test fixtures
    missing = _check_requirements(package, session, problems)
    kinds: list[Any] = []
    for name, file in package.classes.items():
        if file in broken:
            continue
        try:
            decl: ClassDecl = session.types.declaration(package, name)
        except VetroError as error:
            problems.append(as_problem(error, Position(package.classes[name], 1, 1)))
            continue
        problems += [p for p in _check_class(package, session, name, decl, kinds) if not _follows(p, missing)]
    problems += replaced_twice(kinds)


def _check_requirements(package: Any, session: Any, problems: list[Diagnostic]) -> set[str]:
    """Names of required packages that are not at hand; each is reported once, where the manifest requires it."""
    missing = set()
    for name, spec in package.requirements.items():
        try:
            required = session.resolver.find_package(name, spec)
        except VetroError as error:
            missing.add(name)
            hint = Text("name the folder that holds it, too, or give it with --require")
            problems.append(Diagnostic(error.code, ERROR, error.message, hint, _require_position(package, name)))
        else:
            problems += deprecated_package(required, _require_position(package, name))
    return missing


def _require_position(package: Any, name: str) -> Position:
    manifest = getattr(package, "manifest", None)
    if manifest is None:  # a package of a Python distribution has no such file
        return Position(package.name, 1, 1)
    found: Position | None = manifest.positions.get(f"Require.{name}") or manifest.positions.get("Require")
    return found or Position(manifest.file, 1, 1)


def _follows(problem: Diagnostic, missing: set[str]) -> bool:
    """Whether a finding only repeats that a required package is missing."""
    return problem.code in ("MPL300", "MPL301") and any(f"package '{name}'" in problem.message for name in missing)


def _check_class(package: Any, session: Any, name: str, decl: ClassDecl, linked: list[Any]) -> Iterator[Diagnostic]:
    """Findings in one class; it is added to ``linked`` where it could be linked."""
    try:
        kind = session.types.in_package(package, name)
        kind.properties  # noqa: B018 - raises for ambiguous properties
    except VetroError as error:
        yield as_problem(error, _place_of_parent(package, decl, partial(contains, error.message)))
        return
    linked.append(kind)
    for position, use in _class_names(kind.decl):
        yield from class_problems(kind, use, position)
    for parent in kind.parents:
        for problem in deprecated_class(kind, parent, decl.position):
            yield replace(problem, place=_place_of_parent(package, decl, partial(eq, parent.name)))
    yield from deprecated_members(kind)
    yield from check_meta(kind, session)
    yield from version_step_problems(kind)
    yield from _contract_steps(kind)
    for contract in _contracts(kind.decl):
        yield from text_as_contract(contract)
    for imported in kind.decl.imports:
        problems = list(class_problems(kind, imported, decl.position))
        yield from problems
        if any(problem.severity == ERROR for problem in problems):
            return  # the code of the class cannot be judged without what it imports
    for method in kind.own_methods.values():
        if method.native is not None or method.decl is None:
            continue
        try:
            method.function  # noqa: B018 - compiles it
        except VetroError as error:
            yield as_problem(error, method.decl.position)
    yield from check_bodies(kind)


def _place_of_parent(package: Any, decl: ClassDecl, meant: Callable[[str], bool]) -> Position:
    """Where the first parent stands whose full name is ``meant``; Extends, or the class, where none is."""
    try:
        text, file_id, _ = package.read_class(decl.name)
        documents = read_documents(text, file_id)
    except (VetroError, TreeError):
        return decl.position
    for document in documents:
        pairs = {key.text: value for key, value in document.pairs or ()}
        if pairs.get("Name") is None or not decl.name.endswith(pairs["Name"].text) or "Extends" not in pairs:
            continue
        extends = pairs["Extends"]
        for item in extends.items or [extends]:
            try:
                named = decl.namespaces.resolve(item.text)
            except VetroError:
                return item.position
            if meant(named):
                return item.position
        return extends.position
    return decl.position


def _contracts(decl: ClassDecl) -> Iterator[Contract]:
    """The contracts of a class."""
    yield from (p.contract for p in decl.properties.values())
    for method in decl.methods.values():
        yield from (a.contract for a in method.arguments)


def _contract_steps(kind: Any) -> Iterator[Diagnostic]:
    """Steps behind the value of a contract that neither contracts nor the language have."""
    table = kind.context.dialect.table
    for expression in (e for contract in _contracts(kind.decl) for e in expressions(contract)):
        if expression.chain is None or expression.chain.alternative:
            continue
        for step in expression.chain.steps:
            if isinstance(step, OfClass):
                break  # an object may have methods of its own
            name = step.call.name
            if isinstance(step, OtherMethod) and not table.layers(name, "M") and name not in kind.extension_names():
                close = suggest(name, StepName)
                hint = (
                    Text("did you mean '{close}'?", close=close)
                    if close
                    else Text("steps are int(), string(), bool(), notNull(), check(), class()…")
                )
                place = place_of(expression, step.call)
                yield Diagnostic(
                    "YAQ201", ERROR, Text("there is no step '{name}' for contracts", name=name), hint, place
                )


def _class_names(decl: ClassDecl) -> Iterator[tuple[Position, str]]:
    """Class names written in the contracts of a class, with their places."""
    for expression, call in (found for contract in _contracts(decl) for found in object_calls(contract)):
        name = class_name_of(call.args[0]) if call.args else None
        if name is not None:
            yield place_of(expression, call.args[0]), name
