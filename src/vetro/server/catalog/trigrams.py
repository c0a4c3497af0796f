"""Substrings in the texts of packages, by the database's own index where it has one (migrations 0003 and 0005).

SQLite has one FTS5 table for each field, so that a word that is in all descriptions costs nothing when it is looked
for in names; PostgreSQL has one GIN index over all fields, and another one for words that have no trigram.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection

from vetro.server.queries import fetch, on_sqlite

#: In the order of their weight; a package ranks by the best one that has a word.
FIELDS = ("name", "fqn", "description", "categories", "tags", "classes", "author")
#: Shorter words have no trigram.
_LEAST = 3

Sql = tuple[str, list[Any]]
#: All fields as PostgreSQL's index has them (migration 0011).
_ALL = " || chr(10) || ".join(f"t.{field}" for field in FIELDS)
_ALL = f"({_ALL})"
#: (database, trigger or index) -> whether it is there.
_indexed: dict[tuple[str, str], bool] = {}


def indexed() -> bool:
    """Whether the database has the index: SQLite that of substrings, PostgreSQL that of short words."""
    return _there("catalog_text_added" if on_sqlite() else "catalog_short")


def _there(name: str) -> bool:
    key = (str(connection.settings_dict["NAME"]), name)
    if key not in _indexed:
        table, column = ("sqlite_master", "name") if on_sqlite() else ("pg_class", "relname")
        _indexed[key] = bool(fetch(f"SELECT COUNT(*) FROM {table} WHERE {column} = %s", [name])[0][0])
    return _indexed[key]


def has(field: str, word: str) -> Sql:
    """Whether a field has the word, tested row by row."""
    # PostgreSQL's LIKE goes through long texts of UTF-8 several times as slowly.
    return f"{'INSTR' if on_sqlite() else 'STRPOS'}(t.{field}, %s) > 0", [word]


def _like(field: str, word: str) -> Sql:
    """The same so that PostgreSQL's index can answer it; nothing in a word is a wildcard."""
    if on_sqlite():
        return has(field, word)
    if len(word) < _LEAST:
        return f"catalog_grams(t.{field}) @> ARRAY[%s]::text[]", [word]
    return f"t.{field} LIKE %s", [_pattern(word)]


