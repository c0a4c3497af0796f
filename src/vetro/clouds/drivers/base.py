"""What a driver of servers offers the cloud; what it gets are the records of `specs`.

The cloud decides (names, addresses, who owns what) and keeps that in its database; a driver makes it so on this
machine. Every call is *convergent*: doing it again with the same arguments changes nothing, since a process may be
killed between the call and the note that it was made. Calls come from several threads, for different servers at the
same time, and never twice at once for one server. Reference: LOCAL_CLOUD.md 4-5.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from vetro.clouds.drivers.errors import DriverError as DriverError
from vetro.clouds.drivers.specs import ConfigSpec, GroupSpec, NetworkSpec, ServerSpec, VolumeSpec
from vetro.clouds.interface import Command, Owner, RunningCommand, ServerMetrics
from vetro.clouds.messages import Channel
from vetro.data_classes import dataclass

#: ACTIVE: running; BUILD: being made; SHUTOFF: stopped in order; ERROR: broken or gone; UNKNOWN: the machine that has
#: it does not answer, so nothing is done about it. See `ServerDriver.statuses`.
ServerStatus = Literal["BUILD", "ACTIVE", "SHUTOFF", "ERROR", "UNKNOWN"]


@dataclass(frozen=True, slots=True)
class ConfigResult:
    """How a configuration ended."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal of a server to a wait handle."""

    status: str = "SUCCESS"
    id: str = ""
    data: Any = None
    reason: str = ""


@runtime_checkable
class NotingDriver(Protocol):
    """A driver that starts nothing: it only writes down what it is asked for, in a file that takes many things at once.

    While `instant`, its methods return at once and may be called while the cloud's own changes are not written down.
    """

    @property
    def instant(self) -> bool:
        """Whether nothing is delayed on purpose."""
        ...  # pragma: no cover - protocol

    def begin(self) -> None:
        """Collects what is asked for on this thread from now on; others wait."""
        ...  # pragma: no cover - protocol

    def commit(self) -> None:
        """Writes down what was collected since `begin`. The cloud's own changes follow, never before it."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class ServerDriver(Protocol):
    """Makes servers and what they need on this machine. Every method raises `DriverError`."""

    #: That of its kind.
    name: str
    #: Whether user data and plans really run; False: everything is recorded only.
    executes: bool

    def create(self, spec: ServerSpec) -> None:
        """Makes the server and starts it; returns when it runs (its boot scripts may still be at work).

        A server that is there already is started when it is stopped and otherwise left alone.
        """
        ...  # pragma: no cover - protocol

    def update(self, spec: ServerSpec) -> None:
        """Brings interfaces, extra addresses, volumes, name and metadata of a server to the state of ``spec``.

        Everything else of ``spec`` is as it was when the server was made. Raises `DriverError` with the reason where
        the sandbox cannot do it (attaching a volume, for example); nothing of the server changes then.
        """
        ...  # pragma: no cover - protocol

    def start(self, server: str) -> None:
        """Starts a stopped server (by id)."""
        ...  # pragma: no cover - protocol

    def stop(self, server: str) -> None:
        """Stops a server; its files stay. Nothing when it is stopped or not there."""
        ...  # pragma: no cover - protocol

    def delete(self, server: str) -> None:
        """Stops a server and removes all that was made for it. Nothing when there is none."""
        ...  # pragma: no cover - protocol

    def ensure_network(self, network: NetworkSpec) -> None:
        """Makes a network, or brings it to this state. Called before the first server is on it."""
        ...  # pragma: no cover - protocol

    def taken(self) -> Sequence[str]:
        """CIDRs that this machine uses for something else than this cloud's networks: a plan of addresses avoids them.

        Empty where servers are not on this machine's networks.
        """
        ...  # pragma: no cover - protocol

    def delete_network(self, network: str) -> None:
        """Removes a network (by id), which has no servers any more. Nothing when there is none."""
        ...  # pragma: no cover - protocol

    def ensure_group(self, group: GroupSpec) -> None:
        """Makes a security group or replaces its rules, for all interfaces that are or will be in it."""
        ...  # pragma: no cover - protocol

    def delete_group(self, group: str) -> None:
        """Removes a security group (by id). Nothing when there is none."""
        ...  # pragma: no cover - protocol

    def ensure_volume(self, volume: VolumeSpec) -> None:
        """Makes a volume or grows it."""
        ...  # pragma: no cover - protocol

    def delete_volume(self, volume: str) -> None:
        """Removes a volume (by id), which is attached to no server any more. Nothing when there is none."""
        ...  # pragma: no cover - protocol

    def console(self, server: str, lines: int = 200) -> str:
        """The last lines that a server wrote to its console; empty when it wrote nothing."""
        ...  # pragma: no cover - protocol

    def put_file(self, server: str, path: str, data: bytes, mode: int = 0o644) -> None:
        """Writes a file on a server (absolute path in the guest; never a file of this machine)."""
        ...  # pragma: no cover - protocol

    def get_file(self, server: str, path: str) -> bytes:
        """The content of a file of a server. Links are followed inside the guest only."""
        ...  # pragma: no cover - protocol

    def statuses(self, servers: Collection[str]) -> Mapping[str, ServerStatus]:
        """States of these servers; one that the driver does not know is missing."""
        ...  # pragma: no cover - protocol

    def configure(self, server: str, config: ConfigSpec) -> ConfigResult:
        """Applies a software configuration inside a server and waits for its end (OS::Heat::SoftwareDeployment)."""
        ...  # pragma: no cover - protocol

    def signal_command(self, handle: str) -> str:
        """The command with which a server signals a wait handle (`curl_cli` of OS::Heat::WaitConditionHandle).

        Scripts append ``--data-binary '{"status": "SUCCESS", ...}'`` to it.
        """
        ...  # pragma: no cover - protocol

    def signals(self, handle: str, servers: Collection[str]) -> Sequence[Signal]:
        """All signals that these servers sent to a wait handle so far."""
        ...  # pragma: no cover - protocol

    def channel(self, owner: Owner) -> Channel:
        """The queues between engine and agents of one environment. The caller closes it."""
        ...  # pragma: no cover - protocol

    def sweep(self, servers: Container[str], networks: Container[str]) -> Sequence[str]:
        """Removes what is left of servers and networks that are not in these lists (ids) or are dead beyond repair.

        Servers with data that are in none are stopped and kept for a day first. Returns a line for each thing that was
        done. Called when the cloud opens its directory.
        """
        ...  # pragma: no cover - protocol

    def clear(self) -> Sequence[str]:
        """Removes everything that was made on this machine; a line for each thing. For ``vetro cloud clean``."""
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Lets files, threads and connections go. Servers stay as they are."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class JournalDriver(Protocol):
    """A driver that reads the journals of its servers."""

    def journal(self, server: str, lines: int = 200) -> str:
        """The last lines that the services of a running server said; the server's own program reads them."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class CommandDriver(Protocol):
    """A driver that runs commands in its servers."""

    def run_command(self, server: str, command: Command) -> RunningCommand:
        """Starts a command as root of a running server (not of this machine)."""
        ...  # pragma: no cover - protocol


