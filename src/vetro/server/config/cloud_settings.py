"""The cloud of this installation, from its settings: its kind, what that can do, and its broker."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from vetro.clouds import kinds
from vetro.clouds.drivers.errors import HelperAway
from vetro.clouds.errors import CloudError
from vetro.clouds.kind_protocols import Capabilities, CloudKind, Place
from vetro.clouds.stacks.kind import DriverKind, GuestKind
from vetro.diagnostics import Text
from vetro.server.config.config import Config, ConfigError
from vetro.server.config.table import SETTINGS

if TYPE_CHECKING:
    from vetro.agent.broker_accounts import BrokerAccounts

#: Settings that are those of one kind of clouds.
_SECTIONS = frozenset(item.name for item in SETTINGS if item.type is dict and item.name.startswith("cloud."))

#: Seconds for which a choice holds that executes nothing: what was missing may have come. A new image is seen at once.
_AGAIN = 30.0
_IN_SETTINGS: Final = Text("{setting} in the settings", setting="cloud.kind")
_EXAMINE: Final = Text("'vetro doctor --machine' says what servers need")


class _Chosen(NamedTuple):
    """What was chosen for a folder, until when that holds, and which images there were for each kind; None: whoever has
    them is away, and is not asked meanwhile, since that may take seconds."""

    choice: kinds.ChosenKind
    until: float
    images: Mapping[str, frozenset[str] | None]


_lock = threading.Lock()
_chosen: dict[Path, _Chosen] = {}


class Selection(NamedTuple):
    """A cloud that is used: its kind, whether it executes anything, and a line for people: which it is, and why."""

    kind: str
    executes: bool
    text: str


def kind(config: Config, own: Mapping[str, Any] | None = None) -> CloudKind | None:
    """The kind of the cloud: the one of an environment's ``own`` (`Environment.cloud`), or that is configured, else the
    best that works here (looked for until one executes something); None for one that a function makes.

    Raises `vetro.clouds.kinds.KindMissing`.
    """
    name = (own or {}).get("kind") or kinds.named(config["cloud.kind"], config["cloud.driver"])
    if ":" in name:
        return None
    if name:
        return kinds.find(name)
    return _choice(config).kind


def kept(config: Config) -> str:
    """The name of the kind that an environment keeps which is deployed now; '' where it goes with the settings.

    Tomorrow another one may be chosen, or be named instead of one that executes nothing: what was only written down
    exists nowhere then. Raises `CloudError`.
    """
    name = kinds.named(config["cloud.kind"], config["cloud.driver"])
    if name:
        return name if simulated(config) else ""
    return _choice(config).name


def _choice(config: Config) -> kinds.ChosenKind:
    directory = config.path("cloud.directory")
    with _lock:
        known = _chosen.get(directory)
        # Another process may have built one: what is deployed here from now on is real, too.
        if (
            known is not None
            and known.until > time.monotonic()
            and (known.until == math.inf or known.images == _image_names(directory, known.images))
        ):
            return known.choice
        images = _image_names(directory)  # before it is chosen: one that comes meanwhile is another
        found = kinds.choose(Place(directory=directory))
        real = found.kind.capabilities(kind_settings(config, found.kind)).executes
        _chosen[directory] = _Chosen(found, math.inf if real else time.monotonic() + _AGAIN, images)
        return found


def _image_names(
    directory: Path, known: Mapping[str, frozenset[str] | None] = MappingProxyType({})
) -> Mapping[str, frozenset[str] | None]:
    """What images are called that servers of this machine can start from, by kind; see `_Chosen.images`."""
    found = dict[str, frozenset[str] | None]()
    for kind in kinds.ranked():
        if isinstance(kind, GuestKind):
            try:
                away = kind.name in known and known[kind.name] is None
                found[kind.name] = None if away else kind.image_names(Place(directory=directory))
            except HelperAway:
                found[kind.name] = None
    return found


def look_again(config: Config) -> None:
    """Drops the choice that was made for the cloud's folder: the next question finds the best kind anew."""
    with _lock:
        _chosen.pop(config.path("cloud.directory"), None)


def selection(config: Config, own: Mapping[str, Any] | None = None, why: str = "") -> Selection:
    """Which cloud is used (as `kind`) and why: the line that `serve`, `deploy` and `doctor` print.

    ``why``: who named the kind of ``own``, where that is not the environment itself. Raises `CloudError`.
    """
    found = kind(config, own)
    if found is None:
        name = str(config["cloud.kind"])
        return Selection(name, True, Text("cloud: {name} (a plug-in's; cloud.kind in the settings)", name=name))
    able = found.capabilities(kind_settings(config, found))
    why, hint = why or Text("of this environment"), None
    if not (own or {}).get("kind"):
        why = _IN_SETTINGS
        if not kinds.named(config["cloud.kind"], config["cloud.driver"]):
            choice = _choice(config)
            why = choice.why or Text("the best that works here")
            hint = None if able.executes else choice.hint or _EXAMINE
    text = Text("cloud: {name} - {title} ({why})", name=found.name, title=found.title, why=why)
    return Selection(found.name, able.executes, Text("{one}; {other}", one=text, other=hint) if hint else text)


