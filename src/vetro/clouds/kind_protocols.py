"""What a kind of clouds is: what it says of itself and of this machine, and what it is opened with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from vetro.clouds.interface import Cloud, Owner
from vetro.clouds.messages import Channel

if TYPE_CHECKING:
    from vetro.clouds.images.store import ImageStore


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
    #: Environments can be brought back as they were; such a cloud is a `Snapshots`.
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


class SecretFilter(Protocol):
    """Keeps from packages what only the cloud and its servers may know (`vetro.agent.hidden_password`)."""

    def fill(self, value: Any) -> Any:
        """What is sent to the cloud, complete."""
        ...  # pragma: no cover - protocol

    def hide(self, value: Any) -> Any:
        """What the cloud has said, as others may see it."""
        ...  # pragma: no cover - protocol


#: Opens the socket of a queue in its folder: as `vetro.clouds.drivers.agent_sockets.listen`. Raises OSError.
Listen = Callable[[str, Path], tuple[socket, int]]
#: Makes the channel of an environment; the callables tell the folder of the socket of a queue, and open it.
Channels = Callable[[Owner, Callable[[str], "Path | None"], Listen], Channel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a kind may use where a cloud is opened."""

    #: Where the cloud keeps its state; made when it is missing.
    directory: Path
    #: What the cloud's state begins with where it is in memory only, with nothing in ``directory``
    #: (`vetro.clouds.stacks.state.slices`): clouds that write down everything and execute nothing can be so.
    memory: bytes | None = None
    #: Images of this machine; None: those of the user.
    images: ImageStore | None = None
    #: Gives the agent's program for new servers; None: servers get none.
    agent: Callable[[], Path] | None = None
    #: Channels over sockets in the servers of this machine; None: agents are not reached.
    channels: Channels | None = None
    #: Of an environment, where its servers have logins of their own at a message broker.
    secret_filter: Callable[[Owner], SecretFilter] | None = None
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
