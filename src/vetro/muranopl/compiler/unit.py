"""From a Python syntax tree to a bound function, through the code cache.

A unit is one Python function plus its ``links`` (what its global names stand for, as plain data). The pair marshals;
binding creates a function with globals of its own: helpers, ``rt``, ``cx`` and the links. Builtins are not reachable.
"""

from __future__ import annotations

import ast as py
import marshal
import os
import sys
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.muranopl.code_cache import cache_key, key_of_file
from vetro.muranopl.compiler.emitter import property_kind
from vetro.muranopl.compiler.links import bind_murano, synchronization
from vetro.muranopl.compiler.runtime import MURANO_HELPERS
from vetro.muranopl.errors import NestingLimit
from vetro.yaql.codegen.binding import HELPERS, bind
from vetro.yaql.codegen.pyast import complete

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass

#: Part of every cache key: change it whenever generated code changes its meaning.
COMPILER_VERSION = 8


@dataclass(slots=True)
class Unit:
    """One function definition and what its globals stand for."""

    function: py.FunctionDef
    links: dict[str, tuple[Any, ...]]


class SourceLoader:
    """Gives debuggers and tracebacks the text of a class file that exists only in an archive (`linecache`)."""

    __slots__ = ("owner",)

    def __init__(self, owner: LinkedClass) -> None:
        self.owner = owner

    def get_source(self, name: str) -> str:
        """Text of the file with the class."""
        return str(self.owner.package.read_class(self.owner.name)[0])


def cached(owner: LinkedClass, key: str, file: str, build: Callable[[], Unit]) -> Callable[..., Any]:
    """The bound function of a unit; compiled now unless the cache has it."""
    bundle = bundle_of(owner)
    data = bundle.get(key)
    if data is None:
        try:
            unit = build()
            code, links = compile_unit(unit, file), unit.links
        except RecursionError:
            raise _too_deep(owner, key, Text("it is nested too deeply")) from None
        except SyntaxError as error:  # CPython has limits of its own
            raise _too_deep(owner, key, error.msg) from None
        try:
            bundle[key] = marshal.dumps((code, links))
        except ValueError:
            pass  # a literal too deep for marshal: compiled anew each time
    else:
        code, links = marshal.loads(data)
    return bind_unit(code, links, owner)


def _too_deep(owner: LinkedClass, key: str, reason: str) -> NestingLimit:
    what, _, name = key.partition(":")
    place = (
        Text("method {name}", name=f"{owner.name}::{name}")
        if what == "m"
        else Text("a contract of class {name}", name=owner.name)
        if what == "c"
        else Text("a default of class {name}", name=owner.name)
        if what == "d"
        else Text("a part of class {name}", name=owner.name)
    )
    return NestingLimit(
        Text("{place} cannot be compiled: {reason}", place=place, reason=reason),
        hint=Text("give the inner parts methods or classes of their own"),
    )


def bundle_of(owner: LinkedClass) -> dict[str, bytes]:
    """The compiled units of a class by key: what the cache has, plus what this session compiled."""
    known: dict[str, bytes] | None = owner.__dict__.get("_bundle")
    if known is None:
        cache = owner.session.code_cache
        data = cache.get(bundle_key(owner)) if cache is not None and owner.decl.digest else None
        known = owner.__dict__["_bundle"] = marshal.loads(data) if data is not None else {}
        owner.__dict__["_bundle_size"] = len(known)
    return known


def store_bundle(owner: LinkedClass) -> bool:
    """Puts the units compiled so far into the cache, all of a class in one entry; True when there was news."""
    cache = owner.session.code_cache
    bundle = bundle_of(owner)
    if cache is None or not owner.decl.digest or len(bundle) == owner.__dict__["_bundle_size"]:
        return False
    cache.put(bundle_key(owner), marshal.dumps(bundle))
    owner.__dict__["_bundle_size"] = len(bundle)
    return True


def bundle_key(owner: LinkedClass) -> str:
    """Key of a class's units: its text, everything its code depends on, compiler and Python."""
    file = owner.decl.position.file
    return key_of_file(file, cache_key(f"code {COMPILER_VERSION}", environment_key(owner), file))


def environment_key(owner: LinkedClass) -> str:
    """Everything besides its text that the code of a class depends on."""
    known = owner.__dict__.get("_environment_key")
    if known is None:
        parts = [
            owner.decl.digest,
            owner.qualified,
            owner.context.dialect.name,
            ",".join(sorted(f"{n}={property_kind(owner, n)}" for n in owner.declared_names())),
            ",".join(sorted(n for n in owner.method_names() if not owner.ambiguous(n))),
            ",".join(sorted(owner.extension_names())),
            ",".join(_locks(owner)),
            owner.session.functions_key,
            owner.session.tier,
        ]
        known = owner.__dict__["_environment_key"] = "\0".join(parts)
    return known


def _locks(owner: LinkedClass) -> list[str]:
    """The methods whose locks are not the usual ones: what they say may come from an ancestor."""
    kinds = {name: synchronization(owner, decl) for name, decl in sorted(owner.decl.methods.items())}
    return [f"{name}={kind}" for name, kind in kinds.items() if kind != (True, ())]


def compile_unit(unit: Unit, file: str) -> CodeType:
    """The code object of the module that defines the unit's function."""
    module = py.Module([unit.function], [])
    complete(unit.function)
    return compile(module, file, "exec", dont_inherit=True, optimize=0)


def bind_unit(code: CodeType, links: dict[str, tuple[Any, ...]], owner: LinkedClass) -> Callable[..., Any]:
    """A function of ``owner``'s session from cached or fresh code."""
    cx = owner.context
    namespace: dict[str, Any] = {
        **HELPERS,
        **MURANO_HELPERS,
        "__builtins__": {},
        "__murano__": owner,
        "__name__": owner.name,
        "__loader__": SourceLoader(owner),
        "rt": cx.rt,
        "cx": cx,
    }
    ordinary = bind_murano(links, cx, namespace)
    bind(ordinary, cx, namespace, cx.grammar)
    defined: dict[str, Any] = {}
    exec(code, namespace, defined)
    (function,) = defined.values()
    namespace["__code__"] = function.__code__
    if sys.gettrace() is not None and not os.path.exists(function.__code__.co_filename):
        # Only under a debugger: it brings bdb and zipfile along.
        from vetro.muranopl.tools.debugger import remember

        remember(function.__code__.co_filename, namespace["__loader__"].get_source(owner.name))
    return function  # type: ignore[no-any-return]
