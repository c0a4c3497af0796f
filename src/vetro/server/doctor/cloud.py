"""The cloud: the programs of the local one, or what an OpenStack offers to the credentials of the worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from vetro.server.config import Config
from vetro.server.dbtools.findings import ERROR, OK, WARNING, Finding
from vetro.server.dispatch import spec
from vetro.server.doctor import quotas


def examine(config: Config) -> Iterator[Finding]:
    """What fits ``cloud.kind``; clouds of plug-ins are not asked."""
    if config["cloud.kind"] == "local":
        yield from _local(config)
    elif config["cloud.kind"] == "openstack":
        yield from _openstack(config)
    else:
        yield Finding("cloud", OK, f"'{config['cloud.kind']}' is a plug-in's, and was not asked")


def _local(config: Config) -> Iterator[Finding]:
    """The driver: programs, control groups, namespaces, images, room."""
    from vetro.clouds.drivers.base import DriverError
    from vetro.clouds.kinds import choose_driver

    wanted = str(config["cloud.driver"])
    try:
        choice = choose_driver(config.path("cloud.directory"), wanted=wanted or None)
    except DriverError as error:
        hint = str(error.hint or "'vetro doctor --machine' says what the drivers need; see 'cloud.driver'")
        yield Finding("cloud", ERROR, f"the local cloud cannot run servers: {error.message}", hint)
        return
    if choice.name == "record" and not wanted:
        text = f"servers are only written down, none runs: {choice.reason}"
        yield Finding("cloud", WARNING, text, "'vetro doctor --machine' says what the other drivers need")
    else:
        yield Finding("cloud", OK, f"the local cloud: {choice.name}, {choice.reason}")


def _openstack(config: Config) -> Iterator[Finding]:
    from vetro.clouds.openstack import OpenStackSettings
    from vetro.clouds.openstack.link import SERVICES, Link, sign_in

    settings = OpenStackSettings.from_json(spec.cloud(config)["settings"])
    spec.check_cloud(config)
    session = sign_in(settings, "")
    closing = threading.Event()
    try:
        session.get_token()
        yield Finding("cloud", OK, f"signed in at {settings.auth_url}")
        link = Link(settings, session, settings.region, closing)
        there = [service for service in SERVICES if link.offers(service)]
        missing = [SERVICES[service] for service in SERVICES if service not in there]
        if "orchestration" not in there:
            hint = "ask whoever runs this OpenStack for Heat, or see cloud.openstack.region"
            yield Finding("cloud", ERROR, f"Keystone's catalog lists no Heat for region {settings.region}", hint)
        else:
            link.get("orchestration", "/stacks", limit=1)
        names = ", ".join(SERVICES[service] for service in there)
        without = f"; not {', '.join(missing)}: packages that need these fail" if missing else ""
        yield Finding("cloud", OK, f"it offers {names}{without}")
        yield from quotas.examine(settings, session, closing)
    finally:
        closing.set()
        session.session.close()
    if not config["engine.broker"]:
        hint = "set 'engine.broker' to a RabbitMQ that workers and servers reach: docs/openstack.md, Agents"
        yield Finding("broker", WARNING, "no broker: packages that call agents on servers fail", hint)
