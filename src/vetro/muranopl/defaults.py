"""The library that sessions get unless they are given another one.

The language does not import its library (the arrows go the other way); it knows the default one by name only and loads
it when an engine is made without one.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

DEFAULT_LIBRARY = "vetro.library"


class Defaults(NamedTuple):
    """Core packages and their native classes."""

    packages: tuple[Any, ...]
    natives: Any


@cache
def defaults() -> Defaults:
    """The default library, loaded once a process."""
    library = import_module(DEFAULT_LIBRARY)
    return Defaults(tuple(library.core_packages()), library.core_natives())


def default_natives() -> Any:
    """Native classes of the core library, where it is installed beside the language."""
    return defaults().natives
