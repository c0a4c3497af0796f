"""The picture of an environment in windows of any size."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.kit import painted
from tests.support.waiting import until

_OUTSIDE = """() => {
  const canvas = document.getElementById("canvas"), box = canvas.graph.elements().renderedBoundingBox();
  return box.x1 < 0 || box.y1 < 0 || box.x2 > canvas.clientWidth || box.y2 > canvas.clientHeight;
}"""
_ZOOM = "document.getElementById('canvas').graph.zoom()"


def test_it_fits_until_somebody_looks_closer(filled: dict[str, str], page_for: Any) -> None:
    page = page_for("ann")
    page.goto(f"/app/environments/{filled['live']}/topology")
    expect(page.locator("#topology[data-drawn]")).to_be_visible()
    assert not page.evaluate(_OUTSIDE)
    for width in (390, 800, 1440):
        before = page.evaluate(_ZOOM)
        page.set_viewport_size({"width": width, "height": 844})
        until(lambda: page.evaluate(_ZOOM) != before)  # noqa: B023 - it is called at once
        assert not page.evaluate(_OUTSIDE), width
        # Thirteen pixels high without zoom: names can be read on a phone, too.
        assert page.evaluate(_ZOOM) * 13 > 7.5, (width, page.evaluate(_ZOOM))
    page.get_by_role("button", name="Closer").click()
    closer = page.evaluate(_ZOOM)
    page.set_viewport_size({"width": 390, "height": 844})
    painted(page)
    assert page.evaluate(_ZOOM) == closer
    page.get_by_role("button", name="All").click()
    assert not page.evaluate(_OUTSIDE)
