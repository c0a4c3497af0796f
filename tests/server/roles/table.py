"""The section of SECURITY.md that says who may use which routes."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.server.roles.expectations import LEVELS, expectations
from tests.server.roles.routes import Route

BEGIN, END = "<!-- roles: made by python -m tests.server.roles -->", "<!-- roles: end -->"
_ORDER = ("GET", "POST", "PUT", "PATCH", "DELETE")


def markdown() -> str:
    """The section, between its two marks."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for route, level in expectations().items():
        counts[_area(route)][level][route.method] += 1
    lines = [
        BEGIN,
        "| routes | without signing in | reader | member, besides | admin, besides |",
        "|---|---|---|---|---|",
    ]
    for area in sorted(counts, key=_place):
        cells = [_cell(counts[area][level]) for level in LEVELS]
        lines.append(f"| `{area}` | " + " | ".join(cells) + " |")
    total = sum(sum(methods.values()) for levels in counts.values() for methods in levels.values())
    said = (
        f"{total} routes, with how many of each method. Of other projects nobody but an administrator "
        "reaches anything, by no\nroute, neither by a token of another project: `tests/server/roles` tries each as "
        "each role, with ids of another project in\nevery address, parameter and body."
    )
    return "\n".join([*lines, "", said, END])


def _area(route: Route) -> str:
    parts = [part for part in route.path.split("/") if part]
    if route.door == "others":
        return "/" + "/".join(parts)
    named = parts[1:3] if parts[1:2] in (["catalog"], ["people"]) and route.door == "v1" else parts[1:2]
    return "/" + "/".join([parts[0], *(part for part in named if "{" not in part)])


def _place(area: str) -> tuple[int, str]:
    doors = ("/v1", "/v2", "/app")
    return next((place for place, door in enumerate(doors) if area.startswith(door)), len(doors)), area


def _cell(methods: Counter[str]) -> str:
    return ", ".join(f"{methods[method]} {method}" for method in _ORDER if methods[method]) or "-"
