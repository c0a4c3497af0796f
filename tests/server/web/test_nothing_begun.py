"""What nobody has changed or answered waits for nobody: drafts as the environment is, forms without an answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import QuerySet
from django.test import Client

from tests.server.web.pagekit import followed, opened
from vetro.server.environments.models import Session
from vetro.server.forms import drafts
from vetro.server.forms.models import FormDraft
from vetro.server.tasks.models import Task

Browser = Callable[[Any], Client]
FORM, CHANGES = "A form that is not finished", "Changes that are not deployed"


def waiting() -> QuerySet[FormDraft]:
    """Forms that somebody may go on with: of one that was finished the id is kept."""
    return FormDraft.objects.exclude(purpose=FormDraft.ENDED)


def deployed(client: Client, drain: Callable[[], int], environment: str, package: str) -> str:
    """Adds the shop, deploys it: the id of the application."""
    sign = opened(client, f"/app/environments/{environment}/add/{package}")
    review = sign.send(name="Corner").send(workflowManagement__application_name="corner")
    followed(client, client.post(review.url.replace("review", "finish")), "")
    assert CHANGES in opened(client, "/app/").text
    assert client.post(f"/app/environments/{environment}/deploy").status_code == 302
    assert drain()
    (own,) = set(
        re.findall(
            rf"/app/environments/{environment}/components/(\w+)/",
            opened(client, f"/app/environments/{environment}/").text,
        )
    )
    return str(own)


def test_a_look_at_a_form_leaves_nothing(browser: Browser, ann: Any, shop: Any, environment: str) -> None:
    client = browser(ann)
    for address in (f"/app/quick/{shop.id}", f"/app/environments/{environment}/add/{shop.id}") * 2:
        page = opened(client, address)
        assert page.status == 200 and "goes on where you left it" not in page.text
        assert client.head(address).status_code == 302
    assert FORM not in opened(client, "/app/").text
    assert "No unfinished forms" in opened(client, "/app/forms/").text
    assert not waiting().exists()  # what reads leaves nothing
    left = page.send("leave")
    assert left.url == f"/app/environments/{environment}/"
    assert not waiting().exists() and FORM not in opened(client, "/app/").text
    page = opened(client, f"/app/environments/{environment}/add/{shop.id}")
    assert page.send("leave", name="Corner").url == f"/app/environments/{environment}/"
    assert FORM in opened(client, "/app/").text
    again = opened(client, f"/app/environments/{environment}/add/{shop.id}")
    assert "goes on where you left it" in again.text and again.inputs()["t.name"] == ["Corner"]


def test_an_edit_that_changes_nothing_is_no_change(
    browser: Browser, ann: Any, shop: Any, environment: str, drain: Callable[[], int]
) -> None:
    client = browser(ann)
    own = deployed(client, drain, environment, shop.id)
    assert CHANGES not in opened(client, "/app/").text
    address = f"/app/environments/{environment}/edit/{own}"

    def edited(**typed: Any) -> None:
        review = opened(client, address).send(**typed).send()
        assert review.url.endswith("/review"), review.text
        followed(client, client.post(review.url.replace("review", "finish")), "")

    for _ in range(3):
        opened(client, address)
    assert FORM not in opened(client, "/app/").text and not waiting().exists()
    edited()
    assert CHANGES not in opened(client, "/app/").text
    edited(name="Other")
    assert CHANGES in opened(client, "/app/").text
    edited(name="Corner")  # and back
    assert CHANGES not in opened(client, "/app/").text
    assert not Session.objects.filter(state=Session.OPENED, draft__isnull=False).exists()
    edited(name="Other")
    assert f"/app/environments/{environment}/changes" in opened(client, "/app/").text


def test_the_first_answers_make_the_form_and_its_old_address_leads_to_it(
    browser: Browser, ann: Any, bob: Any, shop: Any, environment: str
) -> None:
    client = browser(ann)
    address = f"/app/environments/{environment}/add/{shop.id}"
    page = opened(client, address)
    again = opened(client, page.url)  # loaded anew, from anywhere
    assert again.status == 200 and not waiting().exists()
    assert browser(bob).get(page.url).status_code == 404  # it is nobody else's
    assert client.get(page.url[:-3] + "x/1").status_code == 404
    kept = client.post(page.url, {"do": "keep", "t.name": "Corner"}, headers={"HX-Request": "true"})
    row = waiting().get()
    assert kept.status_code == 200 and row.revision == 1
    assert client.get(page.url).url == f"/app/forms/{row.id}/1"
    page.send("keep", name="Mall")  # the same page, which still has its first address
    assert waiting().get().id == row.id
    gone_on = opened(client, address)
    assert "goes on where you left it" in gone_on.text and gone_on.inputs()["t.name"] == ["Mall"]
    assert client.post(f"/app/forms/{row.id}/discard").status_code == 302
    assert "You have thrown this form away" in opened(client, page.url).text


def test_an_object_that_was_changed_since_its_form_was_shown(
    browser: Browser, ann: Any, shop: Any, environment: str, drain: Callable[[], int]
) -> None:
    client = browser(ann)
    own = deployed(client, drain, environment, shop.id)
    address = f"/app/environments/{environment}/edit/{own}"
    for source, status in (("definition", 409), ("class", 200)):
        page = opened(client, f"{address}?source={source}")
        opened(client, f"{address}?source=class")
        other = opened(client, f"{address}?source=class").send(name=f"Mall {source}")
        followed(client, client.post(other.url.replace("review", "finish")), "")
        assert client.post(f"/app/environments/{environment}/deploy").status_code == 302 and drain()
        answer = page.send()
        assert answer.status == status, answer.text
        if status == 409:
            assert "was changed after this form was opened" in answer.text and not waiting().exists()
        else:  # nothing was answered, so nothing of it is taken back
            followed(client, client.post(answer.url.replace("review", "finish")), "")
            assert f"Mall {source}" in opened(client, f"/app/environments/{environment}/components/{own}/").text
            assert CHANGES not in opened(client, "/app/").text


def test_forms_of_actions_are_stored_by_their_answers(
    browser: Browser, ann: Any, shop: Any, environment: str, drain: Callable[[], int]
) -> None:
    client = browser(ann)
    own = deployed(client, drain, environment, shop.id)
    for address in (
        f"/app/environments/{environment}/actions/{own}_rename",
        "/app/catalog/test.Shop/actions/test.Shop/add",
    ):
        for _ in range(3):
            page = opened(client, address)
            assert page.status == 200
        assert not waiting().exists()
        page.send()  # incomplete
        assert waiting().get().revision == 1
        waiting().all().delete()


def test_what_the_log_says_first_and_last(
    browser: Browser, ann: Any, shop: Any, environment: str, drain: Callable[[], int]
) -> None:
    client = browser(ann)
    deployed(client, drain, environment, shop.id)
    task = Task.objects.get(kind="deploy")
    page = opened(client, f"/app/environments/{environment}/tasks/{task.id}/").text
    assert "Deployment requested" in page and "Deployment finished" in page and "is scheduled" not in page
    german = client.get(f"/app/environments/{environment}/tasks/{task.id}/", headers={"Accept-Language": "de"})
    assert "Die Bereitstellung ist angefordert." in german.content.decode()
    # Nowhere does it just say "Done" of what reported errors.
    Task.objects.filter(id=task.id).update(errors=True)
    for path in (f"tasks/{task.id}/", "tasks/", "history"):
        shown = opened(client, f"/app/environments/{environment}/{path}").text
        assert 'data-state="errors"' in shown and "Ended with errors" in shown, path


def test_what_was_sent_is_not_sent_again(
    browser: Browser, ann: Any, shop: Any, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a second click that is on its way meanwhile, another window or a proxy: none knows what this session did."""
    answers = {"a": "2"}
    address = "/app/catalog/test.Shop/actions/test.Shop/add"
    page = opened(browser(ann), address)
    assert page.send(**answers).url.startswith("/app/results/")
    again = opened(browser(ann), page.url)
    assert again.status == 404 and "is not there any more" in again.text
    assert browser(ann).post(page.url, {"do": "next", "t.a": "2"}).status_code == 404
    assert Task.objects.filter(kind="static").count() == 1
    assert FORM not in opened(browser(ann), "/app/").text
    assert "No unfinished forms" in opened(browser(ann), "/app/forms/").text
    monkeypatch.setattr(drafts, "MOST_ENDED", 1)
    other = opened(browser(ann), address).send(**answers)  # begun anew it is another one
    assert other.url.startswith("/app/results/") and Task.objects.filter(kind="static").count() == 2
    assert FormDraft.objects.filter(purpose=FormDraft.ENDED).count() == 1
