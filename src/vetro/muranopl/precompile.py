"""The import step: compiles packages into the code cache. Runs no package code.

Sessions read the cache and never write code into it (a writable cache of code is code execution in somebody else's
task); this is the only place that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vetro.muranopl.compiler.unit import store_bundle
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.session import Session
from vetro.muranopl.types.murano_type import MuranoType
from vetro.yaql.errors import VetroError


def compile_class(kind: MuranoType, on_error: Callable[[MuranoType, VetroError], None] | None = None) -> int:
    """Compiles methods, contracts and defaults of one class; the number of units."""
    count = 0

    def attempt(action: Callable[[], object]) -> None:
        nonlocal count
        try:
            action()
            count += 1
        except VetroError as error:
            if on_error is not None:
                on_error(kind, error)

    for method in kind.own_methods.values():
        if method.native is None:
            attempt(lambda method=method: method.function)  # type: ignore[misc]
    for prop in kind.own_properties.values():
        attempt(lambda prop=prop: prop.transform)  # type: ignore[misc]
        attempt(lambda prop=prop: prop.evaluator)  # type: ignore[misc]
    return count


def precompile(
    session: Session, packages: Iterable[Any], on_class: Callable[[str], None] | None = None
) -> tuple[int, list[tuple[str, VetroError]]]:
    """Compiles every class of ``packages`` with the session's cache; (classes stored, errors by class).

    Classes that cannot be compiled are reported and left out: a session meets their error again when it uses them.
    """
    stored = 0
    errors: list[tuple[str, VetroError]] = []
    for package in packages:
        for name in package.classes:
            if on_class is not None:
                on_class(name)
            try:
                kind = session.types.in_package(package, name)
            except MuranoError as error:
                errors.append((name, error))
                continue
            compile_class(kind, lambda of, error: errors.append((of.name, error)))
            stored += store_bundle(kind)
    session.types.store_declarations()
    return stored, errors
