"""`Settings`: what holds for all environments of a workspace, from its file ``vetro.toml`` (docs/settings.md).

The sections and names are those of a server's settings, as far as a workspace has use for them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from vetro.clouds.quotas import OF_CLOUD, QUOTAS, limits_of
from vetro.engine.task.task import Budget
from vetro.muranopl.errors import MuranoError
from vetro.yaql.errors import VetroError

FILE = "vetro.toml"


class SettingsError(MuranoError):
    """The settings of a workspace cannot be used; the message names file and setting."""

    kind = "bad-argument"
    code = "ENG133"


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults are those of a workspace without file."""

    #: Rows of class configurations (`Task.configs`).
    class_configs: Sequence[Mapping[str, Any]] = ()
    #: What packages see, by section, beside what Vetro itself gives.
    engine: Mapping[str, Any] = field(default_factory=dict)
    #: Distributions whose plug-ins may be used; None: all that are installed.
    plugins: Sequence[str] | None = None
    #: The AMQP broker of agents; None: the sockets of local servers.
    broker: Mapping[str, Any] | None = None
    #: Private key that signs plans, an absolute path.
    signing_key: str = ""
    #: `vetro.clouds.stacks.settings.StackSettings` as plain data.
    cloud: Mapping[str, Any] = field(default_factory=dict)
    #: Settings of single kinds of clouds as plain data, by the name of the kind.
    clouds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    #: What all environments of the workspace may have in clouds of this machine together (`vetro.clouds.quotas`).
    quotas: Mapping[str, int] = field(default_factory=lambda: {name: QUOTAS[name].default for name in OF_CLOUD})
    budget: Budget = field(default_factory=Budget)


def read_settings(root: Path) -> Settings:
    """The settings of the workspace at ``root``. Raises `SettingsError`."""
    path = root / FILE
    usual = Settings(signing_key=str(root / "signing-key.pem"))
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return usual
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} is no TOML file: {error}") from None
    return _Reader(path, data).settings(usual)


class _Reader:
    """One file."""

    def __init__(self, path: Path, data: Mapping[str, Any]) -> None:
        self._path = path
        self._data = data

    def settings(self, usual: Settings) -> Settings:
        engine = self._section(
            "engine",
            class_configs=(str, list),
            home_region=str,
            signing_key=str,
            settings=dict,
            plugins=list,
            broker=dict,
        )
        cloud = self._section("cloud", settings=dict, **dict.fromkeys(self._kinds(), dict))
        task = self._section("task", cpu_seconds=(int, float), memory_mib=int, grace_seconds=(int, float), steps=int)
        quotas = self._section("quotas", **dict.fromkeys(OF_CLOUD, int))
        self._section()
        seen = {name: value for name, value in engine.items() if name == "home_region"}
        key = engine.get("signing_key")
        return Settings(
            class_configs=self._checked("engine.class_configs", lambda: self._configs(engine.get("class_configs", []))),
            engine={**engine.get("settings", {}), **seen},
            plugins=self._plugins(engine.get("plugins", ["*"])),
            broker=self._checked("engine.broker", lambda: _broker(engine.get("broker"))),
            signing_key=str(self._path.parent / key) if key else usual.signing_key,
            cloud=self._checked("cloud.settings", lambda: _cloud(cloud.get("settings", {}))),
            clouds={
                name: self._checked(f"cloud.{name}", partial(_kind, name, own))
                for name, own in cloud.items()
                if name != "settings"
            },
            budget=self._checked("task", lambda: _budget(task)),
            quotas=self._checked("quotas", lambda: {**usual.quotas, **limits_of(quotas)}),
        )

    def _kinds(self) -> list[str]:
        """Kinds of clouds that may have a section; they are looked for where there is one."""
        from vetro.clouds import kinds  # what is installed is read, which most workspaces need not wait for

        given = self._data.get("cloud", {})
        return kinds.names() if isinstance(given, dict) and set(given) - {"settings"} else []

    def _section(self, name: str | None = None, **known: Any) -> dict[str, Any]:
        """A section whose entries are of these types; without a name, checks that there are no others."""
        if name is None:
            self._only(self._data, ("engine", "cloud", "task", "quotas"), "")
            return {}
        section = self._data.get(name, {})
        if not isinstance(section, dict):
            raise SettingsError(f"{self._path}: '{name}' is no section", hint=f"write [{name}] and its settings below")
        self._only(section, known, f"{name}.")
        for key, value in section.items():
            kinds = known[key] if isinstance(known[key], tuple) else (known[key],)
            if not isinstance(value, kinds) or isinstance(value, bool):
                wanted = " or ".join(_KINDS[kind] for kind in kinds)
                raise SettingsError(f"{self._path}: {name}.{key} must be {wanted}, not {value!r}")
        return section

    def _only(self, given: Mapping[str, Any], known: Any, prefix: str) -> None:
        from vetro.yaql.didyoumean import suggest

        for key in given:
            if key not in known:
                close = suggest(key, list(known))
                hint = f"did you mean '{prefix}{close}'?" if close else f"there are {', '.join(sorted(known))}"
                raise SettingsError(f"{self._path}: there is no setting '{prefix}{key}'", hint=hint)

    def _checked(self, name: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except SettingsError:
            raise
        except VetroError as error:
            raise SettingsError(f"{self._path}: {name}: {error.message}") from None
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{self._path}: {name}: {error}") from None

    def _configs(self, given: Any) -> tuple[Mapping[str, Any], ...]:
        from vetro.engine.class_configs import rows_of

        return tuple(rows_of(given, self._path.parent))

    def _plugins(self, given: list[Any]) -> tuple[str, ...] | None:
        if not all(isinstance(name, str) for name in given):
            raise SettingsError(f"{self._path}: engine.plugins must be a list of names of distributions")
        return None if "*" in given else tuple(given)


_KINDS = {str: "text", list: "a list", dict: "a table", int: "a whole number", float: "a number"}


def _broker(given: dict[str, Any] | None) -> dict[str, Any] | None:
    if not given:
        return None
    from vetro.agent.amqp_link import BrokerSettings

    _like(given, BrokerSettings())
    return given


def _cloud(given: dict[str, Any]) -> dict[str, Any]:
    from vetro.clouds.stacks.settings import StackSettings

    StackSettings.from_json(given)
    _like(given, StackSettings())
    return given


def _kind(name: str, given: dict[str, Any]) -> dict[str, Any]:
    from vetro.clouds import kinds  # as above

    kinds.find(name).settings.from_json(given)
    return given


def _budget(given: dict[str, Any]) -> Budget:
    for name, value in given.items():
        if value <= 0:
            raise ValueError(f"{name} must be more than 0")
    return Budget(**given)


def _like(given: Mapping[str, Any], defaults: Any) -> None:
    """Raises `ValueError` unless each value is of the type that it has in ``defaults``."""
    known = {item.name: getattr(defaults, item.name) for item in fields(defaults)}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"there is no '{name}'; there are {', '.join(sorted(known))}")
        kind = list if isinstance(known[name], tuple) else type(known[name])
        if type(value) is not kind:
            raise ValueError(f"{name} must be {_KINDS.get(kind) or 'true or false'}, not {value!r}")
