"""Contexts: which server commands talk to, and with which token. ``local`` is the workspace of this machine.

They are kept in ``vetro/contexts.toml`` of the user's configuration folder, readable by nobody else. The one in force
is that of ``--context``, else of ``VETRO_CONTEXT``, else the one chosen with `vetro context use`, else ``local``.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, TypeVar

import click

from vetro.data_classes import dataclass
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError

F = TypeVar("F", bound=Callable[..., Any])

LOCAL = "local"
VARIABLE = "VETRO_CONTEXT"
_META = "vetro.context"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class ContextError(VetroError):
    """A context cannot be used: there is none of that name, or its file is damaged or open to others."""

    kind = "bad-argument"
    code = "CLI120"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Context:
    """A server."""

    name: str
    url: str
    token: str = field(repr=False)
    user: str = ""
    project: str = ""
    #: File of certificates that the server's is checked against; empty: those of the system.
    ca_file: str = ""


@dataclass(slots=True)
class Contexts:
    """What the file holds."""

    current: str = LOCAL
    servers: dict[str, Context] = field(default_factory=dict)


def contexts_file() -> Path:
    """Where contexts are kept."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(base) / "vetro" / "contexts.toml"


def read_contexts() -> Contexts:
    """All contexts. Raises `ContextError` when the file is damaged, or when others may read it."""
    path = contexts_file()
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = tomllib.loads(file.read().decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return Contexts()
    except OSError as error:
        raise ContextError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ContextError(f"{path} is damaged: {error}", "mend it, or remove it and use 'vetro login'") from None
    if mode & 0o077:
        raise ContextError(f"others may read {path}, which holds tokens", f"chmod 600 {path}")
    servers = data.get("contexts", {})
    found = Contexts(str(data.get("current", LOCAL)))
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(entry, dict) or not all(isinstance(v, str) for v in entry.values()) or "url" not in entry:
            raise ContextError(f"{path} is damaged: context '{name}' has no url", "mend it, or 'vetro login' again")
        known = {key: value for key, value in entry.items() if key in ("url", "token", "user", "project", "ca_file")}
        found.servers[name] = Context(**{"name": name, "token": "", **known})
    return found


def write_contexts(contexts: Contexts) -> None:
    """Replaces the file, for its owner only."""
    lines = [f"current = {_text(contexts.current)}"]
    for name, context in sorted(contexts.servers.items()):
        lines += ["", f"[contexts.{_text(name)}]"]
        lines += [f"{key} = {_text(value)}" for key, value in asdict(context).items() if value and key != "name"]
    path = contexts_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".contexts-", dir=path.parent)  # made with mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise ContextError(f"{path} cannot be written: {error.strerror}") from None


def _text(value: str) -> str:
    """A basic string of TOML; JSON's escapes are a part of TOML's."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def check_name(name: str) -> str:
    """``name``, if a context can be called so. Raises `ContextError`."""
    if name == LOCAL or not _NAME.fullmatch(name):
        hint = f"use up to 63 letters, digits, '.', '_' and '-'; '{LOCAL}' is the workspace of this machine"
        raise ContextError(f"'{name}' cannot be the name of a server's context", hint)
    return name


def context_option(function: F) -> F:
    """``--context``. The command asks `chosen` what it says."""

    def keep(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.meta[_META] = value

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return click.option(
        "--context",
        metavar="NAME",
        expose_value=False,
        is_eager=True,
        callback=keep,
        shell_complete=complete,
        help=f"Server to talk to, '{LOCAL}' for this machine.  [default: ${VARIABLE}, else 'vetro context use']",
    )(function)


def names() -> list[str]:
    """Names of all contexts, for completion: none where they cannot be read."""
    try:
        return [LOCAL, *sorted(read_contexts().servers)]
    except ContextError:
        return []


def chosen_name(contexts: Contexts) -> tuple[str, str]:
    """Name of the context in force, and what says so."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and ctx.meta.get(_META):
        return ctx.meta[_META], "--context"
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE], VARIABLE
    return contexts.current, "vetro context use" if contexts.current != LOCAL else "default"


def chosen(workspace: str | None = None) -> Context | None:
    """The server in force; None for this machine. A ``workspace`` that is named means this machine, too.

    Raises `ContextError` for an unknown context.
    """
    ctx = click.get_current_context(silent=True)
    if workspace is not None:
        if ctx is not None and ctx.meta.get(_META, LOCAL) != LOCAL:
            raise click.UsageError("--workspace is a folder of this machine: leave out --context or --workspace")
        return None
    if ctx is not None and ctx.meta.get(_META) == LOCAL:
        return None
    contexts = read_contexts()
    name, source = chosen_name(contexts)
    if name == LOCAL:
        return None
    return find(contexts, name, source)


def find(contexts: Contexts, name: str, source: str = "") -> Context:
    """The server's context of that name. Raises `ContextError`."""
    if name in contexts.servers:
        return contexts.servers[name]
    close = suggest(name, [LOCAL, *contexts.servers])
    where = f" ({source})" if source and source != "--context" else ""
    hint = f"did you mean '{close}'?" if close else "'vetro context list' shows them, 'vetro login URL' adds one"
    raise ContextError(f"there is no context '{name}'{where}", hint)
