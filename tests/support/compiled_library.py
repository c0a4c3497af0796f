"""The standard packages, compiled: most of what a session over an application computes, were each to compile them."""

from __future__ import annotations

from functools import cache

from vetro.library import core_packages
from vetro.muranopl.api import Engine
from vetro.muranopl.code_cache import CodeCache, MemoryCache
from vetro.muranopl.precompile import precompile


@cache
def compiled_library() -> CodeCache:
    """A cache that holds them, once for this process; sessions read it only, so what tests bring is never in it."""
    compiled = MemoryCache()
    precompile(Engine((), code_cache=compiled).session(), core_packages())
    return compiled
