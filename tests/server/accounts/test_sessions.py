"""Web sessions: the database does not hold what a browser sends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client

from tests.server.tasks import shop
from tests.server.web.conftest import browser
from vetro.server import setup
from vetro.server.retention.sweep import sweep
from vetro.server.setup import config

__all__ = ["browser"]

pytestmark = [pytest.mark.database, pytest.mark.django_db]
Browser = Callable[[Any], Client]


def signed_in(key: str) -> tuple[bool, bool]:
    """Whether a cookie is taken by the pages, and by /v2."""
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = key
    return "/app/login" not in client.get("/app/").get("Location", ""), client.get("/v2/me").status_code == 200


def test_who_reads_the_database_is_not_signed_in(ann: Any, browser: Browser) -> None:
    key = browser(ann).cookies[settings.SESSION_COOKIE_NAME].value
    assert signed_in(key) == (True, True)
    (row,) = Session.objects.all()
    assert key not in (row.session_key, row.session_data)
    assert signed_in(row.session_key) == (False, False)


def test_a_session_lives_from_its_first_row_to_the_last(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    store = client.session
    key = store.session_key
    assert store.exists(key)
    store["more"] = 1
    store.save()
    assert Session.objects.count() == 1
    assert type(store)(key)["more"] == 1
    store.cycle_key()
    assert (store.session_key != key, store.exists(key), Session.objects.count()) == (True, False, 1)
    client.cookies[settings.SESSION_COOKIE_NAME] = store.session_key
    client.post("/app/logout")
    assert signed_in(store.session_key) == (False, False)
    assert not Session.objects.exists()


def test_an_unknown_key_begins_a_session_of_its_own(db: None) -> None:
    store = type(Client().session)("planted" * 4)
    assert store.get("more") is None
    store["more"] = 2
    store.save()
    assert store.session_key != "planted" * 4


def test_expired_sessions_are_dropped(ann: Any, browser: Browser) -> None:
    live, old = browser(ann), browser(ann)
    store = old.session
    store.set_expiry(-1)
    store.save()
    assert (signed_in(store.session_key), Session.objects.count()) == ((False, False), 2)
    assert sweep(config())["sessions"] == 1
    assert signed_in(live.cookies[settings.SESSION_COOKIE_NAME].value) == (True, True)


def test_the_file_of_rules_says_who_is_administrator_of_sessions_too(
    ann: Any, eve: Any, root: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = f"/v2/environments/{shop.add_environment(eve.caller).id}"
    assert [browser(one).get(place).status_code for one in (ann, eve, root)] == [404, 200, 200]
    path = tmp_path / "policy.yaml"
    path.write_text('context_is_admin: "role:member"\n', encoding="utf-8")
    monkeypatch.setattr(setup, "_current", config().changed({"accounts.policy_file": str(path)}))
    assert [browser(one).get(place).status_code for one in (ann, root)] == [200, 404]
