"""`KIND`: real OpenStacks, which keep stacks, servers and quotas themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vetro.clouds.kind_protocols import Capabilities, Lack, Place, Remark
from vetro_openstack.settings import OpenStackSettings

if TYPE_CHECKING:
    from vetro_openstack.cloud import OpenStackCloud


class OpenStackKind:
    """Implements `vetro.clouds.kind_protocols.CloudKind`."""

    name = "openstack"
    title = "OpenStack"
    settings = OpenStackSettings
    rank = None
    bound = False
    modules = (
        "openstack.connection",
        "openstack.proxy",
        "keystoneauth1.session",
        "keystoneauth1.identity.v3",
        "vetro_openstack.cloud",
        "vetro.agent.amqp",
        "vetro.agent.broker_accounts",
    )

    def lacks(self, settings: OpenStackSettings, place: Place) -> Lack | None:
        """See `CloudKind.lacks`. Raises `SettingWrong` for credentials that cannot be used."""
        from vetro_openstack.link import sign_in

        sign_in(settings, "").session.close()
        return None

    def capabilities(self, settings: OpenStackSettings) -> Capabilities:
        """See `CloudKind.capabilities`."""
        return Capabilities(
            executes=True,
            walls="full",
            agents="broker",
            volumes="attach",
            volume_snapshots=True,
            server_snapshots=True,
            networks="own",
            groups="full",
            floating=True,
            shared_ips=True,
            resize=True,
            power=True,
            machines="vm",
        )

    def open(self, settings: OpenStackSettings, place: Place) -> OpenStackCloud:
        """See `CloudKind.open`. Nothing is asked of the cloud before somebody needs it."""
        from vetro_openstack.cloud import OpenStackCloud

        return OpenStackCloud(settings, place.secret_filter)

    def examine(self, settings: OpenStackSettings, place: Place) -> Iterator[Remark]:
        """See `Examines`: what the services offer, and how much of the quotas is in use."""
        from vetro_openstack import quotas
        from vetro_openstack.link import SERVICES, Link, sign_in

        session = sign_in(settings, "")
        closing = threading.Event()
        try:
            session.get_token()
            yield Remark("ok", f"signed in at {settings.auth_url}")
            link = Link(settings, session, settings.region, closing)
            there = [service for service in SERVICES if link.offers(service)]
            missing = [SERVICES[service] for service in SERVICES if service not in there]
            if "orchestration" not in there:
                hint = "ask whoever runs this OpenStack for Heat, or see cloud.openstack.region"
                yield Remark("error", f"Keystone's catalog lists no Heat for region {settings.region}", hint)
            else:
                link.get("orchestration", "/stacks", limit=1)
            names = ", ".join(SERVICES[service] for service in there)
            without = f"; not {', '.join(missing)}: packages that need these fail" if missing else ""
            yield Remark("ok", f"it offers {names}{without}")
            yield from quotas.examine(settings, session, closing)
        finally:
            closing.set()
            session.session.close()


KIND = OpenStackKind()
