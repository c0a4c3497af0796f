"""Searches of people: every word has to be somewhere in a package, in any order, and mistakes are forgiven.

`vetro.server.catalog.search` finds phrases, as clients of Murano expect. Here a text is taken apart into terms
(`search_terms`). A term that is nowhere is taken for a misspelt one, or for two words in one (`spelling`); and where no
package has all terms, the one that is found least is left out, as often as there are others.

Where some thousand packages have all terms, they are ranked by where they have each. Of more the names that have all of
them come first, then the others in the order of the list, until there are enough: nobody reads further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vetro.server.caller import Caller
from vetro.server.catalog import spelling, trigrams
from vetro.server.catalog.filters import Conditions, Filters, bounded
from vetro.server.catalog.paging import join, select
from vetro.server.catalog.search import INDEXES, ORDERS, SMALL
from vetro.server.catalog.search_query import Query
from vetro.server.catalog.search_terms import Term, terms_of
from vetro.server.queries import on_sqlite

#: Packages that one search finds at most: whoever sees so many types another word.
MOST: Final = 240
#: Where a term may be, with what the place adds to the rank: at the beginning of a word, within one.
_PLACES: Final = {"name": (1, 2), "tags": (3, 5), "categories": (3, 5), "fqn": (5, 6), "classes": (6, 7),
                  "description": (7, 8), "author": (8, 9)}  # fmt: skip
#: Packages with all words that are ranked, each by all its texts: with twice as many the dearest searches took twice as
#: long.
_RANKED: Final = 3000
#: Names with all words that are ranked; of more the first ones of the list are soon found.
_NAMED: Final = 400
#: What it costs a package that it has not all the words beside each other in its name.
_APART: Final = 1


@dataclass
class SearchResult:
    """What a search found. ``meant``: {what was typed: what was looked for instead}; ``without``: words left out."""

    rows: list[tuple[Any, ...]]
    more: bool = False
    meant: dict[str, str] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)


def find(caller: Caller, query: Query, skip: int = 0) -> SearchResult:
    """A page of what the words of ``query.search`` find, after the first ``skip``: rows of `answers.COLUMNS`.

    ``order_by``: empty for the best first. Raises `Invalid` as `search.page`.
    """
    query.check()
    terms = terms_of(query.search)
    if not terms or skip >= MOST:
        return SearchResult([])
    query.limit, limit = min(skip + query.limit, MOST) + 1, query.limit
    lookup = _Lookup(caller, query)
    known = [lookup.mended(term) for term in terms]
    found = SearchResult([])
    left = sorted(known, key=lookup.count, reverse=True)
    while left:
        found.rows = lookup.rows(left) if lookup.count(left[-1]) else []
        if found.rows or len(left) == 1:
            break
        found.without.append(left.pop().typed)
    if not found.rows:
        return SearchResult([])
    found.more = len(found.rows) > skip + limit and skip + limit < MOST
    found.rows = found.rows[skip : skip + limit]
    found.meant = _meant([term for term in left if term.mended], found.rows)
    return found


def _meant(terms: Sequence[Term], rows: Sequence[tuple[Any, ...]]) -> dict[str, str]:
    """What was found in place of words that were not; only what the rows have: words of all projects are known."""
    texts = [" ".join(map(str, row)).lower() for row in rows]
    found = {}
    for term in terms:
        there = (text for text in term.texts if any(text in each for each in texts))
        if word := next(there, ""):
            found[term.typed] = word
    return found


class _Lookup:
    """One search. Counts are kept: they decide what leads."""

    def __init__(self, caller: Caller, query: Query) -> None:
        self.query = query
        self.filters = Filters(caller, query)
        self.sqlite = on_sqlite()
        self.order = [(ORDERS[key], query.descending) for key in query.order_by]
        self.order += [("rank", False)] if not self.order else []
        self.order += [("p.sort_name", False), ("p.version_key", True), ("p.id", False)]
        self.small = bounded("catalog_package", Conditions(), SMALL) <= SMALL
        self._counted: dict[str, int] = {}

    def mended(self, term: Term) -> Term:
        """The term, with other words in its place where it is found nowhere."""
        if self.count(term):
            return term
        two = spelling.parted(term.typed)
        return term.instead([" ".join(two), "".join(two)] if two else spelling.close_to(term.typed))

    def count(self, term: Term) -> int:
        """How often it is found, counted a little beyond what leads."""
        key = "\0".join(term.texts)
        if key not in self._counted:
            self._counted[key] = self._count(term) if term.ways else 0
        return self._counted[key]

    def _count(self, term: Term) -> int:
        if self.small:
            return bounded("catalog_packagetext t", _anywhere(term), SMALL)
        if not trigrams.leads_all_of(term.texts):
            return _RANKED + 1
        return self._bounded([term])

    def _bounded(self, terms: Sequence[Term], field: str = "") -> int:
        return trigrams.count_all_of([term.texts for term in terms], _RANKED, field)

    def rows(self, terms: Sequence[Term]) -> list[tuple[Any, ...]]:
        """The packages that have all terms, the best first."""
        leading = [term for term in terms if not self.small and trigrams.leads_all_of(term.texts)]
        others = [term for term in terms if term not in leading]
        if self.small:
            return self._ranked(terms, Conditions(), others)
        if leading and self._bounded(leading) <= _RANKED:
            return self._ranked(terms, _together(leading), others)
        if self.query.order_by:
            return self._walk(terms, self.query.limit, Conditions())
        return self._names_first(terms, leading, others)

    def _ranked(self, terms: Sequence[Term], lead: Conditions, others: Sequence[Term]) -> list[tuple[Any, ...]]:
        """All that there is, ranked and sorted. ``others``: the terms that ``lead`` does not find."""
        rank, params = _rank(terms)
        texts = Conditions()
        texts.extend(lead)
        for term in others:
            texts.extend(_anywhere(term))
        where = self.filters.conditions(lead=False)
        if self.sqlite:
            texts.extend(where)
            source = f"catalog_packagetext t {join('catalog_package p', 'p.id = t.package_id')}"
            return select(rank, source, texts, self.order, None, self.query.limit, params)
        texts.extend(self.filters.texts())
        inner = f"SELECT t.package_id, {rank} AS rank FROM catalog_packagetext t WHERE {texts.sql()} OFFSET 0"
        package = "SELECT * FROM catalog_package p WHERE p.id = t.package_id OFFSET 0"
        source = f"({inner}) t CROSS JOIN LATERAL ({package}) p"
        return select("t.rank", source, where, self.order, None, self.query.limit, [*params, *texts.params])

    def _names_first(
        self, terms: Sequence[Term], leading: Sequence[Term], others: Sequence[Term]
    ) -> list[tuple[Any, ...]]:
        """Terms that many packages have: what has them in its name, then the others, each in the order of names."""
        named = Conditions()
        for term in terms:
            text, params = trigrams.either(["name"], term.texts, trigrams.has)
            named.add(text.replace("t.name", "p.sort_name"), *params)
        found = self._bounded(leading, "name") if leading else _RANKED + 1
        if found > _NAMED:
            rows = self._walk([], self.query.limit, named)
        else:
            rows = self._ranked(terms, _together(leading, "name"), others) if found else []
        if len(rows) < self.query.limit:
            without = Conditions()
            without.add(f"NOT ({named.sql()})", *named.params)
            rows += self._walk(terms, self.query.limit - len(rows), without)
        return rows

    def _walk(self, terms: Sequence[Term], limit: int, more: Conditions) -> list[tuple[Any, ...]]:
        """In the order of the list, until there are enough."""
        where = self.filters.conditions(lead=False)
        where.extend(more)
        for term in terms:
            where.extend(_anywhere(term))
        key = self.query.order_by[0] if self.query.order_by else "name"
        source = "catalog_package p" + (f" INDEXED BY {INDEXES[key]}" if self.sqlite else "")
        if terms:
            source += f" {join('catalog_packagetext t', 't.package_id = p.id')}"
        down = self.query.descending and bool(self.query.order_by)
        order = [(ORDERS[key], down), ("p.version_key", True), ("p.id", False)]
        return select("0", source, where, order, None, limit)


def _together(terms: Sequence[Term], field: str = "") -> Conditions:
    where = Conditions()
    text, params = trigrams.all_of([term.texts for term in terms], field)
    where.add(text, *params)
    return where


def _anywhere(term: Term) -> Conditions:
    where = Conditions()
    text, params = trigrams.anywhere(term.texts)
    where.add(text, *params)
    return where


def _rank(terms: Sequence[Term]) -> trigrams.Sql:
    """Where each of the terms is, added up: the lower the better."""
    parts: list[str] = []
    params: list[Any] = []
    for term in terms:
        each = [_rank_of(text, more) for text, more in term.ways]
        listed = ", ".join(sql for sql, _ in each)
        least = "MIN" if on_sqlite() else "LEAST"
        parts.append(listed if len(each) == 1 else f"{least}({listed})")
        params += [p for _, values in each for p in values]
    typed = [term.typed for term in terms]
    if len(typed) > 1:  # which of both comes first was lost when they were sorted
        ways = [" ".join(typed), " ".join(reversed(typed))]
        text, values = trigrams.either(["name"], ways, trigrams.has)
        parts.append(f"CASE WHEN {text} THEN 0 ELSE {_APART} END")
        params += values
    return " + ".join(parts), params


def _rank_of(text: str, more: int) -> trigrams.Sql:
    """Where one text is: the best place of all."""
    find, line = ("INSTR", "char(10)") if on_sqlite() else ("STRPOS", "chr(10)")
    tests: list[tuple[int, str, str]] = [(0, "t.name = %s", text)]
    for name, (begins, within) in _PLACES.items():
        between, start = (line, "\n") if name in ("tags", "categories", "classes") else ("' '", " ")
        tests.append((begins, f"{find}({between} || t.{name}, %s) > 0", start + text))
        tests.append((within, f"{find}(t.{name}, %s) > 0", text))
    tests.sort(key=lambda test: test[0])
    cases = " ".join(f"WHEN {test} THEN {rank}" for rank, test, _ in tests)
    return f"(CASE {cases} ELSE 10 END + {more})", [value for _, _, value in tests]
