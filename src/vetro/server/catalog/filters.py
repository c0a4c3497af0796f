"""The filters of a list of packages as conditions of SQL, and which of them leaves few enough to lead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vetro.data_classes import dataclass
from vetro.muranopl.declarations.versions import parse_spec, parse_version
from vetro.muranopl.errors import DeclarationError
from vetro.server.caller import Caller
from vetro.server.catalog import trigrams
from vetro.server.errors import Invalid
from vetro.server.queries import fetch, on_sqlite

if TYPE_CHECKING:
    from vetro.server.catalog.search_query import Query


#: What a package itself says: PostgreSQL would join another table to thousands of rows.
_HAS = "jsonb_exists_any(p.{}, ARRAY[{{}}]::text[])"


@dataclass
class Conditions:
    """Conditions and their parameters."""

    parts: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)
    #: Nearly the same of the texts of packages, where an index of substrings can lead by it.
    texts: Conditions | None = None

    def add(self, part: str, *params: Any) -> None:
        """One more."""
        self.parts.append(part)
        self.params += params

    def any_of(self, template: str, values: Iterable[str]) -> None:
        """One whose ``{}`` becomes a list of values."""
        listed = list(values)
        self.add(template.format(", ".join(["%s"] * len(listed))), *listed)

    def extend(self, other: Conditions) -> None:
        """Those of another one."""
        self.parts += other.parts
        self.params += other.params

    def sql(self) -> str:
        """All of them."""
        return " AND ".join(self.parts) or "1 = 1"


def bounded(source: str, where: Conditions, most: int) -> int:
    """How many rows there are, counted up to ``most`` + 1."""
    sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM {source} WHERE {where.sql()} LIMIT {most + 1}) q"
    return int(fetch(sql, where.params)[0][0])


class Filters:
    """The filters of one query, for one caller."""

    def __init__(self, caller: Caller, query: Query) -> None:
        self.caller = caller
        self.query = query
        sqlite = on_sqlite()
        self.yes, self.no = ("1", "0") if sqlite else ("TRUE", "FALSE")
        # A plus keeps SQLite from an index: what is true of half the rows must not lead.
        self.plus = "+" if sqlite else ""

    # -- what can lead ------------------------------------------------------------------------------------------

    def driver(self, most: int) -> Conditions | None:
        """The condition that leaves at most ``most`` packages to look at; None when none does."""
        q = self.query
        for condition, source, counted in self._leads():
            if bounded(source, counted, most) <= most:
                return condition
        if q.catalog or not self.caller.is_admin:
            own = _one("p.project_id = %s", self.caller.project_id)
            if q.owned:
                return own
            if self._public_count(most) + bounded("catalog_package p", own, most) <= most:
                seen = Conditions()
                seen.add(f"(p.is_public = {self.yes} OR p.project_id = %s)", self.caller.project_id)
                return seen
        elif q.owned:
            return _one("p.project_id = %s", self.caller.project_id)
        return None

    def _public_count(self, most: int) -> int:
        return bounded("catalog_package p", _one(f"p.is_public = {self.yes}"), most)

    def _leads(self) -> Iterable[tuple[Conditions, str, Conditions]]:
        """(condition, table, condition of the table) of filters that may leave few."""
        q = self.query
        if q.ids:
            found = Conditions()
            found.any_of("p.id IN ({})", q.ids)
            yield found, "catalog_package p", found
        if q.fqns:
            found = Conditions()
            found.any_of("p.fqn IN ({})", q.fqns)
            yield found, "catalog_package p", found
        for column, value in (("fqn", q.fqn), ("name", q.name)):
            if value is not None:
                found = _one(f"p.{column} = %s", value)
                yield found, "catalog_package p", found
        if q.class_name is not None:
            found = _one("p.id IN (SELECT package_id FROM catalog_packageclass WHERE name = %s)", q.class_name)
            yield found, "catalog_packageclass", _one("name = %s", q.class_name)
        if q.type is not None:
            found = _one("p.type = %s", _type(q.type))
            yield found, "catalog_package p", found
        if q.tags:
            found, counted = Conditions(), Conditions()
            found.any_of("p.id IN (SELECT package_id FROM catalog_packagetag WHERE tag IN ({}))", q.tags)
            counted.any_of("tag IN ({})", q.tags)
            found.texts = _of_texts("tags", q.tags)
            yield found, "catalog_packagetag", counted
        if q.categories:
            found, counted = Conditions(), Conditions()
            inner = "SELECT package_id FROM catalog_package_categories WHERE category_id IN ({})"
            found.any_of(f"p.id IN ({inner})", self._category_ids)
            counted.any_of("category_id IN ({})", self._category_ids)
            found.texts = _of_texts("categories", q.categories)
            yield found, "catalog_package_categories", counted

    @cached_property
    def _category_ids(self) -> list[str]:
        where = Conditions()
        where.any_of("name IN ({})", self.query.categories)
        return [id for (id,) in fetch(f"SELECT id FROM catalog_category WHERE {where.sql()}", where.params)] or [""]

    # -- conditions ---------------------------------------------------------------------------------------------

    def conditions(self, *, lead: bool) -> Conditions:
        """All filters, tested row by row; with ``lead`` an index may be used for any of them."""
        q, where, plus = self.query, Conditions(), "" if lead else self.plus
        self.scope(where, "p", plus)
        if q.owned:
            where.add(f"{plus}p.project_id = %s", self.caller.project_id)
        if not q.include_disabled:
            where.add(f"{plus}p.enabled = {self.yes}")
        if q.ids:
            where.any_of(f"{plus}p.id IN ({{}})", q.ids)
        if q.fqn is not None:
            where.add(f"{plus}p.fqn = %s", q.fqn)
        if q.fqns:
            where.any_of(f"{plus}p.fqn IN ({{}})", q.fqns)
        if q.name is not None:
            where.add(f"{plus}p.name = %s", q.name)
        if q.type is not None:
            where.add(f"{plus}p.type = %s", _type(q.type))
        if q.categories:
            if on_sqlite():
                inner = "SELECT 1 FROM catalog_package_categories c WHERE c.package_id = p.id AND c.category_id IN ({})"
                where.any_of(f"EXISTS ({inner})", self._category_ids)
            else:
                where.any_of(_HAS.format("category_names"), q.categories)
        if q.tags:
            if on_sqlite():
                inner = "SELECT 1 FROM catalog_packagetag pt WHERE pt.package_id = p.id AND pt.tag IN ({})"
                where.any_of(f"EXISTS ({inner})", q.tags)
            else:
                where.any_of(_HAS.format("tag_names"), q.tags)
        if q.class_name is not None:
            inner = "SELECT 1 FROM catalog_packageclass pl WHERE pl.package_id = p.id AND pl.name = %s"
            where.add(f"EXISTS ({inner})", q.class_name)
        if q.version is not None:
            self._versions(where, q.version)
        if q.catalog and q.version is None and q.fqn is None:
            self._newest(where)
        return where

    def texts(self) -> Conditions:
        """What texts of packages have if they pass, tested row by row: others need not be looked at any further."""
        where = Conditions()
        for field_name, names in (("tags", self.query.tags), ("categories", self.query.categories)):
            if names:
                tests = [trigrams.has(field_name, name.lower()) for name in names]
                where.add(f"({' OR '.join(test for test, _ in tests)})", *(p for _, values in tests for p in values))
        return where

    def scope(self, where: Conditions, p: str, plus: str = "") -> None:
        """What the caller sees."""
        if not self.caller.is_admin or self.query.catalog:
            text = f"({plus}{p}.is_public = {self.yes} OR {plus}{p}.project_id = %s)"
            where.add(text, self.caller.project_id)

    def _newest(self, where: Conditions) -> None:
        """Nothing better of its name is to be seen: releases before pre-releases, newer before older, own first."""
        inner = Conditions()
        inner.add(f"b.fqn = p.fqn AND {self.plus}b.enabled = {self.yes}")
        self.scope(inner, "b", self.plus)
        inner.add(
            f"((b.prerelease = {self.no} AND p.prerelease = {self.yes})"
            " OR (b.prerelease = p.prerelease AND (b.version_key > p.version_key"
            " OR (b.version_key = p.version_key AND b.project_id = %s AND p.project_id <> %s))))",
            self.caller.project_id,
            self.caller.project_id,
        )
        where.add(f"NOT EXISTS (SELECT 1 FROM catalog_package b WHERE {inner.sql()})", *inner.params)

    def _versions(self, where: Conditions, text: str) -> None:
        """The versions that a spec allows among those there are: specs are ours to read, not the database's."""
        try:
            spec = parse_spec(text)
        except DeclarationError as error:
            raise Invalid(error.message, hint=error.hint) from None
        of = _one("fqn = %s", self.query.fqn) if self.query.fqn is not None else Conditions()
        found = fetch(f"SELECT DISTINCT version FROM catalog_package WHERE {of.sql()}", of.params)
        allowed = [version for (version,) in found if spec.match(parse_version(version))]
        if not allowed:
            where.add("1 = 0")
        elif len(allowed) < len(found):
            where.any_of("p.version IN ({})", allowed)


def _of_texts(field_name: str, names: Sequence[str]) -> Conditions | None:
    words = [name.lower() for name in names]
    if not trigrams.leads(words):
        return None
    test, params = trigrams.inside(words, field_name)
    return _one(test, *params)


def _type(text: str) -> str:
    """A type as it is stored, however it is written."""
    return text.capitalize()


def _one(text: str, *params: Any) -> Conditions:
    found = Conditions()
    found.add(text, *params)
    return found
