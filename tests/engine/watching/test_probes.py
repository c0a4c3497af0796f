"""One probe: whom it may ask, by which way, what it takes for well, what it costs."""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from tests.engine.watching.world import Cloud, Door
from tests.support.certificates import self_signed
from vetro.clouds.drivers.routes import Route
from vetro.engine.watching import probes


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("10.0.1.2", True), ("172.24.4.9", True), ("fd00::1", True), ("127.0.0.1", False), ("::1", False),
        ("169.254.169.254", False), ("fe80::1", False), ("0.0.0.0", False), ("224.0.0.1", False), ("shop", False),
        ("::ffff:127.0.0.1", False), ("::ffff:10.0.1.2", False), ("64:ff9b::7f00:1", False), ("0.0.0.1", False),
        ("255.255.255.255", False), ("240.0.0.1", False), ("2002:7f00:1::1", False), ("fd00::1%eth0", False),
    ],
)  # fmt: skip
def test_addresses_that_are_no_servers(address: str, may: bool) -> None:
    assert probes.is_address(address) is may


@pytest.mark.attack("networks", "probes of the host's own networks")
def test_an_address_is_asked_by_the_way_of_its_project_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even one that the cloud calls reachable: the machine's own routes are looked at before each probe."""
    ways = {"10.0.3.7": Route(True, "lo"), "10.0.3.8": Route(False, "eth0"), "10.0.3.9": Route(False, "vt-project")}
    monkeypatch.setattr(probes, "route_to", ways.get)
    assert [probes.allowed(at, "vt-project") for at in ways] == [False, False, True]
    assert [probes.allowed(at, "") for at in ways] == [False, True, True]
    assert not probes.allowed("10.0.3.10", "vt-project") and not probes.allowed("10.0.3.10", "")


def test_any_certificate_is_well(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    self_signed(certificate, key, "elsewhere.example.com")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def asked(version: ssl.TLSVersion) -> str | None:
        context.maximum_version = version

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        found = await probes.run(probes.Probe("https", port, expect=(200,)), ["127.0.0.1"])
        server.close()
        await asyncio.sleep(0.05)
        return found

    assert asyncio.run(asked(ssl.TLSVersion.TLSv1_3)) is None
    assert asyncio.run(asked(ssl.TLSVersion.TLSv1_2)) is None


def test_who_speaks_no_tls_is_told_so(door: Door) -> None:
    found = asyncio.run(probes.run(probes.Probe("https", door.port), ["127.0.0.1"]))
    assert found == f"no connection to 127.0.0.1:{door.port}: wrong version number"


@pytest.mark.parametrize("kind", ["http", "https", "tcp"])
def test_a_probe_leaves_by_the_interface_that_is_named(kind: Any) -> None:
    """The socket is bound to it, so a route that changes in between leads nowhere else."""
    found = asyncio.run(probes.run(probes.Probe(kind, 9), ["127.0.0.1"], "vt-none"))
    assert found == "no connection to 127.0.0.1:9: No such device"


@pytest.mark.attack("processes", "handshakes that cost much")
def test_servers_choose_from_cheap_handshakes_only() -> None:
    ciphers = probes._unverified().get_ciphers()
    assert {found["kea"] for found in ciphers} == {"kx-any", "kx-ecdhe"}  # any: of TLS 1.3, out of our one group


def test_a_probe_costs_little(cloud: Cloud) -> None:
    """5,000 components every 30 s are 167 probes a second: 5 % of a processor are 300 µs each."""
    cloud.server("s1")
    many, counter = 2000, itertools.count()

    async def measured() -> float:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            next(counter)
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        probe = probes.Probe("tcp", port)
        started = time.thread_time()
        for _ in range(many // 100):
            found = await asyncio.gather(*(probes.run(probe, ["127.0.0.1"]) for _ in range(100)))
            assert found == [None] * 100
        spent = time.thread_time() - started
        server.close()
        return spent / many

    # The answering side runs in the same thread: it is counted, too.
    assert asyncio.run(measured()) < 1e-3
