"""``io.murano.system.Logger``: a log channel (CORE_LIBRARY.md, Logger)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.library.natives.common import perform, text_of, whole
from vetro.library.natives.exceptions import exception_text
from vetro.muranopl.types.native import method, state
from vetro.yaql.resolve.signature import Kind, Param, Type

_MESSAGE = Param("message", Type.ANY)
_REST = (Param("args", Type.ANY, kind=Kind.VARARGS), Param("kwargs", Type.ANY, kind=Kind.KWARGS))
LEVELS = ("trace", "debug", "info", "warning", "error", "critical")


def _text(cx: Any, message: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, bool]:
    """The formatted message, and False when its format is bad (then the raw text)."""
    template = text_of(message)
    if not args and not kwargs and "{" not in template and "}" not in template:
        return template, True
    try:
        return str(cx.session.call_dynamic(cx, "format", (template, *args), kwargs, None)), True
    except Exception:  # a log call must never fail the deployment
        return template, False


def _channel(this: Any) -> str:
    return str(state(whole(this)).get("name", ""))


def _write(cx: Any, this: Any, level: str, message: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    text, formatted = _text(cx, message, args, kwargs)
    if not formatted:
        warning = f"the following message has a bad format, it is logged as it is: {text}"
        perform(cx, "log", logger=_channel(this), level="warning", text=warning)
    return text


def _level_method(level: str) -> Callable[..., Any]:
    @method(level, params=(_MESSAGE, *_REST))
    def write(cx: Any, this: Any, message: Any, /, *args: Any, **kwargs: Any) -> None:
        text = _write(cx, this, level, message, args, kwargs)
        perform(cx, "log", logger=_channel(this), level=level, text=text)

    write.__doc__ = f"Logs a message at level {level}; ``{{}}`` places take the arguments. A bad format never raises."
    return write


class Logger:
    """One method a level, and ``exception``."""

    trace, debug, info, warning, error, critical = (_level_method(level) for level in LEVELS)

    @method("exception", params=(Param("exc", Type.ANY), _MESSAGE, *_REST))
    def exception(cx: Any, this: Any, exc: Any, message: Any, /, *args: Any, **kwargs: Any) -> None:
        """Logs a message and the exception with its stack trace at level error."""
        text = _write(cx, this, "error", message, args, kwargs)
        perform(cx, "log", logger=_channel(this), level="error", text=f"{text}\n{exception_text(cx, whole(exc))}")
