"""The form of a class being filled in, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest

from tests.forms.world import describer, package
from vetro.forms.model import Field
from vetro.forms.objects import Objects
from vetro.forms.sessions import ClassFormSession, FormFailed, MethodFormSession, review

DESCRIBER = describer()
ENVIRONMENT = {
    "?": {"type": "io.murano.Environment", "id": "e"},
    "applications": [
        {"?": {"type": "t.Shop/1.2.0@t", "id": "old", "name": "old"}, "name": "Old", "host": "h"},
        {"?": {"type": "t.Host/1.2.0@t", "id": "h"}, "name": "far"},
    ],
}
STORED = {
    "?": {"type": "t.Shop/1.2.0@t", "id": "old", "name": "old"},
    "name": "Old",
    "zone": "north",
    "label": "kept",
    "host": {"?": {"type": "t.Host/1.2.0@t", "id": "h2"}, "name": "near", "password": "pw", "address": "10.0.0.1"},
}


def make(**more: Any) -> ClassFormSession:
    ids = count()
    shop = DESCRIBER.of("t.Shop")
    assert shop is not None
    objects = Objects(ENVIRONMENT, DESCRIBER)
    return ClassFormSession(DESCRIBER, shop, objects, new_id=lambda: f"n{next(ids)}", **more)


def fields(form_session: Any, work: Any) -> Mapping[str, Field]:
    return {field.name: field for field in form_session.form(work).pages[0].fields()}


def test_a_new_object_gets_its_id_and_goes_through_the_checks() -> None:
    asked: list[Any] = []

    def check(model: Mapping[str, Any]) -> list[Any]:
        asked.append(model)
        return [] if len(asked) > 1 else [{"objectId": "n0", "property": "name", "path": [], "message": "it is taken"}]

    form_session = make(check=check)
    work = form_session.begin()
    assert work["value"] == {"?": {"type": "t.Shop/1.2.0@t", "id": "n0"}, "name": "shop"}
    turn = form_session.submit(work, {"name": "4"})
    assert (turn.outcome, {p.place for p in turn.problems}) == ("invalid", {"/name", "/host"}) and not asked
    assert [p.message for p in fields(form_session, turn.work)["name"].problems] == ["letters and blanks only"]
    turn = form_session.submit(turn.work, {"name": "Shop", "host": "h", "label": "x"})
    assert [(p.place, p.message) for p in turn.problems] == [("/name", "It is taken.")]
    assert not form_session.ready(turn.work)
    turn = form_session.submit(turn.work, {"name": "Shop", "host": "h", "label": "x"})
    assert turn.outcome == "ready" and form_session.ready(turn.work)
    assert form_session.result(turn.work) == asked[-1]
    assert asked[-1]["?"] == {"type": "t.Shop/1.2.0@t", "id": "n0"}
    assert (asked[-1]["name"], asked[-1]["host"]) == ("Shop", "h")
    assert not form_session.ready(form_session.evaluate(turn.work, {"name": "Other"}))
    assert not form_session.ready(form_session.back(turn.work, 0))
    with pytest.raises(FormFailed, match="only one"):
        form_session.back(turn.work, 1)


def test_answers_are_complete_unless_they_are_partial() -> None:
    form_session = make()
    work = form_session.begin(STORED)
    assert form_session.evaluate(work, {"name": "New"}, partial=True)["value"] == {**STORED, "name": "New"}
    left = form_session.evaluate(work, {"name": "New", "label": "kept"})["value"]
    assert left == {key: value for key, value in STORED.items() if key not in ("zone", "host")} | {"name": "New"}
    fixed = make(fixed=lambda id: id == "old")
    assert fixed.evaluate(fixed.begin(STORED), {"name": "New"})["value"]["zone"] == "north"  # Const and deployed
    assert fields(fixed, fixed.begin(STORED))["zone"].read_only


def test_secrets_stay_where_they_are() -> None:
    form_session = make()
    work = form_session.begin(STORED)
    host = fields(form_session, work)["host"]
    assert "pw" not in str(form_session.form(work).as_json())
    assert host.value["password"] == {"secret": "kept", "at": "/password"}
    answers = {"name": "Old", "label": "kept", "zone": "north", "host": host.value}
    assert form_session.evaluate(work, answers)["value"] == STORED
    moved = form_session.evaluate(work, {**answers, "host": {**host.value, "password": "new"}})["value"]
    assert moved["host"]["password"] == "new" and moved["host"]["address"] == "10.0.0.1"
    stolen = {**answers, "name": {"secret": "kept", "at": "/host/password"}}
    assert "pw" not in str(form_session.form(form_session.evaluate(work, stolen)).as_json()["pages"][0]["sections"][0])
    # A mark where nothing was kept is no answer.
    fresh = form_session.begin()
    assert "token" not in form_session.evaluate(fresh, {"token": {"secret": "kept", "at": "/token"}})["value"]


def test_new_objects_are_made_inside_and_keep_their_ids() -> None:
    form_session = make()
    work = form_session.evaluate(form_session.begin(), {"host": {"?": {"type": "t.BigHost"}, "disks": [{"size": 1}]}})
    host = work["value"]["host"]
    assert (host["?"]["type"], host["?"]["id"], host["disks"]) == ("t.BigHost", "n1", [{"size": 1}])
    again = form_session.evaluate(work, {"host": {"?": host["?"], "name": "a"}})["value"]["host"]
    assert (again["?"]["id"], again["name"]) == ("n1", "a")
    other = form_session.evaluate(work, {"host": {"?": {"type": "t.Host"}, "name": "a"}})["value"]["host"]
    assert other["?"]["id"] not in ("n1", None)
    picker = fields(form_session, work)["host"].picker
    assert picker is not None
    found = form_session.pick(picker, "existing", "far", 0, work)
    assert found is not None and [c.value for c in found[0]] == ["h"]
    found = form_session.pick(picker, "types", "", 0, work)
    assert found is not None and [c.label for c in found[0]] == ["Big host", "t.Host"]


def test_answers_nested_without_end_are_refused() -> None:
    deep: Any = "x"
    for _ in range(1000):
        deep = [deep]
    form_session = make()
    for call in (form_session.evaluate, form_session.submit, form_session.validate):
        with pytest.raises(FormFailed, match="nested"):
            call(form_session.begin(), {"free": deep})


def test_a_builder_loads_its_result() -> None:
    form_session = make()
    assert isinstance(form_session, ClassFormSession)
    schemas = DESCRIBER.catalog.schemas("t.Shop")  # type: ignore[attr-defined]
    assert [(b.value, b.label) for b in form_session.builders(schemas)] == [("small", "A small shop")]
    called: list[Any] = []

    def call(args: Mapping[str, Any]) -> Any:
        called.append(args)
        return {"name": args["name"], "kind": "small"}

    work = form_session.begin(STORED)
    bad = form_session.start_from(work, schemas["small"], {}, call)
    assert ([p.place for p in bad.problems], bad.work, called) == (["/name"], work, [])
    begun = form_session.start_from(work, schemas["small"], {"name": "Kiosk"}, call)
    assert called == [{"model": STORED, "name": "Kiosk"}]
    assert begun.work["value"] == {"?": STORED["?"], "name": "Kiosk", "kind": "small"}
    assert begun.work["stored"] == STORED


def test_what_was_answered_is_read_once_more() -> None:
    form_session = make()
    work = form_session.evaluate(
        form_session.begin(STORED), {"tags": ["a", "b"], "spare": "h", "settings": {"a": 2}}, partial=True
    )
    (page,) = review(form_session.pages(work))
    rows = {label: text for label, text, _ in page.rows}
    assert rows["Name of the shop"] == "Old" and rows["Spare"] == "far"
    assert (rows["Host / Name"], rows["Host / Password"], rows["Host"]) == ("near", "••••••", "new Host")
    assert rows["Settings / A"] == "2" and rows["Free"] == "-"
    assert "pw" not in str(page.rows) and "hidden" not in rows
    paths = {path for _, _, path in page.rows}
    assert {"/host/name", "/settings/a", "/tags/1"} <= paths


def test_arguments_are_filled_in_the_same_way() -> None:
    schema = DESCRIBER.catalog.schemas("t.Shop", ["rename"])["rename"]  # type: ignore[attr-defined]
    form_session = MethodFormSession(DESCRIBER, schema, Objects(ENVIRONMENT, DESCRIBER), new_id=lambda: "n")
    work = form_session.begin()
    assert not form_session.ready(work)
    turn = form_session.submit(work, {"name": ""})
    assert (turn.outcome, {p.place for p in turn.problems}) == (
        "invalid",
        {"/loudly"} | {p.place for p in turn.problems},
    )
    kept = form_session.evaluate(work, {"name": "Kiosk"})
    assert fields(form_session, kept)["name"].value == "Kiosk"
    turn = form_session.submit(kept, {"loudly": True}, partial=True)
    assert (turn.outcome, form_session.result(turn.work)) == ("ready", {"name": "Kiosk", "loudly": True})
    with pytest.raises(FormFailed):
        form_session.back(turn.work, 2)


def test_a_secret_that_does_not_fit_is_not_kept_without_a_word() -> None:
    words = """
