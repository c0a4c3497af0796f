"""Markdown of packages as HTML: what it should be, and what hostile texts and hostile readers of them do not get."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.catalog.inspection.markdown import tokens
from vetro.server.web.markdown import html


def shown(text: str, headings: int = 2) -> str:
    def link(kind: str, target: str) -> str | None:
        return target if target.startswith(("https://", "#", "/")) and "javascript" not in target else None

    return html(tokens(text), link, headings)


def test_what_people_write_is_shown() -> None:
    page = shown(
        "# Shop\n\nSells *things*, `now`.\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```sh\nls\n```\n"
    )
    assert '<h3 id="shop">Shop</h3>' in page and "<em>things</em>" in page and "<code>now</code>" in page
    assert "<li>one</li>" in page and '<td class="text-end">2</td>' in page
    assert '<pre class="document" tabindex="0" data-language="sh"><code>ls\n</code></pre>' in page
    assert 'href="https://a.example/" rel="noreferrer noopener" target="_blank"' in shown("[a](https://a.example/)")
    assert shown("| | b |\n|---|---|\n| 1 | 2 |").count("<th>") == 1  # an empty one heads nothing
    assert '<a href="#shop">' in shown("[a](#shop)") and 'id="a-1"' in shown("# a\n# a")


@pytest.mark.attack("pages", "script in a README")
def test_nothing_of_a_text_runs() -> None:
    page = shown(
        "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> **kept**\n\n[x](javascript:alert(1)) "
        '![y](data:text/html,x)\n\n```"><script>\n<b>\n```\n\n# <i onclick=x>a</i>\n\n[q](https://a.example/"onclick=x)'
    )
    assert "<script" not in page and "onerror" not in page and 'href="javascript' not in page and "<i" not in page
    assert "<strong>kept</strong>" in page and "&lt;b&gt;" in page and '"onclick' not in page


@pytest.mark.attack("pages", "a reader of READMEs that was taken over")
def test_nothing_of_the_tokens_is_believed() -> None:
    hostile: list[Any] = [
        ["heading_open", "script", {}, "", "", None, False], ["inline", "", {}, "", "", [], False],
        ["heading_close", "h9", {}, "", "", None, False], ["evil_open", "script", {"x": "y"}, "", "", None, False],
        ["paragraph_open", "iframe", {"onclick": "x", "style": "x:y"}, "", "", None, False],
        ["link_open", "a", {"href": "javascript:x"}, "", "", None, False], ["link_close", "a", {}, "", "", None, False],
        ["fence", "x", {}, "<b>", '"><script>', None, False], ["text", "x", {}, "<b>", "", None, False],
        ["link_close", "a", {}, "", "", None, False], ["ordered_list_open", "ol", {"start": '"x'}, "", "", None, False],
        "nothing", ["short"], None, [1, 2, 3, 4, 5, 6, 7],
    ]  # fmt: skip
    page = html(hostile, lambda kind, target: None)
    assert "script" not in page and "onclick" not in page and "iframe" not in page and "<b>" not in page
    assert "</a>" not in page and "start" not in page
    assert html("nothing", lambda kind, target: None) == ""
