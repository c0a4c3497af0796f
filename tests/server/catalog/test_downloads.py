"""Downloads: only from allowed hosts, never from private networks by accident, within limits."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.server.catalog.archives import archive
from tests.support.certificates import self_signed
from vetro.server import egress
from vetro.server.catalog import sources
from vetro.server.catalog.downloads import FetchFailed, FetchRefused, Source, fetch
from vetro.server.catalog.models import Package
from vetro.server.catalog.sources import BasketFull
from vetro.server.errors import Invalid


class Site:
    """A web server on this machine; ``pages``: path -> (status, headers, body)."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[tuple[str, str]] = []
        self.release = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, self.headers["Host"]))
                if self.path == "/drip":
                    self.send_response(200)
                    self.end_headers()
                    while not site.release.wait(0.02):
                        try:
                            self.wfile.write(b"x")
                        except OSError:
                            return
                    return
                status, headers, body = site.pages.get(self.path, (404, {}, b""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    return

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    found = Site()
    yield found
    found.close()


def source(*hosts: str, seconds: float = 60.0, most: int = 1000) -> Source:
    return Source(hosts, seconds, most)


LOCAL = source("127.0.0.1")


def test_a_file(site: Site) -> None:
    site.pages["/a?b=c"] = (200, {}, b"data")
    assert fetch(f"{site.url}/a?b=c", LOCAL) == b"data"
    assert fetch(f"{site.url}/a?b=c", source(f"127.0.0.1:{site.port}")) == b"data"
    assert site.asked[0] == ("/a?b=c", f"127.0.0.1:{site.port}")


def test_hosts_that_are_not_named_are_not_asked(site: Site) -> None:
    for hosts in ((), ("example.com",), ("127.0.0.1:1",)):
        with pytest.raises(FetchRefused, match="may not be imported"):
            fetch(f"{site.url}/a", source(*hosts))
    assert site.asked == []


def test_everything_means_everything_public(site: Site, monkeypatch: Any) -> None:
    with pytest.raises(FetchRefused, match="no public host"):
        fetch(f"{site.url}/a", source("*"))
    with pytest.raises(FetchRefused, match="no public host"):
        fetch(f"http://[::1]:{site.port}/a", source("*"))
    for address in (
        "10.1.2.3",
        "169.254.169.254",
        "192.168.0.1",
        "100.64.0.1",
        "::ffff:127.0.0.1",
        "fe80::1",
        "0.0.0.0",
    ):
        answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))]
        monkeypatch.setattr(egress.socket, "getaddrinfo", lambda *_, answer=answer, **__: answer)
        with pytest.raises(FetchRefused, match="no public host"):
            fetch("http://innocent.example/a", source("*"))
    # One private address among public ones is enough: nobody knows which one a connection takes.
    for both in (("127.0.0.1", "93.184.215.14"), ("93.184.215.14", "127.0.0.1")):
        mixed = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, site.port)) for address in both]
        monkeypatch.setattr(egress.socket, "getaddrinfo", lambda *_, answer=mixed, **__: answer)
        with pytest.raises(FetchRefused, match="no public host"):
            fetch(f"http://innocent.example:{site.port}/a", source("*"))
    assert site.asked == []


@pytest.mark.attack("uploads", "A7")
def test_names_that_there_are_not_are_answered_like_private_ones(monkeypatch: Any) -> None:
    def resolve(host: str, *_: Any, **__: Any) -> Any:
        if host == "absent.corp":
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", 80))]

    monkeypatch.setattr(egress.socket, "getaddrinfo", resolve)
    answers = []
    for host in ("inside.corp", "absent.corp"):
        with pytest.raises(FetchRefused) as caught:
            fetch(f"http://{host}/a", source("*"))
        answers.append((caught.value.message.replace(host, "HOST"), caught.value.hint, caught.value.code))
    assert answers[0] == answers[1]
    with pytest.raises(FetchFailed, match=r"there is no host 'absent\.corp'"):
        fetch("http://absent.corp/a", source("absent.corp"))


