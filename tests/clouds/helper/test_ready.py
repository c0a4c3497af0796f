"""The helper says to systemd when it listens, so that the service that is started after it finds it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.support.cloud_helper import PATIENCE, cloud_helper


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_it_is_ready_when_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, place = tmp_path / "notify", tmp_path / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(told))
        systemd.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", str(told))
        with cloud_helper(tmp_path / "helper", place):
            assert systemd.recv(100) == b"READY=1"
            with socket.socket(socket.AF_UNIX) as asked:
                asked.connect(str(place))
    unit = (Path(__file__).parents[3] / "deploy/systemd/vetro-cloud-helper.service").read_text()
    assert "\nType=notify\n" in unit and "\nBefore=vetro.service\n" in unit
