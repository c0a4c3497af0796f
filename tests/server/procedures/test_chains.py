"""Upgrades of one application after the other through the API: nobody has to wait for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.environments.test_upgrades import DB, MODE, WEB
from tests.server.environments.test_upgrade_drafts import packed
from tests.server.layers import People, layer
from tests.server.procedures.conftest import Market
from tests.server.web.conftest import signed_in
from tests.server.web.pagekit import opened
from vetro.engine.watching.states import State
from vetro.model.tree import by_id
from vetro.server.catalog.models import Package
from vetro.server.catalog.service import delete, import_packages
from vetro.server.environments.models import Session
from vetro.server.environments.models import State as StateRow
from vetro.server.procedures import chains, store
from vetro.server.procedures.models import Procedure
from vetro.server.procedures.sweep import sweep
from vetro.server.tasks.worker import run_queued

pytestmark = pytest.mark.django_db

MANIFEST = """\
Format: '1.4'
Type: Application
FullName: {name}
Version: {version}
Require: {{io.vetro: 1{more}}}
Classes: {{{name}.{title}: Main.yaml}}
"""
GUARDED = """\
Extends: std:Application
Meta:
  - l:Update: {guard: required}
  - l:NotRestorable: {what: mail that was sent}"""


def db(version: str) -> bytes:
    manifest = MANIFEST.format(name="t.db", version=version, title="Db", more="")
    return packed(manifest=manifest, Classes__Main=DB)


def web(version: str, properties: str = "", text: str = WEB) -> bytes:
    manifest = MANIFEST.format(name="t.web", version=version, title="Web", more=", t.db: '>=1'")
    return packed(manifest=manifest, Classes__Main=text % properties)


class Site(Market):
    """A site that uses a database, each an application of its own."""

    def begin(self, *, answers: Any = None, **more: Any) -> Any:
        """The response to upgrading both."""
        body = {"to": {"t.web": "2.0.0", "t.db": "2.0.0"}, "answers": {"site": answers or {"mode": "fast"}}}
        return self.person.post(f"/v2/environments/{self.id}/upgrades/one-by-one", {**body, "settle": 0, **more})

    def begun(self, **more: Any) -> str:
        """The procedure that does it."""
        answer = self.begin(**more)
        assert answer.status_code == 202, answer.content
        return str(answer.json()["id"])

    def until(self, procedure: str, step: str, part: int) -> dict[str, Any]:
        """Works and sweeps until it is there; as it is then."""
        for _ in range(30):
            row = Procedure.objects.get(id=procedure)
            if (row.step, row.record["part"]) == (step, part):
                return self.shown(procedure)
            if row.step in ("settling", "recovering"):  # where its cloud executes something that takes a while
                row.record, row.wake_at = {**row.record, "since": 1.0, "until": 2.0}, row.created
                row.save()
            self.drain() or sweep(lambda row: self.health)
        raise AssertionError(self.shown(procedure))

    def types(self) -> dict[str, str]:
        """Id of an application -> version of its class, as deployed."""
        newest: Any = StateRow.objects.filter(environment_id=self.id).order_by("-number")[0]
        found = by_id(newest.model["Objects"])
        return {id: found[id]["?"]["type"].partition("/")[2].partition("@")[0] for id in ("site", "store")}


@layer()
def site_of_ann(people: People) -> str:
    """`site`, by its id."""
    ann = people("ann")
    import_packages(ann.caller, [db("1.0.0"), web("1.0.0")])
    found = Site(ann, run_queued, ann.post("/v2/environments", {"name": "market"}).json()["id"])
    session = ann.post(f"/v2/environments/{found.id}/sessions").json()["id"]
    model = ann.get(f"/v2/sessions/{session}/model").json()
    model["services"] = [
        {"?": {"type": "t.web.Web", "id": "site", "name": "site"}, "db": "store"},
        {"?": {"type": "t.db.Db", "id": "store", "name": "store"}},
    ]
    assert ann.put(f"/v2/sessions/{session}/model", model).status_code == 200
    assert found.deploy(session).status_code == 202
    run_queued()
    import_packages(ann.caller, [db("2.0.0"), web("2.0.0", MODE)])
    return found.id


@pytest.fixture
def site(site_of_ann: str, ann: Any, drain: Callable[..., int]) -> Site:
    """It is deployed; newer versions of both are in the catalog."""
    return Site(ann, drain, site_of_ann)


def states(shown: dict[str, Any]) -> list[tuple[str, str]]:
    return [(", ".join(part["names"]), part["state"]) for part in shown["parts"]]


def test_each_is_upgraded_after_what_it_uses(site: Site) -> None:
    refused = site.begin(answers={"db": "store"})
    assert refused.json()["error"]["code"] == "SRV610" and not Procedure.objects.exists()
    procedure = site.begun()
    assert states(site.shown(procedure)) == [("store", "now"), ("site", "open")]
    between = site.until(procedure, "drafting", 0)
    assert states(between) == [("store", "done"), ("site", "open")] and not between["undoable"]
    assert site.types() == {"site": "1.0.0", "store": "2.0.0"}
    # Nobody comes between the two.
    refused = site.person.post(f"/v2/environments/{site.id}/sessions")
    assert refused.json()["error"]["code"] == "SRV439"
    found = site.run(procedure)
    assert (found["step"], states(found)) == ("kept", [("store", "done"), ("site", "done")])
    assert [task["kind"] for task in found["tasks"]] == ["snapshot", "deploy", "drop"] * 2
    assert site.types() == {"site": "2.0.0", "store": "2.0.0"}
    assert site.environment()["status"] == "ready" and site.environment()["version"] == 3


@pytest.mark.parametrize("together", [pytest.param(False, marks=pytest.mark.campaign), True])
def test_where_one_does_not_go_well_it_goes_back_alone_or_with_all(site: Site, together: bool) -> None:
    procedure = site.begun(answers={"mode": "fast", "fail": True}, together=together)
    found = site.run(procedure)
    assert found["step"] == "restored" and "failed" in found["reason"]
    before = {row.number: row for row in StateRow.objects.filter(environment_id=site.id, number__gt=0)}
    assert sorted(before) == [1, 2, 3, 4]
    kept = before[1] if together else before[2]
    assert (before[4].model, before[4].lock_id) == (kept.model, kept.lock_id)
    if together:
        assert states(found) == [("store", "back"), ("site", "back")]
        assert before[4].undone_of == 2 and site.types() == {"site": "1.0.0", "store": "1.0.0"}
    else:
        assert states(found) == [("store", "done"), ("site", "back")]
        assert before[4].undone_of == 3 and site.types() == {"site": "1.0.0", "store": "2.0.0"}
        assert found["states"] == {"before": 2, "update": 3, "undo": 4}
    # The rest can be done later.
    if not together:
        again = site.begin(to={"t.web": "2.0.0"}, answers={"mode": "fast", "fail": False})
        assert site.run(again.json()["id"])["step"] == "kept" and site.types()["site"] == "2.0.0"


@pytest.mark.campaign
def test_a_component_that_is_worse_ends_it(site: Site) -> None:
    procedure = site.begun(together=True)
    site.until(procedure, "drafting", 0)
    site.health = {"site": State.DOWN, "store": State.RUNNING}
    found = site.run(procedure)
    assert found["step"] == "recovering" and "'site' is down" in found["reason"]
    site.health = {}
    site.until(procedure, "restored", 1)
    assert site.types() == {"site": "1.0.0", "store": "1.0.0"}


@pytest.mark.campaign
def test_what_cannot_be_begun_any_more_is_told_and_what_went_before_stays(site: Site, ann: Any) -> None:
    procedure = site.begun()
    site.until(procedure, "drafting", 0)
    delete(ann.caller, Package.objects.get(fqn="t.web", version="2.0.0"))
    found = site.run(procedure)
    assert found["step"] == "kept" and "the next part cannot be begun" in found["reason"]
    assert states(found) == [("store", "done"), ("site", "open")]
    assert site.environment()["status"] == "ready" and site.types() == {"site": "1.0.0", "store": "2.0.0"}
    assert not Session.objects.filter(environment_id=site.id, state=Session.OPENED).exists()


@pytest.mark.campaign
def test_it_can_be_stopped_and_taken_back_between_two(site: Site, ann: Any) -> None:
    procedure = site.begun(together=True)
    assert site.until(procedure, "drafting", 0)["undoable"]
    assert ann.post(f"/v2/environments/{site.id}/undo").status_code == 202
    assert site.run(procedure)["step"] == "restored" and site.types()["store"] == "1.0.0"
    procedure = site.begun()
    site.until(procedure, "drafting", 0)
    assert ann.post(f"/v2/environments/{site.id}/keep").status_code == 202
    found = site.run(procedure)
    assert (found["step"], states(found)) == ("kept", [("store", "done"), ("site", "open")])


def test_who_dies_over_the_next_draft_leaves_none(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    procedure = site.begun()
    site.until(procedure, "drafting", 0)

    def dies(*args: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    for place, name in ((store, "_begin_part"), (chains.store, "reconcile"), (chains, "way_back")):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(place, name, dies)
            chains.begin_next_part(Procedure.objects.get(id=procedure))
    assert Procedure.objects.get(id=procedure).step == "drafting"
    assert Session.objects.filter(environment_id=site.id, state=Session.OPENED, upgrade__isnull=False).count() == 1
    Procedure.objects.filter(id=procedure).update(wake_at=Procedure.objects.get(id=procedure).created)
    assert site.run(procedure)["step"] == "kept"
    assert not Session.objects.filter(environment_id=site.id, state=Session.OPENED).exists()


def test_two_that_go_on_at_once_begin_the_next_part_once(site: Site) -> None:
    procedure = site.begun()
    site.until(procedure, "drafting", 0)
    row = Procedure.objects.get(id=procedure)
    first, second = chains._next_part(row), chains._next_part(row)
    assert first is not None and second is not None
    for next_part in (second, first):  # the first one's session was dropped as a dead one's
        store.reconcile(procedure, next_part=next_part)
    assert Procedure.objects.get(id=procedure).about["session_id"] == second.session_id
    found = site.run(procedure)
    assert found["step"] == "kept" and [task["kind"] for task in found["tasks"]] == ["snapshot", "deploy", "drop"] * 2


@pytest.mark.campaign
def test_what_does_not_come_back_is_confirmed_for_all_before_the_first(site: Site, ann: Any) -> None:
    text = WEB.replace("Extends: std:Application", GUARDED).replace("{=: t.web,", "{=: t.web, l: io.vetro.lifecycle,")
    delete(ann.caller, Package.objects.get(fqn="t.web", version="2.0.0"))
    import_packages(ann.caller, [web("2.0.0", MODE, text)])
    for confirmed in (False, [], ["something else"]):
        error = site.begin(confirmed=confirmed).json()["error"]
        assert (error["code"], error["details"]) == ("SRV613", {"losses": ["mail that was sent"]})
    assert not Session.objects.filter(environment_id=site.id, state=Session.OPENED).exists()
    found = site.run(site.begun(confirmed=["mail that was sent"]))
    assert found["step"] == "kept" and found["losses"] == ["mail that was sent"]


@pytest.mark.campaign
def test_the_page_offers_one_after_the_other_and_tells_how_far_it_is(site: Site, ann: Any) -> None:
    client, here = signed_in(ann), f"/app/environments/{site.id}"
    page = opened(client, f"{here}/upgrade")
    assert "one application after the other" in page.text
    data: dict[str, Any] = {**page.inputs(), "do": "next", "how": "each"}
    place = next(name for name in data if name.endswith(".site/mode"))
    answer = client.post(f"{here}/upgrade?then=deploy", {**data, place: "fast"})
    assert answer.status_code == 302 and answer["Location"].startswith(f"{here}/updates/")
    update = answer["Location"]
    text = opened(client, update).text
    assert "One after the other" in text and text.index("store") < text.index("not begun")
    site.until(update.rpartition("/")[2], "drafting", 0)
    text = opened(client, update).text
    assert "the next upgrade is prepared" in text and "Take it back" not in text and "Stop here" in text
    assert client.post(f"{update}/decide", {"do": "keep"}).status_code == 302
    text = opened(client, update).text
    assert "somebody wanted so" in text and site.types() == {"site": "1.0.0", "store": "2.0.0"}


@pytest.mark.campaign  # test_two_that_go_on_at_once_begin_the_next_part_once
def test_two_at_once_are_one(site: Site) -> None:
    procedure = site.begun()
    error = site.begin().json()["error"]
    assert (error["code"], error["details"]) == ("SRV439", {"procedure_id": procedure})
    assert Procedure.objects.count() == 1 and site.run(procedure)["step"] == "kept"
    assert not Session.objects.filter(environment_id=site.id, state=Session.OPENED).exists()


def test_others_have_nothing_to_say(site: Site, eve: Any, people: Any) -> None:
    path = f"/v2/environments/{site.id}/upgrades/one-by-one"
    assert eve.post(path, {}).status_code == 404
    assert people("rita", "demo", "reader").post(path, {}).status_code == 403
    assert not Procedure.objects.exists()


def test_what_was_made_after_the_claim_lapsed_is_thrown_away(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    procedure = site.begun()
    site.until(procedure, "drafting", 0)
    real, slow = chains._next_part, [True]

    def next_part(row: Procedure) -> Any:
        made = real(row)
        if slow.pop() if slow else False:
            # It took longer than its claim: another one claims the procedure, and begins the part.
            Procedure.objects.filter(id=procedure).update(wake_at=row.created)
            assert sweep(lambda row: site.health) == 1
        return made

    monkeypatch.setattr(chains, "_next_part", next_part)
    assert sweep(lambda row: site.health) == 1 and not slow
    row = Procedure.objects.get(id=procedure)
    assert row.record["part"] == 1 and row.steps.count() == len({step.key for step in row.steps.all()})
    assert Session.objects.filter(state=Session.OPENED, upgrade__isnull=False).count() <= 1
    while Procedure.objects.filter(id=procedure, finished=None).exists():
        site.drain() or sweep(lambda row: site.health)
    assert set(site.types().values()) == {"2.0.0"}