def _pattern(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def rank(words: Sequence[str]) -> Sql:
    """The number of the best field that has one of the words."""
    parts: list[str] = []
    params: list[Any] = []
    for number, field in enumerate(FIELDS):
        texts = [has(field, word) for word in words]
        parts.append(f"WHEN {' OR '.join(t for t, _ in texts)} THEN {number}")
        params += [p for _, more in texts for p in more]
    return f"CASE {' '.join(parts)} ELSE {len(FIELDS)} END", params


def anywhere(words: Sequence[str]) -> Sql:
    """Whether any field has one of the words, tested row by row."""
    return either(FIELDS, words, has)


def inside(words: Sequence[str], field: str) -> Sql:
    """Whether that field has one of the words; led by the index where there is one."""
    if _usable(words):
        return f"t.id IN (SELECT rowid FROM {_table(field)} WHERE {_table(field)} MATCH %s)", [_match(words)]
    return either([field], words, _like if leads(words) else has)


def texts_with_all_of(groups: Sequence[Sequence[str]], most: int, field: str = "") -> list[int]:
    """The texts that have a word of each of these groups, in any field or in that one, at most that many: by the index
    of all fields together or of that one. Only where indexes of substrings lead for each group (`leads_all_of`).
    """
    if not groups or not all(groups):
        return []
    groups = [_shortest(words) for words in groups]
    if on_sqlite():
        table = _table(field or "all")
        match = " AND ".join(f"({_match(words)})" for words in groups)
        sql, params = f"SELECT rowid FROM {table} WHERE {table} MATCH %s", [match]
    else:
        text = f"t.{field}" if field else _ALL
        each = [_either_like(text, words) for words in groups]
        sql = f"SELECT t.id FROM catalog_packagetext t WHERE {' AND '.join(test for test, _ in each)}"
        params = [p for _, values in each for p in values]
    return [id for (id,) in fetch(f"{sql} LIMIT {most}", params)]


def these(ids: Sequence[int] | None) -> Sql:
    """Texts by their ids as a source ``t``; of all texts for None."""
    if ids is None:
        return "catalog_packagetext t", []
    if on_sqlite():
        return "json_each(%s) j CROSS JOIN catalog_packagetext t ON t.id = j.value", [json.dumps(ids)]
    return "(SELECT * FROM catalog_packagetext WHERE id = ANY(%s)) t", [list(ids)]


def _shortest(words: Sequence[str]) -> list[str]:
    """What has one of the words has one of these: none contains another one."""
    return [word for word in words if not any(other != word and other in word for other in words)]


def _either_like(text: str, words: Sequence[str]) -> Sql:
    """Whether PostgreSQL's expression ``text`` has one of the words."""
    return "(" + " OR ".join([f"{text} LIKE %s"] * len(words)) + ")", [_pattern(word) for word in words]


def inside_any(words: Sequence[str]) -> Sql:
    """Whether any field has one of the words; led by PostgreSQL's indexes."""
    return either(FIELDS, words, _like if leads(words) else has)


def found(words: Sequence[str]) -> tuple[str, str, Sql, list[Any]]:
    """(rank, source that begins with ``t``, condition, parameters of rank and source): everything with the words."""
    if not _usable(words):
        text, params = rank(words)
        return text, "catalog_packagetext t", inside_any(words), params
    each = " UNION ALL ".join(
        f"SELECT rowid AS id, {number} AS rank FROM {_table(field)} WHERE {_table(field)} MATCH %s"
        for number, field in enumerate(FIELDS)
    )
    best = f"(SELECT id, MIN(rank) AS rank FROM ({each}) GROUP BY id)"
    return (
        "f.rank",
        f"{best} f CROSS JOIN catalog_packagetext t ON t.id = f.id",
        ("", []),
        [_match(words)] * len(FIELDS),
    )


def matches(words: Sequence[str], field: str | None, most: int) -> int:
    """How many packages have one of the words in a field, counted up to ``most`` + 1; that, when it would take long.

    Without ``field``: in any of them, for words that no index finds.
    """
    if not on_sqlite():
        condition, params = either([field] if field else FIELDS, words, _like if leads(words) else has)
        return _count(f"SELECT t.id FROM catalog_packagetext t WHERE {condition}", params, most)
    if not _usable(words) or field is None:
        return most + 1
    table = _table(field)
    return _count(f"SELECT rowid FROM {table} WHERE {table} MATCH %s", [_match(words)], most)


def _count(query: str, params: list[Any], most: int) -> int:
    return int(fetch(f"SELECT COUNT(*) FROM ({query} LIMIT {most + 1}) q", params)[0][0])


def either(fields: Sequence[str], words: Sequence[str], test: Callable[[str, str], Sql]) -> Sql:
    """Whether any of the fields has one of the words, as ``test`` tests it."""
    texts = [test(field, word) for field in fields for word in words]
    return "(" + " OR ".join(text for text, _ in texts) + ")", [p for _, params in texts for p in params]


def leads(words: Sequence[str]) -> bool:
    """Whether indexes of substrings answer `inside`."""
    long = all(len(word) >= _LEAST for word in words)
    return long and indexed() if on_sqlite() else long or indexed()


def leads_all_of(words: Sequence[str]) -> bool:
    """Whether the index of all fields together answers `all_of`."""
    return all(len(word) >= _LEAST for word in words) and (not on_sqlite() or _there("catalog_all_added"))


def _usable(words: Sequence[str]) -> bool:
    return on_sqlite() and leads(words)


def _table(field: str) -> str:
    return f"catalog_trigrams_{field}"


def _match(words: Sequence[str]) -> str:
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
