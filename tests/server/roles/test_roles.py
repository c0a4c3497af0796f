"""Every route, as every role, with ids of every project, in every place.

Nothing is a defect (5xx), nobody does more than the table says, and whoever is of another project learns and changes
nothing: words that occur in one project only are looked for in every answer to others, and all rows are compared.
"""

from __future__ import annotations

import copy
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.signals import request_finished
from django.db import close_old_connections, connection, transaction
from django.test import Client, TestCase

from tests.server.conftest import person
from tests.server.roles import requests
from tests.server.roles.expectations import LEVELS, expectations
from tests.server.roles.routes import Route, routes
from tests.server.roles.table import markdown
from tests.server.roles.world import build, values
from tests.server.web.conftest import signed_in
from tests.support.fuzzing import every
from vetro.server import setup
from vetro.server.accounts import service
from vetro.server.accounts.models import Token
from vetro.server.caller import SYSTEM
from vetro.server.catalog import standard_packages
from vetro.server.tasks import clock
from vetro.server.tasks.worker import run_queued
from vetro.server.web.views.catalog import bundled_packages

#: What a person may at most, by their role.
#: Pages that lead there whoever comes.
_TO_LOGIN = ("/app/logout",)
#: Pages that everybody may use, and that refuse by what is sent: a wrong password, a project of others.
_BY_CONTENT = ("/app/people/me/password", "/app/project")
#: Pages that look at no parameter.
_WITHOUT_PARAMETERS = ("/app", "/app/media/{name}")
#: Pages that lead back to where one was, and say there that there is no such thing.
_TOLD_THERE = ("/app/people/me/tokens/{token}/revoke",)
#: What says 503 while no worker runs.
_WAITING = ("/ready", "/v1/actions", "/v2/actions")
#: How statements begin that change no row.
_READING = ("SELECT ", "SAVEPOINT ", "RELEASE SAVEPOINT ", "ROLLBACK TO SAVEPOINT ")
_MOST = {"nobody": 0, "expired": 0, "reader": 1, "member": 2, "admin": 3}


@dataclass
class Sent:
    """What was answered."""

    status: int
    text: str
    place: str
    #: What the caller of `Campaign.send` asked the database for before all was undone; None when nothing was written.
    rows: Any = None

    @property
    def other_draft(self) -> bool:
        """Whether it was refused since drafts belong to whoever began them."""
        return "belongs to somebody else" in self.text or "is not authorized to access session" in self.text

    def about(self, route: Route) -> str:
        """For messages."""
        text = re.sub(r"(?s)<head>.*</head>|<nav.*</nav>|<[^>]*>|\\s+", " ", self.text)
        return f"{route.method} {route.path}: {self.status} {self.place} {' '.join(text.split())[:110]}"


class Campaign:
    """Two projects full of things, and people of all kinds. Every request is undone."""

    def __init__(self) -> None:
        self.word, self.own_word = (f"{kind}{secrets.token_hex(8)}" for kind in ("canary", "plain"))
        ann, eve = person("ann", f"demo{self.word}"), person("eve", "others")
        service.set_password(SYSTEM, service.find_user("ann"), requests.PASSWORD)
        self.people = {
            "reader": person("rea", f"demo{self.word}", "reader"),
            "member": ann,
            "admin": person("root", "operators", "admin"),
            "stranger": eve,
        }
        self.theirs = build(ann, "test", self.word, run_queued)
        self.own = build(eve, "mine", self.own_word, run_queued)
        category = ann.get("/v2/categories").json()["items"][0]["id"]
        self.theirs["category"] = self.own["category"] = category
        # The same person, by a token of another project of hers.
        aside = service.create_project(SYSTEM, "aside")
        service.grant(SYSTEM, service.find_user("ann"), aside, "member")
        text = service.create_token(SYSTEM, service.find_user("ann"), aside)[1]
        self.clients: dict[str, Client] = {name: one._client for name, one in self.people.items()}
        self.clients |= {"elsewhere": Client(headers={"x-auth-token": text}), "nobody": Client()}
        self.browsers = {name: signed_in(one) for name, one in self.people.items()} | {"nobody": Client()}
        # Who was signed in, and is not any more.
        made, text = service.create_token(SYSTEM, service.find_user("ann"), service.find_project(f"demo{self.word}"))
        Token.objects.filter(id=made.id).update(expires=clock.after(-1))
        self.clients["expired"], self.browsers["expired"] = Client(headers={"x-auth-token": text}), signed_in(ann)
        session = self.browsers["expired"].session
        session.set_expiry(-1)
        session.save()
        #: What there is: the same before each request.
        self.rows = everything()

    def send(self, who: str, route: Route, given: dict[str, str], **changed: Any) -> Sent:
        """What they are answered; what it changed is undone."""
        client = (self.browsers if route.door == "pages" else self.clients)[who]
        path = route.at({**values(given, route.path), **changed.pop("changed_values", {})})
        after = changed.pop("after", lambda written: None)
        cookies = copy.deepcopy(client.cookies)
        unchanged = changed.pop("unchanged", False)
        written: list[str] = []

        def watch(execute: Callable[..., Any], sql: str, *more: Any) -> Any:
            if not sql.startswith(_READING):
                written.append(sql)
            return execute(sql, *more)

        with transaction.atomic(), connection.execute_wrapper(watch):
            answer = requests.send(client, route, path, given, **changed)
            text = "" if answer.streaming else answer.content.decode("utf-8", "replace")
            if answer.streaming:  # of others the client did so, without what ends connections of PostgreSQL
                request_finished.disconnect(close_old_connections)
                answer.close()
                request_finished.connect(close_old_connections)
            if unchanged and written:
                found = everything(written)
                assert found == {name: self.rows[name] for name in found}, (
                    f"{who}: {route.method} {path} changed something"
                )
            rows = after(written) if written else None
            transaction.set_rollback(True)
        client.cookies = cookies
        return Sent(answer.status_code, text + repr(answer.headers), answer.headers.get("Location", ""), rows)


