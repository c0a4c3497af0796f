"""Audit records in words, looked for and exported: on the page and through `/v2`."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

import vetro.server
from tests.server.web.conftest import browser
from tests.server.web.test_people import text_of
from vetro.server.accounts.models import Project
from vetro.server.audit import search
from vetro.server.audit.models import AuditRecord
from vetro.server.audit.record import record
from vetro.server.audit.sentences import SENTENCES, sentence

__all__ = ["browser"]

Browser = Callable[[Any], Client]


def recorded() -> Iterator[tuple[str, str]]:
    """(action, file) of every call of `record`; of an f-string its beginning."""
    for path in Path(vetro.server.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            named = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if named not in ("record", "_record", "_remove", "note") or len(node.args) < 2:
                continue
            for arg in node.args[:3]:
                if (
                    isinstance(arg, ast.Constant)
                    and isinstance(arg.value, str)
                    and re.fullmatch(r"[a-z_.]+", arg.value)
                ):
                    prefix = "package." if named == "note" else ""
                    yield prefix + arg.value, path.name
                elif isinstance(arg, ast.IfExp):
                    yield from ((str(one.value), path.name) for one in (arg.body, arg.orelse))  # type: ignore[attr-defined]


def test_every_action_that_is_recorded_has_a_sentence() -> None:
    found = {action: place for action, place in recorded() if "." in action}
    assert len(found) > 60
    assert {action: place for action, place in found.items() if action not in SENTENCES} == {}


@pytest.mark.parametrize("action", sorted(SENTENCES))
def test_sentences_miss_nothing_without_details(action: str) -> None:
    said = str(sentence(action, "shop", {}))
    assert "{" not in said and said


def test_an_action_of_a_plug_in_is_told_by_its_code() -> None:
    assert str(sentence("toy.wind", "duck", {"a": 1})) == "did toy.wind to duck"


@pytest.mark.django_db
def test_the_page_tells_them_in_words_with_filters(ann: Any, eve: Any, root: Any, browser: Browser) -> None:
    record(ann.caller, "environment.rename", "e1", "shop", before="<b>stall</b>")
    record(eve.caller, "package.import", "p1", "io.test", version="1.2.0")
    said = text_of(browser(ann).get("/app/people/audit"))
    assert "renamed the environment '<b>stall</b>' to 'shop'" in said and "io.test" not in said
    german = text_of(browser(ann).get("/app/people/audit", headers={"accept-language": "de"}))
    assert "hat die Umgebung '<b>stall</b>' in 'shop' umbenannt" in german
    assert "io.test" not in text_of(browser(ann).get("/app/people/audit?project=others&all=1"))
    assert "imported io.test 1.2.0" in text_of(browser(root).get("/app/people/audit?project=others"))
    assert "No records" in text_of(browser(root).get("/app/people/audit?project=nowhere"))
    assert "renamed" not in text_of(browser(root).get("/app/people/audit?all=1&what=package"))
    one = ann.get("/v2/audit?action=environment.rename").json()["items"][0]
    assert one["text"] == "renamed the environment '<b>stall</b>' to 'shop'"
    assert ann.get("/v2/audit?project=others").status_code == 403
    assert root.get("/v2/audit?project=nowhere").status_code == 404


@pytest.mark.django_db
def test_exports_have_all_that_fits_and_no_formula(
    ann: Any, eve: Any, root: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_AT_ONCE", 3)
    names = [f"shop{number}" for number in range(8)] + ["=cmd|' /C calc'!A0", 'a"b,\n<c>']
    for name in names:
        record(ann.caller, "environment.create", "e", name, note=name)
    record(eve.caller, "environment.create", "e", "of others")
    text = b"".join(ann.get("/v2/audit/export?format=jsonl&action=environment.create").streaming_content).decode()
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["target_name"] for row in rows] == names[::-1] and set(rows[0]) == set(search.COLUMNS)
    answer = browser(ann).get("/app/people/audit/export?format=csv&what=environment")
    assert answer["Content-Type"] == "text/csv; charset=utf-8" and "audit.csv" in answer["Content-Disposition"]
    table = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode(), newline="")))
    assert [row["target_name"] for row in table][2:] == names[7::-1]
    assert table[0]["target_name"] == 'a"b,\n<c>' and table[1]["target_name"] == "'=cmd|' /C calc'!A0"
    assert AuditRecord.objects.filter(action="audit.export").count() == 2
    whole = b"".join(root.get("/v2/audit/export?all_projects=true").streaming_content).decode()
    assert "of others" in whole and "exported audit records" in whole
    assert ann.get("/v2/audit/export?all_projects=true").status_code == 403
    other = Project.objects.get(name="others").id
    of_one = b"".join(root.get(f"/v2/audit/export?project={other}").streaming_content).decode()
    assert "of others" in of_one and "shop1" not in of_one


@pytest.mark.django_db
def test_an_export_that_the_end_of_the_service_cuts_off_does_not_look_whole(
    ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_AT_ONCE", 2)
    for number in range(5):
        record(ann.caller, "environment.create", "e", f"shop{number}")
    answer = ann.get("/v2/audit/export")
    monkeypatch.setattr(search, "stopping", lambda: True)
    with pytest.raises(Exception, match="ends"):
        list(answer.streaming_content)
