"""The guides do what they say; links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ended_processes, kept_processes
from tests.docs.pages import ROOT, Page, prepare

__all__ = ["ended_processes", "kept_processes"]

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "authors").glob("*.md"))]
#: Other tests try these.
ELSEWHERE = {"cli.md", "errors.md", "yaql-deviations.md"}
#: It starts a dozen programs; tests/cli and tests/packages use the same of Vetro.
LONG = {"python-api.md"}
#: Pages outside of docs/ whose links are tried.
MORE = [
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md")),
    *(ROOT / "examples").glob("**/README.md"),
    *(ROOT / "plugins").glob("**/README.md"),
    *(ROOT / "docs" / "operations").glob("*.md"),
    *(ROOT / "docs" / "authors" / "std").glob("*.md"),
    ROOT / "deploy" / "README.md",
]
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, id=str(p.relative_to(ROOT)), marks=[pytest.mark.campaign] if p.name in LONG else [])
        for p in PAGES
        if p.name not in ELSEWHERE
    ],
)
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any) -> None:
    prepare(tmp_path, monkeypatch)
    with django_db_blocker.unblock():  # commands about this machine bring a database of their own
        Page(path, tmp_path).run()


def anchors(page: Path) -> set[str]:
    """Names of the headings of a page, as links write them."""
    titles = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", [*PAGES, *MORE], ids=lambda p: str(p.relative_to(ROOT)))
def test_links(path: Path) -> None:
    for target, anchor in LINK.findall(FENCED.sub("", path.read_text(encoding="utf-8"))):
        if "://" not in target:
            page = path.parent / target if target else path
            assert page.exists(), f"{path.name}: {target} is not there"
            assert not anchor or anchor in anchors(page), f"{path.name}: {target} has no heading for #{anchor}"


def test_every_page_is_on_the_map() -> None:
    reached = {ROOT / "docs" / "index.md"}
    work = list(reached)
    while work:
        page = work.pop()
        for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve()
            if found.suffix == ".md" and found.exists() and found not in reached:
                reached.add(found)
                work.append(found)
    assert [p.name for p in (ROOT / "docs").rglob("*.md") if p.resolve() not in reached] == []
