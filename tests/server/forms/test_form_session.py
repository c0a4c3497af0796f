"""Forms from the first page to the object that they make."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.server.forms.conftest import MANIFEST, SHOP
from vetro.forms.sessions import DefinitionFormSession
from vetro.server.environments import deploy as deploying
from vetro.server.environments import drafts
from vetro.server.environments.errors import DraftChanged
from vetro.server.errors import Invalid, NotFound
from vetro.server.forms import drafts as store
from vetro.server.forms import form_session
from vetro.server.forms.models import FormDraft
from vetro.server.tasks.models import Task


def applications(person: Any, environment: str, session: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = drafts.services(person.caller, environment, [], session or "")
    return found


def fields_of(shown: Any) -> dict[str, Any]:
    return {field.name: field for field in shown.form.pages[shown.page].fields()}


def test_a_definition_becomes_an_object_that_is_deployed(
    ann: Any, shop: Any, environment: str, drain: Callable[[], int]
) -> None:
    me = ann.caller
    shown = form_session.begin(me, environment_id=environment, package=shop.id)
    assert (shown.source, shown.sources, shown.page, shown.outcome) == ("definition", ("class",), 0, "shown")
    assert [page.name for page in shown.form.pages] == ["sign", "room", "workflowManagement"]
    bad = form_session.submit(me, shown.id, {"name": "corner", "size": "small"})
    assert (bad.outcome, bad.page) == ("invalid", 0)
    assert [(p.place, p.message) for p in bad.problems] == [("/name", "Begin with a capital")]
    room = form_session.submit(me, shown.id, {"name": "Corner", "size": "large"})
    assert (room.outcome, room.page, room.pages_done) == ("next", 1, [0])
    last = form_session.submit(me, shown.id, {"seats": "12", "tables": "3", "pin": "Pa$$w0rd!"})
    assert last.outcome == "next", last.problems
    ready = form_session.submit(me, shown.id, {"application_name": "corner"})
    assert ready.outcome == "ready", ready.problems
    done = form_session.finish(me, shown.id)
    assert done.environment_id == environment and done.session_id and not done.stay
    (made,) = applications(ann, environment, done.session_id)
    assert made["?"]["id"] == done.object_id and made["?"]["name"] == "corner"
    assert (made["name"], made["size"], made["seats"], made["pin"]) == ("Corner", "large", 12, "Pa$$w0rd!")
    assert form_session.mine(me) == []
    deploying.deploy(me, environment, done.session_id)
    assert drain() == 1
    (made,) = applications(ann, environment, None)
    assert made["opened"] == 1


def test_what_depends_on_other_answers_is_computed_anew_and_kept(ann: Any, shop: Any, environment: str) -> None:
    me = ann.caller
    shown = form_session.begin(me, environment_id=environment, package=shop.id)
    form_session.submit(me, shown.id, {"name": "Corner", "size": "small"})
    kept = form_session.evaluate(me, shown.id, {"seats": "7", "pin": "Pa$$w0rd!"})
    assert not fields_of(kept)["tables"].enabled
    assert fields_of(kept)["seats"].value == 7
    assert fields_of(form_session.describe(me, shown.id))["seats"].value == 7
    earlier = form_session.back(me, shown.id, 0)
    assert (earlier.page, fields_of(earlier)["name"].value) == (0, "Corner")
    again = form_session.submit(me, shown.id, {"name": "Corner", "size": "large"})
    assert fields_of(again)["tables"].enabled
    assert (again.page, fields_of(again)["seats"].value) == (1, 7)
    assert "Pa$$w0rd" not in str(again.form.as_json())
    found = form_session.validate(me, shown.id, {"seats": "100"})
    assert [(p.place, p.message) for p in found] == [("", "That is no corner shop")]
    assert form_session.validate(me, shown.id, {"seats": "100"}, path="/seats") == []
    with pytest.raises(Invalid, match="There is no page 7"):
        form_session.describe(me, shown.id, 7)


def begin_class(person: Any, environment: str | None, package: Any, answers: dict[str, Any], **more: Any) -> Any:
    """A class form, submitted."""
    shown = form_session.begin(person.caller, environment_id=environment, package=package.id, source="class", **more)
    assert (shown.source, shown.sources) == ("class", ("definition",))
    return form_session.submit(person.caller, shown.id, answers)


def test_a_class_form_makes_objects_in_objects(ann: Any, shop: Any, environment: str) -> None:
    me = ann.caller
    host = {"?": {"type": "test.Host"}, "key": "k"}
    bad = begin_class(ann, environment, shop, {"name": "A name that is much too long", "seats": -1, "host": host})
    assert bad.outcome == "invalid"
    assert {p.place for p in bad.problems} >= {"/name", "/seats", "/host/address"}
    (held,) = [f for f in bad.form.pages[0].fields() if f.name == "host"]
    assert held.value["?"]["id"] and [f.name for s in held.sections for f in s.fields] == ["address", "key"]
    good = {"name": "Corner", "seats": 2, "host": {**held.value, "address": "10.0.0.1"}, "pin": "wonder"}
    ready = form_session.submit(me, bad.id, good)
    assert ready.outcome == "ready", ready.problems
    assert "wonder" not in str(ready.form.as_json())
    rows = {label: text for label, text, _ in form_session.review(me, bad.id)[0].rows}
    assert rows["Name"] == "Corner" and rows["Host / Address"] == "10.0.0.1" and rows["Pin"] == "••••••"
    done = form_session.finish(me, bad.id)
    (made,) = applications(ann, environment, done.session_id)
    assert made["host"]["?"]["id"] == held.value["?"]["id"]
    assert (made["pin"], made["host"]["key"], "size" in made) == ("wonder", "k", False)


def test_what_only_contracts_know_is_shown_at_the_field(
    ann: Any, publish: Callable[..., Any], environment: str
) -> None:
    contract = "    Contract: $.string().notNull().check(len($) < 20 and $ != list('Ban', 'k').join(''), 'taken')"
    old = "    Contract: $.string().notNull().check(len($) < 20, 'too long for a sign')"
    package = publish(ann, shop=SHOP.replace(old, contract))
    bad = begin_class(ann, environment, package, {"name": "Bank", "seats": 1})
    assert [(p.place, p.message, p.code) for p in bad.problems] == [("/name", "Taken.", "contract")]
    assert begin_class(ann, environment, package, {"name": "Shop", "seats": 1}).outcome == "ready"


def deployed(person: Any, environment: str, session: str | None, drain: Callable[[], int]) -> dict[str, Any]:
    """Deploys the draft: the applications by name."""
    assert session is not None
    deploying.deploy(person.caller, environment, session)
    assert drain() == 1
    return {app["name"]: app for app in applications(person, environment, None)}


def fill(person: Any, id: str, *pages: dict[str, Any]) -> Any:
    """Submits pages up to the end."""
    for answers in pages:
        shown = form_session.submit(person.caller, id, answers)
        assert shown.outcome in ("next", "ready"), shown.problems
    assert shown.outcome == "ready"
    return form_session.finish(person.caller, id)


PAGES = ({"name": "Corner", "size": "small"}, {"seats": "12", "pin": "Pa$$w0rd!"}, {"application_name": "corner"})


def test_a_deployed_object_is_opened_again_in_either_form(
    ann: Any, shop: Any, environment: str, drain: Callable[[], int]
) -> None:
    me = ann.caller
    first = fill(ann, form_session.begin(me, environment_id=environment, package=shop.id).id, *PAGES)
    deployed(ann, environment, first.session_id, drain)
    # The definition comes first, with its answers; the form of the class has everything but secrets.
    shown = form_session.begin(me, environment_id=environment, object_id=first.object_id)
    assert (shown.purpose, shown.source, shown.sources, shown.title) == ("edit", "definition", ("class",), "corner")
    assert fields_of(shown)["name"].value == "Corner"
    shown = form_session.switch(me, shown.id, "class")
    assert fields_of(shown)["name"].value == "Corner" and "opened" not in fields_of(shown)
    assert "Pa$$w0rd" not in str(shown.form.as_json())
    # The definition has its answers.
    other = form_session.switch(me, shown.id, "definition")
    assert (other.source, other.sources, fields_of(other)["name"].value) == ("definition", ("class",), "Corner")
    form_session.submit(me, shown.id, {"name": "Corner", "size": "large"})
    room = form_session.describe(me, shown.id)
    pin = fields_of(room)["pin"].value
    assert pin == {"secret": "kept"}
    last = form_session.submit(me, shown.id, {"seats": "12", "tables": "1", "pin": pin})
    done = fill(ann, shown.id, {"application_name": "corner"}) if last.outcome == "next" else None
    assert done is not None and done.object_id == first.object_id
    (app,) = applications(ann, environment, done.session_id)
    # What the deployment wrote stays, the answer has changed, the secret is as it was.
    assert (app["size"], app["opened"], app["pin"], app["seats"]) == ("large", 1, "Pa$$w0rd!", 12)
    # A change through the class form: what the definition was answered with does not hold any more.
    edit = form_session.begin(me, environment_id=environment, object_id=first.object_id, source="class")
    assert edit.sources == ("definition",)
    assert form_session.submit(me, edit.id, {"seats": 3}, partial=True).outcome == "ready"
    form_session.finish(me, edit.id)
    changed = deployed(ann, environment, done.session_id, drain)["Corner"]
    assert (changed["seats"], changed["pin"], changed["opened"]) == (3, "Pa$$w0rd!", 2)
    late = form_session.begin(me, environment_id=environment, object_id=first.object_id)
    assert late.sources == () and "changed" in late.reason


def test_edits_of_the_same_object_come_together_or_are_refused(ann: Any, shop: Any, environment: str) -> None:
    me = ann.caller
    made = form_session.finish(me, begin_class(ann, environment, shop, {"name": "Corner", "seats": 1}).id)
    one, two, three = (
        form_session.begin(me, environment_id=environment, object_id=made.object_id, source="class").id
        for _ in range(3)
    )
    form_session.submit(me, one, {"name": "North"}, partial=True)
    form_session.submit(me, two, {"seats": 9}, partial=True)
    form_session.submit(me, three, {"name": "South"}, partial=True)
    form_session.finish(me, one)
    form_session.finish(me, two)
    with pytest.raises(DraftChanged) as caught:
        form_session.finish(me, three)
    assert caught.value.details == {"paths": ["/name"]}
    (app,) = applications(ann, environment, made.session_id)
    assert (app["name"], app["seats"]) == ("North", 9)
    assert [row["id"] for row in form_session.mine(me)] == [three]  # nothing that was answered is lost
    with pytest.raises(DraftChanged):
        form_session.finish(me, three, revision=0)


def test_the_form_outlives_the_session_it_was_begun_in(
    ann: Any, bob: Any, shop: Any, environment: str, drain: Callable[[], int]
) -> None:
    first = form_session.finish(ann.caller, begin_class(ann, environment, shop, {"name": "Corner", "seats": 1}).id)
    late = begin_class(ann, environment, shop, {"name": "Late", "seats": 1}, session_id=first.session_id)
    assert late.session_id == first.session_id
    deployed(ann, environment, first.session_id, drain)
    assert form_session.describe(ann.caller, late.id).session_id is None
    done = form_session.finish(ann.caller, late.id)
    assert done.session_id not in (None, first.session_id)
    assert [app["name"] for app in applications(ann, environment, done.session_id)] == ["Corner", "Late"]


def test_a_quick_form_makes_its_environment(ann: Any, shop: Any) -> None:
    shown = form_session.begin(ann.caller, package=shop.id)
    done = fill(ann, shown.id, *PAGES)
    assert done.environment_id is not None
    from vetro.server.environments import queries

    assert queries.get(ann.caller, done.environment_id).name == "Corner shop"
    (app,) = applications(ann, done.environment_id, done.session_id)
    assert app["name"] == "Corner"


def test_the_class_form_goes_on_with_what_the_definition_made(ann: Any, shop: Any, environment: str) -> None:
    shown = form_session.begin(ann.caller, environment_id=environment, package=shop.id)
    for answers in PAGES:
        form_session.submit(ann.caller, shown.id, answers)
    other = form_session.switch(ann.caller, shown.id, "class")
    assert (fields_of(other)["seats"].value, other.outcome) == (12, "shown")
    assert form_session.switch(ann.caller, shown.id, "definition").outcome == "ready"
    with pytest.raises(Invalid, match="cannot be switched to 'method'; there is: class"):
        form_session.switch(ann.caller, shown.id, "method")


def test_model_builders_begin_a_form(ann: Any, shop: Any, environment: str) -> None:
    me = ann.caller
    shown = form_session.begin(me, environment_id=environment, package=shop.id, source="class")
    assert [(b.value, b.label) for b in shown.builders] == [("large", "A large shop")]
    assert [f.name for f in form_session.builder_form(me, shown.id, "large").pages[0].fields()] == ["seats", "like"]
    bad = form_session.start_from(me, shown.id, "large", {})
    assert (bad.outcome, [p.place for p in bad.problems]) == ("invalid", ["/seats"])
    (like,) = form_session.choices(me, shown.id, "/like", builder="large", what="types").items
    assert like.value == "test.Shop/1.0.0@test.Shop"
    begun = form_session.start_from(me, shown.id, "large", {"seats": 80})
    values = {name: field.value for name, field in fields_of(begun).items() if field.answered}
    assert (values["size"], values["seats"], values["name"]) == ("large", 80, "Big")
    with pytest.raises(NotFound, match="cannot be started from 'rename'; there is: large"):
        form_session.start_from(me, shown.id, "rename")


def test_fields_list_what_there_is(ann: Any, shop: Any, environment: str) -> None:
    me = ann.caller
    for name in ("North", "South"):
        made = form_session.finish(me, begin_class(ann, environment, shop, {"name": name, "seats": 1}).id)
    shown = form_session.begin(me, environment_id=environment, package=shop.id, source="class")
    assert shown.session_id == made.session_id
    friends = form_session.choices(me, shown.id, "/friend")
    assert [c.label for c in friends.items] == ["North", "South"] and friends.next is None
    assert [c.label for c in form_session.choices(me, shown.id, "/friend", search="sou").items] == ["South"]
    (host,) = form_session.choices(me, shown.id, "/host", what="types").items
    assert host.value == "test.Host/1.0.0@test.Shop"
    assert [c.value for c in form_session.choices(me, shown.id, "/size", what="choices", search="SMA").items] == [
        "small"
    ]
    with pytest.raises(NotFound, match="no field '/nothing'"):
        form_session.choices(me, shown.id, "/nothing")
    with pytest.raises(Invalid, match="no cursor"):
        form_session.choices(me, shown.id, "/host", cursor="x")
    chosen = form_session.submit(me, shown.id, {"name": "West", "seats": 1, "friend": friends.items[0].value})
    assert chosen.outcome == "ready", chosen.problems


def test_actions_are_called_with_their_arguments(
    ann: Any, shop: Any, environment: str, drain: Callable[[], int]
) -> None:
    me = ann.caller
    made = form_session.finish(me, begin_class(ann, environment, shop, {"name": "Corner", "seats": 1}).id)
    deployed(ann, environment, made.session_id, drain)
    shown = form_session.begin(me, environment_id=environment, action=f"{made.object_id}_rename")
    assert (shown.purpose, shown.source, shown.title, shown.session_id) == ("action", "method", "Rename", None)
    assert [p.place for p in form_session.submit(me, shown.id, {}).problems] == ["/name"]
    with pytest.raises(Invalid, match="not complete"):
        form_session.finish(me, shown.id)
    called = fill(ann, shown.id, {"name": "Kiosk"})
    assert drain() == 1
    task = Task.objects.get(id=called.task_id)
    assert (task.error, task.result) == (None, "Kiosk")
    assert [app["opened"] for app in applications(ann, environment, None)] == [101]
    with pytest.raises(NotFound, match="no action"):
        form_session.begin(me, environment_id=environment, action=f"{made.object_id}_burn")
    # What is offered can be called: a model builder fills in a form, and is no action.
    offered = ann.get(f"/v2/environments/{environment}/actions").json()["items"]
    assert {action["name"] for action in offered} == {"add", "deploy", "rename"}
    for action in offered:
        form_session.begin(me, environment_id=environment, action=action["id"])
    static = form_session.begin(me, class_name="test.Shop", method="add")
    counted = fill(ann, static.id, {"a": 2})
    assert drain() == 1 and Task.objects.get(id=counted.task_id).result == 3
    for method in ("large", "rename", "nothing"):
        with pytest.raises(NotFound):
            form_session.begin(me, class_name="test.Shop", method=method)


def test_a_form_is_its_owners(ann: Any, bob: Any, eve: Any, shop: Any, environment: str) -> None:
    id = form_session.begin(ann.caller, environment_id=environment, package=shop.id).id
    for other in (bob.caller, eve.caller):
        assert form_session.mine(other) == []
        with pytest.raises(NotFound):
            form_session.describe(other, id)
        with pytest.raises(NotFound):
            form_session.discard(other, id)
        with pytest.raises(NotFound):
            form_session.begin(other, package=shop.id, into=id) if other is bob.caller else form_session.describe(
                other, id
            )
    with pytest.raises(NotFound):
        form_session.begin(eve.caller, package=shop.id)
    form_session.discard(ann.caller, id)
    assert form_session.mine(ann.caller) == []


def test_another_window_is_noticed(ann: Any, shop: Any, environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    me = ann.caller
    shown = form_session.begin(me, environment_id=environment, package=shop.id)
    real = DefinitionFormSession.evaluate

    def slow(self: Any, work: Any, answers: Any, *args: Any, **more: Any) -> Any:
        if answers == {"name": "Slow"}:  # meanwhile, the page is submitted
            form_session.submit(me, shown.id, {"name": "Fast", "size": "small"})
        return real(self, work, answers, *args, **more)

    monkeypatch.setattr(DefinitionFormSession, "evaluate", slow)
    late = form_session.evaluate(me, shown.id, {"name": "Slow"})
    assert late.page == 1
    assert fields_of(form_session.describe(me, shown.id, 0))["name"].value == "Fast"


def test_forms_that_nobody_wants_any_more_go(ann: Any, shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    me = ann.caller
    monkeypatch.setattr(store, "MOST", 2)
    ids = [form_session.begin(me, package=shop.id).id for _ in range(3)]
    assert [row["id"] for row in form_session.mine(me)] == [ids[2], ids[1]]
    FormDraft.objects.filter(id=ids[1]).update(updated=datetime.now(UTC) - timedelta(days=31))
    fresh = form_session.begin(me, package=shop.id).id
    assert {row["id"] for row in form_session.mine(me)} == {ids[2], fresh}


STANDARD = """\
Name: Shop
Namespaces: {=: test, std: io.vetro.std, v: io.vetro.forms}
Meta:
  - v:Preset: {name: small, values: {host: {'?': {type: io.vetro.std.Server}, flavor: m1.small}}}
Properties:
  host: {Contract: $.class(std:Server).notNull().owned()}
"""


def test_a_preset_makes_an_object_of_a_standard_package_that_is_beyond_version_0(
    ann: Any, publish: Callable[..., Any], environment: str
) -> None:
    requires = "  io.vetro: 1\n  io.vetro.std: 1\n"
    manifest = MANIFEST.replace("UI: ui.yaml\n", "").replace("  io.murano: '>=0'\n", requires)
    row = publish(ann, manifest=manifest, shop=STANDARD)
    shown = form_session.begin(ann.caller, environment_id=environment, package=row.id)
    host = fields_of(shown)["host"]
    assert shown.form.preset == "small" and host.value["?"]["type"] == "io.vetro.std.Server/1.0.0@io.vetro.std"
    assert host.value["flavor"] == "m1.small"
    assert "flavor" in {field.name for section in host.sections for field in section.fields}, "the object has a form"
