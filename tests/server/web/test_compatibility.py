"""The tab *Compatibility*, the ticks of forcing, and what a refused publication shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.server.catalog.archives import archive
from vetro.server.catalog import service
from vetro.server.catalog.models import Package

Browser = Callable[[Any], Client]
NAME = "com.example.App"
TEXT = "Namespaces: {{=: com.example}}\nName: App\nProperties:\n  size: {{Contract: $.string().check($ != '{}')}}\n"
_EVIL = "<script>alert(1)</script>"


def app(version: str, word: str) -> bytes:
    return archive(NAME, version, classes={NAME: TEXT.format(word)}, Type="Library")


@pytest.fixture
def versions(ann: Any) -> list[Package]:
    """Two versions, of which the second breaks something under too low a number."""
    return [service.import_packages(ann.caller, [app(*one)]).packages[0] for one in (("1.0.0", "x"), ("1.0.1", _EVIL))]


def test_the_tab_shows_finding_lines_and_value(ann: Any, eve: Any, versions: list[Package], browser: Browser) -> None:
    client = browser(ann)
    page = client.get(f"/app/packages/{versions[1].id}/compatibility/").content.decode()
    assert "CMP112" in page and "its number is too low: it needs 2.0.0" in page
    assert f"/app/packages/{versions[0].id}/files/Classes/com.example.App.yaml#L4" in page
    assert f"/app/packages/{versions[1].id}/files/Classes/com.example.App.yaml#L4" in page
    assert 'data-copy="&quot;&lt;script&gt;' in page and _EVIL not in page
    assert "check($ != &#x27;x&#x27;)" in page  # the line of the old version
    first = client.get(f"/app/packages/{versions[0].id}/compatibility/").content.decode()
    assert "There was no version to compare it with" in first
    overview = client.get(f"/app/packages/{versions[1].id}/").content.decode()
    assert 'Compatibility <span class="word">breaks</span>' in overview
    assert browser(eve).get(f"/app/packages/{versions[1].id}/compatibility/").status_code == 404
    # The old version may go: what was found stays.
    service.delete(ann.caller, versions[0])
    page = client.get(f"/app/packages/{versions[1].id}/compatibility/").content.decode()
    assert "CMP112" in page and versions[0].id not in page


def test_an_import_is_refused_with_findings_and_forced_by_a_tick(root: Any, browser: Browser) -> None:
    client = browser(root)

    def send(data: bytes, **more: str) -> Any:
        file = SimpleUploadedFile("app.zip", data, "application/zip")
        return client.post("/app/packages/import", {"way": "files", "archive": file, "public": "1", **more})

    assert send(app("1.0.0", "x")).status_code == 200
    refused = send(app("1.0.1", "y"))
    page = refused.content.decode()
    assert refused.status_code == 400 and "CMP112" in page and "needs 2.0.0" in page
    assert 'name="anyway"' in page
    assert send(app("1.0.1", "y"), anyway="1").status_code == 200
    assert Package.objects.get(version="1.0.1").compat["forced"] is True


def test_publishing_is_refused_and_forced_by_a_tick(root: Any, browser: Browser) -> None:
    service.import_packages(root.caller, [app("1.0.0", "x")], is_public=True)
    private = service.import_packages(root.caller, [app("1.0.1", "y")]).packages[0]
    client = browser(root)
    address = f"/app/packages/{private.id}/switch"
    refused = client.post(address, {"what": "is_public", "value": "1"})
    page = refused.content.decode()
    assert refused.status_code == 400 and "The package was not published" in page and "Publish anyway" in page
    done = client.post(address, {"what": "is_public", "value": "1", "anyway": "1"})
    assert done.status_code == 302 and Package.objects.get(id=private.id).is_public
