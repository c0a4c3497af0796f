"""What every cloud offers.

Clouds have stacks, networks, images, flavors, key pairs, zones, volumes, security groups and consoles. The effects host
calls these methods with the `Owner` of its environment; packages never do. Whatever belongs to another owner is not
there for this one. All values are plain JSON data, times are seconds since the epoch, sizes of memory are MiB and of
disks GiB. Source of the rules: LOCAL_CLOUD.md 1-3, CORE_LIBRARY.md 3 (HeatStack, NetworkExplorer, MetadefBrowser).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from vetro.clouds.errors import CloudError as CloudError
from vetro.clouds.messages import Channel

#: What `Cloud.catalog` lists.
Catalog = Literal[
    "images",
    "flavors",
    "keypairs",
    "zones",
    "networks",
    "subnets",
    "security_groups",
    "volumes",
    "snapshots",
    "backups",
]


class StackFailed(CloudError):
    """A stack ended in a failed state; ``message`` holds the state and the reason."""

    code = "CLD101"


class TemplateInvalid(CloudError):
    """A template that cannot be understood. Nothing was done."""

    code = "CLD102"


class NotFound(CloudError):
    """There is no such thing, or it belongs to somebody else."""

    code = "CLD103"


class NotAvailable(CloudError):
    """This cloud has no such service, or this machine lacks what it takes; the message says which and what to do."""

    code = "CLD104"


class Conflict(CloudError):
    """The thing is in use by another operation or taken by another owner."""

    code = "CLD105"


class Taken(Conflict):
    """The name belongs to another environment: waiting changes nothing."""

    code = "CLD107"


@dataclass(frozen=True, slots=True)
class Owner:
    """To whom stacks and servers belong: a project (tenant) and one environment of it."""

    project: str
    environment: str
    user: str = "local"


@dataclass(frozen=True, slots=True)
class StackChange:
    """A wanted state, as the effect ``stack.push`` sends it (`vetro.library.stackdata`)."""

    digest: str
    #: Digest of the state that ``put`` and ``drop`` change; None: they are the whole.
    base: str | None = None
    #: ``[section, key, value]`` and ``[section, key]``.
    put: Sequence[Sequence[Any]] = ()
    drop: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True)
class StackState:
    """A stack as it is."""

    name: str
    region: str
    status: str  # CREATE_COMPLETE, UPDATE_FAILED, ...
    reason: str
    digest: str
    template: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    created: float = 0.0
    updated: float = 0.0


class StaleStack(CloudError):
    """The stack is in another state than the change begins with; send the whole. Nothing was done."""

    code = "CLD106"


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server as it is."""

    id: str
    name: str
    stack: str
    region: str
    status: str  # BUILD, ACTIVE, SHUTOFF, ERROR
    addresses: Sequence[str] = ()
    image: str = ""
    flavor: str = ""
    created: float = 0.0
    #: Those of its addresses that lead from this machine to it and to nobody else: the cloud handed them out itself.
    #: A tenant's own choice of addresses may be somebody's elsewhere.
    reachable: Sequence[str] = ()
    #: The interface of this machine that leads to ``reachable``, and to its project alone; '': whichever has the route.
    device: str = ""
    #: TCP ports that its security groups open to everybody (`vetro.clouds.open_ports`).
    ports: Sequence[int] = ()
    #: Whether its agent runs; None: it has none, or nobody can tell.
    agent: bool | None = None


@dataclass(frozen=True, slots=True)
class ResourceState:
    """A stack of an environment or something in one, for pictures."""

    #: Unlike any other of the environment's.
    id: str
    #: ``id`` of the stack, or of the resource that is a stack itself; None: a stack that no other one holds.
    owner: str | None
    name: str
    #: ``stack``, or what Heat calls the type.
    type: str
    status: str
    #: Resources that it was made after: their ids.
    uses: Sequence[str] = ()
    #: The id of what was made; '' where that is not known.
    physical: str = ""


@runtime_checkable
class ShowsResources(Protocol):
    """A cloud that tells what is in its stacks."""

    def resources(self, owner: Owner) -> Sequence[ResourceState]:
        """All stacks of the environment and what is in them, owners first."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class ShowsAgents(Protocol):
    """A cloud that tells which server has which agent."""

    def console_of(self, owner: Owner, queue: str, lines: int) -> tuple[str, str] | None:
        """Name and end of the console of the server whose agent has this queue; None where none is known. Raises
        `CloudError` when the console cannot be read.
        """
        ...  # pragma: no cover - protocol


@runtime_checkable
class ShowsJournals(Protocol):
    """A cloud that reads what the services of a server said (`Capabilities.journals`)."""

    def journal(self, owner: Owner, server: str, lines: int = 200) -> str:
        """The end of the journal of a server (by id). Raises `NotFound`, `NotAvailable`, and `CloudError` with the
        reason, where the server does not run for example.
        """
        ...  # pragma: no cover - protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command that is to run in a server, as its root."""

    #: The program with its arguments.
    words: Sequence[str]
    #: Columns and rows of its terminal; None: it has none, and what it writes to both streams is told apart.
    terminal: tuple[int, int] | None = None
    #: Whether it gets input; without, it finds the end of it at once. With a terminal it always does.
    input: bool = False
    #: Where the socket is made that takes its input: a new name in a folder that nobody else may enter.
    socket: Path


