"""Impact by itself: whoever imports or publishes a version sees whom it would change, within limits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.server.impact.conftest import cloud as cloud  # a fixture
from tests.server.impact.fleet import archive, environment, shop
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.impact import service
from vetro.server.impact.models import Entry, Impact
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db(transaction=True)
Browser = Callable[[Any], Client]


@pytest.fixture
def markets(ann: Any, drain: Callable[..., Any], cloud: Path) -> list[str]:
    """Two environments of version 1.0.0; version 3.0.0 fails in the second."""
    import_packages(ann.caller, [archive("1.0.0")])
    more: list[dict[str, Any]] = [{}, {"text": "fragile", "password": "p"}]
    return [environment(ann.caller, drain, f"market-{n}", shop(n + 1, **given)) for n, given in enumerate(more)]


def brought(client: Client, version: str, **more: str) -> str:
    """The page after a version was imported on it."""
    file = SimpleUploadedFile("shop.zip", archive(version), "application/zip")
    answer = client.post("/app/packages/import", {"archive": file, "enabled": "1", **more})
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def part(client: Client, package: Any) -> str:
    """The part of the page that comes again and again."""
    answer = client.get(f"/app/packages/{package.id}/impact/", headers={"hx-target": f"impact-{package.id}"})
    return str(answer.content.decode())


def looked_at(drain: Callable[..., Any]) -> None:
    """All that was asked is found out, also where a busy machine makes a task wait for its process too long."""
    past = datetime.now(UTC) - timedelta(hours=1)
    for _ in range(5):
        drain()
        if not Entry.objects.filter(group="").exists():
            return
        Task.objects.exclude(state__in=Task.FINAL).update(lease_until=past)


def test_an_import_shows_whom_the_version_would_change(
    markets: list[str], ann: Any, browser: Browser, drain: Callable[..., Any]
) -> None:
    client = browser(ann)
    text = brought(client, "3.0.0")
    package = Package.objects.get(fqn="test.shop", version="3.0.0")
    assert "What Shop 3.0.0 would change" in text and "0 of 2 environments were looked at" in text
    assert f'hx-get="/app/packages/{package.id}/impact/"' in text
    looked_at(drain)
    text = part(client, package)
    assert "2 environments were looked at" in text and "hx-get" not in text
    assert "Fails" in text and "Classes/Shop.yaml" in text and "market-1" in text and "Nothing changes" in text
    # Who moves one environment there sees it, too.
    text = client.get(f"/app/environments/{markets[0]}/upgrade").content.decode()
    assert "In 2 environments:" in text and "Fails 1" in text


@pytest.mark.campaign
def test_nothing_is_asked_where_nobody_has_an_older_version(
    markets: list[str], ann: Any, eve: Any, browser: Browser
) -> None:
    assert "would change" not in brought(browser(eve), "1.1.0")
    assert not Impact.objects.exists()


@pytest.mark.campaign
def test_many_environments_are_looked_at_when_somebody_asks(
    markets: list[str], ann: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_AUTOMATIC", 1)
    text = brought(browser(ann), "1.1.0")
    assert "2 environments of your project use an older version." in text and "hx-get" not in text
    assert not Impact.objects.exists()
    # So it is where the project has no room for another question.
    monkeypatch.setattr(service, "MOST_AUTOMATIC", 10)
    monkeypatch.setattr(service, "MOST_RUNNING", 0)
    assert "2 environments of your project use an older version." in brought(browser(ann), "1.2.0")
    assert not Impact.objects.exists()


@pytest.mark.attack("secrets", "impact")
def test_who_publishes_sees_counts_of_others_and_none_of_their_names(
    markets: list[str], root: Any, people: Any, browser: Browser, drain: Callable[..., Any]
) -> None:
    """Whoever may not list environments of others gets how many there are, and lines of the package."""
    client = browser(root)
    import_packages(root.caller, [archive("3.0.0")])
    package = Package.objects.get(fqn="test.shop", version="3.0.0")
    answer = client.post(f"/app/packages/{package.id}/switch", {"what": "is_public", "value": "1"})
    assert answer["Location"] == f"/app/packages/{package.id}/impact/"
    assert Impact.objects.get().all_projects
    looked_at(drain)
    assert "market-1" in part(client, package)  # an administrator may
    text = part(browser(people("carl", "operators")), package)
    assert "2 environments were looked at" in text and "1 of other projects" in text
    assert "Classes/Shop.yaml:" in text
    assert "market" not in text and "it says" not in text
