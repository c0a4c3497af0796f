"""The image of servers is built from a page, from the API and by the command, and then servers are real."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.support.image_tool import SMALL, becomes, image_lacks
from vetro.clouds.drivers.errors import HelperAway
from vetro.clouds.helper import presence
from vetro.clouds.helper.limits import HelperLimits
from vetro.clouds.helper.service import CloudHelper, listening
from vetro.clouds.images.store import ImageStore
from vetro.clouds.nspawn.driver import NspawnDriver
from vetro.clouds.nspawn.kind import NspawnKind
from vetro.clouds.stacks.kind import BUILD_IMAGE, NO_IMAGE
from vetro.server.audit.models import AuditRecord
from vetro.server.config import cloud_settings

Browser = Callable[[Any], Client]
HERE = "/app/packages/images/build"
PATIENCE = 60.0


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return image_lacks(tmp_path, monkeypatch)


def shown(browser: Client, until: str) -> str:
    """The part that the page asks for again and again, once it says this."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = browser.get(HERE, headers={"HX-Request": "true", "HX-Target": "build"})
        page = str(answer.content.decode())
        assert answer.status_code == 200 and "<html" not in page and time.monotonic() < end, page
        if until in page:
            return page
        assert "every 1s" in page and "since the beginning" in page, page
        time.sleep(0.1)


def test_administrators_build_it_from_a_page(root: Any, ann: Any, browser: Browser, tool: Path) -> None:
    boss = browser(root)
    for method in (browser(ann).get, browser(ann).post):
        assert method(HERE).status_code == 403
    assert "Build the image" in boss.get(HERE).content.decode()
    # Whoever comes for the first time reads what is not real, and what makes it so, before there is anything.
    for path in ("/app/environments/", "/app/catalog/", "/app/environments/new"):
        page = boss.get(path).content.decode()
        assert 'id="simulated"' in page and "no server is started" in page and "Make servers real" in page, path
        page = browser(ann).get(path).content.decode()
        assert 'id="simulated"' in page and "Whoever runs this service" in page and HERE not in page, path
    becomes(tool, "#!/bin/sh\necho 'E: <b>no mirror</b>'\nexit 5\n")
    assert boss.post(HERE, follow=True).redirect_chain == [(HERE, 302)]
    page = shown(boss, "could not be built")
    assert "status 5" in page and "&lt;b&gt;no mirror&lt;/b&gt;" in page and "apt-get update" in page
    assert "Build the image" in page, "it can be tried again"

    becomes(tool, f"{SMALL}touch {tool.parent}/waits; while [ ! -e {tool.parent}/go ]; do sleep 0.05; done\n")
    boss.post(HERE)
    end = time.monotonic() + PATIENCE
    while not (tool.parent / "waits").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    again = boss.post(HERE, follow=True).content.decode()
    assert "is being built already" in again and "extracting archives" in again
    (tool.parent / "go").touch()  # nobody looks meanwhile
    page = shown(boss, "Servers of new environments are real: nspawn")
    assert "The image was built in" in page and "Build the image" not in page
    said = AuditRecord.objects.filter(action="image.build").values_list("target_name", "user_name")
    assert [name for name, _ in said] == ["debian-12"] * 2
    page = boss.get("/app/environments/").content.decode()
    assert "Make servers real" not in page and "simulated" not in page


def test_who_comes_from_an_environment_makes_it_real_by_the_same_press(root: Any, browser: Browser, tool: Path) -> None:
    boss = browser(root)
    environment = root.post("/v2/environments", {"name": "shop"}).json()["id"]
    page = boss.get(f"{HERE}?environment={environment}").content.decode()
    assert 'name="then" value="realize" data-confirm="When the image is there' in page
    becomes(tool, SMALL)
    for then, goes_on in (({}, False), ({"then": "realize"}, True)):
        answer = boss.post(HERE, {"environment": environment, **then})
        end = time.monotonic() + PATIENCE
        while "is being built" in (page := boss.get(answer["Location"]).content.decode()):
            assert time.monotonic() < end
            assert ("As long as this page is open" in page) is goes_on
            time.sleep(0.1)
        action = f"/app/environments/{environment}/realize"
        assert f'action="{action}"' in page and (f'hx-post="{action}" hx-trigger="load, submit"' in page) is goes_on
    assert "hx-post" not in boss.get(HERE).content.decode(), "of no environment"


