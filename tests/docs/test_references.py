"""Docstrings and comments of the source lead readers on: each name between backticks that has dots is there."""

from __future__ import annotations

import builtins
import re
import sys
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
#: `module.function`, `Class.method`, `vetro.package.module`; what is no name of our Python has two backticks a side.
DOTTED = re.compile(r"(?<!`)`((?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*)`(?!`)")
#: Files are named like that, too.
ENDINGS = {"py", "yaml", "json", "js", "css", "html", "md", "zip", "sh", "txt", "db", "log"}
#: What makes a name: a definition, an assignment, a field with its type.
MADE = re.compile(r"\b(?:def|class) (\w+)|^\s*(?:self\.)?(\w+)(?:: [^\n]*|, \w+)* = |^\s+(\w+): ", re.MULTILINE)
IMPORTED = re.compile(r"^ *from [\w.]+ import (\([^)]*\)|.*)", re.MULTILINE)
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)


def names_in(text: str) -> set[str]:
    """Every name that this code makes."""
    found = {name for names in MADE.findall(text) for name in names if name}
    return found.union(*(re.findall(r"\w+", names) for names in IMPORTED.findall(text)))


def index() -> tuple[set[str], dict[str, set[str]]]:
    """Modules by dotted name, and the names in each module, package and class by its own (last) name."""
    modules: set[str] = set()
    inside: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        modules |= {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
        for package, part in pairwise(parts):
            inside.setdefault(package, set()).add(part)
        text = path.read_text(encoding="utf-8")
        inside.setdefault(parts[-1], set()).update(names_in(text))
        _, *classes = CLASS.split(text)
        for name, body in zip(classes[::2], classes[1::2], strict=True):
            inside.setdefault(name, set()).update(names_in(body))
    return modules, inside


def test_names_with_dots_are_there() -> None:
    modules, inside = index()
    foreign = set(sys.stdlib_module_names) | set(dir(builtins)) | {"django", "click", "pytest"}
    count, wrong = 0, []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for match in DOTTED.finditer(text):
            name = match[1]
            steps = name.split(".")
            count += 1
            if steps[0] in foreign or steps[-1] in ENDINGS or name in modules:
                continue
            if any(then not in inside.get(first, ()) for first, then in pairwise(steps)):
                wrong.append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {name}")
    assert count > 400
    assert not wrong, "\n".join(wrong)
