"""Scripts of the catalog's packages as modules, for tests that call what they do without a server."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

CATALOG = Path(__file__).parents[2] / "catalog"


def script(application: str, version: str, name: str) -> Any:
    """A script, loaded anew, with what it imports of its folder."""
    path = CATALOG / application / version / "Resources" / "scripts" / name
    module = ModuleType(path.stem.replace("-", "_"))
    module.__file__ = str(path)
    # Nothing compiled is left beside it: what lies in a package's folder is of the package.
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    finally:
        sys.path.remove(str(path.parent))
        sys.dont_write_bytecode = before
        for other in path.parent.glob("*.py"):
            sys.modules.pop(other.stem, None)  # another version has one of the same name
    return module