@dataclass(frozen=True, slots=True)
class CommandEvent:
    """Something that a command wrote (``stdout``, also that of a terminal, ``stderr``), got (``input``), or its end."""

    kind: Literal["stdout", "stderr", "input", "exit"]
    data: bytes = b""
    #: The status that it ended with.
    code: int = 0


class RunningCommand(Protocol):
    """A command that runs in a server. It ends when it is closed, or the process that has it ends."""

    def read(self, timeout: float) -> CommandEvent | None:
        """What comes next; None after ``timeout`` seconds. ``exit`` is the last. Raises `CloudError`.

        A command that writes more than is read waits.
        """
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Ends the command with its session: what it left running on purpose, daemons, goes on."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class RunsCommands(Protocol):
    """A cloud that runs commands in servers (`Capabilities.commands`)."""

    def run_command(self, owner: Owner, server: str, command: Command) -> RunningCommand:
        """Starts a command in a server (by id). Raises `NotFound`, `NotAvailable`, and `CloudError` with the reason,
        where the server does not run for example.
        """


@dataclass(frozen=True, slots=True)
class CloudWait:
    """Something that an operation of a cloud waits for. ``text`` is a noun with its circumstances: "server 'web' …"; a
    `vetro.diagnostics.Text` where it can be said in other languages.
    """

    #: One word: ``stack``, ``server``, ``signal``, ``image``…
    kind: str
    text: str
    #: Seconds since the epoch.
    since: float


@runtime_checkable
class ShowsWaits(Protocol):
    """A cloud that tells what its operations wait for (`vetro.clouds.waits`)."""

    def waits(self, owner: Owner) -> Sequence[CloudWait]:
        """What those operations wait for now that this process runs for an environment. Asks nobody: it is at once."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class ListsServers(Protocol):
    """A cloud that tells the states of many environments' servers at once."""

    def seen_servers(self, servers: Mapping[Owner, Collection[str]]) -> Mapping[Owner, Mapping[str, ServerState]]:
        """Those of the servers (ids, by owner) that are there and are their owner's. Raises `CloudError`.

        Models say which servers these are, so an owner may name a stranger's: it is not there for this one.
        """
        ...  # pragma: no cover - protocol


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """What a server uses; None: its cloud does not tell. ``cpu_seconds`` are counted from its start."""

    cpu_seconds: float | None = None
    #: Bytes, and of memory how many it may have at most.
    memory: int | None = None
    memory_limit: int | None = None
    disk: int | None = None


@runtime_checkable
class MeasuresServers(Protocol):
    """A cloud that tells what servers use."""

    def server_metrics(self, servers: Mapping[Owner, Collection[str]]) -> Mapping[str, ServerMetrics]:
        """By id, of those that run and are their owner's (see `ListsServers.seen_servers`). Raises `CloudError`."""
        ...  # pragma: no cover - protocol


#: What can be done with a server.
PowerAction = Literal["start", "stop", "restart"]


