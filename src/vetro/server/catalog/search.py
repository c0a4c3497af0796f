"""Lists and searches of packages: filters, ranking, order and pages as one (API.md 3, Search parameters).

SQL is written here by hand: what leads decides between a millisecond and a minute, and differs between a list of
everything, a word that is everywhere and a word that is nowhere. `_Page.rows` chooses by counting a little first; the
answer is the same each way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection

from vetro.server.caller import Caller
from vetro.server.catalog import trigrams
from vetro.server.catalog.filters import Conditions, Filters, execute
from vetro.server.catalog.show import COLUMNS
from vetro.server.errors import NotFound

#: Fewer matches than this are looked at one by one and sorted; with more of them the order of the list leads, since a
#: page is soon full. Filters beside the words make pages fill more slowly.
FEW, FEW_FILTERED = 2000, 6000
ORDERS = {"name": "p.sort_name", "fqn": "p.fqn", "created": "p.created"}
_INDEXES = {"name": "package_by_name", "fqn": "package_by_fqn", "created": "package_by_time"}


@dataclass
class Query:
    """What is asked for. Empty filters do not filter."""

    ids: Sequence[str] = ()
    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    fqn: str | None = None
    name: str | None = None
    class_name: str | None = None
    type: str | None = None
    version: str | None = None
    search: str = ""
    owned: bool = False
    include_disabled: bool = False
    #: Own and public packages only, and of each name the newest version.
    catalog: bool = False
    #: Keys of `ORDERS`; empty: by id.
    order_by: Sequence[str] = ("name",)
    descending: bool = False
    limit: int = 20
    marker: str | None = None

    @cached_property
    def words(self) -> list[str]:
        """The words to search: split at commas and semicolons, in lower case; those without letters and digits say
        nothing.
        """
        words = (part.strip().lower() for part in self.search.replace(";", ",").split(","))
        return list(dict.fromkeys(w for w in words if any(c.isalnum() for c in w)))[:20]


def page(caller: Caller, query: Query) -> list[tuple[Any, ...]]:
    """A page of packages as rows of `show.COLUMNS`, at most ``limit`` of them, those after ``marker``.

    Raises `Invalid` for a version spec that is none, `NotFound` for a marker that the caller does not see.
    """
    return _Page(caller, query).rows()


class _Page:
    def __init__(self, caller: Caller, query: Query) -> None:
        self.query = query
        self.filters = Filters(caller, query)
        self.sqlite = connection.vendor == "sqlite"
        self.order = self._order()
        filtered = query.tags or query.categories or query.class_name or query.version or query.type
        self.few = FEW_FILTERED if filtered else FEW

    def rows(self) -> list[tuple[Any, ...]]:
        """The page."""
        marker = self._marker() if self.query.marker is not None else None
        words = self.query.words
        driver = self.filters.driver(self.few)
        if not words:
            return self._sorted(driver, marker) if driver is not None else self._walk(self.query.limit, marker, None)
        if driver is not None:
            return self._sorted(driver, marker)
        if trigrams.matches(words, None, self.few) <= self.few:
            return self._found(marker)
        return self._tiers(marker)

    # -- ways ---------------------------------------------------------------------------------------------------

    def _walk(self, limit: int, marker: Sequence[Any] | None, tier: Conditions | None) -> list[tuple[Any, ...]]:
        """In the order of the list, from the marker on, until there are enough."""
        where = self.filters.conditions(lead=False)
        source = "catalog_package p"
        if self.sqlite and self.query.order_by and self.query.order_by[0] in _INDEXES:
            source += f" INDEXED BY {_INDEXES[self.query.order_by[0]]}"
        if tier is not None:
            where.extend(tier)
        if tier is not None and any("t." in part for part in tier.parts):
            source += f" {self._join('catalog_packagetext t', 't.package_id = p.id')}"
        return self._select("0", source, where, self.order, marker, limit)

    def _sorted(self, driver: Conditions, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        """What a narrow filter leaves: all of it, ranked and sorted."""
        words = self.query.words
        where = Conditions()
        where.extend(driver)
        where.extend(self.filters.conditions(lead=False))
        if not words:
            return self._select("0", "catalog_package p", where, self.order, marker, self.query.limit)
        rank, params = trigrams.rank(words)
        source = f"catalog_package p {self._join('catalog_packagetext t', 't.package_id = p.id')}"
        condition, more = trigrams.anywhere(words)
        where.add(condition, *more)
        return self._select(rank, source, where, self._ranked_order(), marker, self.query.limit, params)

    def _found(self, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        """What the index of substrings finds: all of it, ranked and sorted."""
        rank, source, condition, params = trigrams.found(self.query.words)
        where = Conditions()
        if condition[0]:
            where.add(condition[0], *condition[1])
        where.extend(self.filters.conditions(lead=False))
        source += f" {self._join('catalog_package p', 'p.id = t.package_id')}"
        return self._select(rank, source, where, self._ranked_order(), marker, self.query.limit, params)

    def _tiers(self, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        """Field by field: first what has a word in the best field, then what has it in the next one…"""
        rows: list[tuple[Any, ...]] = []
        begin = int(marker[0]) if marker is not None else 0
        for number in range(begin, len(trigrams.FIELDS)):
            left = self.query.limit - len(rows)
            if not left:
                break
            rows += self._tier(number, left, marker[1:] if marker is not None and number == begin else None)
        return rows

    def _tier(self, number: int, limit: int, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        words, name = self.query.words, trigrams.FIELDS[number]
        matches = trigrams.matches(words, name, self.few)
        if not matches:
            return []
        tier = Conditions()
        for earlier in trigrams.FIELDS[:number]:
            for word in words:
                text, params = trigrams.has(earlier, word)
                tier.add(f"NOT ({text})", *params)
        if matches > self.few:
            own = [trigrams.has(name, word) for word in words]
            if number == 0:  # lists are ordered by the very same text: nothing else has to be read
                own = [(text.replace("t.name", "p.sort_name"), params) for text, params in own]
            tier.add("(" + " OR ".join(text for text, _ in own) + ")", *(p for _, params in own for p in params))
            return self._walk(limit, marker, tier)
        where = Conditions()
        condition, params = trigrams.inside(words, name)
        where.add(condition, *params)
        where.extend(tier)
        where.extend(self.filters.conditions(lead=False))
        source = f"catalog_packagetext t {self._join('catalog_package p', 'p.id = t.package_id')}"
        return self._select("0", source, where, self.order, marker, limit)

    # -- pieces -------------------------------------------------------------------------------------------------

    def _join(self, table: str, condition: str) -> str:
        """SQLite keeps the order of a CROSS JOIN; PostgreSQL knows its numbers and may choose."""
        return f"{'CROSS' if self.sqlite else 'INNER'} JOIN {table} ON {condition}"

    def _order(self) -> list[tuple[str, bool]]:
        """(expression, descending); of equal ones the newest version, then the id."""
        keys = [ORDERS[key] for key in self.query.order_by]
        order = [(key, self.query.descending) for key in keys]
        if keys:
            order.append(("p.version_key", True))
        return [*order, ("p.id", self.query.descending and not keys)]

    def _ranked_order(self) -> list[tuple[str, bool]]:
        return [("rank", False), *self.order]

    def _marker(self) -> Sequence[Any]:
        """Where the marker stands: its rank, when words are searched, then the values of the order."""
        where = Conditions()
        self.filters.scope(where, "p")
        where.add("p.id = %s", self.query.marker)
        words = self.query.words
        rank, params = trigrams.rank(words) if words else ("0", [])
        columns = ", ".join([rank, *(expression for expression, _ in self.order)])
        sql = (
            f"SELECT {columns} FROM catalog_package p LEFT JOIN catalog_packagetext t ON t.package_id = p.id"
            f" WHERE {where.sql()}"
        )
        found = execute(sql, [*params, *where.params])
        if not found:
            raise NotFound(f"Package id '{str(self.query.marker)[:80]}' not found")
        return found[0] if words else found[0][1:]

    def _select(
        self,
        rank: str,
        source: str,
        where: Conditions,
        order: Sequence[tuple[str, bool]],
        marker: Sequence[Any] | None,
        limit: int,
        params: Sequence[Any] = (),
    ) -> list[tuple[Any, ...]]:
        """Finds the page by narrow rows, then reads the wide ones."""
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
        columns = ", ".join(f"p.{c}" for c in COLUMNS)
        outer_by = ", ".join(f"q.{names[e]} DESC" if down else f"q.{names[e]}" for e, down in order)
        sql = (
            f"SELECT {columns} FROM ({inner} ORDER BY {by} LIMIT %s) q"
            f" {self._join('catalog_package p', 'p.id = q.id')} ORDER BY {outer_by}"
        )
        return execute(sql, [*params, *where.params, *more, limit])


def _after(order: Sequence[tuple[str, bool]], marker: Sequence[Any]) -> tuple[str, list[Any]]:
    """What comes after the marker. The first key stands alone, too: it bounds the range of an index."""
    parts: list[str] = []
    first, down = order[0]
    params: list[Any] = [marker[0]]
    for depth, (expression, falling) in enumerate(order):
        equal = [f"{e} = %s" for e, _ in order[:depth]]
        parts.append("(" + " AND ".join([*equal, f"{expression} {'<' if falling else '>'} %s"]) + ")")
        params += [*marker[:depth], marker[depth]]
    return f"{first} {'<=' if down else '>='} %s AND ({' OR '.join(parts)})", params
