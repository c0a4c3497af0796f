"""Substrings in the texts of packages, by the database's own index where it has one (migration 0003).

SQLite has one FTS5 table for each field, so that a word that is in all descriptions costs nothing when it is looked
for in names; PostgreSQL has one GIN index over all fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

#: In the order of their weight; a package ranks by the best one that has a word.
FIELDS = ("name", "fqn", "description", "categories", "tags", "classes", "author")
#: Shorter words have no trigram.
_LEAST = 3

Sql = tuple[str, list[Any]]
_indexed: dict[str, bool] = {}


def indexed() -> bool:
    """Whether this SQLite database has the index of substrings."""
    key = str(connection.settings_dict["NAME"])
    if key not in _indexed:
        with connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'catalog_text_added'")
            _indexed[key] = bool(cursor.fetchone()[0])
    return _indexed[key]


def has(field: str, word: str) -> Sql:
    """Whether a field has the word, tested row by row; nothing in a word is a wildcard."""
    if connection.vendor == "sqlite":
        return f"INSTR(t.{field}, %s) > 0", [word]
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"t.{field} LIKE %s", [f"%{escaped}%"]


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
    """Whether any field has one of the words, tested row by row on SQLite."""
    return _either(FIELDS, words)


def inside(words: Sequence[str], field: str) -> Sql:
    """Whether that field has one of the words; led by the index where there is one."""
    if _usable(words):
        return f"t.id IN (SELECT rowid FROM {_table(field)} WHERE {_table(field)} MATCH %s)", [_match(words)]
    return _either([field], words)


def found(words: Sequence[str]) -> tuple[str, str, Sql, list[Any]]:
    """(rank, source that begins with ``t``, condition, parameters of rank and source): everything with the words."""
    if not _usable(words):
        text, params = rank(words)
        return text, "catalog_packagetext t", anywhere(words), params
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
    """How many packages have one of the words, counted up to ``most`` + 1; that, when counting would take long.

    Without ``field`` a package counts once for each field that has one.
    """
    if connection.vendor != "sqlite":
        text, params = _either([field] if field else FIELDS, words)
        return _count(f"SELECT t.id FROM catalog_packagetext t WHERE {text}", params, most)
    if not _usable(words):
        return most + 1
    total = 0
    for one in [field] if field else FIELDS:
        total += _count(f"SELECT rowid FROM {_table(one)} WHERE {_table(one)} MATCH %s", [_match(words)], most - total)
        if total > most:
            break
    return total


def _count(query: str, params: list[Any], most: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM ({query} LIMIT {most + 1}) q", params)
        return int(cursor.fetchone()[0])


def _either(fields: Sequence[str], words: Sequence[str]) -> Sql:
    texts = [has(field, word) for field in fields for word in words]
    return "(" + " OR ".join(text for text, _ in texts) + ")", [p for _, params in texts for p in params]


def _usable(words: Sequence[str]) -> bool:
    return connection.vendor == "sqlite" and all(len(word) >= _LEAST for word in words) and indexed()


def _table(field: str) -> str:
    return f"catalog_trigrams_{field}"


def _match(words: Sequence[str]) -> str:
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
