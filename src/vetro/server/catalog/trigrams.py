"""Substrings in the texts of packages, by the database's own index where it has one (migration 0003)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

FIELDS = ("name", "fqn", "description", "categories", "tags", "classes", "author")
#: Shorter words have no trigram.
_LEAST = 3

Sql = tuple[str, list[Any]]
_indexed: dict[str, bool] = {}


def indexed() -> bool:
    """Whether this database has the index of substrings."""
    key = f"{connection.vendor}:{connection.settings_dict['NAME']}"
    if key not in _indexed:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'catalog_text_added'")
            else:
                cursor.execute("SELECT COUNT(*) FROM pg_indexes WHERE indexname = 'catalog_trigrams'")
            _indexed[key] = bool(cursor.fetchone()[0])
    return _indexed[key]


def has(field: str, word: str) -> Sql:
    """Whether a field has the word; nothing in a word is a wildcard."""
    if connection.vendor == "sqlite":
        return f"INSTR(t.{field}, %s) > 0", [word]
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"t.{field} LIKE %s", [f"%{escaped}%"]


def rank(words: Sequence[str]) -> Sql:
    """The number of the best field that has one of the words."""
    parts, params = [], []
    for number, field in enumerate(FIELDS):
        texts = [has(field, word) for word in words]
        parts.append(f"WHEN {' OR '.join(t for t, _ in texts)} THEN {number}")
        params += [p for _, more in texts for p in more]
    return f"CASE {' '.join(parts)} ELSE {len(FIELDS)} END", params


def condition(words: Sequence[str], field: str | None = None) -> Sql:
    """Whether any field, or that one, has one of the words; led by the index where that helps."""
    if _usable(words):
        return "t.id IN (SELECT rowid FROM catalog_trigrams WHERE catalog_trigrams MATCH %s)", [_match(words, field)]
    texts = [has(f, word) for f in ([field] if field else FIELDS) for word in words]
    return "(" + " OR ".join(text for text, _ in texts) + ")", [p for _, params in texts for p in params]


def matches(words: Sequence[str], field: str | None, most: int) -> int:
    """How many packages have one of the words, counted up to ``most`` + 1; that, when counting would take long."""
    if connection.vendor == "sqlite":
        if not _usable(words):
            return most + 1
        inner = "SELECT rowid FROM catalog_trigrams WHERE catalog_trigrams MATCH %s"
        params: list[Any] = [_match(words, field)]
    else:
        text, params = condition(words, field)
        inner = f"SELECT t.id FROM catalog_packagetext t WHERE {text}"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM ({inner} LIMIT {most + 1}) q", params)
        return int(cursor.fetchone()[0])


def _usable(words: Sequence[str]) -> bool:
    return connection.vendor == "sqlite" and all(len(word) >= _LEAST for word in words) and indexed()


def _match(words: Sequence[str], field: str | None) -> str:
    quoted = " OR ".join('"' + word.replace('"', '""').replace("\x00", "") + '"' for word in words)
    return f"{field} : ({quoted})" if field else quoted
