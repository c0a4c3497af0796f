"""`Hook`: how an app of the service calls those above it, which it does not import.

The app below has the hook, in its module ``hooks``, and says there when it calls it and with what. Apps above register
functions when Django starts (``AppConfig.ready``), so every process has all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """Functions of apps above, called in the order in which they were registered."""

    def __init__(self) -> None:
        self._functions: list[Callable[P, R]] = []

    def register(self, function: Callable[P, R]) -> None:
        """Has ``function`` called from now on, once however often it is registered."""
        if function not in self._functions:
            self._functions.append(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[R]:
        """What each of them returns. Raises what the first of them raises that fails."""
        return [function(*args, **kwargs) for function in self._functions]

    def any(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Whether one of them says yes; those after it are not called."""
        return any(function(*args, **kwargs) for function in self._functions)


class RowHook(Hook[P, R]):
    """Functions that are called with a row first, some of them only with rows of which a condition holds.

    Conditions are SQL about the row, which is ``t``. Whoever reads it asks for `conditions` with the same statement and
    sets them as its attributes: each function would ask by itself otherwise, mostly to find that it has nothing to do.
    Called with a row that has none, all functions look for themselves.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._where: dict[Callable[P, R], str] = {}

    def register(self, function: Callable[P, R], where: str = "") -> None:
        """See `Hook.register`; ``where``: called with these rows only."""
        super().register(function)
        if where:
            self._where[function] = where

    def conditions(self) -> dict[str, str]:
        """Attribute of the row -> what is to be asked about it."""
        return {self._attribute(function): where for function, where in self._where.items()}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[R]:
        """See `Hook`. The row is the first argument; where it has an attribute of `conditions`, that is believed."""
        return [
            function(*args, **kwargs)
            for function in self._functions
            if getattr(args[0], self._attribute(function), True)
        ]

    def _attribute(self, function: Callable[P, R]) -> str:
        return f"{self._name}_{self._functions.index(function)}"
