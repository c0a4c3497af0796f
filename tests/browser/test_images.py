"""Marking an image by mouse."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import violations, wider_than_the_window


@pytest.mark.campaign
def test_an_image_is_marked_and_unmarked(page_for: Any) -> None:
    page = page_for("root")
    page.goto("/app/packages/images")
    row = page.locator(".category-list li", has_text="debian-docker-murano")
    row.get_by_text("Change debian-docker-murano").click()
    row.get_by_label("Title").fill("Containers")
    row.get_by_label("Type").fill("linux.docker.new")
    page.set_viewport_size({"width": 390, "height": 844})
    assert not violations(page) and not wider_than_the_window(page)
    row.get_by_role("button", name="Save").click()
    expect(page.locator("#notices")).to_contain_text("Forms offer the image as Containers now.")
    expect(row).to_contain_text("linux.docker.new")
    page.on("dialog", lambda dialog: dialog.accept())
    row.get_by_role("button", name="Remove the mark").click()
    expect(page.locator("#notices")).to_contain_text("do not offer")
    expect(row).not_to_contain_text("Containers")
    row.get_by_text("Mark debian-docker-murano").click()
    row.get_by_label("Title").fill("Debian with Docker (recorded)")
    row.get_by_label("Type").fill("linux.docker")
    row.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Debian with Docker (recorded)")
