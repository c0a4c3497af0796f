"""The pages about forms do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ended_processes, kept_processes
from tests.docs.pages import ROOT, Page, prepare
from vetro.forms.vocabulary import vocabulary_schema

__all__ = ["ended_processes", "kept_processes"]

#: The page about the API is tried with a service: tests/server/forms/test_docs.py.
PAGES = sorted(page for page in (ROOT / "docs" / "forms").glob("*.md") if page.name != "api.md")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any) -> None:
    prepare(tmp_path, monkeypatch)
    with django_db_blocker.unblock():  # commands about this machine bring a database of their own
        Page(path, tmp_path).run()


def test_every_word_of_the_vocabulary_is_on_the_page() -> None:
    words = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "forms" / "schema.md").read_text(encoding="utf-8")))
    assert set(vocabulary_schema()["properties"]) <= words
