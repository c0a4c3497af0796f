"""`build_host`: an effects host out of plain settings, which is what a worker sends to the host's process.

```
{"cloud": {"kind": NAME,                a kind of clouds (`vetro.clouds.kinds`), here without automatic choice
           "directory": PATH,           where its state is
           "settings": {...},           the fields of the kind's `settings`
           "quotas": {NAME: LIMIT},     of the owner's project, see `vetro.clouds.quotas`; none: no limits
           "broker": {...} or null, "signing_key": PATH or null},  as below, where servers get logins of their own
 "owner": {"project": ID, "environment": ID, "user": ID},
 "signing_key": PATH or null,          made when it is missing; null: plans are not signed
 "broker": {...} or null,              `vetro.agent.broker_accounts.broker_of`; null: the channel of the cloud's servers
 "secrets": [KEY, ...],                that `vetro.engine.host.encryption` opens secrets with; none: none can be opened
 "plugins": [NAME, ...] or null,       distributions whose effects are performed; null: all that are installed
 "heartbeat": {"path": PATH, "seconds": S} or null,   of its lease, see `vetro.engine.host.heartbeat`
 "own": [ID, ...] or null,             plans whose late answers are dropped; null: whatever nobody asked for
 "files": {"folder": PATH, "most": BYTES} or null,  see `vetro.engine.host.file_parts`
 "snapshots": BOOLEAN,                 whether effects `snapshot.*` are performed: for tasks that run no packages
 "reached": [QUEUE, ...],              of agents that answered a moment ago: their logins at the broker are there
 "identities": {"caller": {"user": {...}, "project": {...}}, "environment": {...}}}
```
Only ``cloud`` and ``owner`` are needed. The kind of a cloud may also be ``module:function``: a function that takes the
settings of the cloud and the `Owner`, and gives the `Cloud`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.interface import Cloud, Owner
from vetro.clouds.kind_protocols import Channels, Listen, Place, SecretFilter
from vetro.clouds.messages import Channel
from vetro.clouds.quotas import limits_of
from vetro.engine.host.answer import HostConfigError
from vetro.engine.host.encryption import SecretCipher
from vetro.engine.host.file_parts import FileParts
from vetro.engine.host.heartbeat import Heartbeat
from vetro.engine.host.performer import EffectsHost

_KNOWN = frozenset({"cloud", "owner", "signing_key", "broker", "secrets", "identities", "plugins", "heartbeat", "own",
                    "reached", "snapshots", "files"})  # fmt: skip

_CLOUD = ("kind", "directory", "settings", "quotas", "broker", "signing_key")


def build_host(config: Mapping[str, Any]) -> EffectsHost:
    """The host. Raises `HostConfigError` for wrong settings, and what opening the cloud raises."""
    for name in config:
        if name not in _KNOWN:
            raise HostConfigError(f"an effects host has no setting '{name}'; there are {', '.join(sorted(_KNOWN))}")
    owner = _owner(config.get("owner"))
    settings = config.get("cloud")
    if not isinstance(settings, Mapping):
        raise HostConfigError("setting 'cloud' of the effects host must be a mapping with the kind of the cloud")
    cloud = cloud_of(settings, owner)
    channel: Channel | None = None
    try:
        broker = config.get("broker")
        key, secrets, own = config.get("signing_key"), config.get("secrets"), config.get("own")
        # What is another host's has to wait here without being in the way of what is this one's.
        room = {} if own is None else {"prefetch": 0}
        reached = frozenset(map(str, config.get("reached") or ()))
        channel = cloud.channel(owner) if broker is None else _broker(broker, owner, key, room, reached)
        return EffectsHost(
            cloud,
            channel,
            owner,
            signer=None if key is None else _signer(Path(key)),
            cipher=SecretCipher(secrets, owner.project) if secrets else None,
            identities=config.get("identities"),
            plugins=config.get("plugins"),
            heartbeat=heartbeat_of(config),
            own=own,
            snapshots=config.get("snapshots") is True,
            files=FileParts.from_json(config.get("files")),
        )
    except BaseException:
        if channel is not None:
            channel.close()
        cloud.close()
        raise


def heartbeat_of(config: Mapping[str, Any]) -> Heartbeat | None:
    """The heartbeat that these settings name. Raises `HostConfigError`."""
    try:
        return Heartbeat.from_json(config.get("heartbeat"))
    except (TypeError, ValueError, KeyError):
        raise HostConfigError("setting 'heartbeat' of the effects host must have 'path' and 'seconds'") from None


def cloud_of(settings: Mapping[str, Any], owner: Owner, *, sweeps: bool = True) -> Cloud:
    """The cloud that these settings name; ``sweeps``: see `Place`. Raises as `build_host`, and `KindMissing`."""
    name = str(settings.get("kind") or "")
    if ":" in name:
        return _function(name)(settings, owner)
    kind = kinds.find(name)
    for key in settings:
        if key not in _CLOUD:
            raise HostConfigError(f"a cloud has no setting '{key}'; there are {', '.join(_CLOUD)}")
    own = kind.settings.from_json(_mapping(settings, "settings"))
    return kind.open(own, replace(place_of(settings), sweeps=sweeps))


def place_of(settings: Mapping[str, Any]) -> Place:
    """What a kind may use of this process for the cloud of these settings. Raises `HostConfigError`."""
    directory = settings.get("directory")
    if not isinstance(directory, str) or not directory:
        raise HostConfigError("setting 'directory' of the cloud must name the folder of its state")
    folder = Path(directory)
    return Place(
        directory=folder,
        agent=_agent(folder),
        channels=_channels(folder),
        secret_filter=_secret_filters(settings),
        quotas=quotas_of(settings),
    )


def quotas_of(settings: Mapping[str, Any]) -> dict[str, int]:
    """The limits in the settings of a cloud. Raises `HostConfigError`, `vetro.clouds.quotas.QuotaInvalid`."""
    return limits_of(_mapping(settings, "quotas"))


def _mapping(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    given = settings.get(name) or {}
    if not isinstance(given, Mapping):
        raise HostConfigError(f"setting '{name}' of the cloud must be a mapping")
    return given


def _agent(folder: Path) -> Callable[[], Path]:
    def build() -> Path:
        from vetro.agent.build import build_agent  # only where a server is made

        return build_agent(folder / "agent" / "muranoagent")

    return build


def _channels(folder: Path) -> Channels:
    def channel(owner: Owner, place: Callable[[str], Path | None], listen: Listen) -> Channel:
        from vetro.agent.sockets import SocketChannel  # only where a cloud has servers of this machine

        return SocketChannel(folder, owner, place, listen)

    return channel


def _secret_filters(settings: Mapping[str, Any]) -> Callable[[Owner], SecretFilter] | None:
    broker, key = settings.get("broker"), settings.get("signing_key")
    if not broker or key is None:
        return None
    from vetro.agent.broker_accounts import BrokerAccounts, broker_of  # with its AMQP library

    try:
        found, management = broker_of(broker)
    except (TypeError, ValueError) as error:
        raise HostConfigError(f"setting 'broker' of the cloud is wrong: {error}") from None
    return None if management is None else BrokerAccounts(found, management, Path(key)).password_filter


def _owner(data: Any) -> Owner:
    try:
        return Owner(**data)
    except TypeError:
        raise HostConfigError("setting 'owner' of the effects host must name 'project' and 'environment'") from None


def _signer(path: Path) -> Any:
    from vetro.agent.signing import KeyFile

    return KeyFile(path)


def _broker(
    settings: Mapping[str, Any], owner: Owner, key: str | None, room: Mapping[str, Any], reached: Collection[str]
) -> Channel:
    from vetro.agent.amqp import AmqpChannel
    from vetro.agent.broker_accounts import BrokerAccounts, broker_of

    try:
        broker, management = broker_of(settings)
    except (TypeError, ValueError) as error:
        raise HostConfigError(f"setting 'broker' of the effects host is wrong: {error}") from None
    if management is None:
        return AmqpChannel(broker, owner, **room)
    if key is None:
        raise HostConfigError("'broker.management' needs 'signing_key': the passwords of environments follow from it")
    accounts = BrokerAccounts(broker, management, Path(key))
    return AmqpChannel(
        accounts.settings(owner),
        owner,
        prepare=lambda: None if reached and accounts.is_there(owner) else accounts.ensure(owner),
        servers=lambda queue: None if queue in reached else accounts.ensure_server(owner, queue),
        **room,
    )


def _function(name: str) -> Callable[[Mapping[str, Any], Owner], Cloud]:
    module, _, function = name.partition(":")
    try:
        found: Callable[[Mapping[str, Any], Owner], Cloud] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise HostConfigError(f"the cloud '{name}' cannot be loaded: {error}") from error
    return found
