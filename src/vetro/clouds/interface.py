"""What every cloud offers, and what a kind of clouds is.

Clouds have stacks, networks, images, flavors, key pairs, zones, volumes, security groups and consoles. The effects host
calls these methods with the `Owner` of its environment; packages never do. Whatever belongs to another owner is not
there for this one. All values are plain JSON data, times are seconds since the epoch, sizes of memory are MiB and of
disks GiB. Source of the rules: LOCAL_CLOUD.md 1-3, CORE_LIBRARY.md 3 (HeatStack, NetworkExplorer, MetadefBrowser).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from vetro.clouds.errors import CloudError as CloudError

if TYPE_CHECKING:
    from vetro.clouds.images.store import ImageStore

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


# -- messages to and from servers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    """One message on a queue (AGENT.md 1): body is JSON text, ``id`` that of the plan."""

    id: str
    body: str
    signature: bytes | None = None
    reply_to: str | None = None
    #: Until when somebody waits for the answer, in seconds since the epoch; then the agent ends the plan.
    until: float | None = None
    #: Of a plan: its server has a login of its own at the broker, and answers with that.
    login: bool = False
    #: Of a plan: what its scripts write is to be told while they run, where the agent can.
    output: bool = False
    #: Of an answer: on which exchange of the broker it was said, '' the default one; None: the channel cannot tell.
    exchange: str | None = None

    @property
    def receipt(self) -> str:
        """What `Channel.acknowledge` takes: answers with the same id of different senders are different messages."""
        return f"{self.exchange}\0{self.id}" if self.exchange else self.id


@runtime_checkable
class Channel(Protocol):
    """Durable queues between the engine and the agents of one environment: AMQP, local sockets, or a recorder."""

    def send(self, queue: str, message: Message) -> None:
        """Hands a message over for good. A message with an id that the queue has or had already is dropped.

        Raises `NotFound` when the queue is not one of this environment's.
        """
        ...  # pragma: no cover - protocol

    def receive(self, queue: str, timeout: float) -> Message | None:
        """The next message that was not received yet; None after ``timeout`` seconds. It stays until acknowledged."""
        ...  # pragma: no cover - protocol

    def acknowledge(self, queue: str, id: str) -> None:
        """The message was stored: it is not delivered again."""
        ...  # pragma: no cover - protocol

    def connected(self, queue: str) -> bool | None:
        """Whether an agent takes messages from the queue of its server now; None where that cannot be told."""
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Lets connections go. Messages that were not acknowledged are delivered to the next who receives."""
        ...  # pragma: no cover - protocol


# -- kinds of clouds ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a cloud can do. Constant while it is open; known without a connection."""

    #: Whether servers run what packages say; False: it is only written down.
    executes: bool
    #: What keeps a server's root inside: nothing, this machine's users, its networks too, or everything there is.
    walls: Literal["none", "host", "network", "full"]
    #: How agents are reached: by streams into their servers, through a message broker, not at all.
    agents: Literal["stream", "broker", "none"]
    consoles: Literal["none", "log", "terminal"] = "log"
    #: What the services of a running server said can be read; such a cloud is a `ShowsJournals`.
    journals: bool = False
    #: Commands can be run in servers, also with a terminal; such a cloud is a `RunsCommands`.
    commands: bool = False
    #: Volumes are there as records, or can be attached to servers.
    volumes: Literal["none", "record", "attach"] = "none"
    volume_snapshots: bool = False
    server_snapshots: bool = False
    #: Networks are made for the environment, or are those of the place.
    networks: Literal["own", "given", "none"] = "none"
    #: Security groups hold for what comes from outside of a network, or between its servers, too.
    groups: Literal["none", "outside", "full"] = "none"
    floating: bool = False
    #: Servers may share virtual addresses.
    shared_ips: bool = False
    #: The flavor of a server can be changed.
    resize: bool = False
    #: Servers can be stopped and started again with their disks; such a cloud is a `Power`.
    power: bool = False
    machines: Literal["container", "vm", "host"] = "container"
    #: Of servers, as `platform.machine` names them; empty: it depends on the image.
    architectures: Sequence[str] = ()
    #: The cloud keeps the quotas of projects (`vetro.clouds.quotas`).
    quota: bool = False
    #: Servers lie on one of several machines.
    members: bool = False


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a kind cannot be used at a place, and what to do about it."""

    reason: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that an administrator should know about a kind, a cloud or this machine."""

    level: Literal["ok", "warning", "error"]
    text: str
    hint: str | None = None
    #: What it is about, where that is not the kind as a whole: 'broker', 'user ids'.
    subject: str = ""


