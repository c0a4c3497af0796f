"""What people type into the search box, and what has to stand first; which mistakes are forgiven, what is not told."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.layers import People, layer
from vetro.server.caller import Caller
from vetro.server.catalog import fuzzy_search, spelling
from vetro.server.catalog.models import Category, Package, SearchWord
from vetro.server.catalog.search import SMALL
from vetro.server.catalog.search_query import LONGEST_SEARCH, Query
from vetro.server.catalog.search_terms import terms_of
from vetro.server.catalog.storage import NewPackage, store_changed, store_new
from vetro.server.catalog.versions import sort_key
from vetro.server.errors import Invalid

pytestmark = pytest.mark.database

ANN = Caller("u", "ann", "p1", "one")
#: Name, tags, category, description.
APPLICATIONS = [
    ("Database", "database, example", "Databases", "A shared database that hands out accounts to other applications."),
    ("Small Database", "Database, SQL", "Databases", "SQLite behind a small service, on a server of its own."),
    ("Load balancer", "network, example", "Load Balancers", "Spreads requests over backends and leaves out dead ones."),
    ("HAProxy", "network, HA", "Load Balancers", "A fast proxy with health checks."),
    ("Message board", "web, example", "Web", "A message board with topics. Its messages are in a shared database."),
    ("Message of the day", "example", "Web", "An older package; it works with databases of the series 1.0 only."),
    ("Backup policy", "operations, example", "", "Says what is saved, when, where to, and how long it is kept."),
    ("Licence counter", "example", "", "Lends a number of seats and knows who has them."),
    ("Web Shop", "Web, Shop", "Web", "A shop with a cart, for small towns."),
    ("Web Farm", "Web, HA", "Web", "Several web servers behind a balancer."),
    ("Login Banner", "Linux", "", "Greets whoever signs in to a machine."),
    ("WordPress", "blog, PHP", "Web", "Writes pages for everybody."),
    ("PostgreSQL", "SQL, relational", "Databases", "The relational one."),
    ("RabbitMQ", "amqp, broker", "Message Queue", "Carries messages between programs."),
    ("Apache Kafka", "streaming", "Message Queue", "A log that many read."),
    ("Redis", "cache, key-value", "Key-Value Storage", "Keeps values in memory."),
    ("Prometheus", "monitoring, metrics", "", "Watches what runs and raises alarms."),
    ("Grafana", "charts", "", "Draws what a monitoring system measured."),
    ("Kubernetes cluster", "containers", "", "Runs containers on several machines."),
    ("Jenkins", "continuous integration", "", "Builds whatever is checked in."),
    ("GitLab", "version control, git", "", "Keeps sources and their history."),
    ("Nextcloud", "files, storage", "", "Dateien, Kalender und Kontakte für kleine Büros."),
    ("Mail server", "smtp, imap", "", "Takes and delivers mail."),
    ("Bücherei", "library", "", "Leiht Bücher aus und mahnt, wer sie behält."),
    ("ElasticSearch", "search", "Big Data", "Finds words in documents."),
]
#: What is typed -> what stands first.
TABLE = {
    # words as they are, in any order, and apart from each other
    "load balancer": "Load balancer", "balancer load": "Load balancer", "shop web": "Web Shop",
    "message day": "Message of the day", "day message": "Message of the day", "policy backup": "Backup policy",
    "backends requests": "Load balancer", "board topics": "Message board", "web cart": "Web Shop",
    "cluster containers": "Kubernetes cluster", "relational sql": "PostgreSQL",
    # the whole name before names that only begin so, names before descriptions
    "database": "Database", "small database": "Small Database", "redis": "Redis", "monitoring": "Prometheus",
    # parts of words, and words in one or two
    "wordp": "WordPress", "press": "WordPress", "grafa": "Grafana", "postgres": "PostgreSQL", "proxy": "HAProxy",
    "loadbalancer": "Load balancer", "word press": "WordPress", "elastic search": "ElasticSearch",
    "webshop": "Web Shop",
    # other case, plurals, punctuation
    "LOAD BALANCER": "Load balancer", "HA proxy": "HAProxy", "SmTp": "Mail server", "databases small": "Small Database",
    "banners": "Login Banner", "key-value": "Redis", "message, board": "Message board",
    # typing mistakes: one letter missing, too many, wrong, swapped
    "databse": "Database", "kubernets": "Kubernetes cluster", "wordpresss": "WordPress", "grefana": "Grafana",
    "jenkisn": "Jenkins", "balancr load": "Load balancer", "promethues": "Prometheus", "rabitmq": "RabbitMQ",
    "licnece": "Licence counter",
    # German, and what everybody abbreviates
    "Datenbank": "Database", "kleine Datenbanken": "Small Database", "Lastverteiler": "Load balancer",
    "Datensicherung": "Backup policy", "Überwachung": "Prometheus", "Lizenz": "Licence counter",
    "Buecherei": "Bücherei", "bucherei": "Bücherei", "k8s": "Kubernetes cluster", "CI": "Jenkins",
    "lb": "Load balancer",
    "Warteschlange": "Apache Kafka",
}  # fmt: skip


def stored(names: Iterable[tuple[str, str, str, str]], project: str = "p1", public: bool = True) -> None:
    categories = {row.name: row for row in Category.objects.all()}
    for name, tags, category, description in names:
        fqn = "com.example." + "".join(part for part in name.title() if part.isalnum())
        package = Package(
            project_id=project, fqn=fqn, version="1.0.0", version_key=sort_key("1.0.0"), name=name,
            sort_name=name.lower(), type="Application", description=description, digest="0" * 64, is_public=public,
            tag_names=tags.split(", "), class_names=[fqn],
        )  # fmt: skip
        store_new(NewPackage(package, {}, [categories[category]] if category else []))


def names(text: str, **more: Any) -> list[str]:
    return [row[3] for row in found(text, **more).rows]


def found(text: str, caller: Caller = ANN, skip: int = 0, **more: Any) -> fuzzy_search.SearchResult:
    query = Query(search=text, type="Application", catalog=True, **{"limit": 24, "order_by": (), **more})
    return fuzzy_search.find(caller, query, skip)


def asked(text: str) -> tuple[list[str], list[str]]:
    """Statements of a search that ask the index of substrings, and those that read packages of a page."""
    with CaptureQueriesContext(connection) as seen:
        found(text)
    statements = [query["sql"] for query in seen]
    index = [sql for sql in statements if " MATCH " in sql or " LIKE " in sql]
    return index, [sql for sql in statements if "p.class_names" in sql]


@pytest.fixture
def few(db: None) -> None:
    stored(APPLICATIONS)


def wrong() -> dict[str, list[str]]:
    """What is typed -> what stands first instead."""
    firsts = {text: names(text)[:3] for text in TABLE}
    return {text: first for text, first in firsts.items() if first[:1] != [TABLE[text]]}


def test_the_table_of_queries_among_few(few: None) -> None:
    assert len(TABLE) >= 40 and wrong() == {}


def test_a_changed_package_is_found_by_its_new_words_misspelt(few: None) -> None:
    package = Package.objects.get(name="Redis")
    package.name = "Valkey"
    store_changed(package)
    assert names("valkye") == ["Valkey"]


def no_word_of_others_shows() -> None:
    """Whether somebody else has a word changes nothing that is found."""
    stored([("Falconar", "misc", "", "")])
    stored([("Kestral", "misc", "", "")], project="p1", public=False)
    before = [found(text) for text in ("falconer", "kestrel falconar", "database")]
    assert [[row[3] for row in each.rows][:1] for each in before] == [["Falconar"], ["Kestral"], ["Database"]]
    stored([("Falconer", "kestrel", "", ""), ("Database kestrel", "", "", "")], project="p2", public=False)
    assert [found(text) for text in ("falconer", "kestrel falconar", "database")] == before
    assert names("falconer", caller=Caller("v", "bob", "p2", "two"))[0] == "Falconer"


def test_among_few_no_word_of_others_shows(few: None) -> None:
    no_word_of_others_shows()


def test_words_are_learnt_within_bounds(db: None) -> None:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    words = " ".join(f"{a}{b}quizzical" for a in alphabet for b in alphabet)
    spelling.learn([dict.fromkeys(("name", "tags", "categories", "fqn", "classes"), "") | {"description": words}])
    assert SearchWord.objects.values("word").distinct().count() == spelling.EACH
    before = SearchWord.objects.count()
    spelling.learn([dict.fromkeys(("name", "tags", "categories", "fqn", "classes", "description"), "aaquizzical")])
    assert SearchWord.objects.count() == before


@layer()
def others(people: People) -> None:
    """So many others that indexes lead."""
    chance = random.Random(7)
    syllables = [first + second for first in "bdfgjkmprtvxz" for second in "aiou"]
    other = ["".join(chance.sample(syllables, 3)).title() for _ in range(SMALL + 20)]
    stored(APPLICATIONS)
    stored((f"{name} {number}", "misc", "", "") for number, name in enumerate(other))


@pytest.mark.usefixtures("others")
class TestAmongMany:
    def test_the_table_of_queries_among_many(self, db: None) -> None:
        assert wrong() == {}

    def test_among_many_no_word_of_others_shows(self, db: None) -> None:
        no_word_of_others_shows()

    def test_every_word_has_to_be_there_and_pages_go_on(self, db: None) -> None:
        assert names("web farm servers") == ["Web Farm"]
        everything = names("example", limit=240)
        assert set(everything[:6]) == {
            a[0] for a in APPLICATIONS if "example" in a[1].split(", ")
        }  # the tag comes first
        first, second = found("example", limit=3), found("example", skip=3, limit=3)
        assert [row[3] for row in (*first.rows, *second.rows)] == everything[:6] and first.more and second.more
        assert not found("example", skip=239, limit=3).more and not found("example", skip=1000).rows
        assert names("web", order_by=["name"]) == sorted(names("web"), key=str.lower)

    def test_what_was_looked_for_instead_is_told_and_what_was_left_out(self, db: None) -> None:
        assert found("databse").meant == {"databse": "database"} and not found("database").meant
        left = found("zebra database")
        assert left.rows and left.without == ["zebra"]
        nothing = found("zebra quagga")
        assert (nothing.rows, nothing.meant, nothing.without) == ([], {}, [])
        assert names("") == names(" ,;% _ ") == []

    def test_the_index_is_asked_once_for_all_words_and_only_a_page_of_packages_is_read(self, db: None) -> None:
        assert len(asked("example misc")[0]) == 1
        assert len(asked("exmaple msic")[0]) == 4  # all words, each by itself, all that are meant
        read = asked("example misc")[1]
        assert [statement.count("LIMIT 50") for statement in read] == [1]

    def test_a_word_that_is_nowhere_is_left_out_before_one_that_many_have(self, db: None) -> None:
        left = found("small example zebra misc")
        assert left.without == ["zebra", "small"] and len(left.rows) == 24

    def test_pages_go_on_where_the_caller_sees_little_of_what_is_ranked(self, db: None) -> None:
        stored([(f"Quokka {number}", "animal", "", "") for number in range(90)], project="p2", public=False)
        stored([(f"Zoo {number}", "animal", "", "A quokka.") for number in range(3)])
        assert names("animal quokka") == ["Zoo 0", "Zoo 1", "Zoo 2"]
        assert names("quokka animal", order_by=["name"], descending=True) == ["Zoo 2", "Zoo 1", "Zoo 0"]

    def test_words_of_other_projects_are_not_told(self, db: None) -> None:
        stored([("Krakatau", "volcano", "", "Secret.")], project="p2", public=False)
        mine = found("krakatua")
        assert mine.rows == [] and mine.meant == {}
        other = Caller("e", "eve", "p2", "two")
        assert [row[3] for row in found("krakatua", other).rows] == ["Krakatau"]
        assert found("krakatau database").rows and found("krakatau database").meant == {}

    def test_hostile_searches_are_searches(self, db: None) -> None:
        for text in (
            "'; DROP TABLE catalog_package; --",
            '"' * 400,
            "a" * 500,
            "%" * 500,
            "\\",
            "x" * 60 + " " + "é" * 300,
        ):
            assert len(found(text).rows) <= 24
        assert len(terms_of(" ".join(f"w{number}" for number in range(99)))) <= 8
        with pytest.raises(Invalid):
            found("a" * (LONGEST_SEARCH + 1))