@runtime_checkable
class Power(Protocol):
    """A cloud whose servers can be switched off and on."""

    def power(self, owner: Owner, server: str, action: PowerAction) -> None:
        """Starts, stops or restarts a server (by id) with its disks, and waits until that is done.

        The same action twice, or once more after it was broken off, ends in the same state: a server that runs is not
        started, one that is off or broken is not stopped. Raises `NotFound` for what is not this owner's, and
        `CloudError` with the reason.
        """
        ...  # pragma: no cover - protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdable:
    """A server or volume of an environment, and how a snapshot would keep it."""

    id: str
    name: str
    kind: Literal["server", "volume"]
    #: ``rows``, ``copy``, ``layer``, ``subvolume``, ``image``, ``snapshot``, or ``kept``: nothing of it can change.
    #: '': it cannot be brought back, ``why`` not.
    method: str = ""
    #: Seconds for which it will not answer, about; 0: it runs on.
    standstill: float = 0.0
    #: Bytes that the snapshot takes at once; what is changed later comes on top.
    bytes: int = 0
    why: str = ""
    #: It cannot be held: what replaces or deletes it (its id is not there any more) cannot be taken back.
    lost_when_replaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A server or volume that a snapshot keeps."""

    id: str
    name: str
    kind: Literal["server", "volume"]
    method: str
    #: Seconds for which it did not answer, as measured.
    standstill: float = 0.0


@runtime_checkable
class Snapshots(Protocol):
    """A cloud that brings environments back as they were (`Capabilities.server_snapshots`).

    An environment has one snapshot at a time, under a name that the caller chooses: letters, digits, hyphens,
    underscores. While it has one, servers, volumes and floating addresses that an update deletes are stopped, taken off
    the network and kept; they go on counting for the quotas.
    """

    def snapshot_report(self, owner: Owner) -> Sequence[Holdable]:
        """Each server and volume: how it would be kept, or why it cannot be."""
        ...  # pragma: no cover - protocol

    def snapshot(self, owner: Owner, name: str, still: bool = False) -> Sequence[Held]:
        """Keeps disks, stacks with resources and outputs, addresses. The same name again finishes what was begun, and
        changes nothing once it is done. ``still``: servers that run are stopped before their disks are kept, and
        started again, where the cloud does not make images of them as they run (`Holdable.method` is ``image`` then).

        Raises `Conflict` while the environment has another snapshot, and `QuotaExceeded` where it would take too much;
        nothing was done then.
        """
        ...  # pragma: no cover - protocol

    def restore(self, owner: Owner, name: str) -> None:
        """All as it was when the snapshot was made, under the same ids and addresses; what came after is removed. The
        snapshot stays. What was broken off has to be done again before anything else can be done with the environment.

        Raises `NotFound` where the environment has no such snapshot, `Conflict` where others use what came after.
        """
        ...  # pragma: no cover - protocol

    def drop(self, owner: Owner, name: str) -> None:
        """Keeps what is now, and removes what was kept besides. Nothing where there is no such snapshot. Raises
        `Conflict` while a restore is not finished.
        """
        ...  # pragma: no cover - protocol


@runtime_checkable
class KeepsRecords(Protocol):
    """A cloud that keeps what it was told of servers, longer than it has them."""

    def forget(self, owner: Owner) -> None:
        """Deletes the stacks of an environment and all that was kept of it: none of it stays in the cloud's files.

        Doing it again, or once more after it was broken off, is fine. Raises `CloudError`.
        """
        ...  # pragma: no cover - protocol


@runtime_checkable
class Cloud(Protocol):
    """One cloud with one or several regions; '' is the home region. May be used from several threads."""

    #: For messages: 'record', 'OpenStack'.
    name: str

    def regions(self) -> Sequence[str]:
        """Names of the regions besides the home region."""
        ...  # pragma: no cover - protocol

    def read_stack(self, owner: Owner, region: str, name: str, *, settled: bool = False) -> StackState | None:
        """The stack, or None. With ``settled`` an operation under way is waited for, and a stack whose servers have
        ended by themselves has the status CHECK_FAILED.
        """
        ...  # pragma: no cover - protocol

    def push_stack(self, owner: Owner, region: str, name: str, change: StackChange) -> StackState:
        """Creates or updates and waits until it is done. The same digest again is a no-op unless the stack failed.

        Where the cloud sees its servers, those that ended by themselves are started again with their disks.

        Raises `StaleStack`, `TemplateInvalid`, `StackFailed`, `Conflict`. A failed stack stays and can be updated.
        """
        ...  # pragma: no cover - protocol

    def delete_stack(self, owner: Owner, region: str, name: str) -> None:
        """Deletes and waits; nothing when there is none. Raises `StackFailed`."""
        ...  # pragma: no cover - protocol

    def stacks(self, owner: Owner) -> Sequence[StackState]:
        """All stacks of the environment, without templates."""
        ...  # pragma: no cover - protocol

    def servers(self, owner: Owner) -> Sequence[ServerState]:
        """All servers of the environment."""
        ...  # pragma: no cover - protocol

    def console(self, owner: Owner, server: str, lines: int = 200) -> str:
        """The end of what a server (by id) wrote to its console. Raises `NotFound`."""
        ...  # pragma: no cover - protocol

    def network(self, owner: Owner, region: str, query: str, args: Mapping[str, Any]) -> Any:
        """Answers the effect ``network`` (`vetro.muranopl.runtime.effects`). Raises `NotFound`, `NotAvailable`."""
        ...  # pragma: no cover - protocol

    def metadef(self, owner: Owner, region: str, query: str, args: Mapping[str, Any]) -> Any:
        """Answers the effect ``metadef``."""
        ...  # pragma: no cover - protocol

    def catalog(self, owner: Owner, region: str, what: Catalog) -> Sequence[Mapping[str, Any]]:
        """Records to choose from: at least ``id`` and ``name`` each, and what OpenStack's own records call the rest."""
        ...  # pragma: no cover - protocol

    def mark_image(self, owner: Owner, region: str, image: str, mark: Mapping[str, str] | None) -> Mapping[str, Any]:
        """Marks an image (by id) for catalogs with ``{title, type}``, its property ``murano_image_info``; None removes
        the mark. The record of the image as it is then. Raises `NotFound`, and what the cloud refuses.
        """
        ...  # pragma: no cover - protocol

    def channel(self, owner: Owner) -> Channel:
        """The queues between the engine and the agents of the environment. The caller closes it."""
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Lets files, connections and threads go; stacks and servers stay."""
        ...  # pragma: no cover - protocol
