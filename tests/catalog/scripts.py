"""Scripts of the catalog's packages as modules, for tests that call what they do without a server."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

CATALOG = Path(__file__).parents[2] / "catalog"


def script(application: str, version: str, name: str) -> Any:
    """A script, loaded anew."""
    path = CATALOG / application / version / "Resources" / "scripts" / name
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
