"""The whole journey by mouse: from an empty catalog to an application that is changed, used and removed."""

from __future__ import annotations

from typing import Any

from tests.browser import kit_journey as journey


def test_the_whole_journey(service: Any, page_for: Any) -> None:
    page = page_for()
    journey.arrive(page, *journey.newcomer(service, "jo"))
    journey.choose(page)
    journey.fill_in(page)
    journey.plan_and_deploy(page)
    journey.find_simulated(page)
    journey.change(page)
    journey.use(page, "recorded")
    journey.remove(page)
