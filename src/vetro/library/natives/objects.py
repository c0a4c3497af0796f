"""Native methods of ``io.murano.Object``: persistent attributes (SEMANTICS 11.5)."""

from __future__ import annotations

from typing import Any

from vetro.library.natives.common import whole
from vetro.muranopl.types.native import method
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import SCALARS, check_depth

_NAME = Param("name", Type.STR)
_OWNER = Param("owner", Type.ANY, None, nullable=True)


def _owner(cx: Any, owner: Any) -> Any:
    """The class an attribute belongs to: the one named, else the class of the calling code."""
    return cx.type if owner is None else cx.resolve(owner)


class ObjectMethods:
    """``setAttr`` and ``getAttr``."""

    @method("setAttr", params=(_NAME, Param("value", Type.ANY), _OWNER))
    def set_attr(cx: Any, this: Any, name: str, value: Any, owner: Any = None) -> None:
        """Stores an attribute under (object, class of the code or ``owner``, name); null deletes it.

        Objects are stored as their ids.
        """
        if value.__class__ not in SCALARS:
            check_depth(value)
        cx.session.attributes.set(whole(this), _owner(cx, owner), name, value)

    @method("getAttr", params=(_NAME, Param("default", Type.ANY, None), _OWNER))
    def get_attr(cx: Any, this: Any, name: str, default: Any = None, owner: Any = None) -> Any:
        """The stored attribute; ``default`` when there is none."""
        value = cx.session.attributes.get(whole(this), _owner(cx, owner), name)
        return default if value is None else value
