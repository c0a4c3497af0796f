"""Words that texts of packages have, and which of them somebody may have meant who typed none of them.

`learn` keeps each word under itself and under every text that it becomes when one letter is left out; a misspelt word
is looked up in the same way. So a letter too many, one too few, a wrong one and two that are swapped are found by a few
look-ups in an index, in any database and however many words there are; of a long word also two of these, mostly.

Words are not forgotten when their package goes, and are those of all projects: what is shown of them is only what finds
something that the caller sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Final

from django.db import connection
from django.db.models import Max

from vetro.server.catalog.models import SearchWord
from vetro.server.catalog.search_terms import words_in

#: Letters of words that are kept; words of one package; rows of all: what packages say is up to whoever writes them.
SHORTEST, LONGEST, EACH, ROWS = 4, 24, 60, 3_000_000
#: Letters from which on two mistakes are looked for, and words that one may have meant.
_LONG, _MEANT = 8, 3
#: How alike two words have to be.
_ALIKE: Final = 0.72
#: Fields whose words are kept, the most telling first.
_FIELDS: Final = ("name", "tags", "categories", "fqn", "classes", "description")


def learn(texts: Iterable[Mapping[str, str]], table: type[SearchWord] = SearchWord) -> None:
    """Keeps the words of texts of packages (`vetro.server.catalog.storage.texts`). ``table``: as a migration has it."""
    words: dict[str, None] = {}
    for text in texts:
        found = dict.fromkeys(word for field in _FIELDS for word in words_in(text[field][:20_000]) if _kept(word))
        words.update(dict.fromkeys(list(found)[:EACH]))
    new = set(words)
    listed = list(words)
    for first in range(0, len(listed), 500):
        known = table.objects.filter(form__in=listed[first : first + 500])
        new -= {word for form, word in known.values_list("form", "word") if form == word}
    if not new or (table.objects.aggregate(last=Max("id"))["last"] or 0) > ROWS:
        return
    # In one order: two imports that learn the same words wait for each other, but never both.
    rows = sorted((form, word) for word in new for form in {word, *_shortened(word)})
    # Hundreds of rows a package: as instances of a model they would take most of the time of an import.
    quoted = connection.ops.quote_name(table._meta.db_table)
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {quoted} (form, word) VALUES (%s, %s) ON CONFLICT DO NOTHING", rows)


def close_to(word: str) -> list[str]:
    """Words that are nearly that, the nearest first; empty for one that is too short or too long to tell."""
    if not SHORTEST <= len(word) <= LONGEST + 1:
        return []
    forms = {word, *_shortened(word)}
    if len(word) >= _LONG:
        forms |= {shorter for form in list(forms) for shorter in _shortened(form)}
    listed = sorted(forms)
    found: set[str] = set()
    for first in range(0, len(listed), 500):
        rows = SearchWord.objects.filter(form__in=listed[first : first + 500])
        found.update(rows.values_list("word", flat=True)[:500])
    ranked = sorted((-SequenceMatcher(None, word, other, autojunk=False).ratio(), other) for other in found)
    return [other for alike, other in ranked if -alike >= _ALIKE][:_MEANT]


def parted(word: str) -> tuple[str, str] | None:
    """The two words that somebody wrote as one; None where there is no such pair."""
    cuts = range(3, min(len(word), 2 * LONGEST) - 2)
    halves = {part for cut in cuts for part in (word[:cut], word[cut:])}
    known = set(SearchWord.objects.filter(form__in=halves, word__in=halves).values_list("form", "word"))
    return next(((word[:cut], word[cut:]) for cut in cuts if _both(known, word[:cut], word[cut:])), None)


def _both(known: set[tuple[str, str]], *parts: str) -> bool:
    return all((part, part) in known for part in parts)


def _kept(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and word.isalpha()


def _shortened(word: str) -> set[str]:
    return {word[:place] + word[place + 1 :] for place in range(len(word))}
