"""The structure of the source in figures: ``python -m benchmarks.structure [FOLDER]...``, by default ``src``.

Lines, modules, circles of imports, imports inside functions, and modules that only one neighbour imports: the table of
issue 14, measured by one command before and after. ``--names`` also prints the modules behind the figures.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: A module that one neighbour imports counts as lonely below this many lines.
SHORT = 90


@dataclass(slots=True)
class Module:
    """One file. ``imports``: modules of the same source, wherever in the file they are imported."""

    name: str
    path: Path
    lines: int
    tree: ast.Module
    imports: set[str] = field(default_factory=set)
    #: Statements of import inside functions.
    inside: int = 0


def modules(folder: Path) -> dict[str, Module]:
    """Every module below the folder, with its imports."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8")
        found[name] = Module(name, path, text.count("\n"), ast.parse(text))
    for module in found.values():
        _read_imports(module, found)
    return found


def _read_imports(module: Module, known: dict[str, Module]) -> None:
    def visit(node: ast.AST, inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                module.inside += inside
                module.imports.update(name for name in _named(child, module, known) if name != module.name)
            visit(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    visit(module.tree, False)


def _named(node: ast.Import | ast.ImportFrom, module: Module, known: dict[str, Module]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
        return
    base = node.module or ""
    if node.level:
        package = module.name.split(".") if module.path.name == "__init__.py" else module.name.split(".")[:-1]
        base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
    for alias in node.names:
        if f"{base}.{alias.name}" in known:
            yield f"{base}.{alias.name}"
        elif base in known:
            yield base


def circles(found: dict[str, Module]) -> list[list[str]]:
    """Sets of modules that import each other, directly or through others; the largest first (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result: list[list[str]] = []

    def enter(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in found[name].imports:
            if other not in index:
                enter(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                result.append(sorted(stack[at:]))
            del stack[at:]

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + len(found) * 4)
    try:
        for name in found:
            if name not in index:
                enter(name)
    finally:
        sys.setrecursionlimit(limit)
    return sorted(result, key=len, reverse=True)


def lonely(found: dict[str, Module]) -> list[tuple[str, str, int]]:
    """Short modules that exactly one module imports, which stands in the same folder: (module, importer, lines)."""
    importers: dict[str, set[str]] = {name: set() for name in found}
    for module in found.values():
        for name in module.imports:
            importers[name].add(module.name)
    result = []
    for name, by in importers.items():
        if len(by) == 1 and found[name].lines < SHORT and found[name].path.name != "__init__.py":
            (other,) = by
            if found[other].path.parent == found[name].path.parent:
                result.append((name, other, found[name].lines))
    return result


def report(folder: Path, names: bool) -> str:
    """The figures of one folder as lines of a table."""
    found = modules(folder)
    sizes = sorted(module.lines for module in found.values())
    around, alone = circles(found), lonely(found)
    rows = [
        ("lines", f"{sum(sizes)}"),
        ("modules", f"{len(found)}"),
        ("median lines of a module", f"{statistics.median(sizes):.0f}"),
        ("imports inside functions", f"{sum(module.inside for module in found.values())}"),
        ("circles of imports", f"{len(around)}"),
        ("modules in the largest circle", f"{len(around[0]) if around else 0}"),
        (f"modules under {SHORT} lines with one importer next door", f"{len(alone)}"),
    ]
    text = [f"| {folder} | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    if names:
        text += ["", *(f"circle of {len(circle)}: {' '.join(circle)}" for circle in around)]
        text += ["", *(f"{name} ({lines}), only {other}" for name, other, lines in alone)]
    return "\n".join(text)


def main() -> None:
    """Prints a table for each folder."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    for word in words or ["src"]:
        print(report(Path(word), "--names" in sys.argv), end="\n\n")


if __name__ == "__main__":
    main()
