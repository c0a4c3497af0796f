"""What definitions learn of the cloud, the catalog and the environment; secrets that they put away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.forms.conftest import UI
from vetro.clouds.interface import CloudError
from vetro.engine.host.encryption import SecretCipher
from vetro.server.environments import drafts
from vetro.server.forms import cloud_lists, form_session
from vetro.server.setup import config
from vetro.server.tasks.spec import secret_keys

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
    first = form_session.begin(me, environment_id=environment, package=package.id, source="class")
    form_session.submit(me, first.id, {"name": "North", "seats": 1})
    north = form_session.finish(me, first.id)
    shown = form_session.begin(me, environment_id=environment, package=package.id)
    fields = fields_of(shown)
    flavors = {choice.label: choice.value for choice in fields["flavor"].choices}
    assert "m1.small" in flavors, flavors
    small = next(choice for choice in fields["flavor"].choices if choice.label == "m1.small")
    assert small.note == "1 processor, 2 GiB memory, 20 GiB disk"
    assert [c.value for c in form_session.choices(me, shown.id, "/flavor", what="choices", search="M1.SM").items] == [
        flavors["m1.small"]
    ]
    assert {c.label: c.value for c in fields["friend"].choices}["North"] == north.object_id
    answers = {"flavor": flavors["m1.small"], "key": "very secret", "friend": north.object_id}
    after = form_session.submit(me, shown.id, answers)
    assert after.outcome == "next", after.problems
    ready = form_session.submit(me, shown.id, {"application_name": "south"})
    assert ready.outcome == "ready", ready.problems
    done = form_session.finish(me, shown.id)
    made = drafts.services(me, environment, [], done.session_id or "")[1]
    assert made["friend"] == north.object_id
    assert made["pin"] != "very secret"
    assert SecretCipher(secret_keys(config()), me.project_id).decrypt(made["pin"]) == "very secret"


def test_a_cloud_that_does_not_answer_stops_no_form(
    ann: Any, publish: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Down(CloudError):
        code = "TST001"

    def down(*args: Any) -> Any:
        raise Down("no route")

    cloud_lists.forget()
    monkeypatch.setattr(cloud_lists, "_read", down)
    with pytest.raises(cloud_lists.ListUnavailable, match="cannot list its flavors: no route"):
        cloud_lists.choices(ann.caller.project_id, "", "flavors", None)
    shown = form_session.begin(ann.caller, package=publish(ann, ui=CLOUDY).id)
    assert not [c for c in fields_of(shown)["flavor"].choices if c.value]


def test_lists_are_kept_for_a_moment(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read(*args: Any) -> list[Any]:
        asked.append(args)
        return [len(asked)]

    cloud_lists.forget()
    monkeypatch.setattr(cloud_lists, "_read", read)
    assert [cloud_lists.choices("p", "", "keypairs", None) for _ in range(3)] == [[1], [1], [1]]
    assert cloud_lists.choices("other", "", "keypairs", None) == [2]
    monkeypatch.setattr(cloud_lists, "FRESH", -1.0)
    assert cloud_lists.choices("p", "", "keypairs", None) == [3]
    monkeypatch.setattr(cloud_lists, "_read", lambda *args: (_ for _ in ()).throw(OSError("down")))
    assert cloud_lists.choices("p", "", "keypairs", None) == [3]  # an old list is better than none
    cloud_lists.forget()


def test_a_form_in_another_one_has_no_box_to_stay(ann: Any, publish: Callable[..., Any], environment: str) -> None:
    me = ann.caller
    package = publish(ann, ui=UI)
    outer = form_session.begin(me, environment_id=environment, package=package.id)
    names = []
    for into in (None, outer.id):
        shown = form_session.begin(me, environment_id=environment, package=package.id, into=into)
        form_session.submit(me, shown.id, {"name": "Corner", "size": "small"})
        last = form_session.submit(me, shown.id, {"seats": "1"})
        names.append(list(fields_of(last)))
    assert names == [["application_name", "stay_at_the_catalog"], ["application_name"]]
    ready = form_session.submit(me, shown.id, {"application_name": "inner"})
    assert ready.outcome == "ready" and form_session.finish(me, shown.id).stay
