"""Binding of links that only MuranoPL code has: class references, literals, lock keys, lazy syntax errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vetro.muranopl.errors import DslSyntaxError
from vetro.muranopl.runtime.context import MuranoContext
from vetro.yaql.codegen.binding import closure_for
from vetro.yaql.values import freeze


class LockKey:
    """Identifies a method for mutual exclusion (SEMANTICS 7.6)."""

    __slots__ = ("args", "name", "on_this", "owner")

    def __init__(self, owner: str, name: str, on_this: bool, args: tuple[str, ...]) -> None:
        self.owner = owner
        self.name = name
        self.on_this = on_this
        self.args = args


def bind_murano(
    links: Mapping[str, tuple[Any, ...]], cx: MuranoContext, namespace: dict[str, Any]
) -> dict[str, tuple[Any, ...]]:
    """Binds the links of our kinds into ``namespace`` and returns the others."""
    rest: dict[str, tuple[Any, ...]] = {}
    for name, spec in links.items():
        kind = spec[0]
        if kind == "type":
            namespace[name] = _type_reference(spec[1], cx)
        elif kind == "class":
            namespace[name] = _class_reference(cx, *spec[1:])
        elif kind == "literal":
            namespace[name] = freeze(spec[1])
        elif kind == "lock":
            namespace[name] = namespace["__lock__"] = LockKey(cx.type.key, *spec[1:])
        elif kind == "contract":
            namespace[name] = _contract_site(spec, cx)
        elif kind == "syntax":
            namespace[name] = _deferred(spec[1], spec[2], spec[3])
        else:
            rest[name] = spec
    return rest


def _type_reference(name: str, cx: MuranoContext) -> Callable[[], Any]:
    found: list[Any] = []

    def reference() -> Any:
        if not found:
            found.append(cx.resolve(name).type_object)
        return found[0]

    return reference


def _class_reference(cx: MuranoContext, name: str, version_spec: str | None = None) -> Callable[[], Any]:
    found: list[Any] = []

    def reference() -> Any:
        if not found:
            found.append(cx.resolve(name, version_spec))
        return found[0]

    return reference


def _contract_site(spec: tuple[Any, ...], cx: MuranoContext) -> Callable[[Any, dict[str, Any]], Any]:
    """A contract expression that is no plain chain: closure tier with the contract functions on top."""
    from vetro.muranopl.contracts.functions import contract_context
    from vetro.yaql.environment import Env

    built: list[Any] = []

    def site(this: Any, variables: dict[str, Any]) -> Any:
        if not built:
            strict = spec[4]
            built.append(closure_for(spec[1], spec[2], spec[3], contract_context(cx, None, strict).dialect, cx.grammar))
        return built[0](Env(variables, None, contract_context(cx, this, spec[4], spec[5])))

    return site


def _deferred(message: str, position: Any, hint: Any) -> Callable[[], Exception]:
    def make() -> Exception:
        from vetro.muranopl.declarations.tree import Position

        return DslSyntaxError(message, position=Position(*position) if position else None, hint=hint)

    return make
