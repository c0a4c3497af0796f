"""Consoles and journals of servers: the end of them, and what was added since somebody looked.

What a server writes is anybody's text: bounded, without what commands a terminal, and without the secrets of the model.
Clouds give nothing but the end of a log, so a place in it is a mark of the lines before: where they stand now, what
follows them is new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as TooLate
from contextlib import suppress
from typing import Final, Literal, TypeVar

from vetro.clouds.errors import CloudError
from vetro.clouds.guest.console_text import plain_lines
from vetro.clouds.interface import Cloud, NotAvailable, Owner, ServerState, ShowsJournals
from vetro.clouds.stacks.kind import DriverKind
from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.model.environment import deployed_objects
from vetro.server import large_requests
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.environments import lookup, queries, secret_texts
from vetro.server.environments.models import Environment
from vetro.server.environments.power_steps import Machine, machines
from vetro.server.errors import Conflict, Invalid, NotFound, TooLarge, Unavailable
from vetro.server.forms import cloud_lists
from vetro.server.setup import config

Source = Literal["console", "journal"]
Answer = TypeVar("Answer")

#: Lines of one answer at most, and lines that are looked at; characters of a line.
MOST: Final = 2000
_WINDOW: Final = 5000
_LONGEST: Final = 4096
#: Lines that a mark is made of.
_MARKED: Final = 100
#: Seconds that a request waits for a cloud.
PATIENCE: Final = 15.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server as the cloud has it. ``component``: id and name of the one that has it; None: nobody knows."""

    id: str
    name: str
    status: str
    region: str
    component: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class ServerLog:
    """Lines of a server. ``next``: what gives the following ones; ``missed``: some before these are gone."""

    server: Server
    source: Source
    lines: list[str]
    next: str
    missed: bool


def sources(caller: Caller, environment_id: str) -> tuple[Source, ...]:
    """What can be read of the servers of an environment. Raises `NotFound`."""
    return _sources(row_of(caller, environment_id))


def servers(caller: Caller, environment_id: str, *, small: bool = False) -> list[Server]:
    """The servers of an environment, also those that a task makes just now. Raises `NotFound`, `Unavailable`.

    ``small``: for an answer that goes on, which is not made where large requests are; no components are known then
    where the model is large.
    """
    row = row_of(caller, environment_id)
    found = ask(row, lambda cloud, owner: cloud.servers(owner))
    if not small:
        return _described(found, _machines(caller, environment_id))
    known: dict[str, Machine] = {}
    with suppress(TooLarge), large_requests.bounded(TooLarge("The model is too large.")):
        known = _machines(caller, environment_id)
    return _described(found, known)


def read(
    caller: Caller, environment_id: str, what: str, source: Source = "console", *, most: int = 200, after: str = ""
) -> ServerLog:
    """The end of what a server said; ``after``: only what was added since (`ServerLog.next`).

    ``what``: the server by its id or name, or a component that has a single one. Raises `NotFound`, `Conflict` where
    several are meant, `Invalid` for a mark that is none, `Unavailable` where the cloud does not tell.
    """
    row = row_of(caller, environment_id)
    known = _machines(caller, environment_id)
    if after:
        _parsed(after)
    if source not in _sources(row):
        raise Conflict(Text("servers of this cloud have no {source} that could be read", source=source))

    def look(cloud: Cloud, owner: Owner) -> tuple[Server, str]:
        server = chosen(_described(cloud.servers(owner), known), what)
        if source == "console":
            return server, cloud.console(owner, server.id, _WINDOW)
        if not isinstance(cloud, ShowsJournals):
            raise NotAvailable(Text("servers of this cloud have no {source} that could be read", source=source))
        return server, cloud.journal(owner, server.id, _WINDOW)

    server, text = ask(row, look)
    lines = plain_lines(text, _WINDOW).split("\n") if text else []
    fresh, missed = since(lines, after)
    missed = missed or (bool(after) and len(fresh) > most)
    told = secret_texts.of_environment(caller, environment_id).text("\n".join(fresh[-most:]))
    cut = [line[:_LONGEST] for line in told.split("\n")] if fresh else []  # after masking: no half of a secret is left
    return ServerLog(server, source, cut, mark(lines), missed)


