"""The figures of the structure, on a small source whose figures are plain to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.structure import circles, lonely, modules, report

SOURCE = Path(__file__).parents[2] / "src"
#: The most there may be in the source: these numbers fall, and never rise. Docs: decisions 0022 and 0026.
IMPORTS_INSIDE_FUNCTIONS = 218
CIRCLES = 1

FILES = {
    "app/__init__.py": "",
    "app/one.py": "from app.two import name\n\n\ndef f():\n    from app import three\n    import json\n",
    "app/two.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.one import f\nname = 1\n",
    "app/three.py": "from .sub import four\nfrom . import two\n",
    "app/sub/__init__.py": "from .four import g\n",
    "app/sub/four.py": "def g():\n    return lambda: __import__('json')\n",
    "app/main.py": "import app.one\nimport app.three\n",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_imports_wherever_they_stand(source: Path) -> None:
    found = modules(source)
    assert {name: sorted(module.imports) for name, module in found.items() if module.imports} == {
        "app.main": ["app.one", "app.three"],
        "app.one": ["app.three", "app.two"],
        "app.two": ["app.one"],
        "app.three": ["app.sub.four", "app.two"],
        "app.sub": ["app.sub.four"],
    }
    assert sum(module.inside for module in found.values()) == 2


def test_circles_and_lonely_modules(source: Path) -> None:
    found = modules(source)
    assert circles(found) == [["app.one", "app.three", "app.two"]]
    assert lonely(found) == []
    (source / "app" / "main.py").write_text("import app.three\n")
    (source / "app" / "two.py").write_text("")
    again = modules(source)
    assert circles(again) == []
    (source / "app" / "five.py").write_text("")
    (source / "app" / "three.py").write_text("from app import five\n")
    assert lonely(modules(source)) == [
        ("app.five", "app.three", 0),
        ("app.sub.four", "app.sub", 2),
        ("app.two", "app.one", 0),
    ]


def test_the_table(source: Path) -> None:
    table = report(source, names=True)
    assert "| modules | 7 |" in table and "| imports inside functions | 2 |" in table
    assert "circle of 3: app.one app.three app.two" in table


def test_bounds_of_the_source() -> None:
    found = modules(SOURCE)
    around = circles(found)
    assert sum(module.inside for module in found.values()) <= IMPORTS_INSIDE_FUNCTIONS
    assert len(around) <= CIRCLES
    # That of dynamic forms is one of annotations; nobody else has one.
    assert all(name.startswith("vetro.forms.dynamic.") for circle in around for name in circle)
