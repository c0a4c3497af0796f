"""Log lines, as text for people or JSON for programs (settings ``observe.log_format``, ``observe.log_level``).

Whatever logs through `logging` or structlog comes out here, with id, user and project of the request and the id of
the task it belongs to. Values that names say are secret are replaced, tracebacks hold no values of variables, and
no code of the service logs models or drafts.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any, TextIO

import structlog

from vetro.server.config.config import Config
from vetro.server.observe.current_request import context

_SECRET = re.compile(r"passw|secret|token|credential|authorization|cookie|private|(^|[_.-])key$", re.IGNORECASE)
#: Tokens in running text: ours, and values after the names of headers and fields that hold them.
_IN_TEXT = re.compile(
    r"vetro_[A-Za-z0-9_-]{20,}"
    r"|((?:x-auth-token|authorization|password|passwd|secret)[\"']?\s*[:=]\s*(?:bearer\s+)?)(?:\"[^\"]*\"|'[^']*'|[^\s,;&}]+)",
    re.IGNORECASE,
)
#: Quick: whether there can be one at all. Each of them has one of these characters.
_MAY_HIDE = re.compile("[_:=]").search
HIDDEN = "***"


class _State:
    access = False
    json = False


def access_lines() -> bool:
    """Whether each request gets a line."""
    return _State.access


def configure(settings: Config, stream: TextIO | None = None) -> None:
    """Sends all log lines of this process to ``stream`` (standard error), as the settings say."""
    as_json = settings["observe.log_format"] == "json"
    level = str(settings["observe.log_level"]).upper()
    _State.access = bool(settings["observe.access"]) and level in ("DEBUG", "INFO")
    _State.json = as_json
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _with_request,
        structlog.processors.format_exc_info,
        hide_secrets,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    renderer: Any = structlog.processors.JSONRenderer(ensure_ascii=False) if as_json else _text
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in list(root.handlers):
        if getattr(old, "vetro", False):
            root.removeHandler(old)
    handler.vetro = True  # type: ignore[attr-defined]
    root.addHandler(handler)
    root.setLevel(level)
    # Debugging the service is not debugging its libraries: these print statements and headers.
    for noisy in ("django.db.backends", "urllib3", "keystoneauth", "httpx", "httpcore", "botocore", "amqp", "kombu"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # A 4xx of ours is no warning: the access line says it.
    logging.getLogger("django.request").setLevel(logging.ERROR)


def hide_secrets(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replaces values whose names say that they are secret, and tokens in text (a processor of structlog)."""
    for name, value in event.items():
        if name in ("level", "logger", "timestamp", "_record", "_from_structlog"):
            continue
        if _SECRET.search(name):
            event[name] = HIDDEN
        elif isinstance(value, str):
            event[name] = hidden(value)
        elif isinstance(value, (dict, list, tuple)):
            event[name] = _deep(value)
    return event


def hidden(text: str) -> str:
    """Text without the tokens and passwords that can be recognised in it."""
    if not _MAY_HIDE(text):
        return text
    return _IN_TEXT.sub(lambda match: (match.group(1) or "") + HIDDEN, text)


def write_access(
    stream: TextIO,
    request: str,
    address: str,
    method: str,
    path: str,
    status: int,
    seconds: float,
    user: str,
    project: str,
) -> None:
    """One line for one request. Made by hand: it is part of every request. Queries are left out, they may be secret."""
    at = f"{datetime.now(UTC).isoformat(timespec='microseconds')[:26]}Z"
    if _State.json:
        line = json.dumps(
            {
                "event": "request",
                "method": method,
                "path": hidden(path),
                "status": status,
                "ms": round(seconds * 1000, 2),
                "address": address,
                "request": request,
                "user": user,
                "project": project,
                "level": "info",
                "logger": "vetro.access",
                "timestamp": at,
            },
            ensure_ascii=False,
        )
    else:
        shown = path if path.isprintable() else ascii(path)
        who = f" user={_line(user)} project={_line(project)}" if user else ""  # with a Keystone, whatever it lets be
        line = f"{at} [info] {method} {hidden(shown)} {status} {seconds * 1000:.1f} ms {address}{who} request={request}"
    try:
        stream.write(line + "\n")
    except (OSError, ValueError, UnicodeEncodeError):
        pass  # nobody reads the log any more; requests go on


def _with_request(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in context().items():
        event.setdefault(name, value)
    return event


def _deep(value: Any, depth: int = 0) -> Any:
    if depth > 6:
        return "…"
    if isinstance(value, dict):
        return {
            k: HIDDEN if isinstance(k, str) and _SECRET.search(k) else _deep(v, depth + 1) for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_deep(item, depth + 1) for item in value]
    return hidden(value) if isinstance(value, str) else value


def _text(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    at, level = event.pop("timestamp", ""), event.pop("level", "info")
    name, text = event.pop("logger", ""), str(event.pop("event", ""))
    trace = event.pop("exception", None)
    parts = [f"{at} [{level}] {name}: {_line(text)}"]
    parts += [f"{key}={_line(str(value))}" for key, value in sorted(event.items())]
    line = " ".join(parts)
    return f"{line}\n{trace}" if trace else line


def _line(text: str) -> str:
    """One line, whatever is in it: nobody writes a second line into the log."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
