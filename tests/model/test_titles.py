"""Names of code in words."""

from __future__ import annotations

import pytest

from vetro.model.titles import title_of


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("availabilityZone", "Availability zone"),
        ("dns_name", "DNS name"),
        ("ipAddresses", "IP addresses"),
        ("publicIPs", "Public IPs"),
        ("floatingIps", "Floating IPs"),
        ("siteUrl", "Site URL"),
        ("useHTTPS", "Use HTTPS"),
        ("ipv6Only", "IPv6 only"),
        ("openstackId", "Openstack ID"),
        ("idleSeconds", "Idle seconds"),
        ("port2", "Port2"),
        ("größe", "Größe"),
        ("_", "_"),
        ("", ""),
    ],
)
def test_titles(name: str, title: str) -> None:
    assert title_of(name) == title
