"""The OpenStack cloud of an effects host: its settings, and the channel where no broker is configured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vetro.clouds.interface import Channel, Cloud, Message, NotAvailable, Owner
from vetro.engine.host.answers import HostConfigError

if TYPE_CHECKING:
    from vetro.agent.veil import Veil


def openstack_cloud(settings: Mapping[str, Any], owner: Owner) -> tuple[Cloud, Channel]:
    """The cloud, and a channel that reaches no agent. ``settings`` is ``{kind, settings, broker, signing_key}``, the
    second as `vetro.clouds.openstack.OpenStackSettings` takes them; with the last two, where the broker has
    ``management``, servers are told the password of their environment. Raises `HostConfigError`, `SettingWrong`.
    """
    from vetro.clouds.openstack import OpenStackCloud, OpenStackSettings

    for name in settings:
        if name not in _KNOWN:
            raise HostConfigError(f"an OpenStack cloud has no setting '{name}'; there are {', '.join(_KNOWN)}")
    given = settings.get("settings")
    if not isinstance(given, Mapping):
        raise HostConfigError("setting 'settings' of the OpenStack cloud must be a mapping")
    return OpenStackCloud(OpenStackSettings.from_json(given), _veils(settings)), NoBroker()


_KNOWN = ("kind", "settings", "broker", "signing_key")


def _veils(settings: Mapping[str, Any]) -> Callable[[Owner], Veil] | None:
    broker, key = settings.get("broker"), settings.get("signing_key")
    if not broker or key is None:
        return None
    from vetro.agent.broker_accounts import BrokerAccounts, broker_of

    try:
        found, management = broker_of(broker)
    except (TypeError, ValueError) as error:
        raise HostConfigError(f"setting 'broker' of the OpenStack cloud is wrong: {error}") from None
    return None if management is None else BrokerAccounts(found, management, Path(key)).veil


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

    def connected(self, queue: str) -> bool | None:
        """Nobody can tell."""
        return None

    def close(self) -> None:
        """Nothing is open."""


def _missing() -> NotAvailable:
    return NotAvailable(
        "agents on servers of an OpenStack are reached through a message broker, and engine.broker is not set"
    )
