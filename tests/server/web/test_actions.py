"""Actions from their argument forms to what they returned."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils.http import content_disposition_header

from tests.server.web.pagekit import followed, opened
from vetro.model.files import file_in, stored_object
from vetro.server.environments import deploy as deploying
from vetro.server.environments import service
from vetro.server.forms import form_session
from vetro.server.servers import files
from vetro.server.tasks.models import Task
from vetro.server.web.views.actions.result import shape_of

Browser = Callable[[Any], Client]


def test_an_action_is_called_and_its_result_shown(
    browser: Browser, ann: Any, eve: Any, shop: Any, drain: Callable[[], int]
) -> None:
    environment = str(service.create(ann.caller, {"name": "street"})["id"])
    begun = form_session.begin(ann.caller, environment_id=environment, package=shop.id, source="class")
    form_session.submit(ann.caller, begun.id, {"name": "Corner", "seats": 1})
    made = form_session.finish(ann.caller, begun.id)
    assert made.session_id is not None
    deploying.deploy(ann.caller, environment, made.session_id)
    assert drain() == 1
    client = browser(ann)
    page = opened(client, f"/app/environments/{environment}/actions/{made.object_id}_rename")
    assert "Rename" in page.text and "Run" in page.text and "Review" not in page.text
    bad = page.send()
    assert bad.url.startswith("/app/forms/") and 'href="#f-name"' in bad.text
    running = bad.send(name="<b>Kiosk</b>")
    assert running.url.startswith("/app/results/") and 'hx-trigger="every 1s"' in running.text
    assert drain() == 1
    done = opened(client, running.url)
    assert "&lt;b&gt;Kiosk&lt;/b&gt;" in done.text and "hx-trigger" not in done.text
    file = client.get(f"{running.url}download")
    assert (file.content, file["Content-Type"]) == (b"<b>Kiosk</b>", "text/plain; charset=utf-8")
    assert file["Content-Disposition"].startswith("attachment") and "sandbox" in file["Content-Security-Policy"]
    for other in (running.url, f"{running.url}download"):
        assert browser(eve).get(other).status_code == 404


def test_a_static_action_needs_no_environment(browser: Browser, ann: Any, shop: Any, drain: Callable[[], int]) -> None:
    client = browser(ann)
    assert client.get("/app/catalog/test.Shop/actions/test.Shop/burn").status_code == 404
    assert client.get("/app/catalog/test.Shop/actions/test.Other/add").status_code == 404
    page = opened(client, "/app/catalog/test.Shop/actions/test.Shop/add")
    assert "a whole number" in page.send(a="x").text
    running = page.send(a="2")
    assert drain() == 1
    done = followed(client, client.get(running.url), running.url)
    assert "Shop.add" in done.text and '<pre class="source mb-0" tabindex="0">3</pre>' in done.text


def test_an_action_that_fails_says_why(browser: Browser, ann: Any) -> None:
    error = {"message": "No <i>such</i> table.", "hint": "Make one.", "frames": []}
    common = {"project_id": ann.caller.project_id, "user_id": ann.caller.user_id, "kind": "static", "spec": {}}
    failed = Task.objects.create(id="f" * 32, state="failed", error=error, **common)
    text = browser(ann).get(f"/app/results/{failed.id}/").content.decode()
    assert "No &lt;i&gt;such&lt;/i&gt; table." in text and "Make one." in text
    assert browser(ann).get(f"/app/results/{failed.id}/download").status_code == 404
    other = Task.objects.create(id="e" * 32, state="done", **{**common, "kind": "deploy"})
    assert browser(ann).get(f"/app/results/{other.id}/").status_code == 404


def test_a_file_of_any_size_is_a_link_that_streams_it(browser: Browser, ann: Any, eve: Any) -> None:
    environment = str(service.create(ann.caller, {"name": "street"})["id"])
    file = files.begin(ann.caller, environment)
    files.add_part(ann.caller, environment, file, 0, io.BytesIO(b"<b>large</b>"), 12)
    result = stored_object("a.html", file, 12, "0" * 64)
    common = {"user_id": ann.caller.user_id, "kind": "action", "spec": {}, "state": "done", "result": result}
    Task.objects.create(id="d" * 32, project_id=ann.caller.project_id, environment_id=environment, **common)
    address = f"/app/results/{'d' * 32}/"
    page = browser(ann).get(address).content.decode()
    assert f'href="{address}download">a.html</a>' in page and "12" in page
    answer = browser(ann).get(f"{address}download")
    assert answer.streaming and b"".join(answer.streaming_content) == b"<b>large</b>"
    assert answer["Content-Disposition"] == 'attachment; filename="a.html"' and answer["Content-Type"] == "text/html"
    assert "sandbox" in answer["Content-Security-Policy"] and answer["X-Content-Type-Options"] == "nosniff"
    assert browser(eve).get(f"{address}download").status_code == 404
    # A result that names a file of another environment reaches nothing.
    theirs = str(service.create(eve.caller, {"name": "e"})["id"])
    Task.objects.create(id="c" * 32, project_id=eve.caller.project_id, environment_id=theirs, **common)
    assert browser(eve).get(f"/app/results/{'c' * 32}/download").status_code == 404
    files.remove_all(ann.caller, environment)
    assert browser(ann).get(f"{address}download").status_code == 404


@pytest.mark.parametrize(
    ("result", "kind", "rows"),
    [
        (None, "nothing", []),
        ("text", "text", []),
        (True, "text", []),
        ({"size": 3, "ready": False, "note": None}, "facts", [("size", "3"), ("ready", "No"), ("note", "")]),
        ([{"a": 1}, {"a": 2, "b": "x"}], "table", [["1", ""], ["2", "x"]]),
        (["a", 2], "table", [["a"], ["2"]]),
        ([], "json", []),
        ([{"a": [1]}], "json", []),
        ([{"a": 1}, 2], "json", []),
        ({"?": {"type": "x"}, "a": 1}, "json", []),
        ({"a": {"b": 1}}, "json", []),
    ],
)
def test_results_are_shown_as_what_they_are(result: Any, kind: str, rows: Any, client: Client) -> None:
    shape = shape_of(result)
    assert (shape.kind, list(shape.rows)) == (kind, rows)


def test_files_are_downloaded_and_harmless() -> None:
    held = {
        "?": {"type": "io.murano.File"},
        "base64Content": base64.b64encode(b"abc").decode(),
        "mimeType": "text/html",
    }
    assert file_in({**held, "filename": "../a\r\nb/c.html"}) == ("_a__b_c.html", "text/html", b"abc")
    assert file_in(held) == ("result", "text/html", b"abc")
    assert file_in({**held, "mimeType": "text/html\r\nX: y"}) == ("result", "application/octet-stream", b"abc")
    assert file_in({"base64Content": 3}) is None and file_in("x") is None
    # Half of a surrogate pair, marks that turn the direction, and names that no file system takes.
    hostile = {
        "a\ud800": "a_",
        "a\u202egpj.exe": "a_gpj.exe",
        "a\x9b2J": "a_2J",
        "\u00e4" * 255: "\u00e4" * 100,
        "..": "result",
    }
    for name, shown in hostile.items():
        assert file_in({**held, "filename": name}) == (shown, "text/html", b"abc")
        assert content_disposition_header(True, shown)
    assert (shape_of(held).kind, shape_of(held).size) == ("file", 3)
