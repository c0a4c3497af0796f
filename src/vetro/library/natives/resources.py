"""``io.murano.system.Resources``: files of a package (CORE_LIBRARY.md, Resources)."""

from __future__ import annotations

import json
from typing import Any

from vetro.library.natives.common import whole
from vetro.library.natives.plainyaml import load_yaml
from vetro.muranopl.native import method, state
from vetro.yaql.signature import Param, Type
from vetro.yaql.values import freeze

_NAME = Param("name", Type.STR)
_OWNER = Param("owner", Type.ANY, None, nullable=True)


def _package(cx: Any, this: Any, owner: Any) -> Any:
    """The package to read: the owner's, else the one the object is bound to, else that of the calling class."""
    if owner is not None:
        obj = whole(owner)
        kind = obj._type if hasattr(obj, "_type") else cx.resolve(owner)
        return kind.package
    bound = getattr(whole(this), "_native_state", None)
    if bound and "package" in bound:
        return bound["package"]
    return cx.type.package


class Resources:
    """Each method works on an object and on the class."""

    def created(cx: Any, this: Any) -> None:
        """Binds a new object to the package of the code that made it."""
        state(this)["package"] = cx.type.package

    @method("string", params=(_NAME, _OWNER, Param("binary", Type.BOOL, False)), static=True)
    def string(cx: Any, this: Any, name: str, owner: Any = None, binary: bool = False) -> Any:
        """The file as text (or as bytes). Raises `ResourceNotFound`, also for names that leave the folder."""
        package = _package(cx, this, owner)
        return package.resource(name) if binary else package.resource_text(name)

    @method("json", params=(_NAME, _OWNER), static=True)
    def json(cx: Any, this: Any, name: str, owner: Any = None) -> Any:
        """The JSON file as a structure. Raises `ValueError` when it is none."""
        text = _package(cx, this, owner).resource_text(name)
        try:
            return freeze(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"resource '{name}' is no JSON: {error}") from None

    @method("yaml", params=(_NAME, _OWNER), static=True)
    def yaml(cx: Any, this: Any, name: str, owner: Any = None) -> Any:
        """The YAML file as a structure; dates stay text. Raises `SourceError` when it is none."""
        return load_yaml(_package(cx, this, owner).resource_text(name), name)
