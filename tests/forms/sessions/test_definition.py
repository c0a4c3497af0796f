"""A UI definition being filled in; the answering side runs here, as it does in a task process."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from vetro.forms.model import flaw
from vetro.forms.queries import answerer
from vetro.forms.sessions import DefinitionFormSession, FormFailed
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


def make(text: str = TEXT, **more: Any) -> DefinitionFormSession:
    answer = answerer(SimpleNamespace(effects=Effects()))  # type: ignore[arg-type]

    def ask(question: Any) -> Any:
        return json.loads(json.dumps(answer(json.loads(json.dumps(question)))))

    loaded = ask({"do": "load", "text": text, "origin": "ui.yaml"})
    return DefinitionFormSession(ask if "failed" not in loaded else lambda question: loaded, ABOUT, **more)


def fields(form_session: DefinitionFormSession, work: Any, page: int | None = None) -> dict[str, Any]:
    form = form_session.form(work, page)
    return {field.name: field for field in form.pages[form_session.page(work) if page is None else page].fields()}


def test_pages_follow_each_other_to_an_object() -> None:
    form_session = make()
    work = form_session.begin()
    assert (form_session.page(work), form_session.count(work), form_session.done(work), form_session.ready(work)) == (
        0,
        3,
        [],
        False,
    )
    assert form_session.makes() == "t.Shop"
    assert [c.label for c in fields(form_session, work)["flavor"].choices if c.value] == ["tiny"]
    for call in (form_session.form, form_session.back, lambda work, page: form_session.evaluate(work, {}, page)):
        with pytest.raises(FormFailed, match="Page 2 can be shown once"):
            call(work, 1)
    bad = form_session.submit(work, {"name": "9"})
    assert bad.outcome == "invalid" and [p.place for p in bad.problems] == ["/name"]
    following = form_session.submit(bad.work, {"name": "shop", "open": True})
    assert (following.outcome, form_session.page(following.work), form_session.done(following.work)) == ("next", 1, [0])
    typed = form_session.evaluate(following.work, {"count": "5", "pin": "Pa$$w0rd"})
    assert fields(form_session, typed)["count"].value == 5
    assert "Pa$$w0rd" not in str(form_session.form(typed).as_json())
    earlier = form_session.back(typed, 0)
    assert fields(form_session, earlier)["name"].value == "shop"
    with pytest.raises(FormFailed, match="only 3"):
        form_session.back(typed, 3)
    # What was typed before and is not sent again, because it is secret, counts.
    last = form_session.submit(typed, {"count": "6", "pin": {"secret": "kept"}})
    assert (last.outcome, form_session.page(last.work)) == ("next", 2)
    done = form_session.submit(last.work, {"application_name": "a"})
    assert done.outcome == "ready" and form_session.ready(done.work) and not done.work["stays"]
    made = form_session.result(done.work)
    assert (made["name"], made["count"], made["secret"]) == ("shop", 6, "Pa$$w0rd")
    assert [page.name for page in form_session.pages(done.work).pages] == ["one", "two", "workflowManagement"]
    assert "Pa$$w0rd" not in str(form_session.pages(done.work).as_json())
    assert not form_session.ready(form_session.evaluate(done.work, {"application_name": "b"}))


def test_partial_answers_leave_the_rest_as_it_is() -> None:
    form_session = make()
    work = form_session.submit(form_session.begin(), {"name": "shop"}, partial=True).work
    turn = form_session.submit(work, {}, partial=True)
    assert turn.outcome == "next"
    turn = form_session.submit(turn.work, {"application_name": "a"}, partial=True)
    assert form_session.result(turn.work)["count"] == 3
    # A complete page without the box means: it is not ticked.
    off = form_session.submit(form_session.begin(), {"name": "shop"})
    assert not fields(form_session, off.work)["count"].enabled


def test_answers_that_were_kept_come_back() -> None:
    form_session = make()
    work = form_session.begin()
    for answers in ({"name": "shop", "open": True}, {"count": "7", "pin": "Pa$$w0rd"}, {"application_name": "a"}):
        work = form_session.submit(work, answers).work
    made = form_session.result(work)
    again = make(left=work["state"], stored=made)
    fresh = again.begin()
    assert (again.page(fresh), fields(again, fresh)["name"].value, again.done(fresh)) == (0, "shop", [0, 1, 2])
    assert fields(again, fresh, 1)["count"].value == 7
    work = again.submit(fresh, {"name": "other", "open": True}).work
    work = again.submit(work, {"count": "7", "pin": {"secret": "kept"}}).work
    changed = again.result(again.submit(work, {"application_name": "a"}).work)
    assert changed == {**made, "name": "other"}


def test_what_contracts_refuse_is_told_on_the_last_page() -> None:
    problems = [flaw("", "name: It is taken.", "contract", "x")]
    form_session = make(check=lambda model: problems)
    work = form_session.submit(form_session.begin(), {"name": "shop", "open": True}).work
    work = form_session.submit(work, {"count": "1"}).work
    turn = form_session.submit(work, {"application_name": "a"})
    assert (turn.outcome, list(turn.problems), form_session.ready(turn.work)) == ("invalid", problems, False)
    assert list(form_session.form(turn.work).pages[2].problems) == problems
    problems.clear()
    assert form_session.submit(turn.work, {"application_name": "a"}).outcome == "ready"


def test_a_definition_that_cannot_be_used_is_told_civilly() -> None:
    with pytest.raises(FormFailed) as caught:
        make("Version: 2.4\nApplication: [\n").begin()
    error = caught.value
    assert error.author is not None and error.author["code"].startswith("DUI")
    assert error.message == error.author["civil"] != error.author["message"]


def test_answers_that_fit_no_more_are_asked_for_again() -> None:
    form_session = make()
    work = form_session.submit(form_session.begin(), {"name": "shop", "open": True}).work
    work = form_session.submit(work, {"count": "7"}).work
    stricter = make(TEXT.replace("^[a-z]+$", "^[A-Z]+$"), left=work["state"])
    fresh = stricter.begin()
    assert (stricter.page(fresh), stricter.done(fresh)) == (0, [0])
    name = fields(stricter, fresh)["name"]
    assert name.value == "shop" and name.problems


REVEALED = """\
Version: 2.0
Application:
  ?: {type: t.Shop}
  mail: $.one.mail
  size: $.one.size