def test_the_api_builds_it(root: Any, ann: Any, tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ann.post("/v2/images/build").status_code == 403 and ann.get("/v2/images/build").status_code == 403
    found = root.get("/v2/images/build").json()
    assert found["wanted"] is True and found["kind"] == "nspawn" and found["build"] is None
    becomes(tool, SMALL)
    answer = root.post("/v2/images/build")
    assert answer.status_code == 202 and answer.json()["build"]["state"] == "running"
    end = time.monotonic() + PATIENCE
    while (found := root.get("/v2/images/build").json())["build"]["state"] == "running":
        assert time.monotonic() < end
        time.sleep(0.1)
    assert found["build"]["state"] == "done" and found["wanted"] is False and found["lacks"] == "", json.dumps(found)
    monkeypatch.setattr(NspawnKind, "missing", lambda *_: "these programs are not installed: nft")
    refused = root.post("/v2/images/build")
    assert refused.status_code == 409 and "these programs are not installed: nft" in refused.content.decode()


def test_an_image_that_another_process_built_is_seen_at_once(tool: Path, tmp_path: Path) -> None:
    from vetro.server.setup import config

    assert not cloud_settings.selection(config()).executes
    version = tmp_path / "images/debian-12/1"
    version.mkdir(parents=True)
    (version / "manifest.json").write_text('{"serves": [], "info": {}}')
    assert not cloud_settings.selection(config()).executes  # it is being built
    (version.parent / "current").symlink_to("1")
    assert cloud_settings.selection(config()).executes


@pytest.mark.skipif(os.geteuid() != 0, reason="the cloud helper is root's")
def test_an_image_of_the_cloud_helper_is_seen_at_once(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service without rights cannot look into the folder of images, and the helper keeps what it found missing."""
    from vetro.server.setup import config

    place = tmp_path / "socket"
    driver = NspawnDriver(tmp_path / "helper", images=(images := ImageStore(tmp_path / "theirs")))

    def lacks() -> tuple[str, str | None] | None:
        return None if images.list() else (NO_IMAGE, BUILD_IMAGE)

    helper = CloudHelper(tmp_path, driver, HelperLimits(), os.geteuid(), lacks)
    listener = listening(place, os.getegid())
    threading.Thread(target=helper.serve, args=(listener,), daemon=True).start()
    monkeypatch.setenv("VETRO_CLOUD_HELPER", str(place))
    monkeypatch.setattr("vetro.clouds.nspawn.kind._helped", lambda directory: True)
    try:
        assert not cloud_settings.selection(config()).executes and cloud_settings.kept(config()) == "record"
        version = images.folder / "debian-12/1"
        version.mkdir(parents=True)
        (version / "manifest.json").write_text('{"serves": [], "info": {}}')
        assert not cloud_settings.selection(config()).executes
        (version.parent / "current").symlink_to("1")
        assert cloud_settings.kept(config()) == "nspawn" and cloud_settings.selection(config()).executes
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def test_a_cloud_helper_that_is_away_is_not_asked_by_every_page(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vetro.server.setup import config

    asked = list[str]()

    def away(name: str, seconds: float = 0) -> None:
        asked.append(name)
        raise HelperAway("the cloud helper does not answer: timed out")

    monkeypatch.setattr(presence, "_asked", away)
    monkeypatch.setattr(presence, "address", lambda: tmp_path)
    monkeypatch.setattr("vetro.clouds.nspawn.kind._helped", lambda directory: True)
    for _ in range(5):
        assert not cloud_settings.selection(config()).executes
    assert asked == ["image_names", "lacks"]
    monkeypatch.setattr(cloud_settings, "_chosen", {})
    monkeypatch.setattr(presence, "address", lambda: tmp_path / "nowhere")
    assert not cloud_settings.selection(config()).executes
    del asked[:]
    assert not cloud_settings.selection(config()).executes and not asked, "there is none"
