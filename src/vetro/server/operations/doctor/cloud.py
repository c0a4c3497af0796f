"""The cloud: what its kind lacks here, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator

from vetro.clouds import kinds
from vetro.clouds.interface import Examines, Place
from vetro.clouds.stacks.kind import DriverKind
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.operations.database.findings import ERROR, OK, WARNING, Finding

_MACHINE = "'vetro doctor --machine' says what the kinds need; see 'cloud.kind'"


def examine(config: Config) -> Iterator[Finding]:
    """What fits the kind of the cloud; clouds that a function makes are not asked. Raises `CloudError`."""
    place = Place(directory=config.path("cloud.directory"))
    wanted = kinds.named(config["cloud.kind"], config["cloud.driver"])
    if ":" in wanted:
        yield Finding("cloud", OK, f"'{wanted}' is a plug-in's, and was not asked")
        return
    kind = cloud_settings.kind(config)
    assert kind is not None
    settings = cloud_settings.kind_settings(config, kind)
    cloud_settings.check_cloud(config)
    lack = kind.lacks(settings, place)
    if lack is not None:
        text = f"clouds of kind '{kind.name}' cannot run servers here: {lack.reason}"
        yield Finding("cloud", ERROR, text, lack.hint or _MACHINE)
        return
    able = kind.capabilities(settings)
    if isinstance(kind, DriverKind):
        reason = kinds.choose(place).reason if not wanted else "as wanted"
        if able.executes or wanted:
            yield Finding("cloud", OK, f"the cloud: {kind.name}, {reason}")
        else:
            yield Finding("cloud", WARNING, f"servers are only written down, none runs: {reason}", _MACHINE)
    if isinstance(kind, Examines):
        for remark in kind.examine(settings, place):
            yield Finding("cloud", _LEVELS[remark.level], remark.text, remark.hint or "")
    if able.agents == "broker" and not config["engine.broker"]:
        hint = "set 'engine.broker' to a RabbitMQ that workers and servers reach: docs/openstack.md, Agents"
        yield Finding("broker", WARNING, "no broker: packages that call agents on servers fail", hint)


_LEVELS = {"ok": OK, "warning": WARNING, "error": ERROR}
