"""Help inside of the pages: the manual with its links, a section for each page, search over everything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.server.catalog.archives import archive
from tests.server.watch.world import app, instance, made
from tests.server.web.wording import translated
from vetro.server.catalog import service
from vetro.server.environments import service as environments
from vetro.server.web import manual
from vetro.server.web.topics import PAGE, TOPICS, topic_of
from vetro.server.web.views import palette

pytestmark = pytest.mark.django_db
Browser = Callable[[Any], Client]
LIST = {"HX-Request": "true", "HX-Target": "palette-list"}
DOCS = Path(__file__).parents[3] / "docs"


def text(client: Client, path: str, **more: Any) -> str:
    answer = client.get(path, **more)
    assert answer.status_code == 200, (path, answer)
    return str(answer.content.decode())


def routes(found: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for one in found:
        path = prefix + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from routes(one.url_patterns, path)
        elif isinstance(one, URLPattern):
            yield path, one.callback


def test_the_manual_is_in_the_pages_and_its_links_lead_to_each_other(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    names = {path.relative_to(DOCS).as_posix().removesuffix(".md") for path in DOCS.rglob("*.md")}
    assert {name for name in names if not name.startswith(("decisions/", "internals"))} == set(manual.pages())
    page = text(client, "/app/help/catalog/")
    assert "<h1" in page and 'id="searching"' in page and "decisions" not in page.partition("<main")[2]
    assert "/v2/openapi.json" in text(client, "/app/help/")
    for name in ("", "nowhere/", "..%2f..%2fSECURITY/", "decisions/0001-compile-to-python-syntax-trees/", "internals/"):
        assert client.get(f"/app/help/{name}").status_code == (200 if not name else 404)
    assert Client().get("/app/help/").status_code == 302


def test_every_link_of_the_manual_leads_to_a_page_and_a_heading() -> None:
    slugs = {name: set(re.findall(r'<h\d id="([^"]*)"', page.html)) for name, page in manual.pages().items()}
    wrong = []
    for name, page in manual.pages().items():
        for target in re.findall(r'href="((?:/app/help/|#)[^"]*)"', page.html):
            path, _, fragment = target.partition("#")
            there = path.removeprefix("/app/help/").strip("/") or name
            if there not in slugs or (fragment and fragment not in slugs[there]):
                wrong.append((name, target))
    assert wrong == []


def test_every_page_has_a_section_that_explains_it(ann: Any, browser: Browser) -> None:
    known = {one.slug for one in manual.pages()[PAGE].sections}
    assert {topic for topic in TOPICS.values() if topic not in known} == set()
    pages = [
        path.removeprefix("/app/")
        for path, view in routes(get_resolver().url_patterns, "/")
        if path.startswith("/app/") and "GET" in getattr(view, "vetro_methods", ())
    ]
    assert len(pages) > 60
    plain = {"", "login", "link/<str:token>"}
    unexplained = [path for path in pages if path not in plain and topic_of(f"app/{path}") == TOPICS[""]
                   and not path.startswith(("help/", "search"))]  # fmt: skip
    assert unexplained == []
    client = browser(ann)
    assert 'data-help="/app/help/about/the-catalog"' in text(client, "/app/catalog/")
    assert "Deploy" in text(client, "/app/help/about/an-application")
    assert client.get("/app/help/about/nothing").status_code == 404


def test_the_glossary_says_the_german_words_of_the_pages() -> None:
    rows = re.findall(r"^\| ([a-z, ]+) \| ([^|]+) \|", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)
    meant = {word.strip().capitalize(): german.strip() for word, german in rows if "," not in word}
    said = translated()
    assert len(meant) > 12
    assert {word: said[word] for word in meant if word in said and said[word].lower() != meant[word].lower()} == {}


def test_the_manual_is_searched(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    found = text(client, "/app/help/?q=search+catalog", headers={"HX-Request": "true", "HX-Target": "results"})
    assert "<html" not in found and "/app/help/catalog/#searching" in found
    assert "says nothing about this" in text(client, "/app/help/?q=%3Cb%3Ezebra")
    assert "<b>zebra" not in text(client, "/app/help/?q=%3Cb%3Ezebra")


def test_one_search_finds_everything_and_nothing_of_others(ann: Any, eve: Any, browser: Browser) -> None:
    client = browser(ann)
    service.import_packages(ann.caller, [archive("com.example.Shop", Name="Corner shop", Tags=["web"])])
    row = made(ann, app("shop-1", instance("i")), name="Shopping mile")
    page = text(client, "/app/search?q=shop", headers=LIST)
    assert 'data-url="/app/catalog/com.example.Shop/"' in page and f'data-url="/app/environments/{row.id}/"' in page
    assert f'data-url="/app/environments/{row.id}/components/shop-1/"' in page  # by the name of the component
    assert page.count('role="option"') == page.count("data-url") and "<html" not in page
    assert "/app/catalog/com.example.Shop/" in text(client, "/app/search?q=shpo")
    theirs = text(browser(eve), "/app/search?q=shop", headers=LIST)
    assert "com.example.Shop" not in theirs and row.id not in theirs
    found = {key: [hit.name for hit in hits] for key, _, hits in palette.groups(ann.caller, "new environment")}
    assert "New environment" in found["actions"] and "A new environment" in found["help"]
    empty = text(client, "/app/search", headers=LIST)
    assert 'data-url="/app/environments/new"' in empty and "/app/people/new" not in empty
    assert "Audit" not in text(browser(eve), "/app/search?q=people+and+projects", headers=LIST)
    for hostile in ("%3Cscript%3E", "'", "%25", "x" * 500, "\\"):
        assert "<script>" not in text(client, f"/app/search?q={hostile}", headers=LIST)


def test_a_reader_is_offered_no_actions_that_she_may_not_do(people: Any, ann: Any) -> None:
    rita = people("rita", "quiet", "reader")
    names = [hit.name for _, _, hits in palette.groups(rita.caller, "") for hit in hits]
    assert "Catalog" in names and "New environment" not in names and "Import packages" not in names
    environments.create(ann.caller, {"name": "x"})


def test_pages_in_german_search_german(ann: Any, browser: Browser) -> None:
    page = text(browser(ann), "/app/search?q=umgebung", headers={**LIST, "accept-language": "de"})
    assert "Neue Umgebung" in page and "Aktionen" in page
