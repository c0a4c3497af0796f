"""What every page does: errors in words, with a way back."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        ("http://testserver/app/environments/?q=a%22b", "/app/environments/?q=a%22b"),
        ("http://testserver/app/environments/gone/", None),  # the page itself
        ("http://testserver/v2/me", None),
        ("http://elsewhere.example/app/environments/", None),
        ("javascript:alert(1)", None),
        ("http://[broken/app/", None),
        ("", None),
    ],
)
def test_an_error_leads_back_to_the_page_of_ours_that_one_came_from(
    ann: Any, browser: Any, referer: str, back: str | None
) -> None:
    answer = browser(ann).get("/app/environments/gone/", headers={"referer": referer})
    assert answer.status_code == 404
    text = answer.content.decode()
    assert (f'href="{back}">Back' in text) if back else ">Back<" not in text
    assert 'href="/app/">To the catalog' in text
