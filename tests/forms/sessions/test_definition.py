"""A UI definition being filled in; the answering side runs here, as it does in a task process."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from vetro.forms.model import Problem
from vetro.forms.queries import answerer
from vetro.forms.sessions import DefinitionDesk, FormFailed
from vetro.muranopl.runtime.effects import EffectFailed

TEXT = """\
Version: 2.4
Application:
  ?: {type: t.Shop}
  name: $.one.name
  count: $.two.count
  secret: $.two.pin
Forms:
  - one:
      fields:
        - {name: name, type: string, regexpValidator: '^[a-z]+$'}
        - {name: open, type: boolean, initial: true}
        - {name: flavor, type: flavor, required: false}
  - two:
      fields:
        - {name: count, type: integer, initial: 3, enabled: $.one.open}
        - {name: pin, type: password, confirmInput: false, required: false}
"""
ABOUT = {"package": {"fqn": "t.Shop", "name": "Shop", "version": "1.0.0"}}


class Effects:
    """What the outside says: lists of the cloud; everything else is not there."""

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        if args["what"] == "cloud" and args["source"] == "flavors":
            return [{"id": "1", "name": "tiny", "ram": 1, "vcpus": 1, "disk": 1}]
        raise EffectFailed({"kind": "error", "code": "TST000", "message": "down"})


def make(text: str = TEXT, **more: Any) -> DefinitionDesk:
    answer = answerer(SimpleNamespace(effects=Effects()))  # type: ignore[arg-type]

    def ask(question: Any) -> Any:
        return json.loads(json.dumps(answer(json.loads(json.dumps(question)))))

    loaded = ask({"do": "load", "text": text, "origin": "ui.yaml"})
    return DefinitionDesk(ask if "failed" not in loaded else lambda question: loaded, ABOUT, **more)


def fields(desk: DefinitionDesk, work: Any, page: int | None = None) -> dict[str, Any]:
    form = desk.form(work, page)
    return {field.name: field for field in form.pages[desk.page(work) if page is None else page].fields()}


def test_pages_follow_each_other_to_an_object() -> None:
    desk = make()
    work = desk.begin()
    assert (desk.page(work), desk.count(work), desk.done(work), desk.ready(work)) == (0, 3, [], False)
    assert desk.makes() == "t.Shop"
    assert [c.label for c in fields(desk, work)["flavor"].choices if c.value] == ["tiny"]
    for call in (desk.form, desk.back, lambda work, page: desk.evaluate(work, {}, page)):
        with pytest.raises(FormFailed, match="Page 2 can be shown once"):
            call(work, 1)
    bad = desk.submit(work, {"name": "9"})
    assert bad.outcome == "invalid" and [p.path for p in bad.problems] == ["/name"]
    following = desk.submit(bad.work, {"name": "shop", "open": True})
    assert (following.outcome, desk.page(following.work), desk.done(following.work)) == ("next", 1, [0])
    typed = desk.evaluate(following.work, {"count": "5", "pin": "Pa$$w0rd"})
    assert fields(desk, typed)["count"].value == 5
    assert "Pa$$w0rd" not in str(desk.form(typed).as_json())
    earlier = desk.back(typed, 0)
    assert fields(desk, earlier)["name"].value == "shop"
    with pytest.raises(FormFailed, match="only 3"):
        desk.back(typed, 3)
    # What was typed before and is not sent again, because it is secret, counts.
    last = desk.submit(typed, {"count": "6", "pin": {"secret": "kept"}})
    assert (last.outcome, desk.page(last.work)) == ("next", 2)
    done = desk.submit(last.work, {"application_name": "a"})
    assert done.outcome == "ready" and desk.ready(done.work) and not done.work["stays"]
    made = desk.result(done.work)
    assert (made["name"], made["count"], made["secret"]) == ("shop", 6, "Pa$$w0rd")
    assert [page.name for page in desk.pages(done.work).pages] == ["one", "two", "workflowManagement"]
    assert "Pa$$w0rd" not in str(desk.pages(done.work).as_json())
    assert not desk.ready(desk.evaluate(done.work, {"application_name": "b"}))


def test_partial_answers_leave_the_rest_as_it_is() -> None:
    desk = make()
    work = desk.submit(desk.begin(), {"name": "shop"}, partial=True).work
    turn = desk.submit(work, {}, partial=True)
    assert turn.outcome == "next"
    turn = desk.submit(turn.work, {"application_name": "a"}, partial=True)
    assert desk.result(turn.work)["count"] == 3
    # A complete page without the box means: it is not ticked.
    off = desk.submit(desk.begin(), {"name": "shop"})
    assert not fields(desk, off.work)["count"].enabled


def test_answers_that_were_kept_come_back() -> None:
    desk = make()
    work = desk.begin()
    for answers in ({"name": "shop", "open": True}, {"count": "7", "pin": "Pa$$w0rd"}, {"application_name": "a"}):
        work = desk.submit(work, answers).work
    made = desk.result(work)
    again = make(left=work["state"], stored=made)
    fresh = again.begin()
    assert (again.page(fresh), fields(again, fresh)["name"].value, again.done(fresh)) == (0, "shop", [0, 1, 2])
    assert fields(again, fresh, 1)["count"].value == 7
    work = again.submit(fresh, {"name": "other", "open": True}).work
    work = again.submit(work, {"count": "7", "pin": {"secret": "kept"}}).work
    changed = again.result(again.submit(work, {"application_name": "a"}).work)
    assert changed == {**made, "name": "other"}


def test_what_contracts_refuse_is_told_on_the_last_page() -> None:
    problems = [Problem("", "name: It is taken.", "contract", "x")]
    desk = make(check=lambda model: problems)
    work = desk.submit(desk.begin(), {"name": "shop", "open": True}).work
    work = desk.submit(work, {"count": "1"}).work
    turn = desk.submit(work, {"application_name": "a"})
    assert (turn.outcome, list(turn.problems), desk.ready(turn.work)) == ("invalid", problems, False)
    assert list(desk.form(turn.work).pages[2].problems) == problems
    problems.clear()
    assert desk.submit(turn.work, {"application_name": "a"}).outcome == "ready"


def test_a_definition_that_cannot_be_used_is_told_civilly() -> None:
    with pytest.raises(FormFailed) as caught:
        make("Version: 2.4\nApplication: [\n").begin()
    error = caught.value
    assert error.author is not None and error.author["code"].startswith("DUI")
    assert error.message == error.author["civil"] != error.author["message"]


def test_answers_that_fit_no_more_are_asked_for_again() -> None:
    desk = make()
    work = desk.submit(desk.begin(), {"name": "shop", "open": True}).work
    work = desk.submit(work, {"count": "7"}).work
    stricter = make(TEXT.replace("^[a-z]+$", "^[A-Z]+$"), left=work["state"])
    fresh = stricter.begin()
    assert (stricter.page(fresh), stricter.done(fresh)) == (0, [0])
    name = fields(stricter, fresh)["name"]
    assert name.value == "shop" and name.problems