class Veil(Protocol):
    """Keeps from packages what only the cloud and its servers may know (`vetro.agent.hidden_password`)."""

    def fill(self, value: Any) -> Any:
        """What is sent to the cloud, complete."""
        ...  # pragma: no cover - protocol

    def hide(self, value: Any) -> Any:
        """What the cloud has said, as others may see it."""
        ...  # pragma: no cover - protocol


#: Makes the channel of an environment; the callable tells the folder of the socket of a queue.
Channels = Callable[[Owner, Callable[[str], "Path | None"]], Channel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a kind may use where a cloud is opened."""

    #: Where the cloud keeps its state; made when it is missing.
    directory: Path
    #: Images of this machine; None: those of the user.
    images: ImageStore | None = None
    #: Gives the agent's program for new servers; None: servers get none.
    agent: Callable[[], Path] | None = None
    #: Channels over sockets in the servers of this machine; None: agents are not reached.
    channels: Channels | None = None
    #: Of an environment, where its servers have logins of their own at a message broker.
    veil: Callable[[Owner], Veil] | None = None
    #: The most that each project may have (`vetro.clouds.quotas`); no limit where none is given.
    quotas: Mapping[str, int] = field(default_factory=dict)
    #: Whether what a crash left is removed when the cloud is opened; False: for whoever only looks at it for a moment.
    sweeps: bool = True


class KindSettings(Protocol):
    """Settings of a kind: a frozen dataclass, whose fields and their comments are the documentation."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Any:
        """Settings out of plain data. Raises `CloudError` with kind 'bad-argument' for what is wrong."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class CloudKind(Protocol):
    """A kind of clouds, registered as an entry point of the group ``vetro.clouds`` under its name.

    Nothing that takes long is loaded before `open`.
    """

    #: 'incus', 'Incus or LXD'.
    name: str
    title: str
    settings: type[KindSettings]
    #: Of kinds that lack nothing, the one with the lowest rank is chosen for whoever names none; None: only by name.
    rank: int | None
    #: Its servers belong to one machine: workers on others cannot serve them.
    bound: bool
    #: Modules that processes load in advance which open clouds of this kind all the time.
    modules: Sequence[str]

    def lacks(self, settings: Any, place: Place) -> Lack | None:
        """What is missing here; None when nothing is. Raises `CloudError` for settings that cannot work."""
        ...  # pragma: no cover - protocol

    def capabilities(self, settings: Any) -> Capabilities:
        """What a cloud with these settings can do (None: usual ones). Nothing is asked of it: it may be away."""
        ...  # pragma: no cover - protocol

    def open(self, settings: Any, place: Place) -> Cloud:
        """The cloud. Raises `CloudError`."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class Examines(Protocol):
    """A kind that can say more about a cloud than what it lacks."""

    def examine(self, settings: Any, place: Place) -> Iterable[Remark]:
        """What an administrator should know; the cloud is asked. Raises `CloudError`."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class ExaminesMachine(Protocol):
    """A kind that makes servers on this machine."""

    def examine_machine(self) -> Iterable[Remark]:
        """What this machine has for such servers: programs, kernel, limits."""
        ...  # pragma: no cover - protocol
