"""Which packages import which, as a picture: ``python -m benchmarks.structure_picture FOLDER FILE.svg``.

A matrix: packages import those above them. Each square is darker the more imports there are; red ones go the other
way. Packages stand in the order that the program finds with the fewest of those.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from benchmarks.structure import Module, modules

#: Layers that are drawn by their own packages; what lies in none of these is the layer's own.
SPLIT = ("vetro.engine", "vetro.muranopl", "vetro.server")
#: Pixels: a square, the names beside the rows, the whole text above.
SQUARE, NAMES, HEAD = 15, 150, 44
Edges = Counter[tuple[str, str]]


def package_of(module: Module, packages: set[str]) -> str:
    """The package that a module is drawn in."""
    parts = module.name.split(".")
    for layer in SPLIT:
        if module.name.startswith(layer + "."):
            inner = ".".join(parts[:3])
            return inner if inner in packages else layer
    return ".".join(parts[:2])


def edges_of(found: dict[str, Module]) -> tuple[list[str], Edges]:
    """The packages, and how many modules of one import how many of another."""
    packages = {module.name for module in found.values() if module.path.name == "__init__.py"}
    homes = {module.name: package_of(module, packages) for module in found.values()}
    counts: Edges = Counter()
    for module in found.values():
        counts.update((homes[module.name], homes[other]) for other in module.imports)
    return sorted(set(homes.values())), Counter({pair: n for pair, n in counts.items() if pair[0] != pair[1]})


def ordered(packages: list[str], edges: Edges) -> list[str]:
    """Those that others stand on first (Eades, Lin and Smyth: take what nothing holds, else what most lean on)."""
    left, first, last = set(packages), list[str](), list[str]()

    def weight(name: str, importer: int) -> int:
        return sum(n for pair, n in edges.items() if pair[importer] == name and pair[1 - importer] in left)

    while left:
        bottom = sorted(name for name in left if not weight(name, 0))
        top = sorted(name for name in left if not weight(name, 1))
        if bottom:
            first += bottom
            left -= set(bottom)
        elif top:
            last[:0] = top
            left -= set(top)
        else:
            chosen = max(sorted(left), key=lambda name: weight(name, 1) - weight(name, 0))
            first.append(chosen)
            left.remove(chosen)
    return first + last


def drawn(packages: list[str], edges: Edges) -> str:
    """The matrix as SVG."""
    place = {name: number for number, name in enumerate(packages)}
    wrong = {pair: n for pair, n in edges.items() if place[pair[1]] > place[pair[0]]}
    size = SQUARE * len(packages)
    width, height = NAMES + size + 10, HEAD + size + 10
    said = (
        f"{len(packages)} packages, {sum(edges.values())} imports between them, {sum(wrong.values())} against the order"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="18" font-size="13" fill="#222">{said}</text>',
        '<text x="8" y="35" fill="#666">a row imports the columns; columns are in the order of the rows</text>',
    ]
    for name, row in place.items():
        y = HEAD + row * SQUARE
        stripe = "#f4f4f4" if row % 2 else "#fafafa"
        parts += [
            f'<text x="{NAMES - 6}" y="{y + 11}" text-anchor="end" fill="#222">{name.removeprefix("vetro.")}</text>',
            f'<rect x="{NAMES}" y="{y}" width="{size}" height="{SQUARE}" fill="{stripe}"/>',
            f'<rect x="{NAMES + row * SQUARE}" y="{y}" width="{SQUARE}" height="{SQUARE}" fill="#bbb"/>',
        ]
    for (importer, other), count in sorted(edges.items()):
        x, y = NAMES + place[other] * SQUARE, HEAD + place[importer] * SQUARE
        colour = "#c0392b" if (importer, other) in wrong else "#1f5fa8"
        shade = min(1.0, 0.3 + count / 40)
        side = SQUARE - 2
        parts.append(
            f'<rect x="{x + 1}" y="{y + 1}" width="{side}" height="{side}" fill="{colour}" fill-opacity="{shade:.2f}"/>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Draws one folder of sources."""
    folder, target = map(Path, sys.argv[1:])
    packages, edges = edges_of(modules(folder))
    target.write_text(drawn(ordered(packages, edges), edges), "utf-8")


if __name__ == "__main__":
    main()
