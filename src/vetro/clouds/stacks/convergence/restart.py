"""Servers of stacks are switched off and on with their disks, also those that ended by themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack

from vetro.clouds.drivers.base import Placement, Recorder
from vetro.clouds.drivers.values import short
from vetro.clouds.interface import CloudError, Conflict, NotFound, Owner, PowerAction
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.specs import need_network, server_spec
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Record
from vetro.clouds.stacks.state.rows import Rows, StackRow
from vetro.clouds.waits import Say, server_text

#: Seconds between two looks at servers whose machine does not answer.
_PAUSE = 1.0


def ended(services: Services, stack: str) -> list[Record]:
    """The servers of a stack (by id), and of stacks in it, that should run and do not.

    A server that somebody stopped is not among them. One that is only written down ends when somebody writes that.
    """
    return [server for server, status in _seen(services, stack) if status == "ERROR"]


def await_answer(services: Services, stack: str) -> None:
    """Waits for the machines of the servers of a stack. Raises `Conflict` with the first that does not answer in time.

    What is done about a server whose machine is away could be done twice once that is back.
    """
    end = time.monotonic() + services.settings.unknown_seconds
    told: Say | None = None
    with ExitStack() as block:
        while away := [server for server, status in _seen(services, stack) if status == "UNKNOWN"]:
            told = told or block.enter_context(_told(services, away[0], "answer"))
            if time.monotonic() >= end or services.closing.wait(_PAUSE):
                driver, server = services.driver, away[0]
                member = driver.member(server["id"]) if isinstance(driver, Placement) else None
                machine = f"the machine '{member}'" if member else "the machine"
                raise Conflict(f"{machine} of the server '{server['name']}' does not answer; try again when it is back")


def _seen(services: Services, stack: str) -> list[tuple[Record, str]]:
    """The servers of a stack, and of stacks in it, that should run, and the states that the driver sees."""
    driver = services.driver
    if not driver.executes and not (isinstance(driver, Recorder) and driver.off()):
        return []
    places = _within(services.database, stack)
    marks = ", ".join("?" * len(places))
    rows = services.database.rows(
        "SELECT records.body FROM resources JOIN records ON records.id = resources.id AND records.kind = 'server'"
        f" WHERE resources.stack IN ({marks}) AND NOT resources.old ORDER BY resources.place",
        places,
    )
    servers = [server for (body,) in rows if (server := json.loads(body))["status"] == "ACTIVE"]
    seen = driver.statuses([server["id"] for server in servers])
    return [(server, seen.get(server["id"], "ERROR")) for server in servers]


def words(servers: Collection[Record]) -> str:
    """What is told of servers that ended."""
    names = ", ".join(f"'{server['name']}'" for server in servers)
    return f"server {names} has ended by itself" if len(servers) == 1 else f"servers {names} have ended by themselves"


def start_again(services: Services, servers: Collection[Record]) -> None:
    """Starts servers beside each other. Raises `CloudError` with the first that did not start, after all were tried."""
    if not servers:
        return

    def start(server: Record) -> None:
        with _told(services, server, "start"), services.alone(server["id"]):
            try:
                _bring(services, server)
                services.driver.start(server["id"])
            except CloudError as error:
                raise type(error)(f"the server '{server['name']}' cannot be started again: {error}") from None

    together = min(len(servers), services.settings.parallel)
    if together == 1:
        failed = [error for server in servers if (error := _tried(start, server)) is not None]
        if failed:
            raise failed[0]
        return
    with ThreadPoolExecutor(together, "vetro-heal") as pool:
        starts = [pool.submit(start, server) for server in servers]
    for one in starts:
        one.result()


def _tried(start: Callable[[Record], None], server: Record) -> CloudError | None:
    try:
        start(server)
    except CloudError as error:
        return error
    return None


def found(services: Services, owner: Owner, server: str) -> tuple[StackRow, Record]:
    """The stack that a server (by id) of an owner belongs to, which is in no other one, and the server itself.

    Raises `NotFound` for what is not this owner's, `Conflict` for a server that was never finished.
    """
    row = services.database.row(
        "SELECT records.body, resources.stack FROM resources JOIN records ON records.id = resources.id"
        " WHERE records.id = ? AND records.kind = 'server' AND records.project = ? AND records.environment = ?",
        (server, owner.project, owner.environment),
    )
    rows = Rows(services.database)
    stack = rows.by_id(row[1]) if row is not None else None
    while stack is not None and stack.parent:
        stack = rows.by_id(stack.parent)
    if row is None or stack is None:
        raise NotFound(f"there is no server {short(server)}")
    item: Record = json.loads(row[0])
    if item["status"] == "BUILD":
        raise Conflict(f"making the server '{item['name']}' was begun and never finished; deploy it again")
    return stack, item


def switch(services: Services, server: Record, action: PowerAction) -> None:
    """Does what `vetro.clouds.interface.Power.power` says. Raises `CloudError`."""
    driver, id = services.driver, server["id"]
    if action != "start":
        with _told(services, server, "stop"), services.alone(id):
            driver.stop(id)
            if (status := driver.statuses([id]).get(id)) not in (None, "SHUTOFF", "ERROR"):
                # Whoever puts another server in its place has to know.
                raise CloudError(
                    f"the server '{server['name']}' was told to stop, and nobody says that it did: {status}"
                )
    if action != "stop" and driver.statuses([id]).get(id) != "ACTIVE":
        start_again(services, [server])


def _told(services: Services, server: Record, doing: str) -> AbstractContextManager[Say]:
    """Tells those who ask (`ShowsWaits`) that a server is waited for."""
    owner = Owner(server["tenant_id"], server["environment"])
    return services.waits.on(owner, "server", server_text(server["name"], doing))


def _bring(services: Services, server: Record) -> None:
    """Tells the driver how networks and server are now: while the server was down they may have changed."""
    rows = services.database.rows("SELECT region FROM records WHERE id = ? AND kind = 'server'", (server["id"],))
    for (region,) in rows:
        things = services.things(region, server["tenant_id"])
        spec = server_spec(things, things.get("server", server["id"]))
        for nic in spec.nics:
            need_network(services, things, nic.network_id)
        services.driver.update(spec)


def _within(database: Database, stack: str) -> list[str]:
    """Ids of a stack and of all stacks in it."""
    found, new = [], [stack]
    while new:
        found += new
        new = [id for one in new for (id,) in database.rows("SELECT id FROM stacks WHERE parent = ?", (one,))]
    return found
