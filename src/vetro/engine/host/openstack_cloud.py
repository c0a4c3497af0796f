"""The OpenStack cloud of an effects host: its settings, and the channel where no broker is configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.clouds.interface import Channel, Cloud, Message, NotAvailable, Owner
from vetro.engine.host.answers import HostConfigError


def openstack_cloud(settings: Mapping[str, Any], owner: Owner) -> tuple[Cloud, Channel]:
    """The cloud, and a channel that reaches no agent. ``settings`` is ``{kind, settings}``, the latter as
    `vetro.clouds.openstack.OpenStackSettings` takes them. Raises `HostConfigError`, `SettingWrong`.
    """
    from vetro.clouds.openstack import OpenStackCloud, OpenStackSettings

    for name in settings:
        if name not in ("kind", "settings"):
            raise HostConfigError(f"an OpenStack cloud has no setting '{name}'; there is 'settings'")
    given = settings.get("settings")
    if not isinstance(given, Mapping):
        raise HostConfigError("setting 'settings' of the OpenStack cloud must be a mapping")
    return OpenStackCloud(OpenStackSettings.from_json(given)), NoBroker()


class NoBroker:
    """Agents on servers of an OpenStack are reached through a message broker, and none is configured."""

    def send(self, queue: str, message: Message) -> None:
        """Raises `NotAvailable`."""
        raise _missing()

    def receive(self, queue: str, timeout: float) -> Message | None:
        """Raises `NotAvailable`."""
        raise _missing()

    def acknowledge(self, queue: str, id: str) -> None:
        """Raises `NotAvailable`."""
        raise _missing()

    def close(self) -> None:
        """Nothing is open."""


def _missing() -> NotAvailable:
    return NotAvailable(
        "agents on servers of an OpenStack are reached through a message broker, and engine.broker is not set"
    )
