"""The local cloud of an effects host: its driver by name, with the guest agent and the channel to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vetro.clouds.interface import Channel, Cloud, Owner
from vetro.engine.host.answers import HostConfigError

if TYPE_CHECKING:
    from vetro.clouds.drivers.base import ServerDriver
    from vetro.clouds.stacks.settings import StackSettings

_KNOWN = frozenset({"kind", "driver", "directory", "script", "settings", "quotas"})


def local_cloud(settings: Mapping[str, Any], owner: Owner) -> tuple[Cloud, Channel]:
    """The cloud and the channel of ``owner``. Raises `HostConfigError`, and what opening them raises."""
    from vetro.clouds.stacks.cloud import StackCloud
    from vetro.clouds.stacks.settings import StackSettings

    for name in settings:
        if name not in _KNOWN:
            raise HostConfigError(f"a local cloud has no setting '{name}'; there are {', '.join(sorted(_KNOWN))}")
    directory = settings.get("directory")
    if not isinstance(directory, str) or not directory:
        raise HostConfigError("setting 'directory' of the local cloud must name the folder of its state")
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    name = settings.get("driver", "record")
    make = _DRIVERS.get(name)
    if make is None:
        raise HostConfigError(f"there is no driver '{name}'; there are {', '.join(_DRIVERS)}")
    more = StackSettings.from_json(settings.get("settings") or {})
    quotas = quotas_of(settings)
    driver = make(folder, settings, more)
    try:
        cloud = StackCloud(folder, driver, more, quotas=quotas)
    except BaseException:
        driver.close()
        raise
    try:
        return cloud, cloud.channel(owner)
    except BaseException:
        cloud.close()
        raise


def quotas_of(settings: Mapping[str, Any]) -> dict[str, int]:
    """The limits in the settings of a cloud. Raises `HostConfigError`, `vetro.clouds.quotas.QuotaInvalid`."""
    from vetro.clouds.quotas import limits_of

    given = settings.get("quotas") or {}
    if not isinstance(given, Mapping):
        raise HostConfigError("setting 'quotas' of the local cloud must be a mapping of names and whole numbers")
    return limits_of(given)


def _record(folder: Path, settings: Mapping[str, Any], more: StackSettings) -> ServerDriver:
    from vetro.clouds.record.driver import RecordDriver
    from vetro.clouds.record.table import Table

    script = settings.get("script")
    return RecordDriver(folder, None if script is None else Table.read(script))


def _nspawn(folder: Path, settings: Mapping[str, Any], more: StackSettings) -> ServerDriver:
    from vetro.clouds.nspawn.driver import NspawnDriver

    return NspawnDriver(folder, agent=_agent(folder), channels=_channels(folder), link_cidr=more.link_cidr)


def _proot(folder: Path, settings: Mapping[str, Any], more: StackSettings) -> ServerDriver:
    from vetro.clouds.proot.driver import ProotDriver

    return ProotDriver(folder, agent=_agent(folder), channels=_channels(folder))


_DRIVERS: Mapping[str, Callable[[Path, Mapping[str, Any], StackSettings], ServerDriver]] = {
    "nspawn": _nspawn,
    "proot": _proot,
    "record": _record,
}


def _agent(folder: Path) -> Callable[[], Path]:
    from vetro.agent.build import build_agent

    return lambda: build_agent(folder / "agent" / "muranoagent")


def _channels(folder: Path) -> Callable[[Owner, Callable[[str], Path | None]], Channel]:
    from vetro.agent.sockets import SocketChannel

    return lambda owner, place: SocketChannel(folder, owner, place)
