"""X-Forwarded-*: believed from proxies that the settings name, dropped from everybody else."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.config.config import ConfigError
from vetro.server.requests.proxies import Proxies


def environ(address: str, **headers: str) -> dict[str, Any]:
    found = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    return {"REMOTE_ADDR": address, "wsgi.url_scheme": "http", "HTTP_HOST": "inside:8082", **found}


def test_a_proxy_speaks_for_its_client() -> None:
    given = environ(
        "10.0.0.1", x_forwarded_for="203.0.113.7", x_forwarded_proto="https", x_forwarded_host="vetro.example.org"
    )
    Proxies(["10.0.0.0/8"]).apply(given)
    assert given == {
        "REMOTE_ADDR": "203.0.113.7",
        "wsgi.url_scheme": "https",
        "HTTP_HOST": "vetro.example.org",
        "vetro.forwarded": True,
    }


@pytest.mark.attack("bodies", "headers of proxies")
def test_what_a_client_claims_itself_is_dropped() -> None:
    given = environ("203.0.113.7", x_forwarded_for="10.0.0.1", x_forwarded_proto="https", x_forwarded_host="evil")
    Proxies(["10.0.0.1"]).apply(given)
    assert given == {
        "REMOTE_ADDR": "203.0.113.7",
        "wsgi.url_scheme": "http",
        "HTTP_HOST": "inside:8082",
        "vetro.forwarded": True,
    }


@pytest.mark.parametrize(
    ("header", "client"),
    [
        ("198.51.100.1, 203.0.113.7, 10.0.0.2", "203.0.113.7"),  # what stands before the client is its own claim
        ("203.0.113.7,10.0.0.2", "203.0.113.7"),
        ("nonsense", "10.0.0.1"),
        ("", "10.0.0.1"),
        ("203.0.113.7, nonsense", "10.0.0.1"),
        ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
    ],
)
def test_the_client_is_the_first_that_no_proxy_is(header: str, client: str) -> None:
    given = environ("10.0.0.1", x_forwarded_for=header)
    Proxies(["10.0.0.0/8"]).apply(given)
    assert given["REMOTE_ADDR"] == client


@pytest.mark.attack("bodies", "headers of proxies")
def test_nonsense_from_a_proxy_changes_nothing() -> None:
    given = environ("::ffff:10.0.0.1", x_forwarded_proto="gopher", x_forwarded_host="a/b\r\nX: y")
    Proxies(["10.0.0.1"]).apply(given)
    assert (given["wsgi.url_scheme"], given["HTTP_HOST"]) == ("http", "inside:8082")


def test_a_proxy_has_an_address() -> None:
    with pytest.raises(ConfigError, match="'loadbalancer' is no address"):
        Proxies(["loadbalancer"])
