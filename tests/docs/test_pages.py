"""The guides do what they say; links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Page, prepare

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "authors").glob("*.md"))]
#: Other tests try these.
ELSEWHERE = {"cli.md", "errors.md", "yaql-deviations.md"}
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("path", [p for p in PAGES if p.name not in ELSEWHERE], ids=lambda p: str(p.relative_to(ROOT)))
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path, monkeypatch)
    Page(path, tmp_path).run()


@pytest.mark.parametrize("path", [*PAGES, ROOT / "examples" / "README.md"], ids=lambda p: str(p.relative_to(ROOT)))
def test_links(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name}: {target} is not there"


def test_every_page_is_on_the_map() -> None:
    reached = {ROOT / "docs" / "index.md"}
    work = list(reached)
    while work:
        page = work.pop()
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve()
            if found.suffix == ".md" and found.exists() and found not in reached:
                reached.add(found)
                work.append(found)
    assert [p.name for p in (ROOT / "docs").rglob("*.md") if p.resolve() not in reached] == []