Namespaces: {=: s, forms: io.murano.metadata.forms}
Name: Door
Properties:
  pin:
    Contract: $.string().check($ = null or len($) > 7, 'eight characters at least')
    Meta: {forms:Secret: {}}
  behind: {Contract: $.class(Door)}
"""
    known = describer(package({"s.Door": words}, name="s"))
    door = known.of("s.Door")
    assert door is not None
    form_session = ClassFormSession(known, door, Objects([], known), new_id=lambda: "d")
    typed = form_session.evaluate(form_session.begin(), {"pin": "short"})
    # It is told when the form is shown again, and however often its mark is sent.
    expected = [("/pin", "The value that is kept does not fit: eight characters at least")]
    assert [(p.place, p.message) for p in fields(form_session, typed)["pin"].problems] == expected
    mark = {"secret": "kept", "at": "/pin"}
    turn = form_session.submit(typed, {"pin": mark})
    turn = form_session.submit(turn.work, {"pin": mark})
    assert turn.outcome == "invalid" and [(p.place, p.message) for p in turn.problems] == expected
    inner = {"?": {"type": "s.Door", "id": "b"}, "pin": "short"}
    nested = form_session.evaluate(form_session.begin(), {"pin": "long enough", "behind": inner})
    found = [
        p.place
        for f in form_session.form(nested).pages[0].fields()
        for s in f.sections
        for g in s.fields
        for p in g.problems
    ]
    assert found == ["/behind/pin"] and fields(form_session, nested)["pin"].problems == ()
    assert form_session.submit(typed, {"pin": "long enough"}).outcome == "ready"


def test_objects_are_called_as_people_know_them_never_by_ids() -> None:
    big = [{"?": {"type": "t.BigHost", "id": id}} for id in ("a" * 12, "b" * 12)]
    shop = {**STORED, "host": {"?": {"type": "t.Host", "id": "c" * 12}}, "hosts": big}
    root = {
        "?": {"type": "io.murano.Environment", "id": "e"},
        "name": "street",
        "applications": [shop, {"?": {"type": "t.Host", "id": "d" * 12}}],
    }
    objects = Objects(root, DESCRIBER)
    labels = [objects.label(id) for id in ("old", "c" * 12, "a" * 12, "b" * 12, "d" * 12)]
    assert labels == ["old", "Host of old", "BigHost 1 of old", "BigHost 2 of old", "Host"]
