"""``io.murano.system.GC``: destruction of objects as packages see it (SEMANTICS 13)."""

from __future__ import annotations

from typing import Any

from vetro.library.natives.common import is_object, whole
from vetro.muranopl.types.native import method
from vetro.yaql.resolve.signature import Param, Type

_PUBLISHER = Param("publisher", Type.HOST, check=is_object)
_SUBSCRIBER = Param("subscriber", Type.HOST, check=is_object)
_HANDLER = Param("handler", Type.STR, None, nullable=True)
_OBJECT = Param("object", Type.HOST, check=is_object)


class GarbageCollection:
    """All methods are static."""

    @method("subscribeDestruction", params=(_PUBLISHER, _SUBSCRIBER, _HANDLER), static=True)
    def subscribe(cx: Any, publisher: Any, subscriber: Any, handler: str | None = None) -> None:
        """The subscriber's method ``handler(publisher)`` runs before the publisher is destroyed.

        Without handler only the order counts. Raises `MethodNotFound` for a method that does not exist.
        """
        cx.session.gc.subscribe(whole(publisher), whole(subscriber), handler)

    @method("unsubscribeDestruction", params=(_PUBLISHER, _SUBSCRIBER, _HANDLER), static=True)
    def unsubscribe(cx: Any, publisher: Any, subscriber: Any, handler: str | None = None) -> None:
        """Takes the subscription back."""
        cx.session.gc.unsubscribe(whole(publisher), whole(subscriber), handler)

    @method("collect", static=True)
    def collect(cx: Any) -> None:
        """Destroys objects that nothing refers to."""
        cx.session.gc.collect()

    @method("isDoomed", params=(_OBJECT,), static=True)
    def is_doomed(cx: Any, obj: Any) -> bool:
        """Whether the object goes (or went) in the collection that runs now."""
        return bool(cx.session.gc.is_doomed(whole(obj)))

    @method("isDestroyed", params=(_OBJECT,), static=True)
    def is_destroyed(cx: Any, obj: Any) -> bool:
        """Whether the object is destroyed."""
        return bool(cx.session.gc.is_destroyed(whole(obj)))
