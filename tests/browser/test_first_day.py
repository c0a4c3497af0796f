"""How many pages and presses the first day takes, where servers are recorded (`test_first_day_real`: on real ones)."""

from __future__ import annotations

from typing import Any

from tests.browser.kit_first_day import Counted, deploy_database
from tests.browser.kit_journey import arrive, newcomer


def test_from_home_to_an_application_in_four_pages(service: Any, page_for: Any) -> None:
    page = page_for()
    arrive(page, *newcomer(service, "may"))
    page.goto("/app/")
    tab = Counted(page)
    tab.begin()
    deploy_database(tab)
    print(f"\npages {tab.pages}, presses {tab.presses}, {tab.seconds:.1f} s")
    assert len(tab.pages) <= 4, tab.pages
    assert len(tab.presses) <= 7, tab.presses
