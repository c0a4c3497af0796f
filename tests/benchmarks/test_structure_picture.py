"""The picture of imports, of a small source whose order is plain to see."""

from __future__ import annotations

from pathlib import Path

from benchmarks.structure import modules
from benchmarks.structure_picture import drawn, edges_of, ordered

FILES = {
    "vetro/__init__.py": "",
    "vetro/low/__init__.py": "",
    "vetro/low/one.py": "",
    "vetro/server/__init__.py": "",
    "vetro/server/start.py": "from vetro.server.app import views\n",
    "vetro/server/errors.py": "from vetro.low import one\n",
    "vetro/server/app/__init__.py": "",
    "vetro/server/app/views.py": "from vetro.low import one\nfrom vetro.server import errors\n",
    "vetro/server/app/more.py": "from vetro.server import errors\nfrom vetro.server.app import views\n",
    "vetro/top.py": "def late():\n    import vetro.server.start\n",
}


def test_packages_stand_on_those_above_them(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    packages, edges = edges_of(modules(tmp_path))
    assert dict(edges) == {
        ("vetro.server", "vetro.low"): 1,
        ("vetro.server", "vetro.server.app"): 1,
        ("vetro.server.app", "vetro.low"): 1,
        ("vetro.server.app", "vetro.server"): 2,
        ("vetro.top", "vetro.server"): 1,
    }
    assert ordered(packages, edges) == ["vetro", "vetro.low", "vetro.server", "vetro.server.app", "vetro.top"]
    picture = drawn(ordered(packages, edges), edges)
    assert "5 packages, 6 imports between them, 1 against the order" in picture
    assert picture.count("#c0392b") == 1 and picture.count("#1f5fa8") == 4
