"""`effect`: functions of plug-ins that act on the outside world (PACKAGES 6). Plug-ins find it in `plugin_api`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol, get_args, overload

from vetro.muranopl.runtime.effects import plain
from vetro.packages.errors import PluginError

#: What may be done about an effect that was begun and whose end nobody knows. ``convergent``: doing it again leads to
#: the same state. ``findable``: the other side recognises it by what is in its arguments and drops doubles.
#: ``unsafe``: a person is asked.
Policy = Literal["convergent", "findable", "unsafe"]


class Performing(Protocol):
    """What an effect function needs of the run it is called in."""

    def perform(self, kind: str, args: Mapping[str, Any]) -> Any:
        """One effect and its answer."""


_running: ContextVar[Performing | None] = ContextVar("vetro_plugin_context", default=None)


@contextmanager
def within(context: Performing | None) -> Iterator[None]:
    """Code in here runs for a plug-in called in ``context``; None: for nobody's run. For the engine."""
    token = _running.set(context)
    try:
        yield
    finally:
        _running.reset(token)


class EffectFunction:
    """A function that acts on the outside world. Made by `effect`.

    Called during a run it is one effect, ``plugin:<distribution>:<name>``; called outside of a run, as in tests of a
    plug-in, it is the plain function.
    """

    def __init__(self, function: Callable[..., Any], policy: Policy, name: str | None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.policy: Policy = policy
        self.name = name or function.__qualname__.replace("<locals>.", "")
        #: The distribution that brings it; known once its extension is loaded.
        self.distribution: str | None = None

    def __repr__(self) -> str:
        return f"<effect {self.name} of {self.distribution or self._function.__module__}>"

    def __get__(self, instance: Any, owner: Any = None) -> EffectFunction:
        return self  # in a class it is a static method: an object is no plain data

    @property
    def kind(self) -> str:
        """The effect's kind. Raises `PluginError` while no distribution is known to bring it."""
        if self.distribution is None:
            raise PluginError(
                f"effect function '{self.name}' of module {self._function.__module__} belongs to no loaded extension",
                hint="define it in the package of the extension class that is registered as an entry point",
            )
        return f"plugin:{self.distribution}:{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        running = _running.get()
        if running is None:
            return self._function(*args, **kwargs)
        inspect.signature(self._function).bind(*args, **kwargs)  # a wrong call is the plug-in's mistake, no effect
        return running.perform(self.kind, {"args": list(args), "kwargs": kwargs})

    def perform(self, args: Mapping[str, Any]) -> Any:
        """What the effects host calls: the function's answer as plain data. Raises what the function raises."""
        with within(None):
            answer = self._function(*args.get("args", ()), **args.get("kwargs", {}))
        try:
            return plain(answer)
        except Exception as error:
            raise PluginError(f"effect function '{self.name}' of {self.distribution} answered: {error}") from None


@overload
def effect(function: Callable[..., Any]) -> EffectFunction: ...


@overload
def effect(*, policy: Policy = "unsafe", name: str | None = None) -> Callable[[Callable[..., Any]], EffectFunction]: ...


def effect(function: Callable[..., Any] | None = None, *, policy: Policy = "unsafe", name: str | None = None) -> Any:
    """Declares a function of a plug-in that acts on the outside world.

    Arguments and answer are plain data. ``policy`` says what may be done when a task dies in the middle of it;
    ``name`` (default: the function's, with its class) must be unique in the distribution. Raises `ValueError`.
    """
    if policy not in get_args(Policy):
        raise ValueError(f"policy '{policy}' is none of {', '.join(get_args(Policy))}")
    if name is not None and (not name or ":" in name):
        raise ValueError(f"'{name}' cannot be the name of an effect: it may not be empty or hold ':'")
    if function is None:
        return lambda declared: EffectFunction(declared, policy, name)
    return EffectFunction(function, policy, name)
