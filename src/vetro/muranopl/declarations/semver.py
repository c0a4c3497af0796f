"""Gives `semantic_version.Version` without the rest of that distribution, and keys to order versions by.

The package's ``__init__`` imports `importlib.metadata` and `zipfile` only to learn its own version number; that costs
more than everything else `vetro.muranopl` imports. So its module ``base`` is loaded under its real name first. A later
``import semantic_version`` finds and uses the very same module: there is only one `Version` class in the process.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from semantic_version import Version
else:

    def _load_base():
        name = "semantic_version.base"
        if name in sys.modules:
            return sys.modules[name]
        package = find_spec("semantic_version")
        path = Path(package.origin).with_name("base.py") if package and package.origin else None
        if path is None or not path.is_file():
            # Frozen or zipped installations: pay for the ordinary import.
            import semantic_version

            return semantic_version
        spec = spec_from_file_location(name, path)
        module = module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    Version = _load_base().Version

__all__ = ["Key", "Version", "version_key"]

#: What versions are compared by: major, minor, patch, 1 for releases, pre-release identifiers.
Key: TypeAlias = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=8192)
def version_key(version: Version) -> Key:
    """The tuple by which ``version`` is ordered (SemVer precedence; build metadata is not part of it)."""
    pre = version.prerelease
    return (
        version.major,
        version.minor,
        version.patch,
        0 if pre else 1,
        tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in pre) if pre else (),
    )
