"""The pages of quotas: everybody sees the own project's, administrators set those of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.web.test_people import text_of
from vetro.clouds.quotas import QUOTAS
from vetro.server.quotas import enforcement, limits
from vetro.server.quotas.models import ProjectQuota
from vetro.server.web.views.people.quotas import NAMES

Browser = Callable[[Any], Client]
pytestmark = pytest.mark.attack("quotas", "H3")


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    limits.forget()
    enforcement.forget()


def test_every_quota_has_a_name() -> None:
    assert list(NAMES) == list(QUOTAS)


def test_members_see_what_is_used_and_cannot_change_it(ann: Any, browser: Browser) -> None:
    ann.post("/v2/environments", {"name": "one"})
    client = browser(ann)
    page = client.get("/app/people/quotas")
    said = text_of(page)
    assert page.status_code == 200 and "Quotas of demo" in said and "Floating addresses 0" in said
    assert "<input" not in page.content.decode().split('class="people-table"')[1].partition("</table>")[0]
    assert '/app/people/quotas"' in client.get("/app/people/me").content.decode()
    assert "Kontingente von demo" in text_of(client.get("/app/people/quotas", headers={"accept-language": "de"}))
    project = ann.caller.project_id
    assert client.get(f"/app/people/projects/{project}/quotas").status_code == 403
    assert client.post(f"/app/people/projects/{project}/quotas/set", {"servers": "9999"}).status_code == 403
    assert ProjectQuota.objects.count() == 0


def test_administrators_set_limits(ann: Any, root: Any, browser: Browser) -> None:
    client, project = browser(root), ann.caller.project_id
    page = f"/app/people/projects/{project}/quotas"
    assert page in client.get(f"/app/people/projects/{project}/").content.decode()
    fields = dict.fromkeys(QUOTAS, "") | {"environments": "1", "memory": "none", "servers": " 20 "}
    said = text_of(client.post(f"{page}/set", fields, follow=True))
    assert "The limits are saved." in said
    assert dict(ProjectQuota.objects.values_list("name", "most")) == {"environments": 1, "memory": -1, "servers": 20}
    shown = client.get(page).content.decode()
    assert 'name="servers" value="20"' in shown and 'name="memory" value="none"' in shown
    ann.post("/v2/environments", {"name": "one"})
    own = browser(ann).get("/app/people/quotas")
    assert "nearly used up" in text_of(own) and "no limit" in text_of(own)
    answer = browser(ann).post("/app/environments/new", {"name": "two"}, follow=True)
    assert "Quota 'environments': project" in text_of(answer)
    client.post(f"{page}/set", fields | {"environments": "", "servers": ""})
    assert dict(ProjectQuota.objects.values_list("name", "most")) == {"memory": -1}


@pytest.mark.parametrize("value", ["-2", "1.5", "nan", "many", "9" * 30, "²", "1 2", "<script>"])
def test_what_is_no_limit_changes_nothing(ann: Any, root: Any, browser: Browser, value: str) -> None:
    page = f"/app/people/projects/{ann.caller.project_id}/quotas"
    said = browser(root).post(f"{page}/set", {"disk": "7", "servers": value}, follow=True)
    assert "must be a whole number from 0" in text_of(said) and "<script>" not in text_of(said)
    assert ProjectQuota.objects.count() == 0
    assert browser(root).get("/app/people/projects/nowhere/quotas").status_code == 404
