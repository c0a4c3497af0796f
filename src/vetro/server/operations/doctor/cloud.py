"""The cloud: what its kind lacks here, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator

from vetro.clouds import kinds
from vetro.clouds.kind_protocols import Examines, Place
from vetro.clouds.stacks.kind import BUILD_IMAGE, DriverKind
from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic, Text
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config

_MACHINE = Text("'vetro doctor --machine' says what the kinds need; see 'cloud.kind'")


def examine(config: Config) -> Iterator[Diagnostic]:
    """What fits the kind of the cloud; clouds that a function makes are not asked. Raises `CloudError`."""
    place = Place(directory=config.path("cloud.directory"))
    wanted = kinds.named(config["cloud.kind"], config["cloud.driver"])
    if ":" in wanted:
        yield Diagnostic("cloud", OK, Text("'{wanted}' is a plug-in's, and was not asked", wanted=wanted))
        return
    kind = cloud_settings.kind(config)
    assert kind is not None
    settings = cloud_settings.kind_settings(config, kind)
    cloud_settings.check_cloud(config)
    lack = kind.lacks(settings, place)
    if lack is not None:
        text = Text("clouds of kind '{name}' cannot run servers here: {reason}", name=kind.name, reason=lack.reason)
        cure = "image" if lack.hint == BUILD_IMAGE else ""
        yield Diagnostic("cloud", ERROR, text, lack.hint or _MACHINE, cure=cure)
        return
    able = kind.capabilities(settings)
    if isinstance(kind, DriverKind):
        expected = bool(able.executes or wanted)
        line, hint = cloud_settings.selection(config).text, None if expected else _MACHINE
        yield Diagnostic("cloud", OK if expected else WARNING, line, hint, cure="" if expected else "image")
    if isinstance(kind, Examines):
        for remark in kind.examine(settings, place):
            yield Diagnostic("cloud", remark.level, remark.text, remark.hint)
    if able.agents == "broker" and not config["engine.broker"]:
        hint = Text("set 'engine.broker' to a RabbitMQ that workers and servers reach: docs/openstack.md, Agents")
        yield Diagnostic("broker", WARNING, Text("no broker: packages that call agents on servers fail"), hint)