def test_the_address_that_was_checked_is_the_one_that_is_used(site: Site, monkeypatch: Any) -> None:
    site.pages["/a"] = (200, {}, b"data")
    asked = []

    def resolve(host: str, port: int, *_: Any, **__: Any) -> Any:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(egress.socket, "getaddrinfo", resolve)
    assert fetch(f"http://repo.example:{site.port}/a", source("repo.example")) == b"data"
    assert asked.count("repo.example") == 1
    assert site.asked == [("/a", f"repo.example:{site.port}")]


def test_redirects_are_checked_and_counted(site: Site) -> None:
    site.pages["/one"] = (302, {"Location": "/two"}, b"")
    site.pages["/two"] = (200, {}, b"data")
    assert fetch(f"{site.url}/one", LOCAL) == b"data"
    site.pages["/away"] = (302, {"Location": f"http://localhost:{site.port}/two"}, b"")
    with pytest.raises(FetchRefused, match="localhost"):
        fetch(f"{site.url}/away", LOCAL)
    site.pages["/file"] = (302, {"Location": "file:///etc/passwd"}, b"")
    with pytest.raises(Invalid, match="no address"):
        fetch(f"{site.url}/file", LOCAL)
    site.pages["/round"] = (307, {"Location": "/round"}, b"")
    with pytest.raises(FetchFailed, match="more than 5 redirects"):
        fetch(f"{site.url}/round", LOCAL)
    site.pages["/nowhere"] = (302, {}, b"")
    with pytest.raises(FetchFailed, match="not where to"):
        fetch(f"{site.url}/nowhere", LOCAL)


def test_limits(site: Site) -> None:
    site.pages["/big"] = (200, {}, b"x" * 1001)
    with pytest.raises(FetchFailed, match="more than 1000 bytes"):
        fetch(f"{site.url}/big", LOCAL)
    site.pages["/short"] = (200, {"Content-Length": "10"}, b"x")
    with pytest.raises(FetchFailed):
        fetch(f"{site.url}/short", LOCAL)
    with pytest.raises(FetchFailed, match=r"more than 0\.3 seconds"):
        fetch(f"{site.url}/drip", source("127.0.0.1", seconds=0.3, most=10**6))
    with pytest.raises(FetchFailed, match="answered 404"):
        fetch(f"{site.url}/none", LOCAL)


