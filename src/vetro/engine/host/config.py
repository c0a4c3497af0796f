"""`build_host`: an effects host out of plain settings, which is what a worker sends to the host's process.

```
{"cloud": {"kind": "local", "driver": "record|nspawn|proot", "directory": PATH,
           "script": PATH or null (what a recorder answers),
           "settings": {...},  see `vetro.clouds.stacks.settings.StackSettings`
           "quotas": {NAME: LIMIT}}  of the owner's project, see `vetro.clouds.quotas`; none: no limits,
 or       {"kind": "openstack", "settings": {...},  see `vetro.clouds.openstack.OpenStackSettings`
           "broker": {...} or null, "signing_key": PATH or null},  as below, where servers get logins of their own
 "owner": {"project": ID, "environment": ID, "user": ID},
 "signing_key": PATH or null,          made when it is missing; null: plans are not signed
 "broker": {...} or null,              `vetro.agent.broker_accounts.broker_of`; null: the channel of the cloud's servers
 "secrets": [KEY, ...],                that `vetro.engine.host.seal` opens secrets with; none: nothing can be opened
 "plugins": [NAME, ...] or null,       distributions whose effects are performed; null: all that are installed
 "pulse": {"path": PATH, "seconds": S} or null,   of the worker, see `vetro.engine.host.pulse`
 "identities": {"caller": {"user": {...}, "project": {...}}, "environment": {...}}}
```
Only ``cloud`` and ``owner`` are needed. The kind of a cloud may also be ``module:function``: a function that takes the
settings of the cloud and the `Owner`, and gives the `Cloud` and the `Channel`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Channel, Cloud, Owner
from vetro.engine.host.answers import HostConfigError
from vetro.engine.host.local_cloud import local_cloud
from vetro.engine.host.openstack_cloud import openstack_cloud
from vetro.engine.host.performer import EffectsHost
from vetro.engine.host.pulse import Pulse
from vetro.engine.host.seal import Seal

_KNOWN = frozenset({"cloud", "owner", "signing_key", "broker", "secrets", "identities", "plugins", "pulse"})

MakeCloud = Callable[[Mapping[str, Any], Owner], tuple[Cloud, Channel]]


def build_host(config: Mapping[str, Any]) -> EffectsHost:
    """The host. Raises `HostConfigError` for wrong settings, and what opening the cloud raises."""
    for name in config:
        if name not in _KNOWN:
            raise HostConfigError(f"an effects host has no setting '{name}'; there are {', '.join(sorted(_KNOWN))}")
    owner = _owner(config.get("owner"))
    settings = config.get("cloud")
    if not isinstance(settings, Mapping):
        raise HostConfigError("setting 'cloud' of the effects host must be a mapping with the kind of the cloud")
    cloud, channel = cloud_of(settings, owner)
    try:
        if config.get("broker") is not None:
            channel.close()
            channel = _broker(config["broker"], owner, config.get("signing_key"))
        key, secrets = config.get("signing_key"), config.get("secrets")
        return EffectsHost(
            cloud,
            channel,
            owner,
            signer=None if key is None else _signer(Path(key)),
            seal=Seal(secrets, owner.project) if secrets else None,
            identities=config.get("identities"),
            plugins=config.get("plugins"),
            pulse=pulse_of(config),
        )
    except BaseException:
        channel.close()
        cloud.close()
        raise


def pulse_of(config: Mapping[str, Any]) -> Pulse | None:
    """The pulse that these settings name. Raises `HostConfigError`."""
    try:
        return Pulse.from_json(config.get("pulse"))
    except (TypeError, ValueError, KeyError):
        raise HostConfigError("setting 'pulse' of the effects host must have 'path' and 'seconds'") from None


def cloud_of(settings: Mapping[str, Any], owner: Owner) -> tuple[Cloud, Channel]:
    """The cloud that these settings name, and its channel. Raises as `build_host`."""
    return _maker(str(settings.get("kind")))(settings, owner)


def _owner(data: Any) -> Owner:
    try:
        return Owner(**data)
    except TypeError:
        raise HostConfigError("setting 'owner' of the effects host must name 'project' and 'environment'") from None


def _signer(path: Path) -> Any:
    from vetro.agent.signing import ensure_key

    return ensure_key(path)


def _broker(settings: Mapping[str, Any], owner: Owner, key: str | None) -> Channel:
    from vetro.agent.amqp import AmqpChannel
    from vetro.agent.broker_accounts import BrokerAccounts, broker_of

    try:
        broker, management = broker_of(settings)
    except (TypeError, ValueError) as error:
        raise HostConfigError(f"setting 'broker' of the effects host is wrong: {error}") from None
    if management is None:
        return AmqpChannel(broker, owner)
    if key is None:
        raise HostConfigError("'broker.management' needs 'signing_key': the passwords of environments follow from it")
    accounts = BrokerAccounts(broker, management, Path(key))
    return AmqpChannel(
        accounts.settings(owner),
        owner,
        prepare=lambda: accounts.ensure(owner),
        servers=lambda queue: accounts.ensure_server(owner, queue),
    )


def _maker(kind: str) -> MakeCloud:
    if kind == "local":
        return local_cloud
    if kind == "openstack":
        return openstack_cloud
    module, colon, name = kind.partition(":")
    if not colon:
        raise HostConfigError(f"there is no cloud of kind '{kind}'; there are 'local' and 'openstack'")
    try:
        found: MakeCloud = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise HostConfigError(f"the cloud '{kind}' cannot be loaded: {error}") from error
    return found