def simulated(config: Config, own: Mapping[str, Any] | None = None) -> bool:
    """Whether an environment's cloud (`Environment.cloud`) executes nothing; False for one that cannot be told."""
    try:
        found = capabilities(config, own)
    except CloudError:
        return False
    return found is not None and not found.executes


def capabilities(config: Config, own: Mapping[str, Any] | None = None) -> Capabilities | None:
    """What the cloud can do; None for one that a function makes."""
    found = kind(config, own)
    return None if found is None else found.capabilities(kind_settings(config, found))


def kind_settings(config: Config, kind: CloudKind) -> Any:
    """The settings of the cloud, as its kind takes them. Raises what that says of wrong ones."""
    return kind.settings.from_json(_settings(config, kind))


def cloud(config: Config, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The cloud as an effects host wants it (`vetro.engine.host.config`)."""
    found = kind(config, own)
    if found is None:
        return {"kind": config["cloud.kind"], **config["cloud.settings"]}
    made = {
        "kind": found.name,
        "directory": str(config.path("cloud.directory")),
        "settings": _settings(config, found, (own or {}).get("script") or ""),
    }
    broker = broker_settings(config)
    if broker and broker.get("management"):
        made |= {"broker": broker, "signing_key": str(config.path("engine.signing_key"))}
    return made


def named_kind(config: Config) -> tuple[str, str]:
    """The kind that the settings name, by a word or by a section of its own for clouds that are on no machine, and what
    says so; '' where they name none."""
    name = kinds.named(config["cloud.kind"], config["cloud.driver"])
    if name:
        return name, _IN_SETTINGS
    sections = (name.removeprefix("cloud.") for name in sorted(_SECTIONS - {"cloud.settings"}) if config[name])
    name = next((name for name in sections if kinds.find(name).rank is None), "")
    return name, Text("{setting} in the settings", setting=f"cloud.{name}")


def check_kind(config: Config, name: str) -> None:
    """Raises `ConfigError` where the settings say too little of a cloud, `KindMissing` where its kind is missing."""
    found = kinds.find(name)
    if not isinstance(found, DriverKind) and f"cloud.{name}" in _SECTIONS and not config[f"cloud.{name}"]:
        raise ConfigError(
            Text(
                "the configuration knows no {title}: write the section cloud.{name} into vetro.toml",
                title=found.title,
                name=name,
            )
        )


def check_cloud(config: Config) -> None:
    """Raises `CloudError` for a cloud that there is not, and for settings of it, or of its broker, that cannot work."""
    found = kind(config)
    if found is None:
        return
    settings = kind_settings(config, found)
    if found.capabilities(settings).agents == "broker":
        from vetro.agent.broker_accounts import broker_of

        found.lacks(settings, Place(directory=config.path("cloud.directory")))
        try:
            broker_of(config["engine.broker"])
        except (TypeError, ValueError) as error:
            raise ConfigError(Text("engine.broker: {error}", error=error)) from None


def broker_accounts(config: Config) -> BrokerAccounts | None:
    """The logins of environments at the broker; None where they have none."""
    broker = broker_settings(config)
    if not broker or not broker.get("management"):
        return None
    from vetro.agent.broker_accounts import BrokerAccounts, broker_of

    found, management = broker_of(broker)
    assert management is not None
    return BrokerAccounts(found, management, config.path("engine.signing_key"))


def _settings(config: Config, kind: CloudKind, script: str = "") -> dict[str, Any]:
    """Plain settings of the cloud: what holds for networks of all kinds, then its section, or ``cloud.settings``."""
    known = {item.name for item in fields(kind.settings)}  # type: ignore[arg-type]
    own = f"cloud.{kind.name}"
    general = {name: value for name, value in _networking(config).items() if name in known}
    if "home_region" in known:
        general["home_region"] = config["engine.home_region"]
    if (script or config["cloud.script"]) and "script" in known:
        general["script"] = script or str(config.path("cloud.script"))
    return {**general, **config[own if own in _SECTIONS else "cloud.settings"]}


def _networking(config: Config) -> dict[str, Any]:
    return {
        "router": config["networking.router_name"],
        "external_network": config["networking.external_network"],
        "create_router": config["networking.create_router"],
        "plan_ipv4": config["networking.env_ip_template"],
        "max_networks": config["networking.max_environments"],
        "max_hosts": config["networking.max_hosts"],
        "dns_ipv4": list(config["networking.default_dns"]),
    }


def broker_settings(config: Config) -> dict[str, Any] | None:
    """Settings of the broker; logins of environments are for clouds whose agents need it and which hide passwords."""
    broker = dict(config["engine.broker"])
    if not broker:  # which cloud is chosen need not be asked
        return None
    found = capabilities(config)
    if found is None or found.agents != "broker":
        broker.pop("management", None)
    return broker or None
