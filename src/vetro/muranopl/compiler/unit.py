"""From a Python syntax tree to a bound function, through the code cache.

A unit is one Python function plus its ``links`` (what its global names stand for, as plain data). The pair marshals;
binding creates a function with globals of its own: helpers, ``rt``, ``cx`` and the links. Builtins are not reachable.
"""

from __future__ import annotations

import ast as py
import hashlib
import marshal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

from vetro.muranopl.compiler.runtime import MURANO_HELPERS
from vetro.yaql.codegen.binding import HELPERS, bind

if TYPE_CHECKING:
    from vetro.muranopl.types import MuranoType

#: Part of every cache key: change it whenever generated code changes its meaning.
COMPILER_VERSION = 1


@dataclass(slots=True)
class Unit:
    """One function definition and what its globals stand for."""

    function: py.FunctionDef
    links: dict[str, tuple[Any, ...]]


class SourceLoader:
    """Gives debuggers and tracebacks the text of a class file that exists only in an archive (`linecache`)."""

    __slots__ = ("owner",)

    def __init__(self, owner: MuranoType) -> None:
        self.owner = owner

    def get_source(self, name: str) -> str:
        """Text of the file with the class."""
        return str(self.owner.package.read_class(self.owner.name)[0])


def cached(owner: MuranoType, key: str, file: str, build: Callable[[], Unit]) -> Callable[..., Any]:
    """The bound function of a unit; compiled now unless the cache has it."""
    cache = owner.session.code_cache
    full_key = ""
    loaded: tuple[CodeType, dict[str, tuple[Any, ...]]] | None = None
    if owner.decl.digest and cache is not None:
        full_key = hashlib.sha256(f"{environment_key(owner)}\0{file}\0{key}".encode()).hexdigest()
        data = cache.get(full_key)
        if data is not None:
            loaded = marshal.loads(data)
    if loaded is None:
        unit = build()
        loaded = compile_unit(unit, file), unit.links
        if full_key and cache is not None:
            cache.put(full_key, marshal.dumps(loaded))
    return bind_unit(loaded[0], loaded[1], owner)


def environment_key(owner: MuranoType) -> str:
    """Everything besides its text that the code of a class depends on."""
    known = owner.__dict__.get("_environment_key")
    if known is None:
        parts = [
            str(COMPILER_VERSION),
            sys.implementation.cache_tag or "",
            owner.decl.digest,
            owner.qualified,
            owner.context.dialect.name,
            ",".join(sorted(f"{n}={_shape(owner, n)}" for n in owner.declared_names())),
            ",".join(sorted(n for n in owner.method_names() if not owner.ambiguous(n))),
            ",".join(sorted(owner.extension_names())),
            owner.session.functions_key,
            owner.session.tier,
        ]
        known = owner.__dict__["_environment_key"] = "\0".join(parts)
    return known


def _shape(owner: MuranoType, name: str) -> str:
    from vetro.muranopl.compiler.emitter import property_kind

    return property_kind(owner, name)


def compile_unit(unit: Unit, file: str) -> CodeType:
    """The code object of the module that defines the unit's function."""
    module = py.Module([unit.function], [])
    _complete(unit.function)
    return compile(module, file, "exec", dont_inherit=True, optimize=0)


def _complete(function: py.FunctionDef) -> None:
    """Gives nodes without a position that of their parent."""
    stack: list[tuple[py.AST, tuple[int, int, int, int]]] = [(function, (1, 0, 1, 0))]
    while stack:
        node, place = stack.pop()
        if "lineno" in node._attributes:
            line = getattr(node, "lineno", None)
            if line is None:
                node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = place  # type: ignore[attr-defined]
            else:
                place = (line, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        stack.extend((child, place) for child in py.iter_child_nodes(node))


def bind_unit(code: CodeType, links: dict[str, tuple[Any, ...]], owner: MuranoType) -> Callable[..., Any]:
    """A function of ``owner``'s session from cached or fresh code."""
    from vetro.muranopl.compiler.links import bind_murano

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
    exec(code, namespace, defined)  # noqa: S102 - code comes from our compiler or an authenticated cache entry
    (function,) = defined.values()
    namespace["__code__"] = function.__code__
    return function  # type: ignore[no-any-return]
