"""The whole journey by mouse: from an empty catalog to an application that is changed, used and removed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import kit_journey as journey


@pytest.mark.campaign  # by default the first day, to an application that runs (test_first_day.py)
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
