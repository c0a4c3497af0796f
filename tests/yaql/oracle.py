"""Runs expressions through the published ``yaql`` package, which is only ever used as a black box."""

from __future__ import annotations

import collections.abc  # noqa: F401 - yaql 3.2 uses the submodule without importing it
import functools
import re
import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import yaql
    import yaql.legacy

DATA: dict[str, Any] = {"l": [1, 2]}


@functools.cache
def _engine(dialect: str, options: tuple[tuple[str, Any], ...]) -> tuple[Any, Any]:
    settings = dict(options)
    if dialect == "legacy":
        return yaql.legacy.YaqlFactory().create(settings), yaql.legacy.create_context()
    return yaql.YaqlFactory().create(settings), yaql.create_context()


def oracle(expr: str, data: Any = None, dialect: str = "standard", **options: Any) -> tuple[str, Any]:
    """('ok', plain value) or ('error', exception class name) of ``expr`` as yaql evaluates it with input ``data``."""
    engine, context = _engine(dialect, tuple(sorted(options.items())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "ok", engine(expr).evaluate(data=data, context=context.create_child_context())
        except Exception as error:
            # That of bad patterns has another name since Python 3.13.
            return "error", "error" if isinstance(error, re.error) else type(error).__name__
