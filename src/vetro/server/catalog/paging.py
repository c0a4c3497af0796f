"""`select`: one page of a list of packages as a statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vetro.server.catalog.answers import selected
from vetro.server.catalog.filters import Conditions
from vetro.server.queries import fetch, on_sqlite

#: (expression, descending): what a list is ordered by; ``rank`` is what the statement ranks by.
Order = Sequence[tuple[str, bool]]


def join(table: str, condition: str) -> str:
    """SQLite keeps the order of a CROSS JOIN; PostgreSQL knows its numbers and may choose."""
    return f"{'CROSS' if on_sqlite() else 'INNER'} JOIN {table} ON {condition}"


def select(
    rank: str,
    source: str,
    where: Conditions,
    order: Order,
    marker: Sequence[Any] | None,
    limit: int,
    params: Sequence[Any] = (),
) -> list[tuple[Any, ...]]:
    """Rows of `answers.COLUMNS`: finds the page by narrow rows, then reads the wide ones.

    ``source`` has packages as ``p``; ``params`` are those of ``rank`` and ``source``; ``marker`` has a value for each
    part of ``order``, and the page begins behind it.
    """
    after, more = _after(order, marker) if marker is not None else ("", [])
    if after and order[0][0] != "rank":
        where.add(after, *more)
        after, more = "", []
    keys = ", ".join(f"{e} AS k{n}" for n, (e, _) in enumerate(order) if e != "rank")
    inner = f"SELECT p.id AS id, {rank} AS rank, {keys} FROM {source} WHERE {where.sql()}"
    names = {e: e if e == "rank" else f"k{n}" for n, (e, _) in enumerate(order)}
    by = ", ".join(f"{names[e]} DESC" if down else names[e] for e, down in order)
    if after:
        for expression, name in names.items():
            after = after.replace(expression, name)
        inner = f"SELECT * FROM ({inner}) w WHERE {after}"
    outer_by = ", ".join(f"q.{names[e]} DESC" if down else f"q.{names[e]}" for e, down in order)
    sql = (
        f"SELECT {selected('p')} FROM ({inner} ORDER BY {by} LIMIT %s) q"
        f" {join('catalog_package p', 'p.id = q.id')} ORDER BY {outer_by}"
    )
    return fetch(sql, [*params, *where.params, *more, limit])


def _after(order: Order, marker: Sequence[Any]) -> tuple[str, list[Any]]:
    """What comes after the marker. The first key stands alone, too: it bounds the range of an index."""
    parts: list[str] = []
    first, down = order[0]
    params: list[Any] = [marker[0]]
    for depth, (expression, falling) in enumerate(order):
        equal = [f"{e} = %s" for e, _ in order[:depth]]
        parts.append("(" + " AND ".join([*equal, f"{expression} {'<' if falling else '>'} %s"]) + ")")
        params += [*marker[:depth], marker[depth]]
    return f"{first} {'<=' if down else '>='} %s AND ({' OR '.join(parts)})", params
