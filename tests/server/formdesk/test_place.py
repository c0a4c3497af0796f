"""What definitions learn of the cloud, the catalog and the environment; secrets that they put away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.formdesk.conftest import UI
from vetro.clouds.interface import CloudError
from vetro.engine.host.seal import Seal
from vetro.server.dispatch.spec import secret_keys
from vetro.server.environments import drafts
from vetro.server.formdesk import clouds, desk
from vetro.server.setup import config

CLOUDY = """\
Version: 2.4
Application:
  ?: {type: test.Shop}
  name: $.one.flavor
  pin: encryptData($.one.key)
  friend: $.one.friend
Forms:
  - one:
      fields:
        - {name: flavor, type: flavor, label: Flavor}
        - {name: image, type: image, required: false}
        - {name: network, type: network, required: false}
        - {name: key, type: string}
        - {name: friend, type: test.Shop, required: false}
"""


def fields_of(shown: Any) -> dict[str, Any]:
    return {field.name: field for field in shown.form.pages[shown.page].fields()}


def test_definitions_offer_what_the_cloud_and_the_draft_have(
    ann: Any, publish: Callable[..., Any], environment: str
) -> None:
    me = ann.caller
    package = publish(ann, ui=CLOUDY)
    first = desk.begin(me, environment_id=environment, package=package.id, source="class")
    desk.submit(me, first.id, {"name": "North", "seats": 1})
    north = desk.finish(me, first.id)
    shown = desk.begin(me, environment_id=environment, package=package.id)
    fields = fields_of(shown)
    flavors = {choice.label: choice.value for choice in fields["flavor"].choices}
    assert "m1.small" in flavors, flavors
    assert [c.value for c in desk.choices(me, shown.id, "/flavor", what="choices", search="M1.SM").items] == [
        flavors["m1.small"]
    ]
    assert {c.label: c.value for c in fields["friend"].choices}["North"] == north.object_id
    answers = {"flavor": flavors["m1.small"], "key": "very secret", "friend": north.object_id}
    after = desk.submit(me, shown.id, answers)
    assert after.outcome == "next", after.problems
    ready = desk.submit(me, shown.id, {"application_name": "south"})
    assert ready.outcome == "ready", ready.problems
    done = desk.finish(me, shown.id)
    made = drafts.services(me, environment, [], done.session_id or "")[1]
    assert made["friend"] == north.object_id
    assert made["pin"] != "very secret"
    assert Seal(secret_keys(config()), me.project_id).open(made["pin"]) == "very secret"


def test_a_cloud_that_does_not_answer_stops_no_form(
    ann: Any, publish: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Down(CloudError):
        code = "TST001"

    def down(*args: Any) -> Any:
        raise Down("no route")

    clouds.forget()
    monkeypatch.setattr(clouds, "_read", down)
    with pytest.raises(clouds.ListUnavailable, match="cannot list its flavors: no route"):
        clouds.choices(ann.caller.project_id, "", "flavors", None)
    shown = desk.begin(ann.caller, package=publish(ann, ui=CLOUDY).id)
    assert not [c for c in fields_of(shown)["flavor"].choices if c.value]


def test_lists_are_kept_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read(*args: Any) -> list[Any]:
        asked.append(args)
        return [len(asked)]

    clouds.forget()
    monkeypatch.setattr(clouds, "_read", read)
    assert [clouds.choices("p", "", "keypairs", None) for _ in range(3)] == [[1], [1], [1]]
    assert clouds.choices("other", "", "keypairs", None) == [2]
    monkeypatch.setattr(clouds, "FRESH", -1.0)
    assert clouds.choices("p", "", "keypairs", None) == [3]
    monkeypatch.setattr(clouds, "_read", lambda *args: (_ for _ in ()).throw(OSError("down")))
    assert clouds.choices("p", "", "keypairs", None) == [3]  # an old list is better than none
    clouds.forget()


def test_a_form_in_another_one_has_no_box_to_stay(ann: Any, publish: Callable[..., Any], environment: str) -> None:
    me = ann.caller
    package = publish(ann, ui=UI)
    outer = desk.begin(me, environment_id=environment, package=package.id)
    names = []
    for into in (None, outer.id):
        shown = desk.begin(me, environment_id=environment, package=package.id, into=into)
        desk.submit(me, shown.id, {"name": "Corner", "size": "small"})
        last = desk.submit(me, shown.id, {"seats": "1"})
        names.append(list(fields_of(last)))
    assert names == [["application_name", "stay_at_the_catalog"], ["application_name"]]
    ready = desk.submit(me, shown.id, {"application_name": "inner"})
    assert ready.outcome == "ready" and desk.finish(me, shown.id).stay