Forms:
  - one:
      fields:
        - {name: title, type: string}
        - {name: notify, type: boolean, initial: false}
        - {name: mail, type: string, initial: a@example.com, hidden: not $.one.notify}
        - {name: size, type: integer, initial: 4, required: false, hidden: not $.one.notify}
  - two:
      fields:
        - {name: pin, type: string, required: false}
"""


def test_what_is_revealed_later_keeps_its_initial_value() -> None:
    form_session = make(REVEALED)
    work = form_session.begin()
    assert not fields(form_session, work)["mail"].visible

    def shows(work: Any) -> list[Any]:
        found = fields(form_session, work)
        return [(f.visible, f.value if f.answered else f.initial) for f in (found["mail"], found["size"])]

    # Something is typed, then the field is revealed; emptied and hidden again it is as it was left.
    work = form_session.evaluate(work, {"title": "x", "notify": False})
    work = form_session.evaluate(work, {"title": "x", "notify": True})
    assert shows(work) == [(True, "a@example.com"), (True, 4)]
    typed = form_session.evaluate(work, {"title": "x", "notify": True, "mail": "b@example.com", "size": ""})
    assert shows(typed) == [(True, "b@example.com"), (True, None)]
    hidden = form_session.evaluate(typed, {"title": "x", "notify": False})
    again = form_session.evaluate(hidden, {"title": "x", "notify": True})
    assert shows(again) == [(True, "b@example.com"), (True, None)]
    # A page that was sent while it was hidden, and one that was sent with it and hides it then.
    sent = form_session.submit(hidden, {"title": "x", "notify": False})
    assert sent.outcome == "next", sent.problems
    back = form_session.evaluate(form_session.back(sent.work, 0), {"title": "x", "notify": True})
    assert shows(back)[0] == (True, "b@example.com")
    shown = form_session.submit(back, {"title": "x", "notify": True, "mail": "c@example.com", "size": "5"})
    assert shown.outcome == "next"
    hides = form_session.submit(form_session.back(shown.work, 0), {"title": "x", "notify": False})
    assert hides.outcome == "next", hides.problems
    back = form_session.evaluate(form_session.back(hides.work, 0), {"title": "x", "notify": True})
    assert shows(back) == [(True, "c@example.com"), (True, 5)]


def test_what_is_no_password_is_not_called_one() -> None:
    form_session = make("""\
Version: 2.4
Application:
  ?: {type: t.Shop}
Forms:
  - one:
      fields:
        - {name: token, type: password, label: Token}
        - {name: pw, type: password, label: Admin password}
""")
    work = form_session.begin()
    shown = list(fields(form_session, work).values())
    assert [field.label for field in shown] == ["Token", "Token a second time", "Admin password", "Confirm password"]
    assert [field.help for field in shown[1::2]] == ["The same again, against typing mistakes", "Retype your password"]
    turn = form_session.submit(work, {"token": "Passw0rd!", "pw": "Passw0rd!"})
    assert [problem.message for problem in turn.problems] == ["Enter it a second time.", "Please confirm your password"]
