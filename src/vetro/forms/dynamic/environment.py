"""What a definition needs from outside: the package it belongs to, a cloud, the catalog, randomness and time.

Everything is injected; nothing in here opens a connection. Rows are plain mappings with the keys named below; keys
that are not named are ignored. Any method may raise `ChoicesUnavailable`: the field then says so and nothing else
breaks.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from vetro.data_classes import dataclass

Row = Mapping[str, Any]


class Cloud(Protocol):
    """Lists of a cloud. ``region`` is what the form asks for (`region`), None for the person's own."""

    def flavors(self, region: str | None) -> Sequence[Row]:
        """``id, name, ram`` (MB), ``vcpus, disk`` (GB)."""

    def images(self, region: str | None) -> Sequence[Row]:
        """``id, name, status, murano``: text of the property `murano_image_info`, or None; ``image_type``."""

    def keypairs(self, region: str | None) -> Sequence[str]:
        """Names."""

    def availability_zones(self, region: str | None) -> Sequence[Row]:
        """``name, available``."""

    def networks(self, region: str | None) -> Sequence[Row]:
        """``id, name, external, subnets``: a list of ``id, name, cidr``."""

    def security_groups(self, region: str | None) -> Sequence[str]:
        """Names."""

    def volumes(self, region: str | None) -> Sequence[Row]:
        """``id, name, status``."""

    def snapshots(self, region: str | None) -> Sequence[Row]:
        """``id, name, status``."""

    def zones(self, region: str | None) -> Sequence[str]:
        """Names of DNS zones."""


class Catalog(Protocol):
    """What is there to be referred to."""

    def packages(self, class_name: str) -> Sequence[Row]:
        """Packages of the class and of those that inherit it: ``fqn, name`` and, where they differ, ``classes``."""

    def services(self) -> Sequence[Row]:
        """Applications in the environment: ``id, name, type``."""

    def environment_names(self) -> Sequence[str]:
        """Names of the environments the person may see."""


@dataclass(frozen=True, slots=True)
class Package:
    """The package that the definition belongs to: full name, name for people, version."""

    fqn: str
    name: str
    version: str = "0.0.0"


@dataclass(frozen=True, slots=True)
class StaticCall:
    """The call of a static action for `ParametersSource`, as the API takes it. It has no arguments."""

    class_name: str
    method_name: str
    package_name: str
    class_version: str


def _random_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a wizard runs.

    ``quick``: a new environment is made for the application; ``referred``: the wizard was opened from a field of
    another one. Both leave out the box "Continue application adding". ``call_static`` gives what the action returns,
    as plain data; any exception counts as failure. ``encrypt`` keeps a text in the secret store and gives its id;
    None: there is no store. ``region`` is the name under which resource usage is recorded.
    """

    package: Package
    cloud: Cloud
    catalog: Catalog
    quick: bool = False
    referred: bool = False
    region: str = "RegionOne"
    call_static: Callable[[StaticCall], Any] | None = None
    encrypt: Callable[[str], str] | None = None
    rng: random.Random = field(default_factory=random.SystemRandom)
    clock: Callable[[], float] = time.time
    new_id: Callable[[], str] = _random_id
