"""Lists and searches of packages: filters, ranking, order and pages as one (API.md 3, Search parameters).

SQL is written here by hand: what leads decides between a millisecond and a minute, and differs between a list of
everything, a word that is everywhere and a word that is nowhere. `_Page.rows` chooses by counting a little first; the
answer is the same each way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.catalog import trigrams
from vetro.server.catalog.filters import Conditions, Filters, bounded
from vetro.server.catalog.paging import join, select
from vetro.server.catalog.search_query import Query
from vetro.server.errors import NotFound
from vetro.server.queries import fetch, on_sqlite

__all__ = ["ORDERS", "Query", "page"]

#: Fewer matches than this are looked at one by one and sorted; with more of them the order of the list leads, since a
#: page is soon full. Filters beside the words make pages fill more slowly.
FEW, FEW_FILTERED = 2000, 6000
#: In a catalog of no more packages than this all are looked through for words: asking an index takes longer.
SMALL = 200
ORDERS = {"name": "p.sort_name", "fqn": "p.fqn", "created": "p.created"}
INDEXES = {"name": "package_by_name", "fqn": "package_by_fqn", "created": "package_by_time"}


def page(caller: Caller, query: Query) -> list[tuple[Any, ...]]:
    """A page of packages as rows of `answers.COLUMNS`, at most ``limit`` of them, those after ``after`` or ``marker``.

    Raises `Invalid` for a version spec that is none and for texts that are too long (`Query.check`), `NotFound` for a
    marker that the caller does not see.
    """
    query.check()
    return _Page(caller, query).rows()


def place(caller: Caller, query: Query) -> Sequence[Any]:
    """`Query.after` for what follows the package ``marker``. Raises `NotFound`."""
    return _Page(caller, query)._marker()


class _Page:
    def __init__(self, caller: Caller, query: Query) -> None:
        self.query = query
        self.filters = Filters(caller, query)
        self.sqlite = on_sqlite()
        self.order = self._order()
        #: Fields that were counted, as far as `few`.
        self._counted: dict[str, int] = {}
        # Not the type: one that few packages have leads by itself, the other fills pages as if it was not there.
        filtered = query.tags or query.categories or query.class_name or query.version
        self.few = FEW_FILTERED if filtered else FEW

    def rows(self) -> list[tuple[Any, ...]]:
        """The page."""
        marker = self._marker() if self.query.marker is not None else self.query.after
        words = self.query.words
        if words and bounded("catalog_package", Conditions(), SMALL) <= SMALL:
            return self._sorted(Conditions(), marker)
        driver = self.filters.driver(self.few)
        if not words:
            return self._sorted(driver, marker) if driver is not None else self._walk(self.query.limit, marker, None)
        if driver is not None and driver.texts is not None:
            where = Conditions()
            where.extend(driver.texts)
            condition, params = trigrams.anywhere(words)
            where.add(condition, *params)
            return self._through_texts(where, marker)
        if driver is not None:
            return self._sorted(driver, marker)
        if self._in_all(FEW) <= FEW:
            return self._found(marker)
        return self._tiers(marker)

    # -- ways ---------------------------------------------------------------------------------------------------

    def _walk(self, limit: int, marker: Sequence[Any] | None, tier: Conditions | None) -> list[tuple[Any, ...]]:
        """In the order of the list, from the marker on, until there are enough."""
        where = self.filters.conditions(lead=False)
        source = "catalog_package p"
        if self.sqlite and self.query.order_by and self.query.order_by[0] in INDEXES:
            source += f" INDEXED BY {INDEXES[self.query.order_by[0]]}"
        if tier is not None:
            where.extend(tier)
        if tier is not None and any("t." in part for part in tier.parts):
            source += f" {join('catalog_packagetext t', 't.package_id = p.id')}"
        return select("0", source, where, self.order, marker, limit)

    def _sorted(self, driver: Conditions, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        """What a narrow filter leaves: all of it, ranked and sorted."""
        words = self.query.words
        where = Conditions()
        where.extend(driver)
        where.extend(self.filters.conditions(lead=False))
        if not words:
            return select("0", "catalog_package p", where, self.order, marker, self.query.limit)
        rank, params = trigrams.rank(words)
        source = f"catalog_package p {join('catalog_packagetext t', 't.package_id = p.id')}"
        if not self.sqlite:
            text = "SELECT * FROM catalog_packagetext t WHERE t.package_id = p.id OFFSET 0"
            source = f"(SELECT * FROM catalog_package p WHERE {driver.sql()} OFFSET 0) p CROSS JOIN LATERAL ({text}) t"
            params = [*params, *driver.params]
        condition, more = trigrams.anywhere(words)
        where.add(condition, *more)
        return select(rank, source, where, self._ranked_order(), marker, self.query.limit, params)

    def _through_texts(self, texts: Conditions, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        """What a condition of texts leaves, ranked and sorted."""
        rank, params = trigrams.rank(self.query.words)
        where = self.filters.conditions(lead=False)
        if self.sqlite:
            source = f"catalog_packagetext t {join('catalog_package p', 'p.id = t.package_id')}"
            texts.extend(where)
            return select(rank, source, texts, self._ranked_order(), marker, self.query.limit, params)
        source, params = self._read_first(rank, params, texts)
        return select("t.rank", source, where, self._ranked_order(), marker, self.query.limit, params)

    def _read_first(self, rank: str, params: Sequence[Any], texts: Conditions) -> tuple[str, list[Any]]:
        """A source of texts with their rank, and packages, in this order.

        ``OFFSET 0`` keeps PostgreSQL from beginning elsewhere: it takes rows of tables for far from each other, and
        would rather read all packages than look up some thousands.
        """
        texts.extend(self.filters.texts())
        inner = f"SELECT t.package_id, {rank} AS rank FROM catalog_packagetext t WHERE {texts.sql()} OFFSET 0"
        package = "SELECT * FROM catalog_package p WHERE p.id = t.package_id OFFSET 0"
        return f"({inner}) t CROSS JOIN LATERAL ({package}) p", [*params, *texts.params]

    def _found(self, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        """What the index of substrings finds: all of it, ranked and sorted."""
        if not self.sqlite:
            texts = Conditions()
            test, values = trigrams.inside_any(self.query.words)
            texts.add(test, *values)
            return self._through_texts(texts, marker)
        rank, source, condition, params = trigrams.found(self.query.words)
        where = Conditions()
        if condition[0]:
            where.add(condition[0], *condition[1])
        where.extend(self.filters.conditions(lead=False))
        source += f" {join('catalog_package p', 'p.id = t.package_id')}"
        return select(rank, source, where, self._ranked_order(), marker, self.query.limit, params)

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
        matches = self._inside(name)
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
        if not self.sqlite:
            first, values = self._read_first("0", [], where)
            conditions = self.filters.conditions(lead=False)
            return select("0", first, conditions, self.order, marker, limit, values)
        where.extend(self.filters.conditions(lead=False))
        source = f"catalog_packagetext t {join('catalog_package p', 'p.id = t.package_id')}"
        return select("0", source, where, self.order, marker, limit)

    def _in_all(self, enough: int) -> int:
        """How many packages have the words, counted a little beyond ``enough``; once for each field that has them."""
        if not trigrams.leads(self.query.words):
            return trigrams.matches(self.query.words, None, enough)
        # Each field for itself: of all at once PostgreSQL would rather read the whole table.
        total = 0
        for field in trigrams.FIELDS:
            total += self._inside(field)
            if total > enough:
                break
        return total

    def _inside(self, field: str) -> int:
        """How many packages have the words in this field, counted up to `few` + 1."""
        if field not in self._counted:
            self._counted[field] = trigrams.matches(self.query.words, field, self.few)
        return self._counted[field]

    # -- pieces -------------------------------------------------------------------------------------------------

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
        found = fetch(sql, [*params, *where.params])
        if not found:
            raise NotFound(Text("Package id '{marker}' not found", marker=str(self.query.marker)[:80]))
        return found[0] if words else found[0][1:]
