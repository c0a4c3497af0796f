"""``StatusReporter`` and ``InstanceNotifier``: what people see of a running deployment (CORE_LIBRARY.md, 3)."""

from __future__ import annotations

from typing import Any

from vetro.library.natives.common import is_object, perform, private, text_of, whole
from vetro.library.natives.servernames import names_of
from vetro.muranopl.types.native import method
from vetro.yaql.resolve.signature import Param, Type

REPORTER = "io.murano.system.StatusReporter"
NOTIFIER = "io.murano.system.InstanceNotifier"

_SOURCE = Param("instance", Type.HOST, nullable=True, check=is_object)
_INSTANCE = Param("instance", Type.HOST, check=is_object)
_MESSAGE = Param("msg", Type.ANY)

#: Type codes of tracked things.
APPLICATION, SERVER = 100, 200


def report(cx: Any, this: Any, source: Any, message: Any, level: str, details: str | None = None) -> None:
    """Emits one status line; a null source stands for the environment."""
    environment = private(whole(this), REPORTER, "_environmentId")
    perform(
        cx,
        "report",
        id=_entity(source) or environment,
        text=text_of(message),
        details=details,
        level=level,
        environment_id=environment,
    )


class StatusReporter:
    """Status lines."""

    @method("report", params=(_SOURCE, _MESSAGE))
    def report(cx: Any, this: Any, instance: Any, msg: Any) -> None:
        """A line of level info about an object (null: the environment)."""
        report(cx, this, instance, msg, "info")

    # Packages call it by its odd name; both work.
    @method("report_error", "reportError", params=(_SOURCE, _MESSAGE))
    def report_error(cx: Any, this: Any, instance: Any, msg: Any) -> None:
        """A line of level error about an object (null: the environment)."""
        report(cx, this, instance, msg, "error")


def _track(cx: Any, this: Any, instance: Any, code: int, title: str | None, count: int | None) -> None:
    obj = whole(instance)
    perform(
        cx,
        "track",
        event="murano.track_instance",
        instance=obj._id,
        environment=private(whole(this), NOTIFIER, "_environmentId"),
        instance_type=code,
        type_name=obj._type.name,
        type_title=title,
        unit_count=count,
    )


def _untrack(cx: Any, this: Any, instance: Any, code: int) -> None:
    perform(
        cx,
        "track",
        event="murano.untrack_instance",
        instance=whole(instance)._id,
        environment=private(whole(this), NOTIFIER, "_environmentId"),
        instance_type=code,
    )


class InstanceNotifier:
    """Statistics."""

    @method(
        "trackApplication",
        params=(_INSTANCE, Param("title", Type.STR, None, nullable=True), Param("unitCount", Type.INT, None)),
    )
    def track_application(cx: Any, this: Any, instance: Any, title: Any = None, count: Any = None) -> None:
        """An application exists from now on."""
        _track(cx, this, instance, APPLICATION, title, count)

    @method("untrackApplication", params=(_INSTANCE,))
    def untrack_application(cx: Any, this: Any, instance: Any) -> None:
        """The application is gone."""
        _untrack(cx, this, instance, APPLICATION)

    @method("trackCloudInstance", params=(_INSTANCE,))
    def track_cloud_instance(cx: Any, this: Any, instance: Any) -> None:
        """A server exists from now on."""
        _track(cx, this, instance, SERVER, None, 1)

    @method("checkNames")
    def check_names(cx: Any, this: Any) -> None:
        """Raises `NameTaken` when two servers of the environment have the same name in one region."""
        names_of(cx.session, this).check()

    @method("claimName", params=(_INSTANCE,))
    def claim_name(cx: Any, this: Any, instance: Any) -> None:
        """The server is about to be made. Raises `NameTaken` when another one that was made has its name."""
        names_of(cx.session, this).claim(whole(instance))

    @method("ownsName", params=(_INSTANCE,))
    def owns_name(cx: Any, this: Any, instance: Any) -> bool:
        """Whether the resource of the server's name in the stack is this server's own."""
        return names_of(cx.session, this).owns(whole(instance))

    @method("untrackCloudInstance", params=(_INSTANCE,))
    def untrack_cloud_instance(cx: Any, this: Any, instance: Any) -> None:
        """The server is gone."""
        _untrack(cx, this, instance, SERVER)


def _entity(source: Any) -> str | None:
    """The id of an object or view; text and null as they are."""
    return source if source is None or isinstance(source, str) else whole(source)._id
