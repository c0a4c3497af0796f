"""WordPress, MariaDB and HAProxy of one form in a browser: answers counted, and the seconds until the site is open.

Needs root and systemd-nspawn. Servers install packages that lie in their image: the cache is warm.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Running
from tests.browser.kit_applications import LONG, PASSWORD, await_end, begin, publish, remove, review, wordpress
from tests.browser.kit_real import running_on_servers
from tests.catalog.life import told, within
from tests.support.servers import real_servers, warm_images


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose servers are real, and start from the warm image."""
    real_servers()
    images = {"VETRO_CLOUD__DRIVER": "nspawn", "VETRO_IMAGES": str(warm_images())}
    with running_on_servers(tmp_path_factory.mktemp("real"), **images) as made:
        yield made


@pytest.mark.campaign
@pytest.mark.timeout(2400)
def test_a_site_of_one_form_is_open_soon(service: Running, page_for: Any) -> None:
    publish(service, "MariaDB", "HAProxy", "WordPress")
    page = page_for("root")
    form = begin(page, "WordPress")
    wordpress(form)
    review(page)
    assert PASSWORD not in page.content()

    since = time.monotonic()
    page.get_by_role("button", name="Deploy", exact=True).last.click()
    await_end(page)
    link = page.get_by_role("link", name="Open http").first
    expect(link).to_be_visible()
    with page.expect_popup(timeout=LONG) as opened:
        link.click()
    site = opened.value
    expect(site).to_have_title("Notes on engines")
    expect(site.get_by_role("link", name="Notes on engines").first).to_be_visible()
    seconds = time.monotonic() - since
    told(f"WordPress, MariaDB, HAProxy: {len(form.answers)} answers, open {seconds:.1f} s after Deploy")
    site.close()
    page.get_by_role("link", name="To the environment").click()
    page.wait_for_url("**/app/environments/*/")
    remove(page, page.url)
    assert len(form.answers) <= 12, form.answers
    assert seconds <= within(120), seconds
