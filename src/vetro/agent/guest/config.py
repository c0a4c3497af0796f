"""Settings of the agent: ini files as the boot script of old packages writes them (AGENT.md 3)."""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass

from .signature import KeyInvalid, PublicKey


class ConfigInvalid(Exception):
    """The settings cannot be used; the message says which file or setting."""


@dataclass(frozen=True)
class Config:
    """What the agent was told. Seconds and absolute paths."""

    storage: str
    engine_key: PublicKey | None
    dynamic_result_queue: bool
    plan_timeout: float
    retry_delay: float
    debug: bool
    log_file: str | None
    host: str
    port: int
    login: str
    password: str
    virtual_host: str
    ssl: bool
    ssl_version: str
    ca_certs: str
    insecure: bool
    input_queue: str
    result_routing_key: str
    result_exchange: str

    @property
    def socket(self) -> str | None:
        """Path of the local socket, or None when a broker is used."""
        return self.host[5:] if self.host.startswith("unix:") else None


def read_config(files: list[str], directories: list[str]) -> Config:
    """The settings of all files: those of directories (``*.conf`` by name) first, later ones win. `ConfigInvalid`."""
    paths = []
    for directory in directories:
        try:
            names = sorted(name for name in os.listdir(directory) if name.endswith(".conf"))
        except OSError as error:
            raise ConfigInvalid(f"cannot read the directory {directory}: {error.strerror}") from None
        paths += [os.path.join(directory, name) for name in names]
    paths += files
    # No interpolation: passwords may hold percent signs. No defaults: [DEFAULT] is a section like the others here.
    parser = configparser.RawConfigParser(strict=False, default_section="\0")
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                parser.read_file(file)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigInvalid(f"cannot read {path}: {error}") from None
        except configparser.Error as error:
            raise ConfigInvalid(f"{path} is malformed: {str(error).splitlines()[0]}") from None
    if not paths:
        raise ConfigInvalid("there is no configuration file; give --config-dir or --config-file")
    return _make(_Reader(parser))


class _Reader:
    """Typed access to settings."""

    def __init__(self, parser: configparser.RawConfigParser) -> None:
        self._parser = parser

    def text(self, section: str, name: str, default: str = "") -> str:
        return self._parser.get(section, name, fallback=default).strip()

    def flag(self, section: str, name: str) -> bool:
        value = self.text(section, name, "false").lower()
        if value in ("1", "yes", "true", "on"):
            return True
        if value in ("", "0", "no", "false", "off"):
            return False
        raise ConfigInvalid(f"[{section}] {name} must be true or false, not '{value}'")

    def number(self, section: str, name: str, default: float) -> float:
        value = self.text(section, name) or str(default)
        try:
            number = float(value)
        except ValueError:
            raise ConfigInvalid(f"[{section}] {name} must be a number, not '{value}'") from None
        if not 0 <= number < 1e9:
            raise ConfigInvalid(f"[{section}] {name} must be between 0 and 1000000000")
        return number


def _make(reader: _Reader) -> Config:
    key_text = reader.text("DEFAULT", "engine_key")
    try:
        key = PublicKey(key_text) if key_text else None
    except KeyInvalid as error:
        # Going on without a key would run plans of anybody.
        raise ConfigInvalid(f"[DEFAULT] {error}") from None
    config = Config(
        storage=os.path.abspath(reader.text("DEFAULT", "storage") or "/var/murano/plans"),
        engine_key=key,
        dynamic_result_queue=reader.flag("DEFAULT", "enable_dynamic_result_queue"),
        plan_timeout=reader.number("DEFAULT", "plan_timeout", 0),
        retry_delay=reader.number("DEFAULT", "retry_delay", 5),
        debug=reader.flag("DEFAULT", "debug"),
        log_file=reader.text("DEFAULT", "log_file") or None,
        host=reader.text("rabbitmq", "host") or "localhost",
        port=int(reader.number("rabbitmq", "port", 5672)),
        login=reader.text("rabbitmq", "login") or "guest",
        password=reader.text("rabbitmq", "password", "guest"),
        virtual_host=reader.text("rabbitmq", "virtual_host") or "/",
        ssl=reader.flag("rabbitmq", "ssl"),
        ssl_version=reader.text("rabbitmq", "ssl_version"),
        ca_certs=reader.text("rabbitmq", "ca_certs"),
        insecure=reader.flag("rabbitmq", "insecure"),
        input_queue=reader.text("rabbitmq", "input_queue"),
        result_routing_key=reader.text("rabbitmq", "result_routing_key"),
        result_exchange=reader.text("rabbitmq", "result_exchange"),
    )
    if not config.input_queue:
        raise ConfigInvalid("[rabbitmq] input_queue is missing: it names the queue of this server")
    if not config.result_routing_key and not config.dynamic_result_queue:
        raise ConfigInvalid("[rabbitmq] result_routing_key is missing: it names the queue for results")
    return config
