"""Functions that reach the engine: ``sleep logger config`` (SEMANTICS 16.1)."""

from __future__ import annotations

from typing import Any

from vetro.muranopl.functions.objects import created
from vetro.muranopl.types.native import state
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import freeze

LOGGER_CLASS = "io.murano.system.Logger"


@function("sleep", params=(Param("seconds", Type.NUM),))
def sleep(cx: Any, seconds: float) -> None:
    """Lets the branch wait on the task's clock; other branches go on."""
    cx.session.scheduler.sleep(seconds)


@function("logger", params=(Param("name", Type.STR),))
def logger(cx: Any, name: str) -> Any:
    """An object of class io.murano.system.Logger that writes to the channel ``applications.<name>``."""
    obj = cx.session.store.create(cx.resolve(LOGGER_CLASS), {}, None, None)
    created(cx, obj)
    state(obj)["name"] = name
    return obj


def config(cx: Any, section: str, option: str | None = None) -> Any:
    """``config(option)`` or ``config(section, option)``: a setting of the engine, null when it is not set."""
    settings: Any = getattr(cx.session, "settings", None) or {}
    if option is None:
        return freeze(settings.get(section))
    return freeze((settings.get(section) or {}).get(option))


CONFIG_PARAMS = (Param("section", Type.STR), Param("option", Type.STR, None, nullable=True))
