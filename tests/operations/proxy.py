"""An nginx that runs the file of deploy/nginx in front of servers of a test: other addresses, ports and certificate."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.certificates import self_signed
from tests.support.waiting import until

DEPLOY = Path(__file__).parents[2] / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
NAME = "vetro.example.org"


def missing_nginx() -> str | None:
    """Why there is no proxy on this machine; an error where CI promises one."""
    if NGINX is None and os.environ.get("CI") == "true":
        raise RuntimeError("nginx must be installed")
    return None if NGINX else "needs nginx"


@dataclass(frozen=True)
class Proxy:
    port: int
    plain_port: int
    certificate: Path


@contextmanager
def in_front_of(servers: Sequence[str], folder: Path) -> Iterator[Proxy]:
    """The proxy, as host:port of servers; gone at the end."""
    assert NGINX is not None
    proxy = Proxy(free_port(), free_port(), folder / "fullchain.pem")
    self_signed(folder / "fullchain.pem", folder / "privkey.pem", NAME, "localhost")
    text = (DEPLOY / "nginx" / "vetro.conf").read_text()
    given = "".join(f"    server {server} max_fails=1 fail_timeout=5s;\n" for server in servers)
    example = "".join(f"    server 10.0.0.1{number}:8082 max_fails=1 fail_timeout=5s;\n" for number in (1, 2))
    for old, new in (
        (example, given),
        ("listen 443 ssl", f"listen 127.0.0.1:{proxy.port} ssl"),
        ("listen 80;", f"listen 127.0.0.1:{proxy.plain_port};"),
        ("/etc/ssl/vetro/", f"{folder}/"),
        ("/etc/nginx/vetro-proxy.inc", str(DEPLOY / "nginx" / "proxy.inc")),
    ):
        assert old in text, old
        text = text.replace(old, new)
    (folder / "vetro.conf").write_text(text)
    places = "".join(
        f"  {name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        ("user root;\n" if os.geteuid() == 0 else "")
        + f"daemon off;\npid {folder}/pid;\nerror_log stderr warn;\nworker_processes 1;\n"
        + f"events {{}}\nhttp {{\n  access_log off;\n{places}  include {folder}/vetro.conf;\n}}\n"
    )
    command = [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    tried = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=30)
    assert tried.returncode == 0, tried.stderr
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until(lambda: process.poll() is not None or _listens(proxy.port))
        assert process.poll() is None
        yield proxy
    finally:
        process.terminate()
        process.wait(30)


def trusting(proxy: Proxy) -> ssl.SSLContext:
    """A client's context that believes the proxy's certificate."""
    return ssl.create_default_context(cafile=str(proxy.certificate))


def free_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
