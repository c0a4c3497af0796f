"""How attacks reach the engine: as an expression alone, and as MuranoPL methods of a small package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.support.host import Host
from vetro.yaql.api import compile
from vetro.yaql.context import Limits
from vetro.yaql.values import thaw

#: What attacks may use: every budget can be reached within half a second.
LIMITS = Limits(
    max_sequence=200_000,
    max_expression_memory=16 << 20,
    max_steps=125_000,
    max_seconds=0.2,
    max_object_nesting=5_000,
    max_output=200_000,
)

#: For what is harmless and must end well, on a busy machine too.
PATIENT = replace(LIMITS, max_steps=250_000, max_seconds=30.0)


class _Host(Host):
    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return thaw(self.session.call(method, args, kwargs), LIMITS.max_output)


def expression(text: str, data: Any = None, *, limits: Limits = LIMITS, **variables: Any) -> Any:
    """The plain value of a YAQL expression."""
    return compile(text, limits=limits)(data, **variables)


def method(body: str, rest: str = "", *, limits: Limits = LIMITS, tier: Any = "compiled", **more: Any) -> Any:
    """What a method with these instructions returns; ``rest`` is more of its class."""
    return _Host(limits=limits, tier=tier).run(body, rest=rest, **more)


def evaluated(text: str, *before: str, **more: Any) -> Any:
    """The value of an expression in a method, after some instructions."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return method("\n".join([*before, f'- Return: !yaql "{quoted}"']), **more)


def classes(texts: Mapping[str, str], body: str = "- Return: 1", **more: Any) -> Any:
    """What ``t.Main::run`` returns when the package has further classes."""
    return method(body, classes=texts, **more)


_HEALTHY = "- $x: 0\n- For: i\n  In: range(100)\n  Do:\n    - $x: $x + $i\n- Return: $x"


_standing: list[Any] = []


def healthy() -> bool:
    """Whether this process still evaluates expressions and runs methods, in a session from before the attack."""
    if not _standing:
        host = Host()
        host.run(_HEALTHY)
        _standing.append(host)
    return bool(expression("[1, 2, 3].select($ * 2).sum()") == 12 and _standing[0].call("run") == 4950)
