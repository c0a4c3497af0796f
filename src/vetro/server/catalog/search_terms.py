"""`terms_of`: what somebody typed into a search box as terms, each with other ways to say the same.

A term is one word. Its alternatives are what texts of packages may have instead of it: the word without the ending of a
plural, umlauts written otherwise, the English word for a German one and the other way round, the long form of something
that everybody abbreviates. `vetro.server.catalog.spelling` adds words for one that is found nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from vetro.data_classes import dataclass

#: Terms of one search, and alternatives of one.
MOST: Final = 8
_ALTERNATIVES: Final = 6
#: What an alternative adds to the rank of what it finds.
NEAR, FAR = 1, 3

_WORD = re.compile(r"[^\W_]+")
#: Words that say nothing about an application.
_EMPTY: Final = frozenset(
    re.findall(
        r"\w+",
        "a an and the for of or with to in on my some any app apps application applications "
        "ein eine einen einer der die das den dem für fur und oder mit von zu im in anwendung anwendungen",
    )
)
#: Words for the same thing; those of one line stand for each other. A word of several parts is looked for as it stands.
_SAME: Final = [
    tuple(part.strip() for part in line.split(","))
    for line in """
    database, datenbank, db, datenbanken
    load balancer, loadbalancer, lastverteiler, lastverteilung, lastausgleich, lb
    balancer, verteiler
    message, nachricht, nachrichten
    queue, warteschlange
    broker, vermittler
    backup, sicherung, datensicherung
    monitoring, überwachung, monitor
    cache, zwischenspeicher
    storage, speicher
    network, netz, netzwerk
    license, licence, lizenz, lizenzen
    account, konto, konten
    user, benutzer, nutzer
    password, passwort, kennwort
    file, datei, dateien
    board, brett, tafel, pinnwand
    forum, diskussion
    blog, tagebuch
    shop, store, laden, geschäft
    mail, email, post
    search, suche
    web, website, webseite
    webserver, httpd
    server, rechner
    day, tag, tages
    schedule, zeitplan
    encryption, verschlüsselung
    example, beispiel, beispiele
    postgresql, postgres, pgsql, psql
    kubernetes, k8s
    mysql, mariadb
    javascript, js
    continuous integration, ci
    version control, versionsverwaltung, git
    certificate, zertifikat
    domain name, dns
    virtual machine, vm
    big data, hadoop
    small, klein, kleine, kleiner
    large, groß, große, großer
    policy, richtlinie
    counter, zähler
    """.strip().splitlines()
]
_BY_WORD: Final = {word: group for group in _SAME for word in group}
_ENDINGS: Final = ("ern", "en", "es", "er", "n", "s", "e")


@dataclass(frozen=True, slots=True)
class Term:
    """A word that was typed, and (text, what it adds to the rank) of what may stand in its place; itself is first."""

    typed: str
    ways: tuple[tuple[str, int], ...]
    #: Whether other words stand in its place, since it was found nowhere.
    mended: bool = False

    @property
    def texts(self) -> list[str]:
        """All that may stand in its place."""
        return [text for text, _ in self.ways]

    def instead(self, words: Iterable[str]) -> Term:
        """The term with these words in place of what was typed."""
        ways = [(text, rank + NEAR) for word in words for text, rank in _ways(word)]
        return replace(self, ways=_distinct(ways), mended=True)


def words_in(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(text)


def terms_of(text: str) -> list[Term]:
    """The terms of a search; empty for a text that has no word."""
    words = list(dict.fromkeys(_WORD.findall(text.lower())))
    telling = [word for word in words if word not in _EMPTY] or words
    return [Term(word, _ways(word)) for word in telling[:MOST]]


def _ways(word: str) -> tuple[tuple[str, int], ...]:
    found = [(word, 0)]
    stems = [word, *(word.removesuffix(end) for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 4)]
    found += [(stem, NEAR) for stem in stems[1:2]]
    for stem in stems:
        found += [(other, FAR) for other in _BY_WORD.get(stem, ())]
        if stem in _BY_WORD:
            break
    found += [(other, NEAR) for other in _spelt(word)]
    return _distinct(found)


def _spelt(word: str) -> list[str]:
    """With umlauts in place of two letters, and the other way round."""
    wide, narrow, folded = word, word, word
    for one, two, plain in (("ä", "ae", "a"), ("ö", "oe", "o"), ("ü", "ue", "u"), ("ß", "ss", "ss")):
        wide, narrow, folded = wide.replace(one, two), narrow.replace(two, one), folded.replace(one, plain)
    return [other for other in (wide, narrow, folded) if other != word]


def _distinct(ways: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    best: dict[str, int] = {}
    for text, rank in ways:
        best.setdefault(text, rank)
    # An index of three letters finds no shorter text, and what stands for one is meant by it.
    long = {text: rank for text, rank in best.items() if len(text) > 2}
    return tuple((long or best).items())[:_ALTERNATIVES]
