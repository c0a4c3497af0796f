"""Two journeys on real servers, counted: an operator begins, a consumer deploys and opens.

Needs root and systemd-nspawn. The image is the one that all tests share: instead of mmdebstrap its archive is copied,
so the seconds of the operator are without what a mirror takes.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Running
from tests.browser.kit_first_day import LONG, Counted, deploy_database
from tests.browser.kit_journey import step
from tests.browser.kit_real import running_on_servers
from tests.browser.test_realize_real import COPY
from tests.catalog.life import within
from tests.support.image_tool import becomes, image_tool
from tests.support.servers import real_servers
from vetro.clouds.images.recipe import DEFAULT

pytestmark = pytest.mark.campaign
#: When `vetro serve` was started.
_begun: list[float] = []


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service on a machine that has all but an image."""
    built = real_servers().get(DEFAULT)
    folder = tmp_path_factory.mktemp("real")
    with pytest.MonkeyPatch.context() as patch:
        becomes(image_tool(folder / "bin", patch), COPY.replace("{tar}", str(built.tar)))
        _begun[:] = [time.monotonic()]
        with running_on_servers(folder, VETRO_IMAGES=str(folder / "images")) as made:
            yield made


@pytest.mark.timeout(900)
def test_the_first_day_on_real_servers(service: Running, page_for: Any) -> None:
    operator = Counted(page_for("root"))
    page = operator.page
    with step(page, "operator: an image"):
        page.goto("/app/operation/")
        expect(page.locator("[data-step=image].done")).to_have_count(0)
        operator.press("link", "Make an image")
        operator.press("button", "Build the image")
        expect(page.get_by_role("status").first).to_contain_text("nspawn makes them", timeout=LONG)
    with step(page, "operator: a catalog"):
        page.goto("/app/catalog/")
        operator.press("button", "Import the examples")
        expect(page.locator("#notices")).to_contain_text("imported", timeout=LONG)
    with step(page, "operator: a first server"):
        page.goto("/app/")
        deploy_database(operator)
        page.goto("/app/operation/cloud")
        expect(page.locator("[data-server]")).to_have_count(1)
    spent = time.monotonic() - _begun[0]
    print(f"\noperator: {spent:.1f} s since vetro serve was started, {len(operator.presses)} presses")

    consumer = Counted(page_for("ann"))
    page = consumer.page
    page.goto("/app/")
    consumer.begin()
    deploy_database(consumer)
    with step(page, "consumer: open it"):
        link = page.get_by_role("link", name="Open http").first
        address = link.get_attribute("href")
        assert address is not None
        # The database answers, and wants its token.
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address, timeout=20)
    opened, pages = consumer.seconds, list(consumer.pages)
    print(f"consumer: {len(pages)} pages {pages}, {len(consumer.presses)} presses, {opened:.1f} s")

    assert len(pages) <= 4
    assert opened <= within(60) and spent <= within(180)
