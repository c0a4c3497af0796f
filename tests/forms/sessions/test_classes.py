"""The form of a class being filled in, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest

from tests.forms.world import describer
from vetro.forms.model import Field
from vetro.forms.objects import Objects
from vetro.forms.sessions import ClassDesk, FormFailed, MethodDesk, review

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


def make(**more: Any) -> ClassDesk:
    ids = count()
    shop = DESCRIBER.of("t.Shop")
    assert shop is not None
    objects = Objects(ENVIRONMENT, DESCRIBER)
    return ClassDesk(DESCRIBER, shop, objects, new_id=lambda: f"n{next(ids)}", **more)


def fields(desk: Any, work: Any) -> Mapping[str, Field]:
    return {field.name: field for field in desk.form(work).pages[0].fields()}


def test_a_new_object_gets_its_id_and_goes_through_the_checks() -> None:
    asked: list[Any] = []

    def check(model: Mapping[str, Any]) -> list[Any]:
        asked.append(model)
        return [] if len(asked) > 1 else [{"objectId": "n0", "property": "name", "path": [], "message": "it is taken"}]

    desk = make(check=check)
    work = desk.begin()
    assert work["value"] == {"?": {"type": "t.Shop/1.2.0@t", "id": "n0"}}
    turn = desk.submit(work, {"name": "4"})
    assert (turn.outcome, {p.path for p in turn.problems}) == ("invalid", {"/name", "/host"}) and not asked
    assert [p.message for p in fields(desk, turn.work)["name"].problems] == ["letters and blanks only"]
    turn = desk.submit(turn.work, {"name": "Shop", "host": "h", "label": "x"})
    assert [(p.path, p.message) for p in turn.problems] == [("/name", "It is taken.")]
    assert not desk.ready(turn.work)
    turn = desk.submit(turn.work, {"name": "Shop", "host": "h", "label": "x"})
    assert turn.outcome == "ready" and desk.ready(turn.work)
    assert desk.result(turn.work) == asked[-1]
    assert asked[-1]["?"] == {"type": "t.Shop/1.2.0@t", "id": "n0"}
    assert (asked[-1]["name"], asked[-1]["host"]) == ("Shop", "h")
    assert not desk.ready(desk.evaluate(turn.work, {"name": "Other"}))
    assert not desk.ready(desk.back(turn.work, 0))
    with pytest.raises(FormFailed, match="only one"):
        desk.back(turn.work, 1)


def test_answers_are_complete_unless_they_are_partial() -> None:
    desk = make()
    work = desk.begin(STORED)
    assert desk.evaluate(work, {"name": "New"}, partial=True)["value"] == {**STORED, "name": "New"}
    left = desk.evaluate(work, {"name": "New", "label": "kept"})["value"]
    assert left == {key: value for key, value in STORED.items() if key not in ("zone", "host")} | {"name": "New"}
    fixed = make(fixed=lambda id: id == "old")
    assert fixed.evaluate(fixed.begin(STORED), {"name": "New"})["value"]["zone"] == "north"  # Const and deployed
    assert fields(fixed, fixed.begin(STORED))["zone"].read_only


def test_secrets_stay_where_they_are() -> None:
    desk = make()
    work = desk.begin(STORED)
    host = fields(desk, work)["host"]
    assert "pw" not in str(desk.form(work).as_json())
    assert host.value["password"] == {"secret": "kept", "at": "/password"}
    answers = {"name": "Old", "label": "kept", "zone": "north", "host": host.value}
    assert desk.evaluate(work, answers)["value"] == STORED
    moved = desk.evaluate(work, {**answers, "host": {**host.value, "password": "new"}})["value"]
    assert moved["host"]["password"] == "new" and moved["host"]["address"] == "10.0.0.1"
    stolen = {**answers, "name": {"secret": "kept", "at": "/host/password"}}
    assert "pw" not in str(desk.form(desk.evaluate(work, stolen)).as_json()["pages"][0]["sections"][0])
    # A mark where nothing was kept is no answer.
    fresh = desk.begin()
    assert "token" not in desk.evaluate(fresh, {"token": {"secret": "kept", "at": "/token"}})["value"]


def test_new_objects_are_made_inside_and_keep_their_ids() -> None:
    desk = make()
    work = desk.evaluate(desk.begin(), {"host": {"?": {"type": "t.BigHost"}, "disks": [{"size": 1}]}})
    host = work["value"]["host"]
    assert (host["?"]["type"], host["?"]["id"], host["disks"]) == ("t.BigHost", "n1", [{"size": 1}])
    again = desk.evaluate(work, {"host": {"?": host["?"], "name": "a"}})["value"]["host"]
    assert (again["?"]["id"], again["name"]) == ("n1", "a")
    other = desk.evaluate(work, {"host": {"?": {"type": "t.Host"}, "name": "a"}})["value"]["host"]
    assert other["?"]["id"] not in ("n1", None)
    picker = fields(desk, work)["host"].picker
    assert picker is not None
    found = desk.pick(picker, "existing", "far", 0, work)
    assert found is not None and [c.value for c in found[0]] == ["h"]
    found = desk.pick(picker, "types", "", 0, work)
    assert found is not None and [c.label for c in found[0]] == ["Big host", "t.Host"]


def test_answers_nested_without_end_are_refused() -> None:
    deep: Any = "x"
    for _ in range(1000):
        deep = [deep]
    desk = make()
    for call in (desk.evaluate, desk.submit, desk.validate):
        with pytest.raises(FormFailed, match="nested"):
            call(desk.begin(), {"free": deep})


def test_a_builder_loads_its_result() -> None:
    desk = make()
    assert isinstance(desk, ClassDesk)
    schemas = DESCRIBER.catalog.schemas("t.Shop")  # type: ignore[attr-defined]
    assert [(b.value, b.label) for b in desk.builders(schemas)] == [("small", "A small shop")]
    called: list[Any] = []

    def call(args: Mapping[str, Any]) -> Any:
        called.append(args)
        return {"name": args["name"], "kind": "small"}

    work = desk.begin(STORED)
    bad = desk.start_from(work, schemas["small"], {}, call)
    assert ([p.path for p in bad.problems], bad.work, called) == (["/name"], work, [])
    begun = desk.start_from(work, schemas["small"], {"name": "Kiosk"}, call)
    assert called == [{"model": STORED, "name": "Kiosk"}]
    assert begun.work["value"] == {"?": STORED["?"], "name": "Kiosk", "kind": "small"}
    assert begun.work["stored"] == STORED


def test_what_was_answered_is_read_once_more() -> None:
    desk = make()
    work = desk.evaluate(desk.begin(STORED), {"tags": ["a", "b"], "spare": "h", "settings": {"a": 2}}, partial=True)
    (page,) = review(desk.pages(work))
    rows = {label: text for label, text, _ in page.rows}
    assert rows["Name of the shop"] == "Old" and rows["spare"] == "far"
    assert (rows["host / name"], rows["host / password"], rows["host"]) == ("near", "••••••", "new Host")
    assert rows["settings / a"] == "2" and rows["free"] == "-"
    assert "pw" not in str(page.rows) and "hidden" not in rows
    paths = {path for _, _, path in page.rows}
    assert {"/host/name", "/settings/a", "/tags/1"} <= paths


def test_arguments_are_filled_in_the_same_way() -> None:
    schema = DESCRIBER.catalog.schemas("t.Shop", ["rename"])["rename"]  # type: ignore[attr-defined]
    desk = MethodDesk(DESCRIBER, schema, Objects(ENVIRONMENT, DESCRIBER), new_id=lambda: "n")
    work = desk.begin()
    assert not desk.ready(work)
    turn = desk.submit(work, {"name": ""})
    assert (turn.outcome, {p.path for p in turn.problems}) == ("invalid", {"/loudly"} | {p.path for p in turn.problems})
    kept = desk.evaluate(work, {"name": "Kiosk"})
    assert fields(desk, kept)["name"].value == "Kiosk"
    turn = desk.submit(kept, {"loudly": True}, partial=True)
    assert (turn.outcome, desk.result(turn.work)) == ("ready", {"name": "Kiosk", "loudly": True})
    with pytest.raises(FormFailed):
        desk.back(turn.work, 2)
