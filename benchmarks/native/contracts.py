"""Checking and copying structured arguments."""

from __future__ import annotations

from typing import Any

from benchmarks.native.base import Native, Violation
from benchmarks.workloads import generate


def accept_rows(n: int, rows: Any) -> int:
    out = []
    for row in rows:
        if not isinstance(row, dict):
            raise Violation("row")
        number = row["id"]
        if number.__class__ is not int or not number >= 0:
            raise Violation("id")
        name = row["name"]
        if name.__class__ is not str or not len(name) < 64:
            raise Violation("name")
        tags = row["tags"]
        for tag in tags:
            if tag.__class__ is not str:
                raise Violation("tags")
        limits = row["limits"]
        cpu = limits["cpu"]
        if cpu.__class__ is not int or not cpu > 0:
            raise Violation("cpu")
        memory = limits["memory"]
        if memory.__class__ is not int:
            raise Violation("memory")
        out.append(
            {
                "id": number,
                "name": name,
                "enabled": bool(row["enabled"]),
                "tags": tuple(tags),
                "limits": {"cpu": cpu, "memory": memory},
            }
        )
    return len(out)


def accept_ints(n: int, numbers: Any) -> int:
    out = []
    for x in numbers:
        if x.__class__ is not int:
            raise Violation("x")
        out.append(x)
    return len(tuple(out))


def accept_map(n: int, table: Any) -> int:
    out = {}
    for key, value in table.items():
        if key.__class__ is not str or value.__class__ is not int:
            raise Violation("key")
        out[key] = value
    return len(out)


NATIVE = {
    "d1_contract_rows": Native(lambda n, tmp: generate.contract_rows(n), accept_rows),
    "d2_contract_ints": Native(lambda n, tmp: list(range(n)), accept_ints),
    "d3_contract_map": Native(lambda n, tmp: {f"k{i}": i for i in range(n)}, accept_map),
}
