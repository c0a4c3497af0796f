"""Scripts of the catalog's packages as modules, for tests that call what they do without a server."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

CATALOG = Path(__file__).parents[2] / "catalog"


def script(application: str, version: str, name: str) -> Any:
    """A script, loaded anew."""
    path = CATALOG / application / version / "Resources" / "scripts" / name
    module = ModuleType(path.stem.replace("-", "_"))
    module.__file__ = str(path)
    # Nothing compiled is left beside it: what lies in a package's folder is of the package.
    exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    return module
