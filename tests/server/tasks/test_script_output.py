"""What scripts write, as the service keeps it: once, bounded, under its step, for those who may read the task."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.tasks import shop
from tests.server.web.conftest import signed_in
from vetro.server.tasks import reports, script_output
from vetro.server.tasks.models import Event, Report, Task
from vetro.server.tasks.script_output import OutputLog

pytestmark = pytest.mark.django_db


def piece(text: str, number: str = "1", **more: Any) -> dict[str, Any]:
    return {"id": "i1", "number": number, "script": "install.sh", "stream": "stdout", "text": text, "left": 0, **more}


@pytest.fixture
def task(ann: Any) -> Task:
    """A task of an environment with one application that has a server."""
    package = shop.add_package(ann.caller)
    row = shop.add_environment(ann.caller, "house")
    start = shop.model(row)
    header = {"type": "test.Shop", "id": "web", "name": "the web"}
    server = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "i1"}, "name": "web-1"}
    start["Objects"]["applications"] = [{"?": header, "instance": server}]
    return shop.enqueue(ann.caller, row, package, start)


def rows(task: Task) -> list[tuple[str, str, str]]:
    return [(row.kind, row.entity_id, row.text) for row in Report.objects.filter(task=task).order_by("seq")]


def test_each_piece_is_kept_once(task: Task) -> None:
    before = rows(task)
    output = OutputLog(task)
    output.add("0/1", piece("one\ntwo"))
    output.add("0/1", piece("one\ntwo"))
    OutputLog(task).add("0/1", piece("one\ntwo"))  # another worker went on with the task
    output.add("0/1", piece("", "2", left=1234567))
    output.add("0/2", piece("three", left=9, stream="stderr"))
    assert rows(task)[len(before) :] == [
        ("output", "i1", "one\ntwo"),
        ("output", "i1", "… 1,234,567 bytes are left out here …"),
        ("output", "i1", "… 9 bytes are left out here …\nthree"),
    ]
    last = Report.objects.filter(task=task).order_by("-seq")[0]
    assert last.details == {"script": "install.sh", "stream": "stderr"} and last.level == "info"
    assert Event.objects.filter(task_id=task.id, kind="report", data__kind="output").count() == 3
    task.refresh_from_db()
    assert task.log_bytes == sum(len(text) for kind, _, text in rows(task) if kind == "output")


def test_a_task_has_so_much_and_no_more(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_output, "MOST", 30)
    output = OutputLog(task)
    for number in range(10):
        output.add("0/1", piece("0123456789", str(number)))
    found = [(kind, text) for kind, _, text in rows(task) if kind == "output" or "output" in text]
    assert found == [("output", "0123456789")] * 3 + [
        ("report", "further output of scripts is not kept: there is too much of it")
    ]
    monkeypatch.setattr(script_output, "fits", lambda *args: False)
    OutputLog(task).add("0/2", piece("more"))
    assert "more" not in [text for _, _, text in rows(task)]


def test_it_is_told_under_its_step(task: Task, ann: Any, eve: Any) -> None:
    reports.add(task, "1", "Installing", entity_id="web")
    output = OutputLog(task)
    output.add("0/1", piece("unpacking <b>\nready"))
    lines = ann.get(f"/v2/tasks/{task.id}/log?kind=output").json()["items"]
    assert [(line["kind"], line["object_id"], line["text"]) for line in lines] == [
        ("output", "i1", "unpacking <b>\nready")
    ]
    assert eve.get(f"/v2/tasks/{task.id}/log").status_code == 404
    assert all(line["kind"] != "output" for line in ann.get(f"/v2/tasks/{task.id}/log?kind=report").json()["items"])
    path = f"/app/environments/{task.environment_id}/tasks/{task.id}/"
    page = signed_in(ann).get(path).content.decode()
    steps = page.partition('<ol class="steps')[2].partition("</ol>")[0]
    assert "Installing" in steps and "unpacking &lt;b&gt;\nready</pre>" in steps
    log = page.partition('id="log"')[2]
    assert "install.sh</span>" in log and "unpacking &lt;b&gt;" in log and "unpacking <b>" not in page
    for number in range(30):
        output.add("0/1", piece(f"line {number}", f"n{number}"))
    steps = signed_in(ann).get(path).content.decode().partition('<ol class="steps')[2].partition("</ol>")[0]
    assert "line 29" in steps and "line 9\n" not in steps, "the end of it"
    status = ann.get(f"/v1/environments/{task.environment_id}/deployments/{task.id}")
    assert "unpacking" not in status.content.decode(), "/v1 tells reports"
