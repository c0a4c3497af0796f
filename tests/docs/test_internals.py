"""docs/internals.md leads people to files: each one that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Where the page's paths begin: at the repository, at the package, and at the layer that a chapter is about.
BEGINNINGS = (ROOT, ROOT / "src/vetro", ROOT / "src/vetro/muranopl", ROOT / "src/vetro/yaql", ROOT / "src/vetro/server")


def test_every_file_and_folder_of_the_page_is_there() -> None:
    page = (ROOT / "docs/internals.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+(?:/\w+)+(?:\.py|/)?)`", page))
    assert len(named) > 60
    assert not sorted(name for name in named if not any((start / name).exists() for start in BEGINNINGS))
