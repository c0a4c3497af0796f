"""The page of the cloud's images: listed, marked, changed, unmarked, and what forms offer then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from vetro.clouds.interface import NotAvailable
from vetro.clouds.stacks.listing import Listing
from vetro.clouds.stacks.state.inventory import fixed_id
from vetro.server.audit.models import AuditRecord
from vetro.server.forms import cloud_lists

Browser = Callable[[Any], Client]
HERE = "/app/packages/images"
DOCKER = fixed_id("image", "debian-docker-murano")
DEBIAN = fixed_id("image", "debian-12-murano")


@pytest.fixture(autouse=True)
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cloud of the test's own."""
    made = Listing(tmp_path / "cloud")
    monkeypatch.setattr(cloud_lists, "_listing", lambda own=None: made)
    cloud_lists.forget()
    yield
    cloud_lists.forget()
    made.close()


def _text(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, (answer.status_code, answer.content[:400])
    return str(answer.content.decode())


def test_images_are_marked_changed_and_unmarked(root: Any, ann: Any, browser: Browser) -> None:
    boss = browser(root)
    assert 'href="/app/packages/images"' in _text(boss.get("/app/packages/"))
    page = _text(boss.get(HERE))
    assert page.index("Debian 12") < page.index("Windows Server (recorded)") and "linux.docker" in page

    given = {"image": DEBIAN, "title": " Debian <12> ", "type": "linux.debian"}
    said = _text(boss.post(f"{HERE}/mark", given, follow=True))
    assert "Forms offer the image as Debian &lt;12&gt; now." in said and "linux.debian" in said
    assert "Forms do not offer" in _text(boss.post(f"{HERE}/unmark", {"image": DOCKER}, follow=True))
    page = _text(boss.get(HERE))
    assert page.count("Remove the mark") == 3 and "debian-docker-murano" in page

    offered = {row["id"]: row["murano"] for row in cloud_lists.choices(ann.caller.project_id, "", "images", None)}
    assert offered[DOCKER] is None and '"linux.debian"' in offered[DEBIAN]
    told = AuditRecord.objects.filter(action__startswith="image.").order_by("id").values_list("action", "target_name")
    assert list(told) == [("image.mark", "debian-12-murano"), ("image.unmark", "debian-docker-murano")]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"image": DEBIAN, "title": "", "type": "linux"}, "The title of an image is a text"),
        ({"image": DEBIAN, "title": "Two\nlines", "type": "linux"}, "The title of an image is a text"),
        ({"image": DEBIAN, "title": "One", "type": "x" * 256}, "The type of an image is a text"),
        ({"image": "nowhere", "title": "One", "type": "linux"}, "There is no image with the id"),
        ({"image": DEBIAN, "title": "Windows Server (recorded)", "type": "linux"}, "has the title"),
        ({"image": DEBIAN, "title": "One", "type": "linux", "region": "mars"}, "no region"),
    ],
)
def test_mistakes_are_told_and_change_nothing(root: Any, browser: Browser, given: dict[str, str], said: str) -> None:
    boss = browser(root)
    before = cloud_lists.choices(root.caller.project_id, "", "images", None, anew=True)
    assert boss.post(f"{HERE}/mark", given).status_code == 302
    assert said in _text(boss.get(HERE))
    assert cloud_lists.choices(root.caller.project_id, "", "images", None, anew=True) == before
    assert not AuditRecord.objects.filter(action__startswith="image.").exists()


def test_members_look_and_administrators_mark(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    page = _text(client.get(HERE))
    assert "Debian 12" in page and "Administrators mark images." in page and "Remove the mark" not in page
    assert client.post(f"{HERE}/mark", {"image": DEBIAN, "title": "One", "type": "x"}).status_code == 403
    assert client.post(f"{HERE}/unmark", {"image": DEBIAN}).status_code == 403
    assert client.get(f"{HERE}/mark").status_code == 405


def test_a_cloud_that_lists_no_images_is_said(ann: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise NotAvailable("this cloud has no Glance <here>")

    monkeypatch.setattr(cloud_lists, "_read", refuse)
    page = _text(browser(ann).get(HERE), 503)
    assert "no Glance &lt;here&gt;" in page and "Try again" in page
    assert ann.get("/v2/images").status_code == 503


def test_the_api_marks_as_the_page_does(root: Any, ann: Any) -> None:
    listed = {row["name"]: row for row in ann.get("/v2/images").json()["items"]}
    assert listed["debian-12-murano"] == {
        "id": DEBIAN, "name": "debian-12-murano", "status": "active", "marked": True, "title": "Debian 12",
        "type": "linux", "broken": False, "usual": True,
    }  # fmt: skip
    where = f"/v2/images/{DOCKER}/mark"
    done = root.put(where, {"title": "Containers", "type": "linux.docker"})
    assert (done.status_code, done.json()["title"]) == (200, "Containers")
    assert "Containers" in ann.get("/v2/images").content.decode()
    assert root.delete(where).status_code == 204 and root.delete(where).status_code == 204
    (row,) = [row for row in ann.get("/v2/images").json()["items"] if row["id"] == DOCKER]
    assert not row["marked"] and row["title"] is None
    assert ann.put(where, {"title": "Mine", "type": "x"}).status_code == 403
    assert root.put("/v2/images/nowhere/mark", {"title": "x", "type": "x"}).status_code == 404
    assert root.put(where, {"title": "Debian 12", "type": "x"}).status_code == 409
    assert ann.get("/v2/images?region=mars").status_code == 404
