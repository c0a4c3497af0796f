"""What a driver is told to make, as typed records (`Specification`): groups, networks, servers, configurations.

Whatever runs with rights takes these and no texts that somebody wrote. Reference: LOCAL_CLOUD.md 4-5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from vetro.clouds.drivers.specification import Specification
from vetro.clouds.drivers.values import (
    ICMP,
    NOBODY,
    Address,
    DeviceName,
    Gib,
    HostName,
    Id,
    Interface,
    IpProtocol,
    Mac,
    Name,
    Network,
    Place,
    Port,
    Prefix,
    PublicKey,
    QueueName,
    Seconds,
    Text,
    ValueInvalid,
)
from vetro.clouds.interface import Owner
from vetro.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class SecurityRule(Specification):
    """One rule of a security group. Null fields mean any."""

    direction: Literal["ingress", "egress"] = "ingress"
    ethertype: Literal["IPv4", "IPv6"] = "IPv4"
    #: Its number; names are taken, too.
    protocol: IpProtocol = None
    #: The first and last port; with ICMP the type and the code.
    port_min: Port | None = None
    port_max: Port | None = None
    #: Only from (to) these addresses; both null: from everywhere.
    remote_ip_prefix: Network | None = None
    #: Only from (to) the addresses of interfaces that are in this group.
    remote_group: Id | None = None

    def __post_init__(self) -> None:
        """Raises `ValueInvalid` for ports in the wrong order, and for what is no type or code of ICMP."""
        Specification.__post_init__(self)
        low, high = self.port_min, self.port_max
        if self.protocol in ICMP:
            if max(low or 0, high or 0) > 255:
                raise ValueInvalid(f"{max(low or 0, high or 0)} is no type or code of ICMP: a number from 0 to 255")
        elif low is not None and high is not None and low > high:
            raise ValueInvalid(f"the first port {low} is greater than the last port {high}")


@dataclass(frozen=True, slots=True)
class GroupSpec(Specification):
    """A security group with all its rules."""

    id: Id
    name: Name
    rules: Sequence[SecurityRule] = ()
    #: The project that it belongs to.
    project: Name = NOBODY


@dataclass(frozen=True, slots=True)
class SubnetSpec(Specification):
    """A subnet of a network."""

    id: Id
    cidr: Network
    gateway: Address | None = None
    dns: Sequence[Address] = ()
    #: The operator's address plan handed it out to this project alone: this machine may route it.
    leased: bool = False


@dataclass(frozen=True, slots=True)
class NetworkSpec(Specification):
    """A network with its subnets. Those of different projects may have the same addresses."""

    id: Id
    name: Name
    subnets: Sequence[SubnetSpec] = ()
    #: Networks with the same router reach each other; null: the network is an island.
    router: Id | None = None
    #: The router leads outside (NAT, where the driver's settings allow it).
    uplink: bool = False
    #: The pool of floating addresses: no bridge is needed, servers get its addresses as extra ones.
    external: bool = False
    #: The project that it belongs to.
    project: Name = NOBODY


@dataclass(frozen=True, slots=True)
class NicSpec(Specification):
    """One network interface of a server."""

    port_id: Id
    network_id: Id
    mac: Mac
    #: Null: it has none of its own.
    ip: Address | None
    #: Length of the network part: 24 of 10.0.0.5/24.
    prefix: Prefix
    gateway: Address | None = None
    #: Additional fixed addresses with their prefix length.
    extra: Sequence[Interface] = ()
    #: Addresses the server may use besides its own (shared virtual addresses); it sets them itself.
    allowed: Sequence[Network] = ()
    #: Ids of its security groups; empty with ``security`` means that nothing may come in.
    groups: Sequence[Id] = ()
    #: False: port security is off, everything passes.
    security: bool = True
    #: Floating addresses: single ones out of a pool of the operator, which the outside reaches.
    floating: Sequence[Address] = ()


@dataclass(frozen=True, slots=True)
class VolumeSpec(Specification):
    """A volume; a sparse file of ``size_gib`` on this machine."""

    id: Id
    name: Name
    size_gib: Gib
    read_only: bool = False
    #: Id of the volume, snapshot or image it begins as a copy of.
    source: Id | None = None
    #: Where a server sees it ('/dev/vdb'); null while it is attached to none.
    device: DeviceName | None = None
    boot_index: Place | None = None


@dataclass(frozen=True, slots=True)
class ServerSpec(Specification):
    """Everything that makes a server."""

    #: A UUID; the only name by which the cloud speaks of the server.
    id: Id
    name: Name
    #: What the server calls itself.
    hostname: HostName
    owner: Owner
    region: Name
    stack: Name
    #: Records of the catalog: at least id, name, ``properties`` (image); vcpus, ram (MiB), disk (GiB) (flavor).
    image: Mapping[str, Any]
    flavor: Mapping[str, Any]
    user_data: Text = ""
    user_data_format: Literal["RAW", "HEAT_CFNTOOLS", "SOFTWARE_CONFIG"] = "RAW"
    metadata: Mapping[Name, Text] = field(default_factory=dict)
    nics: Sequence[NicSpec] = ()
    volumes: Sequence[VolumeSpec] = ()
    #: Name and public key (OpenSSH line) of the key pair.
    key: tuple[Name, PublicKey] | None = None
    #: The agent's input queue, which is the server's identity on the channel; null: no agent is expected.
    queue: QueueName | None = None

    @property
    def environment(self) -> str:
        """The environment that the server belongs to."""
        return self.owner.environment


@dataclass(frozen=True, slots=True)
class ConfigSpec(Specification):
    """A software configuration to be applied on a server."""

    #: Id of the deployment: the same id is not run a second time, its result is given again.
    id: Id
    name: Name
    #: ``script`` runs the text as a program; others need their hook in the image (cloud-init, ansible, puppet…).
    group: Name
    config: Text
    #: Given to scripts as environment variables.
    inputs: Mapping[str, Any] = field(default_factory=dict)
    #: Seconds after which it counts as failed.
    timeout: Seconds = 3600.0
