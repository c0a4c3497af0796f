"""Queries over rows."""

from __future__ import annotations

from typing import Any

from benchmarks.native.base import Native
from benchmarks.workloads import generate

Rows = list[dict[str, Any]]


def where_select(n: int, rows: Rows) -> int:
    return sum([r["score"] * 2 for r in rows if r["score"] > 30 and r["kind"] != "k3"])


def group(n: int, rows: Rows) -> list[list[Any]]:
    groups: dict[str, list[int]] = {}
    for r in rows:
        groups.setdefault(r["kind"], []).append(r["score"])
    out = [[kind, sum(scores)] for kind, scores in groups.items()]
    out.sort(key=lambda pair: str(pair[0]))
    return out


def order(n: int, rows: Rows) -> list[int]:
    out = sorted(rows, key=lambda r: (-r["score"], r["id"]))
    return [r["id"] for r in out][:10]


def index(n: int, rows: Rows) -> int:
    table = {r["name"]: r["score"] for r in rows}
    return len(table) + int(table["row7"])


def pipeline(n: int, rows: Rows) -> dict[str, Any]:
    big = [r for r in rows if r["score"] >= 50]
    kinds: dict[str, int] = {}
    for r in big:
        kinds[r["kind"]] = kinds.get(r["kind"], 0) + 1
    names = [r["name"] for r in sorted(big, key=lambda r: str(r["name"]))][:5]
    return {
        "kinds": kinds,
        "names": names,
        "any": any(r["score"] > 98 for r in rows),
        "all": all(r["score"] >= 0 for r in rows),
    }


def _rows(n: int, tmp: str) -> Rows:
    return generate.rows(n)


NATIVE = {
    "g1_where_select": Native(_rows, where_select),
    "g2_group": Native(_rows, group),
    "g3_order": Native(_rows, order),
    "g4_todict": Native(_rows, index),
    "g5_pipeline": Native(_rows, pipeline),
}
