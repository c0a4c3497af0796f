"""Searches of people: every word has to be somewhere in a package, in any order, and mistakes are forgiven.

`vetro.server.catalog.search` finds phrases, as clients of Murano expect. Here a text is taken apart into terms
(`search_terms`). A term that is nowhere is taken for a misspelt one, or for two words in one (`spelling`); and where no
package has all terms, the one that is found least is left out, as often as there are others.

The index is asked for the texts that have all terms. Where these are no more than a thousand or so, they are ranked by
where they have each term. Of more the names that have all of them come first, then the others in the order of the list,
until there are enough: nobody reads further. Of packages only those are read that make the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.server.caller import Caller
from vetro.server.catalog import spelling, trigrams
from vetro.server.catalog.filters import Conditions, Filters, bounded
from vetro.server.catalog.paging import join, select
from vetro.server.catalog.search import INDEXES, ORDERS, SMALL
from vetro.server.catalog.search_query import Query
from vetro.server.catalog.search_terms import Term, terms_of
from vetro.server.queries import fetch, on_sqlite

#: Packages that one search finds at most: whoever sees so many types another word.
MOST: Final = 240
#: Where a term may be, with what it adds to the rank: at the beginning of a word, within one.
#: Fields, what stands before a word of theirs, and what the two places add; the best field first.
_PLACES: Final = (
    (("name",), " ", 1, 2),
    (("tags", "categories"), "\n", 3, 5),
    (("fqn",), " ", 5, 6),
    (("classes",), "\n", 6, 7),
    (("description",), " ", 7, 8),
    (("author",), " ", 8, 9),
)
#: Packages with all words that are ranked, each by all its texts. What this costs rises with them; what it costs to go
#: through the list until a page is full falls, and is less from there on. From a few on it is looked first which of
#: the ways to say a word there are at all.
_RANKED, _FEW = 1200, 300
#: Names with all words that are ranked; of more the first ones of the list are soon found.
_NAMED: Final = 400
#: What it costs a package that it has not all the words beside each other in its name.
_APART: Final = 1


Row = tuple[Any, ...]


@dataclass
class SearchResult:
    """What a search found. ``meant``: {what was typed: what was looked for instead}; ``without``: words left out."""

    rows: list[Row]
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
    # All words together come first: where something has them, none has to be looked at by itself.
    left, found = terms, SearchResult(lookup.rows(terms))
    if not found.rows:
        left = [lookup.mended(term) for term in terms]
        found.rows = lookup.rows(left) if left != terms else []
    while not found.rows and len(left) > 1:
        least = min(reversed(left), key=lookup.count)
        left = [term for term in left if term is not least]
        found.without.append(least.typed)
        found.rows = lookup.rows(left)
    if not found.rows:
        return SearchResult([])
    found.more = len(found.rows) > skip + limit and skip + limit < MOST
    found.rows = found.rows[skip : skip + limit]
    found.meant = _meant([term for term in left if term.mended], found.rows)
    return found


def _meant(terms: Sequence[Term], rows: Sequence[Row]) -> dict[str, str]:
    """What was found in place of words that were not; only what the rows have: words of all projects are known."""
    texts = [" ".join(map(str, row)).lower() for row in rows]
    found = {}
    for term in terms:
        there = (text for text in term.texts if any(text in each for each in texts))
        if word := next(there, ""):
            found[term.typed] = word
    return found


class _Lookup:
    """One search. What the index found is kept: how much it is decides what leads."""

    def __init__(self, caller: Caller, query: Query) -> None:
        self.query = query
        self.filters = Filters(caller, query)
        self.sqlite = on_sqlite()
        self.small = bounded("catalog_package", Conditions(), SMALL) <= SMALL
        self._texts: dict[tuple[str, ...], list[int]] = {}

    def mended(self, term: Term) -> Term:
        """The term, with other words in its place where it is found nowhere."""
        if self.count(term, 0):
            return term
        two = spelling.parted(term.typed)
        return term.instead([" ".join(two), "".join(two)] if two else spelling.close_to(term.typed))

    def count(self, term: Term, most: int = _RANKED) -> int:
        """How often it is found in what the caller sees, up to ``most`` + 1; that, too, where no index can tell.

        What others have must not count: whoever asks for word after word would learn which of them they use.
        """
        if not term.ways:
            return 0
        seen = Conditions()
        source, values = "catalog_packagetext t", list[Any]()
        if self.small:
            seen.extend(_anywhere(term))
        elif not trigrams.leads_all_of(term.texts) or len(found := self._found([term])) > _RANKED:
            return most + 1
        elif not found:
            return 0
        else:
            source, values = trigrams.these(found)
        self.filters.scope(seen, "p")
        seen.params = [*values, *seen.params]
        return bounded(f"{source} {join('catalog_package p', 'p.id = t.package_id')}", seen, most)

    def _found(self, terms: Sequence[Term]) -> list[int]:
        """Texts that have all terms, at most one more than are ranked; by the index, once."""
        key = tuple("\0".join(term.texts) for term in terms)
        if key not in self._texts:
            self._texts[key] = trigrams.texts_with_all_of([term.texts for term in terms], _RANKED + 1)
        return self._texts[key]

    def rows(self, terms: Sequence[Term]) -> list[Row]:
        """The packages that have all terms, the best first."""
        if not all(term.ways for term in terms):
            return []
        if self.small:
            return self._ranked(terms, None, terms)
        leading = _leading(terms)
        others = [term for term in terms if term not in leading]
        if leading and len(found := self._found(leading)) <= _RANKED:
            return self._ranked(terms, found, others) if found else []
        if self.query.order_by:
            return self._walk(terms, self.query.limit, Conditions())
        return self._names_first(terms, leading, others)

    def _ranked(self, terms: Sequence[Term], found: Sequence[int] | None, others: Sequence[Term]) -> list[Row]:
        """What of these texts, or of all, has the ``others`` among the terms, too: sorted, as many as are wanted."""
        texts = Conditions()
        for term in others:
            texts.extend(_anywhere(term))
        source, values = trigrams.these(found)
        if self.query.order_by:
            source += f" {join('catalog_package p', 'p.id = t.package_id')}"
            texts.extend(self.filters.conditions(lead=False))
            order = [(ORDERS[key], self.query.descending) for key in self.query.order_by]
            order += [("p.sort_name", False), ("p.version_key", True), ("p.id", False)]
            return select("0", source, texts, order, None, self.query.limit, values)
        many = found is not None and len(found) > _FEW
        rank, params = _rank([_used(term) if many and term not in others else term for term in terms])
        # Ranked by texts alone; of packages only those are read that make the page, as far as the caller sees them.
        sql = (
            f"SELECT t.package_id, {rank} AS rank FROM {source} WHERE {texts.sql()} ORDER BY rank, t.name, t.package_id"
        )
        best = [id for id, _ in fetch(sql, [*params, *values, *texts.params])]
        rows: list[Row] = []
        at, size = 0, 2 * self.query.limit
        while at < len(best) and len(rows) < self.query.limit:
            part = {id: place for place, id in enumerate(best[at : at + size])}
            where = Conditions()
            where.any_of("p.id IN ({})", part)
            where.extend(self.filters.conditions(lead=False))
            seen = select("0", "catalog_package p", where, [("p.id", False)], None, size)
            rows += sorted(seen, key=lambda row: part[row[0]])
            at, size = at + size, 2 * size
        return rows[: self.query.limit]

    def _names_first(self, terms: Sequence[Term], leading: Sequence[Term], others: Sequence[Term]) -> list[Row]:
        """Terms that many packages have: what has them in its name, then the others, each in the order of names."""
        named = Conditions()
        for term in terms:
            text, params = trigrams.either(["name"], term.texts, trigrams.has)
            named.add(text.replace("t.name", "p.sort_name"), *params)
        found = trigrams.texts_with_all_of([term.texts for term in leading], _NAMED + 1, "name")
        if not leading or len(found) > _NAMED:
            rows = self._walk([], self.query.limit, named)
        else:
            rows = self._ranked(terms, found, others) if found else []
        if len(rows) < self.query.limit:
            without = Conditions()
            without.add(f"NOT ({named.sql()})", *named.params)
            rows += self._walk(terms, self.query.limit - len(rows), without)
        return rows

    def _walk(self, terms: Sequence[Term], limit: int, more: Conditions) -> list[Row]:
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


def _leading(terms: Sequence[Term]) -> list[Term]:
    """Those that the index of substrings finds."""
    return [term for term in terms if trigrams.leads_all_of(term.texts)]


def _used(term: Term) -> Term:
    """The term without what no text has in its place: each is looked for in all texts that are ranked."""
    if len(term.ways) == 1:
        return term
    ways = tuple(way for way in term.ways if trigrams.texts_with_all_of([way[:1]], 1))
    return replace(term, ways=ways or term.ways)


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
    if len(typed) > 1:
        ways = [" ".join(typed), " ".join(reversed(typed))]
        text, values = trigrams.either(["name"], ways, trigrams.has)
        parts.append(f"CASE WHEN {text} THEN 0 ELSE {_APART} END")
        params += values
    return " + ".join(parts), params


def _rank_of(text: str, more: int) -> trigrams.Sql:
    """Where one text is: the best place of all."""
    find, line = ("INSTR", "char(10)") if on_sqlite() else ("STRPOS", "chr(10)")
    cases, params = ["WHEN t.name = %s THEN 0"], [text]
    for names, start, begins, within in _PLACES:
        # Most texts have it in one place of all: whether it begins a word there is looked at where it is.
        inside = " OR ".join(f"{find}(t.{name}, %s) > 0" for name in names)
        between = line if start == "\n" else "' '"
        all_names = "".join(f" || {between} || t.{name}" for name in names).removeprefix(" || ")
        cases.append(f"WHEN {inside} THEN CASE WHEN {find}({all_names}, %s) > 0 THEN {begins} ELSE {within} END")
        params += [text] * len(names) + [start + text]
    return f"(CASE {' '.join(cases)} ELSE 10 END + {more})", params
