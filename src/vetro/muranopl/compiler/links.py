"""Binding of links that only MuranoPL code has: class references, literals, locks, lazy syntax errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vetro.muranopl.compiler.contract_functions import contract_context
from vetro.muranopl.declarations import tree as d
from vetro.muranopl.errors import DslSyntaxError
from vetro.muranopl.runtime.protocol import LinkedClass, MuranoContext
from vetro.yaql.codegen.binding import closure_for
from vetro.yaql.environment import Env
from vetro.yaql.values import freeze


class LockKey:
    """Identifies a method for mutual exclusion (SEMANTICS 7.6)."""

    __slots__ = ("args", "name", "on_this", "owner")

    def __init__(self, owner: str, name: str, on_this: bool, args: tuple[str, ...]) -> None:
        self.owner = owner
        self.name = name
        self.on_this = on_this
        self.args = args


def synchronization(owner: LinkedClass, decl: d.MethodDecl) -> tuple[bool, tuple[str, ...]]:
    """(lock on the receiver?, argument names the lock also depends on), from the Synchronize meta (SEMANTICS 7.6).

    The meta is inherited (14.2): a method without it takes that of the nearest method it overrides; names of arguments
    that it lacks are left out then.
    """
    found = _declared_synchronization(owner, decl)
    if found is not None:
        return found
    for ancestor in owner.ancestors[1:]:
        overridden = ancestor.decl.methods.get(decl.name)
        found = _declared_synchronization(ancestor, overridden) if overridden is not None else None
        if found is not None:
            own = {argument.name for argument in decl.arguments}
            return found[0], tuple(name for name in found[1] if name in own)
    return True, ()


def _declared_synchronization(owner: LinkedClass, decl: d.MethodDecl) -> tuple[bool, tuple[str, ...]] | None:
    """What the declaration itself says; None without the meta."""
    for meta in decl.meta:
        full = owner.decl.namespaces.resolve(meta.name)
        if full != "io.murano.metadata.engine.Synchronize":
            continue
        on_this = meta.properties.get("onThis")
        on_args = meta.properties.get("onArgs")
        names: tuple[str, ...] = ()
        if isinstance(on_args, d.Literal) and on_args.value is not None:
            value = on_args.value
            names = tuple(value) if isinstance(value, tuple) else (str(value),)
        locked = not (isinstance(on_this, d.Literal) and on_this.value is False)
        return locked, names
    return None


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
    built: list[Any] = []

    def site(this: Any, variables: dict[str, Any]) -> Any:
        if not built:
            strict = spec[4]
            built.append(closure_for(spec[1], spec[2], spec[3], contract_context(cx, None, strict).dialect, cx.grammar))
        return built[0](Env(variables, None, contract_context(cx, this, spec[4], spec[5])))

    return site


def _deferred(message: str, position: Any, hint: Any) -> Callable[[], Exception]:
    def make() -> Exception:
        return DslSyntaxError(message, position=d.Position(*position) if position else None, hint=hint)

    return make
