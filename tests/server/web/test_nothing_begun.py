"""What nobody has changed or answered waits for nobody: drafts as the environment is, forms without an answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.test import Client

from tests.server.web.pagekit import followed, opened
from vetro.server.environments.models import Session
from vetro.server.forms.models import FormDraft
from vetro.server.tasks.models import Task

Browser = Callable[[Any], Client]
FORM, CHANGES = "A form that is not finished", "Changes that are not deployed"


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
    assert FORM not in opened(client, "/app/").text
    assert "No unfinished forms" in opened(client, "/app/forms/").text
    assert FormDraft.objects.count() == 2  # the pages may still be open, but each address has one
    left = page.send("leave")
    assert left.url == f"/app/environments/{environment}/"
    assert FormDraft.objects.count() == 1 and FORM not in opened(client, "/app/").text
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
    assert FORM not in opened(client, "/app/").text and FormDraft.objects.count() == 1
    edited()
    assert CHANGES not in opened(client, "/app/").text
    edited(name="Other")
    assert CHANGES in opened(client, "/app/").text
    edited(name="Corner")  # and back
    assert CHANGES not in opened(client, "/app/").text
    assert not Session.objects.filter(state=Session.OPENED, draft__isnull=False).exists()
    edited(name="Other")
    assert f"/app/environments/{environment}/changes" in opened(client, "/app/").text


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