@dataclass(frozen=True, slots=True)
class SnapshotMethod:
    """How a driver keeps the disks of a server, and what that costs; see `Holdable`."""

    method: str
    standstill: float = 0.0
    bytes: int = 0
    #: The snapshot may take as much again as the server's disk has: that counts for the quota.
    copies: bool = False


@runtime_checkable
class SnapshotDriver(Protocol):
    """A driver that keeps the disks of servers as they are, under names."""

    def snapshot_methods(self, servers: Collection[str]) -> Mapping[str, SnapshotMethod]:
        """By id; one that it does not know is missing."""
        ...  # pragma: no cover - protocol

    def take_snapshot(self, server: str, name: str) -> float | None:
        """Keeps the disks of a server (by id). It may be stopped afterwards, also if it ran: `start` goes on with the
        same disks. Nothing when the server has a snapshot of this name.

        Seconds for which it stood still; None: for as long as this call, and until it is started.
        """
        ...  # pragma: no cover - protocol

    def revert_to_snapshot(self, server: str, name: str) -> None:
        """Stops the server and brings its disks back; the snapshot stays. Raises `DriverError` where there is none."""
        ...  # pragma: no cover - protocol

    def drop_snapshot(self, server: str, name: str) -> None:
        """Keeps the disks as they are now, and forgets those of then. Nothing when there is none."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class Placement(Protocol):
    """A driver whose servers lie on one of several machines."""

    def member(self, server: str) -> str | None:
        """The machine that has a server (by id); None for one that is not there."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class RoutingDriver(Protocol):
    """A driver whose servers this machine leads packets to."""

    def routed(self, project: str, addresses: Collection[str]) -> tuple[str, Sequence[str]]:
        """The interface that leads to a project and nowhere else, and those of the addresses that it leads to now.

        Who has an address in the cloud's records need not have it here: the machine's own networks may be in the way.
        """
        ...  # pragma: no cover - protocol


@runtime_checkable
class MeasuringDriver(Protocol):
    """A driver that tells what servers use."""

    def server_metrics(self, servers: Collection[str]) -> Mapping[str, ServerMetrics]:
        """By id; one that does not run is missing."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class AgentDriver(Protocol):
    """A driver that sees whether agents run in servers."""

    def agents_run(self, servers: Collection[str]) -> Mapping[str, bool]:
        """By id; one of which that cannot be told is missing."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class InspectedDriver(ServerDriver, Protocol):
    """A driver that lists what it has made on this machine."""

    def networks(self) -> Sequence[NetworkSpec]:
        """The networks that were made here."""
        ...  # pragma: no cover - protocol

    def quarantined(self) -> Sequence[tuple[ServerSpec, Path, float]]:
        """Servers that the cloud does not know, with their folders, and when they will be removed."""
        ...  # pragma: no cover - protocol


@runtime_checkable
class Recorder(ServerDriver, Protocol):
    """A driver that executes nothing and tells what it was asked for."""

    def plans(self, owner: Owner | None = None) -> Sequence[Any]:
        """All execution plans that were sent, in order: `server`, `name` and `body` each."""
        ...  # pragma: no cover - protocol

    def adopt(self, servers: Sequence[tuple[str, Owner, str, str]], states: Mapping[str, str]) -> None:
        """Takes over servers that another driver has made: id, owner, name and agent queue of each.

        ``states``: of those that are known (`ServerStatus`), by id; the others run.
        """
        ...  # pragma: no cover - protocol

    def forget(self, owner: Owner) -> None:
        """Drops what was kept of the servers of an environment, their plans most of all. None of it stays in a file."""
        ...  # pragma: no cover - protocol

    def off(self) -> bool:
        """Whether any of its servers does not run."""
        ...  # pragma: no cover - protocol

    def started(self) -> Sequence[str]:
        """Ids of the servers that it was asked to start, in order; one may be there several times."""
        ...  # pragma: no cover - protocol
