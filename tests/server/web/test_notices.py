"""The page of notices: empty, set up by hand, and what it says of what did not arrive."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.notices.conftest import Notices
from tests.server.notices.receivers import WebReceiver
from vetro.server import setup
from vetro.server.notices import service
from vetro.server.notices.deliverer import Deliverer
from vetro.server.notices.models import Delivery

pytestmark = pytest.mark.django_db

HERE = "/app/notices/"


@pytest.fixture
def pages(ann: Any, browser: Any) -> Client:
    client: Client = browser(ann)
    return client


def text(client: Client, **headers: Any) -> str:
    answer = client.get(HERE, headers=headers)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_an_empty_page_says_what_there_is_for(pages: Client) -> None:
    page = text(pages)
    assert "A target is where notices go" in page and "A rule says what a target is told" in page
    assert "What is sent is listed here" in page and "This service sends no e-mail" in page
    assert 'action="/app/notices/rules"' not in page
    assert HERE in pages.get("/app/people/me").content.decode()
    assert "Es gibt noch keine. Ein Ziel ist" in text(pages, **{"accept-language": "de"})


def test_a_target_and_a_rule_are_made_tested_and_removed(
    pages: Client, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = WebReceiver()
    monkeypatch.setattr(setup, "_current", setup.config().changed({"notices.hosts": [receiver.host]}))
    try:
        made = pages.post(
            f"{HERE}targets", {"name": "ops <b>", "way": "webhook", "address": receiver.url}
        ).content.decode()
        (secret,) = re.findall(r'<code id="made">(whsec_[^<]+)</code>', made)
        assert "ops &lt;b&gt;" in made and secret not in text(pages)
        (target,) = service.targets(ann.caller)
        assert "No rule names it yet" in text(pages)
        pages.post(f"{HERE}rules", {"target": target["id"], "least": "error", "kinds": ["health.changed"]})
        page = text(pages)
        assert "Health changed" in page and "errors only" in page and "all environments" in page
        pages.post(f"{HERE}targets/{target['id']}/test")
        assert 'data-delivery="waiting"' in text(pages)
        Deliverer(setup.config(), "here").run_due()
        page = text(pages)
        assert 'data-delivery="delivered"' in page and "This is a test" in page and len(receiver.posts) == 1
        new = pages.post(f"{HERE}targets/{target['id']}/secret").content.decode()
        assert "works for 24 hours more" in new and secret not in new
        pages.post(f"{HERE}targets/{target['id']}/switch", {"to": "off"})
        assert "Switch on" in text(pages)
        (rule,) = service.rules(ann.caller)
        pages.post(f"{HERE}rules/{rule['id']}/remove")
        pages.post(f"{HERE}targets/{target['id']}/remove")
        assert service.targets(ann.caller) == service.rules(ann.caller) == []
    finally:
        receiver.close()


def test_what_was_typed_stays_beside_what_was_wrong(pages: Client) -> None:
    answer = pages.post(
        f"{HERE}targets", {"name": "room", "way": "template", "address": "https://a.example.com/", "template": "{"}
    )
    page = answer.content.decode()
    assert answer.status_code == 400 and "the template must be a JSON object" in page
    assert 'value="https://a.example.com/"' in page and 'value="template" selected' in page


def test_what_did_not_arrive_leaves_a_mark(pages: Client, ann: Any) -> None:
    notices = Notices(ann.caller)
    notices.webhook("https://10.0.0.1/")
    notices.task(state="failed")
    Deliverer(setup.config(), "here").run_due()
    Delivery.objects.update(state="dead")
    page = text(pages)
    assert 'data-dead="1"' in page and 'data-delivery="dead"' in page
    assert "there is no host of this name that notices may be sent to" in page
    german = text(pages, **{"accept-language": "de"})
    assert "1 Meldung kam nicht an" in german and "Bereitstellen der Umgebung „shop“ ist fehlgeschlagen" in german


def test_readers_and_others_see_nothing(browser: Callable[..., Client], people: Any, ann: Any, eve: Any) -> None:
    notices = Notices(ann.caller)
    notices.webhook("https://ops.example.com/")
    reader = browser(people("rea", "demo", "reader"))
    assert reader.get(HERE).status_code == 403
    assert HERE not in reader.get("/app/people/me").content.decode()
    assert "ops.example.com" not in text(browser(eve))
