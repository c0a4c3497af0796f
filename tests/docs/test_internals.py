"""docs/internals.md leads people to files: each one that it names is there, and defines what is said to be in it.

``VETRO_UPDATE_GOLDEN=1`` writes its table of folders anew, from their docstrings.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Where the page's paths begin: at the repository, at the package, and at the layer that a chapter is about.
BEGINNINGS = (ROOT, ROOT / "src/vetro", ROOT / "src/vetro/muranopl", ROOT / "src/vetro/yaql", ROOT / "src/vetro/server")

#: A file or folder in backquotes: a path, or a bare name with one of these endings or a slash.
_PATH = re.compile(r"`((?:[a-zA-Z_][\w.-]*/)+[\w.-]*|[\w-]+\.(?:py|js|yaml|po))`")
_NAME = r"`[A-Za-z_][\w.]*(?:\([^`]*\))?`"
#: "`a`, `b` and `c` in `file`".
_PLACED = re.compile(rf"({_NAME}(?:(?:, | and |, and ){_NAME})*) (?:in|of) {_PATH.pattern}")


def _blocks() -> Iterator[str]:
    """Rows of tables, items of lists and paragraphs: a bare file name is beside what its block names."""
    page = (ROOT / "docs/internals.md").read_text(encoding="utf-8")
    return (block for block in re.split(r"\n\s*\n|\n(?=\||- |\d+\. )", page) if block.strip())


def _is_bare(path: str) -> bool:
    return "/" not in path.rstrip("/")


def _found(path: str, block: str) -> list[Path]:
    """What ``path`` may mean: a bare name is beside or below what its block names, else at one of the beginnings."""
    if _is_bare(path):
        named = [found for other in _PATH.findall(block) if not _is_bare(other) for found in _found(other, block)]
        folders = {found if found.is_dir() else found.parent for found in named}
        if near := sorted({found for folder in folders for found in folder.rglob(path)}):
            return near
    return [start / path for start in BEGINNINGS if (start / path).exists()]


def _unplaced() -> Iterator[str]:
    for block in _blocks():
        yield from (path for path in _PATH.findall(block) if not _found(path, block))


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.walk(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield child.name, child
            case ast.arg():
                yield child.arg, child
            case ast.Name(ctx=ast.Store()):
                yield child.id, child
            case ast.Attribute(ctx=ast.Store()):
                yield child.attr, child


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _defines(file: Path, name: str) -> bool:
    """Whether ``a.b`` is defined in a file. Of an instance (``rt.steps``) it is the attribute that counts."""
    if file.suffix == ".js":
        return bool(re.search(rf"\b(?:function|const|let|class) {re.escape(name)}\b", file.read_text(encoding="utf-8")))
    owner, _, last = name.rpartition(".")
    nodes: list[ast.AST] = [_tree(file)]
    if owner[:1].isupper():
        nodes = [node for bound, node in _bindings(nodes[0]) if bound == owner and isinstance(node, ast.ClassDef)]
    return any(bound == last for node in nodes for bound, _ in _bindings(node))


def _placed() -> Iterator[tuple[str, str, bool]]:
    """Names that the page says are in a file, that file, and whether they are."""
    for block in _blocks():
        for names, path in _PLACED.findall(block):
            files = [file for file in _found(path, block) if file.suffix in (".py", ".js")]
            for name in re.findall(r"`([\w.]+)[^`]*`", names) if files else ():
                yield name, path, any(_defines(file, name) for file in files)


def test_every_file_and_folder_of_the_page_is_there() -> None:
    named = [path for block in _blocks() for path in _PATH.findall(block)]
    assert len(named) > 300
    assert {Path(path).suffix for path in named} >= {".py", ".js", ".yaml"}
    assert sum(map(_is_bare, named)) > 30
    assert not sorted(set(_unplaced()))


def test_what_the_page_finds_in_a_file_is_defined_there() -> None:
    placed = list(_placed())
    assert len(placed) > 50
    assert not sorted({(name, path) for name, path, there in placed if not there})


def test_a_name_in_another_file_is_noticed() -> None:
    file = ROOT / "src/vetro/server/tasks/claim.py"
    assert _defines(file, "claim") and _defines(file, "Lease.hold")
    assert not _defines(file, "take_over") and not _defines(file, "Lease.claim")
    assert _found("claim.py", "`server/tasks/queue.py`") == [file]
    assert not _found("claim.py", "`server/watch/models.py`")


def _folders() -> str:
    """A row for each package with code of ours: its folder, and the first sentence of its docstring."""
    start, rows = ROOT / "src/vetro", ["| folder | is |", "|---|---|"]
    for file in sorted(start.rglob("__init__.py"), key=lambda path: path.parent.parts):
        folder = file.parent.relative_to(start)
        if folder.parts and "migrations" not in folder.parts:
            text = " ".join((ast.get_docstring(_tree(file)) or "").partition("\n\n")[0].split())
            assert text, f"{file} has no docstring"
            first = re.split(r"(?<=\.)(?<!e\.g\.) (?=[A-Z`])", text)[0]
            rows.append(f"| `{folder}` | {first} |")
    return "\n".join(rows)


def test_the_page_lists_all_folders() -> None:
    """A feature nobody has asked for yet has its line, too."""
    path, table = ROOT / "docs/internals.md", _folders()
    assert table.count("\n") > 80
    page = path.read_text(encoding="utf-8")
    before, _, rest = page.partition("## All folders\n")
    text, _, after = rest.partition("\n## ")
    if os.environ.get("VETRO_UPDATE_GOLDEN"):
        intro = text.partition("\n|")[0]
        path.write_text(f"{before}## All folders\n{intro}\n{table}\n\n## {after}", encoding="utf-8")
        return
    assert table in text, "VETRO_UPDATE_GOLDEN=1 writes the table anew"