def everything(written: list[str] | None = None) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, but for sessions and when tokens were used; ``written``: of tables that these name."""
    found = {}
    for model in apps.get_models():
        named = written is None or any(model._meta.db_table in sql for sql in written)
        if named and model.__name__ not in ("Session", "LoginFailure"):
            rows = list(model._default_manager.order_by("pk").values())
            found[model.__name__] = [{k: v for k, v in row.items() if k != "last_used"} for row in rows]
    return found


class _Kept(TestCase):
    """What its class sets up is undone when its class ends."""


@pytest.fixture(scope="module")
def built(django_db_setup: None, django_db_blocker: Any) -> Iterator[Campaign]:
    """Made once, since every request is undone: the transactions of tests are within that of this class."""
    # Named, so that requests get past the list of hosts; nothing answers there.
    changed = setup.config().changed({"packages.import_hosts": ["127.0.0.1:1"]})
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "_current", changed)
        # What two buttons of the catalog add is shown by tests/server/web/test_catalog.py: here each adds one.
        application, example = (
            dict(list(bundled_packages._applications().items())[:1]),
            bundled_packages._archives()[:1],
        )
        patch.setattr(bundled_packages, "_applications", lambda: application)
        patch.setattr(bundled_packages, "_archives", lambda: example)
        _Kept.setUpClass()
        try:
            standard_packages.ensure()
            yield Campaign()
        finally:
            _Kept.tearDownClass()
            _Kept.doClassCleanups()


@pytest.fixture
def campaign(built: Campaign, db: None) -> Iterator[Campaign]:
    yield built
    assert everything() == built.rows  # also what was not written over this connection


@pytest.fixture(autouse=True, scope="module")
def _ended() -> Iterator[None]:
    yield
    from vetro.server.forms import process_cache
    from vetro.server.tasks import package_queries

    process_cache.close()
    package_queries.close()


def test_every_route_has_an_expectation_and_no_other() -> None:
    known = expectations()
    assert len(routes()) > 280
    assert [route for route in routes() if route not in known] == [], "say in expectations.py who may"
    assert [route for route in known if route not in routes()] == [], "these are no more"


def refused(route: Route, sent: Sent) -> bool:
    """Whether the caller may not do this, whatever it is about."""
    if route.door == "pages":
        return sent.status == 403 or (sent.place.startswith("/app/login") and route.path not in _TO_LOGIN)
    return sent.status in (401, 403)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.attack("routes", "roles")
@pytest.mark.parametrize("who", ["nobody", "expired", "reader", "member", "admin"])
def test_everybody_may_what_the_table_says(campaign: Campaign, who: str) -> None:
    wrong = []
    # A member may most of it, and nobody nothing: of who may more or less than a member, some by default.
    for route, level in every(5 if who in ("admin", "reader") else 1, expectations().items()):
        sent = campaign.send(who, route, campaign.theirs)
        allowed = LEVELS.index(level) <= _MOST[who]
        right = refused(route, sent) != allowed or (allowed and (sent.other_draft or route.path in _BY_CONTENT))
        if (sent.status >= 500 and route.path not in _WAITING) or not right:
            wrong.append(f"{level} {sent.about(route)}")
        if not _MOST[who] and not allowed:
            assert sent.status == (302 if route.door == "pages" else 401), route
        if not _MOST[who]:
            assert campaign.word not in sent.text, route
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.attack("routes", "roles")
@pytest.mark.parametrize("who", ["stranger", "elsewhere"])
def test_ids_of_another_project_in_addresses_reach_nothing(campaign: Campaign, who: str) -> None:
    wrong = []
    for route in routes():
        if route.door == "others" or (who == "elsewhere" and route.door == "pages"):
            continue
        sent = campaign.send(who, route, campaign.theirs, unchanged=requests.names_something(route))
        bad = sent.status >= 500 or campaign.word in sent.text
        if requests.names_something(route) and route.path not in _TOLD_THERE:
            bad |= sent.status not in ((403, 404) if route.door != "v2" else (404,)) and not requests.closed(route)
        if route.door == "v2" and requests.names_something(route):
            # Somebody else's thing is told from one that there is not by nothing.
            absent = {name: "0" * 32 for name, value in campaign.theirs.items() if len(value) == 32}
            other = campaign.send(who, route, {**campaign.theirs, **absent})
            bad |= (other.status, blind(other, absent)) != (sent.status, blind(sent, campaign.theirs))
        if bad:
            wrong.append(sent.about(route))
    assert not wrong, "\n".join(wrong)


def blind(sent: Sent, given: dict[str, str]) -> str:
    """An answer without the ids that were asked for."""
    text = sent.text
    for value in sorted(given.values(), key=len, reverse=True):
        text = text.replace(value, "ID") if len(value) == 32 else text
    return re.sub(r"'Content-Length': '\d+'", "", text)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.attack("routes", "roles")
@pytest.mark.parametrize("door", ["v1", "v2", "pages"])
def test_ids_of_another_project_in_parameters_and_bodies_reach_nothing(campaign: Campaign, door: str) -> None:
    wrong = []
    ids = {value for key, value in campaign.theirs.items() if len(value) == 32 and key != "category"}

    def rows(written: list[str] | None = None) -> dict[str, list[Any]]:
        """Rows that are theirs, or name something of theirs by id, of the tables in these statements."""
        named = lambda row: any(v in ids for k, v in row.items() if k == "id" or k.endswith("_id"))  # noqa: E731
        return {name: [row for row in rows if named(row)] for name, rows in everything(written).items()}

    before = rows()
    tries = [
        (route, changed)
        for route in routes()
        if route.door == door and not requests.closed(route) and not route.path.endswith("/login")
        for changed in requests.places(route, campaign.theirs, campaign.own)
    ]
    assert len(tries) > 50
    for route, changed in every(20 if door == "pages" else 5, tries):
        sent = campaign.send("stranger", route, campaign.own, after=rows, **changed)
        defect = sent.status >= 500 and route.path not in _WAITING
        unlike = {name for name, found in (sent.rows or {}).items() if found != before[name]}
        if defect or campaign.word in sent.text or unlike:
            wrong.append(f"{changed} {sent.about(route)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.attack("routes", "A7")
@pytest.mark.parametrize("door", ["v1", "v2", "pages"])
def test_no_database_is_asked_for_texts_that_it_cannot_hold(campaign: Campaign, door: str) -> None:
    wrong = []
    for route in every(10 if door == "pages" else 5, [route for route in routes() if route.door == door]):
        name = next(iter(set(route.names) - {"number", "seq"}), None)
        nul = {} if name is None else {name: "a\0b"}
        tries: list[dict[str, Any]] = [{"query": {"q": "a\0b"}}, {"query": {"cursor": "YQBi"}}]
        if isinstance(body := requests.body_of(route), dict):
            tries += [{"body": {**body, key: "a\0b"}} for key, value in body.items() if isinstance(value, str)]
        for changed in [*([{"changed_values": nul}] if nul else []), *tries]:
            sent = campaign.send("admin", route, campaign.theirs, **changed)
            if sent.status >= 500 and route.path not in _WAITING:
                wrong.append(f"{changed} {sent.about(route)}")
            if changed.get("query") == {"q": "a\0b"} and sent.status != 400 and route.path not in _WITHOUT_PARAMETERS:
                wrong.append(f"not 400: {sent.about(route)}")
    assert not wrong, "\n".join(wrong)


def test_the_table_of_security_is_made_from_the_expectations() -> None:
    page = (Path(__file__).parents[3] / "SECURITY.md").read_text("utf-8")
    assert markdown() in page, "run: python -m tests.server.roles --write"
