"""Lines of any length: lists stay short, on every way to them; the whole line is there for who asks for it."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.web.conftest import browser
from vetro.engine.worker.journal import Note
from vetro.server.tasks import log, long_lines, reports
from vetro.server.tasks.models import Report, ReportPart, Task

__all__ = ["browser"]
pytestmark = [pytest.mark.django_db, pytest.mark.attack("streams", "H7")]
LONG = "ä" * 300_000


def deployed(ann: Any, *texts: str, details: Any = None) -> Task:
    """A task of a new environment that reported this."""
    made = ann.post("/v2/environments", {"name": f"e{Task.objects.count()}"}).json()["id"]
    task = Task.objects.create(
        kind="deploy", state="done", environment_id=made, project_id=ann.caller.project_id, user_id="u", spec={}
    )
    report(task, *texts, details=details)
    return task


def report(task: Task, *texts: str, details: Any = None) -> None:
    reports.store(
        task.id,
        [
            Note(f"0/{number}", "report", {"text": text, "details": details, "id": "x"}, "", 1.0)
            for number, text in enumerate(texts)
        ],
    )


def test_a_long_line_is_cut_in_lists_and_whole_on_request(ann: Any) -> None:
    task = deployed(ann, "short", LONG)
    listed = ann.get(f"/v2/tasks/{task.id}/log").json()["items"]
    assert [line["cut"] for line in listed] == [False, True]
    assert listed[1]["text"] == "ä" * long_lines.LONGEST + "… (300,000 characters in all)"
    for line, text in zip(listed, ("short", LONG), strict=True):
        answer = ann.get(f"/v2/tasks/{task.id}/log/{line['seq']}")
        assert b"".join(answer.streaming_content).decode() == text
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert ann.get(f"/v2/tasks/{task.id}/log/0").status_code == 404
    v1 = ann.get(f"/v1/environments/{task.environment_id}/deployments/{task.id}").json()["reports"]
    assert [len(item["text"]) < 9000 for item in v1] == [True, True]
    last = ann.get(f"/v1/environments/{task.environment_id}/lastStatus")
    assert len(last.content) < 20_000


def test_details_are_cut_too(ann: Any) -> None:
    for details, kept in (({"frames": ["x" * 20_000]}, None), ("y" * 20_000, "y" * long_lines.DETAILS)):
        task = deployed(ann, "text", details=details)
        (line,) = ann.get(f"/v2/tasks/{task.id}/log").json()["items"]
        assert line["cut"] and (line["details"] or "").startswith(kept or "") and len(line["details"] or "") < 9000
        answer = b"".join(ann.get(f"/v2/tasks/{task.id}/log/{line['seq']}").streaming_content).decode()
        assert answer.startswith("text\n") and answer.count("x" if kept is None else "y") >= 20_000


def test_lines_of_others_are_none(ann: Any, eve: Any) -> None:
    task = deployed(ann, LONG)
    seq = Report.objects.get(task=task).seq
    assert eve.get(f"/v2/tasks/{task.id}/log/{seq}").status_code == 404
    other = deployed(ann, "mine")
    assert ann.get(f"/v2/tasks/{other.id}/log/{seq}").status_code == 404


def test_what_is_stored_twice_has_its_parts_once(ann: Any) -> None:
    task = deployed(ann, LONG)
    report(task, LONG)
    assert ReportPart.objects.count() == -(-len(LONG) // long_lines.PART)
    task.delete()
    assert not ReportPart.objects.exists()


@pytest.mark.parametrize("path", ["/v2/tasks/{task}/log?limit=1000", "/v1/environments/{env}/deployments/{task}"])
def test_a_page_has_a_budget_and_its_cursor_goes_on(ann: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "UNPAGED", 1 << 20)
    task = deployed(ann, *(f"{n:04} " + "z" * 8000 for n in range(400)))
    found, pages, after = [], 0, 0
    while True:
        answer = ann.get(path.format(task=task.id, env=task.environment_id) + (f"&after={after}" if after else ""))
        assert answer.status_code == 200 and len(answer.content) < 2 << 20
        body = answer.json()
        pages += 1
        if "reports" in body:
            texts = [item["text"] for item in body["reports"]]
            assert texts[-1][:4] == "0399" and "left out" in texts[0] and len(texts) > 50
            return
        found += [line["text"][:4] for line in body["items"]]
        if body["next"] is None:
            break
        after = body["next"]
    assert found == [f"{n:04}" for n in range(400)] and pages > 1


def test_a_page_of_the_longest_lines_costs_little(ann: Any) -> None:
    """100 lines of 2.7 MB were 267 MB, and three times as much memory."""
    task = deployed(ann, *["q" * 2_700_000] * 20)
    with CaptureQueriesContext(connection) as queries:
        tracemalloc.start()
        try:
            answer = ann.get(f"/v2/tasks/{task.id}/log")
            size, peak = len(answer.content), tracemalloc.get_traced_memory()[1]
            peak_whole = 0
            for part in ann.get(f"/v2/tasks/{task.id}/log/{answer.json()['items'][0]['seq']}").streaming_content:
                assert len(part) <= 4 * long_lines.PART
            peak_whole = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert size < 1 << 20 and peak < 16 << 20 and peak_whole < 16 << 20
    assert not any("reportpart" in query["sql"].lower() for query in queries.captured_queries[:-1])


def test_pages_and_downloads(ann: Any, browser: Any) -> None:
    browser_of_ann = browser(ann)
    task = deployed(ann, LONG)
    base = f"/app/environments/{task.environment_id}/tasks/{task.id}/"
    page = browser_of_ann.get(base)
    assert page.status_code == 200 and len(page.content) < 200_000
    seq = Report.objects.get(task=task).seq
    assert f'href="lines/{seq}"'.encode() in page.content
    assert b"".join(browser_of_ann.get(f"{base}lines/{seq}").streaming_content).decode() == LONG
    text = b"".join(browser_of_ann.get(f"{base}log").streaming_content).decode()
    assert LONG in text


def test_long_lines_of_before_are_cut_when_the_database_is_brought_up_to_date(ann: Any) -> None:
    from importlib import import_module

    from django.apps import apps

    task = deployed(ann, "short", "short too")
    old = Report.objects.filter(task=task).last()
    assert old is not None
    Report.objects.filter(seq=old.seq).update(text=LONG)
    import_module("vetro.server.tasks.migrations.0008_long_lines").cut_long_lines(apps, None)
    row = Report.objects.get(seq=old.seq)
    assert row.cut and len(row.text) < 9000 and "".join(log.whole(row)) == LONG
    assert not Report.objects.filter(task=task, cut=True).exclude(seq=old.seq).exists()
