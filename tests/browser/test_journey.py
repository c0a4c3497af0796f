"""The whole journey by mouse: from an empty catalog to an application that is changed, used and removed."""

from __future__ import annotations

import re
from typing import Any

from tests.browser import kit_journey as journey


def test_the_whole_journey(service: Any, page_for: Any) -> None:
    page = page_for()
    # Recorded servers answer nobody: what would be there is put into the network's place.
    page.context.route(re.compile(r"^http://[\d.]+:8080/$"), lambda route: route.fulfill(body="Somebody answers"))
    journey.arrive(page, *journey.newcomer(service, "jo"))
    journey.choose(page)
    journey.fill_in(page)
    journey.plan_and_deploy(page)
    journey.visit(page, "Somebody answers")
    journey.change(page)
    journey.use(page, "recorded")
    journey.remove(page)
