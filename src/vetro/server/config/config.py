"""`Config`: the settings of a service: where each value came from, what it means, what it was called in Murano.

Sources, the later ones win: defaults, a TOML file (``--config``, ``VETRO_CONFIG``, else ``vetro.toml`` in the data
directory), environment variables ``VETRO_SECTION__NAME``, options of the command. `vetro config show` prints the lot.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vetro.server.config.table import SETTINGS, Setting
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError

#: Variables that are no settings of a section.
DATA, FILE = "VETRO_DATA", "VETRO_CONFIG"
#: In processes of a command: the settings that are variables only because its options gave them.
GIVEN = "VETRO_GIVEN"
#: The source of settings that options gave.
COMMAND: Final = "command line"


class ConfigError(VetroError):
    """A setting is unknown or has a value it cannot have."""

    kind = "bad-argument"
    code = "SRV500"
    hint = "'vetro config show' lists the settings"


@dataclass(frozen=True, slots=True)
class Value:
    """One setting as it is."""

    setting: Setting
    value: Any
    #: ``default``, ``FILE``, ``environment VETRO_…`` or ``command line``.
    source: str


class Config:
    """All settings of one installation. ``config["server.port"]`` gives a value."""

    def __init__(self, data: Path, values: Mapping[str, Value], file: Path | None) -> None:
        self.data = data
        self.file = file
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name].value

    def values(self) -> list[Value]:
        """Every setting in the order of the table."""
        return list(self._values.values())

    def path(self, name: str) -> Path:
        """A setting that is a path; relative ones are relative to the data directory."""
        return self.data / str(self[name])

    @classmethod
    def load(
        cls,
        data: str | os.PathLike[str] | None = None,
        file: str | os.PathLike[str] | None = None,
        overrides: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Config:
        """Reads the settings. Raises `ConfigError`, which names the setting and where its value stands."""
        environ = os.environ if environ is None else environ
        folder = Path(data or environ.get(DATA) or default_data(environ)).expanduser().absolute()
        values = {s.name: Value(s, s.default, "default") for s in SETTINGS}
        path = _file(folder, file or environ.get(FILE))
        if path is not None:
            for name, given in _read(path).items():
                values[name] = _value(values, name, given, str(path))
        options = {variable_of(name) for name in environ.get(GIVEN, "").split(",")}
        for variable, text in environ.items():
            if variable.startswith("VETRO_") and "__" in variable:
                name = variable[6:].lower().replace("__", ".")
                if name.split(".")[0] in {s.name.split(".")[0] for s in SETTINGS}:
                    source = COMMAND if variable in options else f"environment {variable}"
                    values[name] = _value(values, name, _typed(values, name, text), source)
        for name, given in (overrides or {}).items():
            if given is not None:
                values[name] = _value(values, name, given, COMMAND)
        return cls(folder, values, path)

    def changed(self, overrides: Mapping[str, Any]) -> Config:
        """The same settings but for these. Raises `ConfigError`."""
        values = dict(self._values)
        for name, given in overrides.items():
            values[name] = _value(values, name, given, COMMAND)
        return Config(self.data, values, self.file)

    def as_environment(self) -> dict[str, str]:
        """Variables that give a child process the same settings."""
        found = {DATA: str(self.data)}
        given = [name for name, value in self._values.items() if value.source == COMMAND]
        if given:
            found[GIVEN] = ",".join(given)
        if self.file is not None:
            found[FILE] = str(self.file)
        for name, value in self._values.items():
            if value.source == COMMAND:
                found[variable_of(name)] = value.value if isinstance(value.value, str) else json.dumps(value.value)
        return found


def make_data(config: Config) -> None:
    """Makes the data directory where there is none, for its owner only. Raises `ConfigError`.

    Where somebody else made it, for more people, what the service keeps in it is made its own: files that are there,
    and folders, whatever is made in them later. `vetro doctor` says what belongs to others and stays open.
    """
    try:
        config.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, others in PRIVATE.items():
            path = config.data / name
            if others is not None and not path.exists():
                path.mkdir(mode=0o700 | others, exist_ok=True)
            keep_from_others(path, others or 0)
    except OSError as error:
        raise ConfigError(f"the data directory {config.data} cannot be made: {error.strerror}") from None


#: What is in a data directory and holds what is not for everybody, with what others may of folders; None: a file.
#: Files of pages may be read, not replaced.
PRIVATE: Final[Mapping[str, int | None]] = {
    "blobs": 0, "cache": 0, "locale": 0, "static": 0o055, "keys": None, "signing-key.pem": None,
    "vetro.db": None, "vetro.db-wal": None, "vetro.db-shm": None,
}  # fmt: skip


def keep_from_others(path: Path, others: int = 0) -> None:
    """Takes from others what they may do with a file or folder of ours beyond this; nothing for what is not ours."""
    try:
        about = path.lstat()
        if about.st_uid == os.geteuid() and not stat.S_ISLNK(about.st_mode) and about.st_mode & 0o077 & ~others:
            path.chmod(stat.S_IMODE(about.st_mode) & (0o700 | others))
    except FileNotFoundError:
        return


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    return "VETRO_" + name.upper().replace(".", "__")


def default_data(environ: Mapping[str, str]) -> str:
    """The data directory where nobody names one."""
    base = environ.get("XDG_DATA_HOME") or os.path.join(environ.get("HOME") or "~", ".local", "share")
    return os.path.join(base, "vetro", "server")


def _file(folder: Path, given: str | os.PathLike[str] | None) -> Path | None:
    if given is not None:
        return Path(given).expanduser().absolute()
    path = folder / "vetro.toml"
    return path if path.exists() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    found = {}
    known = {setting.name.partition(".")[0] for setting in SETTINGS}
    for section, values in data.items():
        if section not in known:
            close = suggest(section, known)
            raise ConfigError(
                f"{path}: there is no setting '{section}'" + (f"; did you mean '{close}'?" if close else "")
            )
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: '{section}' must be a section: [{section}]")
        for name, value in values.items():
            found[f"{section}.{name}"] = value
    return found


def _typed(values: Mapping[str, Value], name: str, text: str) -> Any:
    """The text of a variable as what the setting wants."""
    known = values.get(name)
    rows = known is not None and known.setting.other is list and text.lstrip().startswith("[")
    if known is None or (known.setting.type is str and not rows):
        return text
    if known.setting.type is bool and text.lower() in ("true", "false", "yes", "no", "on", "off", "1", "0"):
        return text.lower() in ("true", "yes", "on", "1")
    if known.setting.type is list and not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _value(values: Mapping[str, Value], name: str, given: Any, source: str) -> Value:
    known = values.get(name)
    if known is None:
        close = suggest(name, values)
        raise ConfigError(f"{source}: there is no setting '{name}'" + (f"; did you mean '{close}'?" if close else ""))
    setting = known.setting
    fits = isinstance(given, setting.type) and not (setting.type is int and isinstance(given, bool))
    fits = fits or (setting.other is not None and isinstance(given, setting.other))
    if setting.type is float and isinstance(given, int) and not isinstance(given, bool):
        given, fits = float(given), True
    if given is None or (given == "" and setting.default is None):
        return Value(setting, setting.default, source)
    if not fits:
        raise ConfigError(f"{source}: '{name}' must be {setting.type.__name__}, not {json.dumps(given, default=str)}")
    if setting.choices and given not in setting.choices:
        raise ConfigError(f"{source}: '{name}' must be one of {', '.join(setting.choices)}, not '{given}'")
    if setting.least is not None and given < setting.least:
        raise ConfigError(f"{source}: '{name}' must be at least {setting.least}, not {given}")
    return Value(setting, given, source)


def http_processes(settings: Config) -> int:
    """How many processes answer requests."""
    wanted = int(settings["server.processes"])
    return wanted or min(2, len(os.sched_getaffinity(0)))
