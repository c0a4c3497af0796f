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
