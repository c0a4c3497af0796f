"""Connections on which nothing comes: proxies have to know when the service closes them."""

from __future__ import annotations

import re

from tests.operations.test_files import DEPLOY
from vetro.server.http.server import IDLE_SECONDS


def test_proxies_give_idle_connections_up_before_the_service_does() -> None:
    for name in ("vetro.conf", "compose.conf"):
        (seconds,) = re.findall(r"keepalive_timeout (\d+)s;", (DEPLOY / "nginx" / name).read_text())
        assert int(seconds) < IDLE_SECONDS
    text = (DEPLOY.parent / "docs/operations/many-machines.md").read_text()
    assert f"nothing comes for {IDLE_SECONDS} s" in text
