"""Certificates that servers make themselves: once, for a name, with the key beside or within."""

from __future__ import annotations

import importlib.util
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from vetro.library import std_package

SCRIPT = Path(str(std_package().location)) / "Resources" / "scripts" / "certificate.py"

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


@pytest.fixture
def script() -> Any:
    spec = importlib.util.spec_from_file_location("certificate", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(path: Path) -> str:
    command = ["openssl", "x509", "-in", str(path), "-noout", "-ext", "subjectAltName"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_one_file_with_both(script: Any, tmp_path: Path) -> None:
    path = tmp_path / "tls" / "site.pem"
    given = {"name": "www.example.org", "path": str(path)}
    assert script.own(given) == {"changed": True}
    text = path.read_text()
    assert "BEGIN CERTIFICATE" in text and "PRIVATE KEY" in text and "DNS:www.example.org" in names(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert script.own(given) == {"changed": False} and path.read_text() == text
    assert [one.name for one in path.parent.iterdir()] == ["site.pem"]


def test_another_name_needs_another_one(script: Any, tmp_path: Path) -> None:
    path, key = tmp_path / "site.crt", tmp_path / "site.key"
    given = {"name": "a.example.org", "path": str(path), "key": str(key)}
    assert script.own(given)["changed"] and "PRIVATE KEY" not in path.read_text() and "PRIVATE KEY" in key.read_text()
    assert script.own({**given, "name": "b.example.org"})["changed"] and "DNS:b.example.org" in names(path)
    key.unlink()
    assert script.own({**given, "name": "b.example.org"})["changed"] and key.exists()


def test_one_that_ends_soon_is_made_anew(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"name": "a.example.org", "path": str(tmp_path / "site.pem")}
    monkeypatch.setattr(script, "DAYS", 20)
    assert script.own(given)["changed"] and script.own(given)["changed"]
    monkeypatch.setattr(script, "DAYS", 825)
    assert script.own(given)["changed"] and not script.own(given)["changed"]
