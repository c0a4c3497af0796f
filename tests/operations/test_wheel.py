"""Vetro from its wheel, without a clone: it carries pages, browser code, examples, standard packages and translations.

The distributions that it needs are those of the tests.
"""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugins.conftest import ROOT, install  # noqa: F401 - a fixture
from tests.server.servekit import Service


class InstalledService(Service):
    """`vetro serve` of a wheel that was installed into a folder."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder, self.ready, self.errors = folder, folder / "ready.json", folder / "stderr"
        hidden = ("VETRO_", "PYTHON", "DJANGO_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.environment |= {"VETRO_DATA": str(folder / "data"), "PYTHONPATH": str(site), "HOME": str(folder)}
        self.environment["VETRO_CLOUD__KIND"] = "record"
        words = [sys.executable, "-m", "vetro", "serve", "--port", "0", "--ready-file", str(self.ready)]
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(words, env=self.environment, stderr=errors, cwd=folder)

    def vetro(self, *words: str) -> str:
        """Standard output of a command that succeeds."""
        argv = [sys.executable, "-m", "vetro", *words]
        done = subprocess.run(
            argv, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.mark.campaign
def test_a_wheel_is_all_of_vetro(tmp_path: Path, install: Callable[[Path], Path]) -> None:  # noqa: F811
    site = install(ROOT)
    service = InstalledService(tmp_path, site)
    try:
        service.await_ready(400)
        where = [sys.executable, "-c", "import vetro; print(vetro.__file__)"]
        found = subprocess.run(where, env=service.environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert Path(found.stdout.strip()).is_relative_to(site), "not from this checkout"

        # The first administrator comes in by the link that is told, and fills the catalog by one press.
        link = re.search(r"http\S+/app/link/\S+", service.errors.read_text())
        assert link is not None
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        page = opener.open(link[0], timeout=120).read().decode()

        def press(path: str, page: str) -> str:
            (mark,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page))
            data = urllib.parse.urlencode({"csrfmiddlewaretoken": mark}).encode()
            return opener.open(urllib.parse.urljoin(link[0], path), data, timeout=300).read().decode()

        press(urllib.parse.urlsplit(link[0]).path, page)
        page = opener.open(urllib.parse.urljoin(link[0], "/app/catalog/"), timeout=120).read().decode()
        assets = set(re.findall(r'(?:href|src)="(/static/[^"#?]+)', page))
        assert any("/vendor/" in path for path in assets)
        assert {path: service.get(path)[0] for path in assets} == dict.fromkeys(assets, 200)
        assert "Banner" in press("/app/catalog/examples", page)
        assert service.get("/app/login", **{"Accept-Language": "de"})[1].decode().count("Anmelden")
    finally:
        service.end()

    # The same program without a server: an application of the examples that it carries.
    examples = site / "vetro" / "examples" / "deploy"
    place = ["--workspace", str(tmp_path / "workspace")]
    service.vetro(
        "deploy",
        str(examples),
        "--class",
        "com.example.vetro.Banner",
        "--env",
        "web",
        "--driver",
        "record",
        "--quiet",
        *place,
    )
    shown = json.loads(service.vetro("env", "show", "web", "-o", "json", *place))
    assert shown["simulated"] is True and shown["status"] == "ready"
