"""Which way the kernel sends what is for an address."""

from __future__ import annotations

import pytest

from vetro.clouds.drivers.routes import Route, route_to


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0"])
def test_a_machines_own_addresses_are_local(address: str) -> None:
    assert route_to(address) == Route(True, "lo")


@pytest.mark.parametrize("address", ["255.255.255.255", "224.0.0.1"])
def test_addresses_of_many_have_no_route(address: str) -> None:
    assert route_to(address) is None


def test_what_is_no_address_is_a_callers_error() -> None:
    with pytest.raises(ValueError, match="does not appear"):
        route_to("shop.example.com")
