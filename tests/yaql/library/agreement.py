"""Expressions that we and the published package must evaluate alike, and the means to evaluate one of ours."""

from __future__ import annotations

from typing import Any

import pytest

from tests.yaql.oracle import DATA, oracle
from vetro.yaql import compile
from vetro.yaql.context import Limits

#: Classes of the published package or its host for which we raise a plain ValueError.
_VALUE_ERRORS = {"error", "ParserError"}


def normal(value: Any, legacy: bool) -> Any:
    """A form of plain values that tells 1, 1.0 and true apart and ignores the order of sets."""
    if isinstance(value, dict):
        return "dict", tuple((normal(k, legacy), normal(v, legacy)) for k, v in value.items())
    if isinstance(value, (set, frozenset)):
        return "set", tuple(sorted(map(repr, (normal(item, legacy) for item in value))))
    if isinstance(value, (list, tuple)):
        # We have one kind of list; the legacy dialect of the published package has two.
        return "list" if legacy else type(value).__name__, tuple(normal(item, legacy) for item in value)
    if hasattr(value, "utcoffset"):
        return "datetime", value.replace(tzinfo=None), value.utcoffset()
    return type(value).__name__, repr(value)


def ours(text: str, dialect: str = "standard", data: Any = None, **limits: Any) -> tuple[str, Any]:
    """('ok', plain value) or ('error', all names of the exception's class) of ``text``."""
    try:
        return "ok", compile(text, dialect=dialect, limits=Limits(**limits))(DATA if data is None else data)
    except Exception as error:
        aliases = (alias.rpartition(".")[2] for alias in getattr(error, "aliases", ()))
        return "error", {*(cls.__name__ for cls in type(error).__mro__[:-3]), *aliases}


def value(text: str, dialect: str = "standard", data: Any = None, **limits: Any) -> Any:
    """The plain value of ``text``; its exceptions pass."""
    return compile(text, dialect=dialect, limits=Limits(**limits))(DATA if data is None else data)


def agree(text: str, dialect: str = "standard") -> None:
    """Fails unless both engines give equal values, or errors of the same class."""
    kind, theirs = oracle(text, DATA, dialect)
    outcome, found = ours(text, dialect)
    legacy = dialect == "legacy"
    if kind == "ok":
        assert outcome == "ok", f"{text}: {sorted(found)} instead of {theirs!r}"
        assert normal(found, legacy) == normal(theirs, legacy), text
    else:
        assert outcome == "error", f"{text}: {found!r} instead of {theirs}"
        wanted = "ValueError" if theirs in _VALUE_ERRORS else theirs
        assert wanted in found, f"{text}: {sorted(found)} instead of {theirs}"


def table(lines: str) -> pytest.MarkDecorator:
    """A parametrisation over the expressions of ``lines``, one a line."""
    return pytest.mark.parametrize("text", [line for line in lines.splitlines() if line])
