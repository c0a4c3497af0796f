"""What the project of the worker's credentials may still make in an OpenStack, region by region."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vetro.clouds.interface import CloudError
from vetro.server.dbtools.findings import OK, WARNING, Finding

if TYPE_CHECKING:
    from vetro.clouds.openstack import OpenStackSettings
    from vetro.clouds.openstack.quotas import Quota

#: Part of a quota from which on somebody should do something.
_MUCH = 0.9
#: What is shown although there is enough of it: what people plan with. The rest follows from it.
_SHOWN = frozenset(
    {"instances", "cores", "ram", "volumes", "gigabytes", "floating-ips", "networks", "routers", "secgroups"}
)


def examine(settings: OpenStackSettings, session: Any, closing: threading.Event) -> Iterator[Finding]:
    """What is in use, and a warning for each quota that is nearly used up. Raises `CloudError`: Keystone is away."""
    from vetro.clouds.openstack.link import SERVICES, Link
    from vetro.clouds.openstack.quotas import LIMITED, quotas

    regions = list(dict.fromkeys((settings.region, *settings.regions)))
    seen = False
    for region in regions:
        link = Link(settings, session, region, closing)
        where = f"in region {region}, " if len(regions) > 1 else ""
        found: list[Quota] = []
        for service in LIMITED:
            if not link.offers(service):
                continue
            try:
                found += quotas(link, service)
            except CloudError as error:
                text = f"{where}{SERVICES[service]} does not tell its quotas: {error.message}"
                hint = "see whether the worker's user may read them in this project"
                yield Finding("cloud", WARNING, text, hint)
        shown = [f"{one.used} of {one.limit} {one.what}" for one in found if one.option in _SHOWN]
        if shown:
            yield Finding("cloud", OK, f"{where}the project uses {', '.join(shown)}")
        for one in found:
            if one.limit and one.part >= _MUCH:  # a quota of nothing is meant so
                yield Finding("cloud", WARNING, where + str(one), _advice(one, link.project()))
        seen = seen or bool(found)
    if seen and settings.projects == "environment":
        text = "these are the quotas of the project that is signed in to; stacks are made in those of the environments"
        yield Finding("cloud", OK, text)


def _advice(quota: Quota, project: str) -> str:
    full = "what needs one more fails" if quota.used >= quota.limit else "it is nearly used up"
    more = f"'openstack quota set --{quota.option} NUMBER {project}'" if quota.option else "a larger quota"
    return f"{full}: ask the cloud's administrator for {more}, or remove environments that nobody needs"