def test_a_drip_under_tls_ends_too(tmp_path: Path, monkeypatch: Any) -> None:
    """Each byte comes in time, so no timeout of a socket ever ends it: the thread would be held for ever."""
    self_signed(tmp_path / "c.pem", tmp_path / "k.pem", "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "c.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c.pem", tmp_path / "k.pem")
    release, ended = threading.Event(), threading.Event()

    def serve(listening: socket.socket) -> None:
        with context.wrap_socket(listening.accept()[0], server_side=True) as client:
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not release.wait(0.05):
                try:
                    client.sendall(b"x")
                except OSError:
                    ended.set()
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        here = listening.getsockname()
        answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", here)]
        monkeypatch.setattr(egress.socket, "getaddrinfo", lambda *_, **__: answer)
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        end = threading.Timer(30, release.set)
        end.start()
        try:
            with pytest.raises(FetchFailed, match="more than 2 seconds"):
                fetch(f"https://localhost:{here[1]}/", source("localhost", seconds=2, most=10**6))
            assert ended.wait(20) and not release.is_set()
        finally:
            release.set()
            end.cancel()
            thread.join()


@pytest.mark.parametrize(
    "url", ["ftp://h/x", "file:///etc/passwd", "http://", "http://u:p@h/x", "http://h:port/", "http://h/a b", "x"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(Invalid, match=r"address"):
        fetch(url, source("*", "h"))


@pytest.fixture
def repository(site: Site, monkeypatch: Any) -> Site:
    """A repository with an application, a library that it requires, and a bundle."""
    monkeypatch.setattr(Source, "configured", classmethod(lambda cls, most=None: source("127.0.0.1", most=1 << 20)))
    app = archive("com.example.App", "1.0.0", Require={"com.example.Lib": 0})
    site.pages["/apps/com.example.App.zip"] = (200, {}, app)
    site.pages["/apps/com.example.App.1.0.0.zip"] = (200, {}, app)
    site.pages["/apps/com.example.Lib.zip"] = (200, {}, archive("com.example.Lib"))
    site.pages["/elsewhere.zip"] = (200, {}, archive("com.example.Else"))
    bundle = (
        b'{"Packages": [{"Name": "com.example.App", "Version": "1.0.0"}, {"Name": "com.example.Gone"},'
        b' {"Version": "1"}, {"Name": "com.example.Else", "Url": "elsewhere.zip"}]}'
    )
    site.pages["/bundles/all.bundle"] = (200, {}, bundle)
    return site


def names() -> set[str]:
    return set(Package.objects.filter(embedded=False).values_list("fqn", flat=True))


def test_import_from_an_address(ann: Any, repository: Site) -> None:
    sources.import_url(ann.caller, f"{repository.url}/apps/com.example.Lib.zip")
    assert names() == {"com.example.Lib"}


def test_import_from_a_repository_follows_requirements(ann: Any, repository: Site) -> None:
    sources.import_repository(ann.caller, repository.url, ["com.example.App"])
    assert names() == {"com.example.App", "com.example.Lib"}
    again = sources.import_repository(ann.caller, repository.url, [("com.example.App", "1.0.0")])
    assert again.packages == [] and [p.fqn for p in again.skipped] == ["com.example.App"]
    for name in ("../../secret", "a/b", ".", ""):
        with pytest.raises(Invalid, match="no name"):
            sources.import_repository(ann.caller, repository.url, [name])


def test_import_of_a_bundle_skips_what_is_gone(ann: Any, repository: Site) -> None:
    _, notes = sources.import_bundle(ann.caller, f"{repository.url}/bundles/all.bundle")
    assert names() == {"com.example.App", "com.example.Lib", "com.example.Else"}
    assert len(notes) == 2 and "without Name" in notes[1] and "com.example.Gone is skipped" in notes[0]


def test_what_one_import_fetches_is_limited(ann: Any, repository: Site, monkeypatch: Any) -> None:
    def refused(match: str) -> None:
        with pytest.raises(BasketFull, match=match):
            sources.import_repository(ann.caller, repository.url, ["com.example.App"])
        with pytest.raises(Invalid, match=match):
            sources.import_bundle(ann.caller, f"{repository.url}/bundles/all.bundle")
        assert not names()

    with monkeypatch.context() as patched:
        patched.setattr(sources, "MOST", 1)
        refused("more than 1 packages")
    with monkeypatch.context() as patched:
        patched.setattr(sources, "MOST_BYTES", 600)
        refused("more than 0 MiB")
    with monkeypatch.context() as patched:
        patched.setattr(sources, "PATIENCE", 0)
        refused("more than 0 seconds")
    bundle = b'{"Packages": [{"Name": "com.example.Lib"}, {"Name": "com.example.Lib"}]}'
    repository.pages["/bundles/twice.bundle"] = (200, {}, bundle)
    sources.import_bundle(ann.caller, f"{repository.url}/bundles/twice.bundle")
    assert names() == {"com.example.Lib"}


@pytest.mark.parametrize(
    "address",
    ["64:ff9b::a00:1", "64:ff9b:1::7f00:1", "64:ff9b:1:7f00:1::", "::7f00:1", "::1", "::ffff:10.0.0.1",
     "2002:a00:1::", "fe80::1%eth0", "fec0::1", "5f00::1", "169.254.169.254", "100.64.0.1", "192.0.0.192",
     "168.63.129.16", "::ffff:192.0.0.192", "ff0e::1"]
)  # fmt: skip
def test_private_addresses_in_any_dress(address: str) -> None:
    assert not egress.is_public(address)
    assert egress.is_public("64:ff9b::808:808") and egress.is_public("8.8.8.8") and egress.is_public("2606:4700::1")


@pytest.mark.parametrize("data", [b"[]", b"{", b"Packages: 5", b"Packages: [x]", b"a: &x 1\nPackages: [*x]"])
def test_what_is_no_bundle(data: bytes) -> None:
    with pytest.raises(Invalid, match="bundle"):
        sources.read_bundle(data)


def test_bundles_may_be_yaml() -> None:
    assert sources.read_bundle(b"Packages:\n- Name: a.B\n  Version: 1.0\n") == [
        {"name": "a.B", "version": "1.0", "url": ""}
    ]
