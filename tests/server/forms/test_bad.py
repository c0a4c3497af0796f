"""Definitions and answers that are wrong, slow or huge: a civil word to the person, the place to the author."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.forms.conftest import MANIFEST, SHOP, UI
from vetro.forms.sessions import FormFailed
from vetro.server.errors import Invalid, ServiceError, TooLarge
from vetro.server.forms import form_session, process_cache

HEAD = "Version: 2.4\nApplication: {'?': {type: test.Shop}, name: a}\n"
Publish = Callable[..., Any]


@pytest.mark.parametrize(
    "ui",
    [
        HEAD + "ParametersSource: test.Shop.nothing\nForms: []\n",
        HEAD + "Forms:\n  - one:\n      fields:\n        - {type: string}\n",
        HEAD + "Forms: 7\n",
        HEAD + "Forms:\n  - one:\n      fields: [{name: a, type: string, initial: $.one.no().such()}]\n",
        "Version: 1.0\n" + HEAD.partition("\n")[2],
        "Version: 2.4\nApplication: [1,\n",
    ],
)
def test_a_definition_that_cannot_be_used(ann: Any, publish: Publish, ui: str) -> None:
    package = publish(ann, ui=ui)
    with pytest.raises(FormFailed) as caught:
        form_session.begin(ann.caller, package=package.id)
    error = caught.value
    assert error.details is not None
    assert error.author is not None
    assert error.author["code"].startswith("DUI") and error.author["message"]
    assert error.author["position"] is None or error.author["position"]["line"] > 0
    # The class form is there instead.
    assert error.details["sources"] == ["class"] and error.hint
    assert form_session.begin(ann.caller, package=package.id, source="class").source == "class"
    assert [row["title"] for row in form_session.mine(ann.caller)] == ["Corner shop"]


def test_an_expression_without_end_is_ended(ann: Any, publish: Publish) -> None:
    package = publish(ann, ui=UI.replace("$.room.seats < 100", "range(1000000000).sum() < $.room.seats"))
    id = form_session.begin(ann.caller, package=package.id).id
    form_session.submit(ann.caller, id, {"name": "Corner", "size": "small"})
    start = time.monotonic()
    with pytest.raises(FormFailed) as caught:
        form_session.submit(ann.caller, id, {"seats": "1"})
    assert time.monotonic() - start < 20
    assert caught.value.author is not None and caught.value.author["position"]["line"] == 23
    shown = form_session.describe(ann.caller, id)  # nothing is lost, and the next question is answered
    assert (shown.page, shown.pages_done) == (1, [0])


def test_code_without_end_blocks_nobody_else(
    ann: Any, eve: Any, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    spin = """\
  spin:
    Usage: Static
    Scope: Public
    Body:
      - While: 1 = 1
        Do: [$x: 1]
"""
    package = publish(
        ann, shop=SHOP + spin, ui=UI.replace("Application:", "ParametersSource: test.Shop.spin\nApplication:")
    )
    other = publish(eve)
    monkeypatch.setattr(process_cache, "config", lambda: {"ask.seconds": 1.0})
    start = time.monotonic()
    with pytest.raises(FormFailed) as caught:
        form_session.begin(ann.caller, package=package.id)
    assert "did not answer" in caught.value.message
    assert caught.value.author is not None and caught.value.author["kind"] == "limit-exceeded"
    assert time.monotonic() - start < 20
    assert form_session.begin(eve.caller, package=other.id).page == 0


def test_answers_that_make_no_sense_are_refused(ann: Any, shop: Any) -> None:
    me = ann.caller
    form = form_session.begin(me, package=shop.id)
    with pytest.raises(TooLarge):
        form_session.submit(me, form.id, {"name": "x" * (5 << 20)})
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    for answers in ({"name": deep}, {"name": {"?": deep}}):
        with pytest.raises(Invalid, match="nested"):
            form_session.evaluate(me, form.id, answers)
    odd = {"name": {"a": [1]}, "size": ["x", None], "unknown": 1, "?": 3, "": {}}
    assert form_session.submit(me, form.id, odd).outcome == "invalid"
    assert form_session.evaluate(me, form.id, odd).outcome == "shown"
    plain = form_session.begin(me, package=shop.id, source="class")
    odd = {**odd, "host": {"?": {"type": "no.Such", "id": 3}}, "friend": "nobody", "seats": "many", "pin": [1]}
    shown = form_session.submit(me, plain.id, odd)
    assert shown.outcome == "invalid" and {"/friend", "/seats", "/host"} <= {p.place for p in shown.problems}
    assert form_session.evaluate(me, plain.id, odd).outcome == "shown"
    marker = {"secret": "kept", "at": "/../x"}
    assert form_session.submit(me, plain.id, {"name": "a", "seats": 1, "pin": marker}).outcome in ("ready", "invalid")


def test_what_somebody_asks_for_is_said_to_be_missing(ann: Any, shop: Any, environment: str) -> None:
    me = ann.caller
    for wanted, text in [
        ({}, "needs package or class"),
        ({"package": "nothing"}, "not found"),
        ({"class_name": "no.Such"}, "no.Such"),
        ({"class_name": "test.Host", "version": ">=2"}, "test.Host"),
        ({"class_name": "io.murano.NoSuch"}, "io.murano.NoSuch"),
        ({"package": shop.id, "source": "method"}, "there is: definition, class"),
        ({"object_id": "x"}, "environment_id"),
        ({"action": "x"}, "environment_id"),
        ({"method": "x"}, "needs class"),
        ({"environment_id": environment, "object_id": "x"}, "no object"),
        ({"environment_id": environment, "object_id": environment}, "no object"),
        ({"session_id": "x"}, "session"),
        ({"environment_id": environment, "session_id": "x", "package": shop.id}, "Session"),
        ({"into": "x", "package": shop.id}, "no form"),
    ]:
        with pytest.raises(ServiceError) as caught:
            form_session.begin(me, **wanted)  # type: ignore[arg-type]
        assert text in caught.value.message, (wanted, caught.value.message)
        assert caught.value.status in (400, 403, 404)
    host = form_session.begin(me, class_name="test.Host")
    assert (host.source, host.sources, host.title) == ("class", (), "Host")
    assert form_session.begin(me, class_name="io.murano.resources.Instance").source == "class"
    assert form_session.begin(me, class_name="test.Shop").source == "definition"


def test_packages_that_cannot_be_used_have_no_form(ann: Any, publish: Publish) -> None:
    package = publish(ann)
    type(package).objects.filter(id=package.id).update(enabled=False)
    with pytest.raises(Invalid, match="is disabled"):
        form_session.begin(ann.caller, package=package.id)
    type(package).objects.all().delete()
    manifest = MANIFEST.replace("test.Shop\nVersion", "test.library\nVersion").replace("UI: ui.yaml\n", "")
    library = publish(ann, manifest=manifest)
    with pytest.raises(Invalid) as caught:
        form_session.begin(ann.caller, package=library.id)
    assert sorted(caught.value.details["classes"]) == ["test.Host", "test.Shop"]
