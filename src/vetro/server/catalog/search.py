"""Lists and searches of packages: filters, ranking, order and pages as one (API.md 3, Search parameters).

SQL is written here by hand: which index leads decides between a millisecond and a second, and differs between a list
of everything, a word that is everywhere and a word that is nowhere. `plan` chooses; the answer is the same each way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db import connection

from vetro.muranopl.errors import DeclarationError
from vetro.muranopl.versions import parse_spec, parse_version
from vetro.server.caller import Caller
from vetro.server.catalog import trigrams
from vetro.server.catalog.show import COLUMNS
from vetro.server.errors import Invalid, NotFound

#: Fields in the order of their weight; a package ranks by the best one that has a word.
FIELDS = trigrams.FIELDS
#: Matches of a word that are sorted in memory; with more of them the order of the list leads.
FEW = 3000
ORDERS = {"name": "p.sort_name", "fqn": "p.fqn", "created": "p.created"}


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
        parts = self.search.replace(";", ",").split(",")
        words = (part.strip().lower() for part in parts)
        return list(dict.fromkeys(w for w in words if any(c.isalnum() for c in w)))[:20]

    @property
    def narrow(self) -> bool:
        """Whether a filter leaves few packages."""
        return bool(self.ids or self.tags or self.categories or self.fqn or self.name or self.class_name)


@dataclass
class _Where:
    """Conditions of SQL and their parameters."""

    parts: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)

    def add(self, part: str, *params: Any) -> None:
        self.parts.append(part)
        self.params += params

    def any_of(self, template: str, values: Sequence[str]) -> None:
        marks = ", ".join(["%s"] * len(values))
        self.add(template.format(marks), *values)

    def sql(self) -> str:
        return " AND ".join(self.parts) or "1 = 1"


def page(caller: Caller, query: Query) -> list[tuple[Any, ...]]:
    """A page of packages as rows of `show.COLUMNS`, at most ``limit`` of them, those after ``marker``.

    Raises `Invalid` for a version spec that is none, `NotFound` for a marker that the caller does not see.
    """
    return _Page(caller, query).rows()


class _Page:
    def __init__(self, caller: Caller, query: Query) -> None:
        self.caller = caller
        self.query = query
        self.sqlite = connection.vendor == "sqlite"
        self.yes, self.no = ("1", "0") if self.sqlite else ("TRUE", "FALSE")
        self.order = self._order()

    def rows(self) -> list[tuple[Any, ...]]:
        """The page."""
        marker = self._marker() if self.query.marker is not None else None
        words = self.query.words
        if not words:
            return self._walk(self.query.limit, marker, None)
        if self.query.narrow or self._few_visible() or trigrams.matches(words, None, FEW) <= FEW:
            return self._ranked(marker)
        return self._tiers(marker)

    # -- three ways ---------------------------------------------------------------------------------------------

    def _walk(self, limit: int, marker: Sequence[Any] | None, tier: _Where | None) -> list[tuple[Any, ...]]:
        """In the order of the list, from the marker on."""
        where = self._filters()
        source = "catalog_package p"
        leading = self.query.order_by[:1] == ["name"] or tuple(self.query.order_by) == ("name",)
        if self.sqlite and leading and not self.query.narrow and not self._few_visible():
            source += " INDEXED BY package_by_name"
        if tier is not None:
            source += " JOIN catalog_packagetext t ON t.package_id = p.id"
            where.add(tier.sql(), *tier.params)
        if marker is not None:
            self._after(where, self.order, marker)
        return self._select("", source, where, self._order_sql(), limit)

    def _ranked(self, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        """All matches, ranked, then sorted."""
        rank, params = trigrams.rank(self.query.words)
        where = self._filters()
        found = trigrams.condition(self.query.words)
        where.add(found[0], *found[1])
        outer = _Where()
        order = [("q.rank", False), *((e.replace("p.", "q."), down) for e, down in self.order)]
        if marker is not None:
            self._after(outer, order, marker)
        inner = (
            f"SELECT p.*, {rank} AS rank FROM catalog_packagetext t JOIN catalog_package p ON p.id = t.package_id"
            f" WHERE {where.sql()}"
        )
        columns = ", ".join(f"q.{c}" for c in COLUMNS)
        sql = f"SELECT {columns} FROM ({inner}) q WHERE {outer.sql()} ORDER BY {_order_text(order)} LIMIT %s"
        return self._execute(sql, [*params, *where.params, *outer.params, self.query.limit])

    def _tiers(self, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        """Field by field: first what has a word in the best field, then what has it in the next one…"""
        found: list[tuple[Any, ...]] = []
        begin = int(marker[0]) if marker is not None else 0
        for number in range(begin, len(FIELDS)):
            left = self.query.limit - len(found)
            if not left:
                break
            after = marker[1:] if marker is not None and number == begin else None
            found += self._tier(number, left, after)
        return found

    def _tier(self, number: int, limit: int, marker: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        words = self.query.words
        tier = _Where()
        matches = trigrams.matches(words, FIELDS[number], FEW)
        if not matches:
            return []
        for earlier in range(number):
            for word in words:
                text, params = trigrams.has(FIELDS[earlier], word)
                tier.add(f"NOT ({text})", *params)
        own = [trigrams.has(FIELDS[number], word) for word in words]
        tier.add("(" + " OR ".join(text for text, _ in own) + ")", *(p for _, params in own for p in params))
        if matches > FEW:
            return self._walk(limit, marker, tier)
        where = self._filters()
        condition, params = trigrams.condition(words, FIELDS[number])
        where.add(condition, *params)
        where.add(tier.sql(), *tier.params)
        if marker is not None:
            self._after(where, self.order, marker)
        source = "catalog_packagetext t JOIN catalog_package p ON p.id = t.package_id"
        return self._select("", source, where, self._order_sql(), limit)

    # -- pieces -------------------------------------------------------------------------------------------------

    def _filters(self) -> _Where:
        q, where = self.query, _Where()
        self._scope(where, "p")
        if q.owned:
            where.add("p.project_id = %s", self.caller.project_id)
        if not q.include_disabled:
            where.add(f"p.enabled = {self.yes}")
        if q.ids:
            where.any_of("p.id IN ({})", q.ids)
        if q.fqn is not None:
            where.add("p.fqn = %s", q.fqn)
        if q.name is not None:
            where.add("p.name = %s", q.name)
        if q.type is not None:
            where.add("LOWER(p.type) = %s", q.type.lower())
        if q.categories:
            where.any_of(
                "p.id IN (SELECT pc.package_id FROM catalog_package_categories pc"
                " JOIN catalog_category c ON c.id = pc.category_id WHERE c.name IN ({}))",
                q.categories,
            )
        if q.tags:
            where.any_of("p.id IN (SELECT package_id FROM catalog_packagetag WHERE tag IN ({}))", q.tags)
        if q.class_name is not None:
            where.add("p.id IN (SELECT package_id FROM catalog_packageclass WHERE name = %s)", q.class_name)
        if q.version is not None:
            self._versions(where, q.version)
        if q.catalog and q.version is None and q.fqn is None:
            self._newest(where)
        return where

    def _scope(self, where: _Where, p: str) -> None:
        if not self.caller.is_admin or self.query.catalog:
            where.add(f"({p}.is_public = {self.yes} OR {p}.project_id = %s)", self.caller.project_id)

    def _newest(self, where: _Where) -> None:
        """Nothing better of its name is to be seen: releases before pre-releases, newer before older, own first."""
        inner = _Where()
        inner.add(f"b.fqn = p.fqn AND b.enabled = {self.yes}")
        self._scope(inner, "b")
        inner.add(
            f"((b.prerelease = {self.no} AND p.prerelease = {self.yes})"
            " OR (b.prerelease = p.prerelease AND (b.version_key > p.version_key"
            " OR (b.version_key = p.version_key AND b.project_id = %s AND p.project_id <> %s))))",
            self.caller.project_id,
            self.caller.project_id,
        )
        where.add(f"NOT EXISTS (SELECT 1 FROM catalog_package b WHERE {inner.sql()})", *inner.params)

    def _versions(self, where: _Where, text: str) -> None:
        """The versions that a spec allows among those there are: specs are ours to read, not the database's."""
        try:
            spec = parse_spec(text)
        except DeclarationError as error:
            raise Invalid(error.message, hint=error.hint) from None
        condition, params = ("fqn = %s", [self.query.fqn]) if self.query.fqn is not None else ("1 = 1", [])
        found = self._execute(f"SELECT DISTINCT version FROM catalog_package WHERE {condition}", params)
        allowed = [version for (version,) in found if spec.match(parse_version(version))]
        if not allowed:
            where.add("1 = 0")
        elif len(allowed) < len(found):
            where.any_of("p.version IN ({})", allowed)

    @cached_property
    def _visible(self) -> int:
        where = _Where()
        self._scope(where, "p")
        if not where.parts:
            return FEW + 1
        sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM catalog_package p WHERE {where.sql()} LIMIT {FEW + 1}) q"
        return int(self._execute(sql, where.params)[0][0])

    def _few_visible(self) -> bool:
        if self.query.owned:
            return True
        return self._visible <= FEW

    def _order(self) -> list[tuple[str, bool]]:
        """(expression, descending); of equal ones the newest version, then the id."""
        keys = [ORDERS[key] for key in self.query.order_by if key in ORDERS]
        order = [(key, self.query.descending) for key in keys]
        if keys:
            order.append(("p.version_key", True))
        return [*order, ("p.id", self.query.descending and not keys)]

    def _order_sql(self) -> str:
        return _order_text(self.order)

    def _marker(self) -> Sequence[Any]:
        """Where the marker stands in the order: its rank, when words are searched, then the values of the order."""
        where = _Where()
        self._scope(where, "p")
        where.add("p.id = %s", self.query.marker)
        rank, params = trigrams.rank(self.query.words) if self.query.words else ("0", [])
        columns = ", ".join([rank, *(expression for expression, _ in self.order)])
        sql = (
            f"SELECT {columns} FROM catalog_package p LEFT JOIN catalog_packagetext t ON t.package_id = p.id"
            f" WHERE {where.sql()}"
        )
        found = self._execute(sql, [*params, *where.params]) if "\x00" not in str(self.query.marker) else []
        if not found:
            raise NotFound(f"Package id '{str(self.query.marker)[:80]}' not found")
        return found[0] if self.query.words else found[0][1:]

    @staticmethod
    def _after(where: _Where, order: Sequence[tuple[str, bool]], marker: Sequence[Any]) -> None:
        """What comes after the marker. The first key bounds the range of the index, too."""
        parts, params = [], []
        for depth, (expression, down) in enumerate(order):
            equal = [f"{e} = %s" for e, _ in order[:depth]]
            parts.append("(" + " AND ".join([*equal, f"{expression} {'<' if down else '>'} %s"]) + ")")
            params += [*marker[:depth], marker[depth]]
        first, down = order[0]
        where.add(f"{first} {'<=' if down else '>='} %s", marker[0])
        where.add("(" + " OR ".join(parts) + ")", *params)

    def _select(self, extra: str, source: str, where: _Where, order: str, limit: int) -> list[tuple[Any, ...]]:
        columns = ", ".join(f"p.{c}" for c in COLUMNS)
        sql = f"SELECT {columns}{extra} FROM {source} WHERE {where.sql()} ORDER BY {order} LIMIT %s"
        return self._execute(sql, [*where.params, limit])

    @staticmethod
    def _execute(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql, list(params))
            return list(cursor.fetchall())


def _order_text(order: Sequence[tuple[str, bool]]) -> str:
    return ", ".join(f"{expression} DESC" if down else expression for expression, down in order)