def chosen(there: Sequence[Server], what: str) -> Server:
    """The server of this id or name, or of this component. Raises `NotFound`, `Conflict` where it is not clear."""
    found = (
        [server for server in there if server.id == what]
        or [server for server in there if server.name == what]
        or [server for server in there if server.component is not None and what in server.component]
    )
    if len(found) == 1:
        return found[0]
    names = ", ".join(sorted({server.name for server in found or there})[:20])
    if found:
        raise Conflict(Text("several servers are meant by '{what}'", what=what[:80]), hint=Text("name one by its id"))
    hint = Text("there are {names}", names=names) if names else Text("deploy the environment first")
    raise NotFound(Text("there is no server '{what}'", what=what[:80]), hint=hint)


def mark(lines: Sequence[str]) -> str:
    """The place behind these lines. The last one may be half written: it counts by itself."""
    whole, last = lines[:-1], lines[-1:]
    return f"{len(whole)}.{len(whole[-_MARKED:])}.{_digest(whole[-_MARKED:])}.{_digest(last)}"


def since(lines: Sequence[str], after: str) -> tuple[Sequence[str], bool]:
    """The lines behind a mark, and whether some before them are gone; all of them where there is no mark."""
    if not after:
        return lines, False
    place, count, digest, last = _parsed(after)
    # As long as nothing was dropped at the beginning, the place is what it was: lines may well be the same.
    for end in (place, *range(len(lines), count - 1, -1)):
        if count <= end <= len(lines) and _digest(lines[end - count : end]) == digest:
            known = end < len(lines) and _digest(lines[end : end + 1]) == last
            return lines[end + known :], False
    return lines, True


def _parsed(after: str) -> tuple[int, int, str, str]:
    parts = after.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts[:2]):
        raise Invalid(Text("'after' is not what an earlier answer gave as 'next'"))
    return int(parts[0]), min(int(parts[1]), _MARKED), parts[2], parts[3]


def _digest(lines: Sequence[str]) -> str:
    return hashlib.blake2b(
        "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"), digest_size=12
    ).hexdigest()


def row_of(caller: Caller, environment_id: str) -> Environment:
    return Environment.objects.get(id=lookup.environment(caller, environment_id))


def _machines(caller: Caller, environment_id: str) -> dict[str, Machine]:
    found = queries.get(caller, environment_id, model=True)
    return {machine.id: machine for wave in machines(deployed_objects(found.model or {})) for machine in wave}


def _described(found: Sequence[ServerState], known: dict[str, Machine]) -> list[Server]:
    listed = []
    for state in found:
        machine = known.get(state.id)
        component = None if machine is None else (machine.component, machine.label)
        listed.append(Server(state.id, state.name, state.status, state.region, component))
    return sorted(listed, key=lambda server: (server.name, server.id))


def _sources(row: Environment) -> tuple[Source, ...]:
    able = cloud_settings.capabilities(config(), row.cloud)
    if able is not None and able.consoles == "none":
        return ("journal",) if able.journals else ()
    return ("console", "journal") if able is not None and able.journals else ("console",)


def ask(row: Environment, look: Callable[[Cloud, Owner], Answer]) -> Answer:
    """What the cloud of an environment says. Raises `Unavailable` where it does not, or is not here."""
    owner = Owner(row.project_id, row.id, "servers")
    folder = config().path("cloud.directory")
    if isinstance(cloud_settings.kind(config(), row.cloud), DriverKind) and not (folder / "cloud.db").exists():
        raise Unavailable(
            Text("the cloud of this environment is not on this machine, or has no servers yet"),
            hint=Text("its servers are on the machine of the workers that make them: ask there"),
        )
    asked = cloud_lists.ask(owner, lambda cloud: look(cloud, owner), row.cloud)
    try:
        answer: Answer = asked.result(PATIENCE)
    except TooLate:
        asked.cancel()
        raise Unavailable(Text("the cloud does not answer"), hint=Text("try again in a moment")) from None
    except CloudError as error:
        raise Unavailable(error.message, hint=error.hint) from None
    return answer
