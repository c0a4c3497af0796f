"""Lists and searches give the same whatever leads them: compared with a search written in a few lines of Python."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from tests.server.layers import People, layer
from vetro.muranopl.declarations.versions import parse_version, version_key
from vetro.server.caller import Caller
from vetro.server.catalog import search, trigrams
from vetro.server.catalog.models import Category, Package
from vetro.server.catalog.search import Query, page
from vetro.server.catalog.search_query import LONGEST_SEARCH
from vetro.server.catalog.storage import NewPackage, store_changed, store_new
from vetro.server.catalog.versions import sort_key
from vetro.server.errors import Invalid, NotFound
from vetro.server.queries import fetch, write

pytestmark = pytest.mark.database

WORDS = ["web", "data", "base", "cluster", "héron", "mail", "100%", "under_score", "back\\slash", "queue"]
ME, OTHER = "p1", "p2"
ANN = Caller("u", "ann", ME, "one")
ROOT = Caller("r", "root", OTHER, "two", ("admin",), True)


@layer()
def packages(people: People) -> list[Package]:
    """Packages of two projects, some public, some disabled, several versions of some."""
    return made()


def made() -> list[Package]:
    chance = random.Random(3)
    categories = list(Category.objects.order_by("name"))[:3]
    found = []
    for number in range(120):
        name, more = chance.choice(WORDS), chance.choice(WORDS)
        fqn = f"com.example.{'abc'[number % 3]}{number // 3 if chance.random() < 0.6 else 0}"
        version = f"{chance.randint(0, 2)}.{number}.0" + chance.choice(["", "", "-rc1"])
        package = Package(
            project_id=chance.choice([ME, OTHER]), fqn=fqn, version=version, version_key=sort_key(version),
            prerelease="-" in version, name=f"{name.title()} {more}", sort_name=f"{name} {more}".lower(),
            type=chance.choice(["Application", "Library"]), author=chance.choice(["", *WORDS]),
            description=f"about {chance.choice(WORDS)} and {chance.choice(WORDS)}", digest="0" * 64,
            enabled=chance.random() < 0.8, is_public=chance.random() < 0.4,
            tag_names=chance.sample(WORDS, 2), class_names=[f"{fqn}.K{number}", f"com.Cls{number % 7}"],
        )  # fmt: skip
        store_new(NewPackage(package, {}, chance.sample(categories, chance.randint(0, 2))))
        found.append(package)
    return found


def expected(packages: list[Package], caller: Caller, query: Query) -> list[str]:
    """The ids in order, without pages."""

    def seen(p: Package) -> bool:
        return (caller.is_admin and not query.catalog) or p.is_public or p.project_id == caller.project_id

    def better(a: Package, b: Package) -> bool:
        first, second = ((not p.prerelease, version_key(parse_version(p.version))) for p in (a, b))
        own = a.project_id == caller.project_id != b.project_id
        return a.fqn == b.fqn and (first > second or (first == second and own))

    def rank(p: Package) -> int | None:
        fields = (
            p.name, p.fqn, p.description, "\n".join(p.category_names), "\n".join(p.tag_names),
            "\n".join(p.class_names), p.author,
        )  # fmt: skip
        hits = [n for n, text in enumerate(fields) if any(w in text.lower() for w in query.words)]
        return hits[0] if hits else None

    found = []
    for p in packages:
        if not seen(p) or (not p.enabled and not query.include_disabled) or (query.owned and p.project_id != ME):
            continue
        if query.tags and not set(query.tags) & set(p.tag_names):
            continue
        if query.categories and not set(query.categories) & set(p.category_names):
            continue
        if query.fqn is not None and p.fqn != query.fqn:
            continue
        if query.class_name is not None and query.class_name not in p.class_names:
            continue
        if query.type is not None and p.type.lower() != query.type.lower():
            continue
        if query.words and rank(p) is None:
            continue
        if query.catalog and query.fqn is None and any(o.enabled and seen(o) and better(o, p) for o in packages):
            continue
        found.append(p)
    keys = {"name": lambda p: p.sort_name, "fqn": lambda p: p.fqn, "created": lambda p: p.created}
    found.sort(key=lambda p: p.id, reverse=query.descending and not query.order_by)
    if query.order_by:
        found.sort(key=lambda p: p.version_key, reverse=True)
    for key in reversed(query.order_by):
        found.sort(key=keys[key], reverse=query.descending)
    if query.words:
        found.sort(key=lambda p: rank(p) or 0)
    return [p.id for p in found]


def queries(chance: random.Random) -> Query:
    words = [*WORDS, "a", "clu", "about", "com.", "nowhere", "héro", "0% ", "_", "K1", "io", "é", "\\s"]
    return Query(
        search=",".join(chance.sample(words, chance.choice([0, 1, 1, 2]))),
        tags=chance.sample(WORDS, chance.choice([0, 0, 0, 2])),
        categories=chance.sample(["Big Data", "Databases", "Web"], chance.choice([0, 0, 0, 1])),
        fqn=chance.choice([None, None, None, "com.example.a0"]),
        class_name=chance.choice([None, None, None, "com.Cls3"]),
        type=chance.choice([None, None, None, "library", "APPLICATION", "other"]),
        owned=chance.random() < 0.15,
        include_disabled=chance.random() < 0.3,
        catalog=chance.random() < 0.3,
        order_by=chance.choice([["name"], ["name"], ["fqn"], ["created"], ["fqn", "name"], []]),
        descending=chance.random() < 0.3,
        limit=chance.choice([1, 3, 7, 100]),
    )


def paged(caller: Caller, query: Query) -> list[str]:
    """All pages, each beginning behind the last package of the one before."""
    ids: list[str] = []
    while True:
        rows = page(caller, query)
        ids += [row[0] for row in rows]
        if len(rows) < query.limit:
            return ids
        query.marker = rows[-1][0]


@pytest.mark.parametrize(
    ("few", "small"),
    [(0, 0), (4, 0), (6000, 0), (4, 200)],
    ids=["order leads", "both", "matches lead", "each is looked at"],
)
def test_every_way_gives_the_same(packages: list[Package], monkeypatch: Any, few: int, small: int) -> None:
    monkeypatch.setattr(search, "FEW", few)
    monkeypatch.setattr(search, "FEW_FILTERED", few)
    monkeypatch.setattr(search, "SMALL", small)
    chance = random.Random(few)
    for _ in range(60):
        query = queries(chance)
        caller = chance.choice([ANN, ANN, ROOT])
        if caller is ROOT:
            query.owned = False
        wanted = expected(packages, caller, query)
        found = paged(caller, query)
        if connection.vendor == "sqlite" or "name" not in query.order_by:
            assert found == wanted, query
        else:
            assert sorted(found) == sorted(wanted), query


def test_without_an_index_of_substrings(packages: list[Package], monkeypatch: Any) -> None:
    monkeypatch.setattr(trigrams, "indexed", lambda: False)
    monkeypatch.setattr(search, "SMALL", 0)
    for words in ("cluster", "cl", "cl,cluster"):
        query = Query(search=words, limit=3)
        wanted = expected(packages, ANN, query)
        assert sorted(paged(ANN, query)) == sorted(wanted)


@pytest.mark.parametrize("word", ["h", "é", "ér", "0%", "r_", "k\\", "zz", "\n"])
def test_short_words_are_found_as_parts_of_texts(packages: list[Package], word: str) -> None:
    test, params = trigrams.inside([word], "name")
    sql = f"SELECT p.name, {test} FROM catalog_packagetext t JOIN catalog_package p ON p.id = t.package_id"
    found = fetch(sql, params)
    assert len(found) == len(packages)
    assert all(bool(hit) == (word in name.lower()) for name, hit in found)


def test_postgresql_finds_short_words_by_their_index(packages: list[Package]) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite looks through the texts for words without trigram")
    write("SET LOCAL enable_seqscan = off")  # so few texts are read faster
    test, params = trigrams.inside_any(["cl", "cluster"])
    plan = "\n".join(line for (line,) in fetch(f"EXPLAIN SELECT 1 FROM catalog_packagetext t WHERE {test}", params))
    assert plan.count("catalog_short") == len(trigrams.FIELDS), plan


def test_texts_follow_changes(packages: list[Package]) -> None:
    package = next(p for p in packages if p.project_id == ME and p.enabled)
    package.name, package.tag_names = "Zebra", ["fresh"]
    store_changed(package)
    assert [row[0] for row in page(ANN, Query(search="ZEBRA"))] == [package.id]
    assert [row[0] for row in page(ANN, Query(search="fresh"))] == [package.id]
    package.delete()
    assert page(ANN, Query(search="zebra")) == []


def test_words_that_say_nothing_are_left_out(packages: list[Package]) -> None:
    assert Query(search=" %; ,A B,a b").words == ["a b"]
    assert len(page(ANN, Query(search="%", limit=100))) == len(page(ANN, Query(limit=100)))


@pytest.mark.parametrize("query", [{"search": "a" * 501}, {"tags": ["a" * 256]}, {"categories": ["x", "a" * 256]}])
def test_texts_that_are_too_long_are_refused(db: None, query: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="at most"):
        page(ANN, Query(**query))
    assert page(ANN, Query(search="a" * 500, tags=["a" * 255], categories=["a" * 255])) == []


def test_versions(packages: list[Package]) -> None:
    rows = page(ANN, Query(version=">=2,<3", limit=100))
    assert rows and all(row[2].startswith("2.") for row in rows)
    assert page(ANN, Query(version="99", limit=100)) == []
    with pytest.raises(Invalid):
        page(ANN, Query(version="not one"))


def test_markers(packages: list[Package]) -> None:
    with pytest.raises(NotFound):
        page(ANN, Query(marker="nosuch"))
    hidden = next(p for p in packages if p.project_id == OTHER and not p.is_public)
    with pytest.raises(NotFound):
        page(ANN, Query(marker=hidden.id))
    assert page(ROOT, Query(marker=hidden.id)) is not None


def test_a_page_is_few_queries(packages: list[Package], django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    page(ANN, Query(search="cluster"))
    with django_assert_max_num_queries(4):
        page(ANN, Query())
    with django_assert_max_num_queries(25):
        page(ANN, Query(search="cluster"))


def test_hostile_words_are_only_words(packages: list[Package]) -> None:
    longest = "x" * LONGEST_SEARCH
    for word in ('"', '" OR "x', "name:web*", "'; DROP TABLE catalog_package; --", "NEAR(a b)", "web\\", longest):
        page(ANN, Query(search=word))
    assert Package.objects.count() == len(packages)
