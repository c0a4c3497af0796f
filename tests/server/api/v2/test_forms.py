"""Forms over /v2, as a client without a browser fills them in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.server.api.v2.conftest import tree


@pytest.fixture(autouse=True, scope="module")
def _forms_ended() -> Iterator[None]:
    yield
    from vetro.server.forms import process_cache

    process_cache.close()


def begin(person: Any, **wanted: Any) -> dict[str, Any]:
    """A new form; `at` is its address."""
    made = person.post("/v2/forms", wanted)
    assert made.status_code == 201, made.content
    form: dict[str, Any] = made.json()
    return {**form, "at": f"/v2/forms/{form['id']}"}


def post(person: Any, address: str, body: Any = None, status: int = 200) -> Any:
    answer = person.post(address, body)
    assert answer.status_code == status, answer.content
    return answer.json()


def inputs(form: dict[str, Any]) -> dict[str, Any]:
    """The fields of the page that is shown."""
    page = form["form"]["pages"][form["page"]]
    return {field["name"]: field for section in page.get("sections", ()) for field in section["fields"]}


def test_a_form_is_filled_in_page_by_page(ann: Any, orchard: Any, environment: str, drain: Callable[[], int]) -> None:
    form = begin(ann, environment_id=environment, package=orchard["id"])
    assert (form["source"], form["sources"], form["title"]) == ("definition", ["class"], "Orchard")
    assert inputs(form)["name"]["label"] == "Name"
    kept = post(ann, form["at"] + "/evaluate", {"answers": {"name": "o"}})
    assert (kept["outcome"], inputs(kept)["name"]["value"]) == ("shown", "o")
    assert ann.get(form["at"]).json()["revision"] == kept["revision"] == 1
    wrong = post(ann, form["at"] + "/validate", {"answers": {"name": ""}, "path": "/name"})
    assert [p["path"] for p in wrong["problems"]] == ["/name"]
    invalid = post(ann, form["at"] + "/submit", {"answers": {}})
    assert (invalid["outcome"], [p["path"] for p in invalid["problems"]]) == ("invalid", ["/name"])
    following = post(ann, form["at"] + "/submit", {"answers": {"name": "oak"}})
    assert (following["outcome"], following["page"], following["pages_done"]) == ("next", 1, [0])
    assert post(ann, form["at"] + "/back", {"page": 0})["page"] == 0
    assert inputs(ann.get(form["at"] + "?page=0").json())["name"]["value"] == "oak"
    refused = post(ann, form["at"] + "/finish", status=400)
    assert "not complete" in refused["error"]["message"]
    post(ann, form["at"] + "/submit", {"answers": {"name": "oak"}})
    assert post(ann, form["at"] + "/submit", {"answers": {"application_name": "oak"}})["outcome"] == "ready"
    review = ann.get(form["at"] + "/review").json()["pages"]
    assert review[0]["rows"] == [{"label": "Name", "text": "oak", "path": "/name"}]
    assert (review[0]["own"], review[0]["before"]) == (["/name"], None)
    done = post(ann, form["at"] + "/finish")
    assert (done["environment_id"], done["purpose"]) == (environment, "add")
    session = f"/v2/sessions/{done['session_id']}"
    assert [c["name"] for c in ann.get(session + "/components").json()["items"]] == ["oak"]
    assert ann.get(form["at"]).status_code == 404
    assert ann.post(session + "/deploy").status_code == 202
    assert drain() == 1


def test_a_deployed_object_is_edited_and_its_secret_stays(
    ann: Any, environment: str, deploy: Callable[..., Any], drain: Callable[[], int]
) -> None:
    deploy(tree("t1", pin="1234"))
    form = begin(ann, environment_id=environment, object_id="t1")
    assert (form["purpose"], form["source"], form["sources"]) == ("edit", "class", [])
    assert inputs(form)["pin"]["value"] == {"secret": "kept", "at": "/pin"} and "1234" not in str(form)
    answers = {"name": "elm", "pin": inputs(form)["pin"]["value"], "nest": {"?": {"type": "test.Nest"}, "eggs": 2}}
    made = [post(ann, form["at"] + "/password", {"path": "/pin"})["password"] for _ in range(2)]
    assert len(set(made)) == 2 and min(map(len, made)) > 3
    post(ann, form["at"] + "/password", {"path": "/name"}, status=404)
    shown = post(ann, form["at"] + "/evaluate", {"answers": answers})
    nest = inputs(shown)["nest"]["value"]
    assert nest["?"]["id"] and nest["eggs"] == 2
    assert post(ann, form["at"] + "/submit", {"answers": {**answers, "nest": nest}})["outcome"] == "ready"
    (review,) = ann.get(form["at"] + "/review").json()["pages"]
    assert review["before"]["/name"] != "elm" and "/pin" not in review["before"]
    done = post(ann, form["at"] + "/finish")
    assert ann.post(f"/v2/sessions/{done['session_id']}/deploy").status_code == 202
    assert drain() == 1
    from vetro.server.environments import drafts

    (app,) = drafts.services(ann.caller, environment, [])
    assert (app["name"], app["pin"], app["nest"]["eggs"], app["nest"]["?"]["id"]) == ("elm", "1234", 2, nest["?"]["id"])


def test_a_draft_that_was_changed_meanwhile_is_not_overwritten(ann: Any, orchard: Any, environment: str) -> None:
    session = ann.post(f"/v2/environments/{environment}/sessions").json()["id"]
    form = begin(ann, session_id=session, package=orchard["id"], source="class")
    assert form["environment_id"] == environment
    post(ann, form["at"] + "/submit", {"answers": {"name": "oak"}, "partial": True})
    ann.post(f"/v2/sessions/{session}/components", tree())
    late = ann.post(form["at"] + "/finish", headers={"If-Match": '"0"'})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "SRV434")
    assert ann.post(form["at"] + "/finish", headers={"If-Match": '"1"'}).status_code == 200


def test_pickers_are_searched_and_forms_of_actions_called(
    ann: Any, environment: str, deploy: Callable[..., Any], drain: Callable[[], int]
) -> None:
    deploy(tree("t1"), tree("t2"))
    form = begin(ann, environment_id=environment, **{"class": "test.Tree"}, source="class")
    found = ann.get(form["at"] + "/choices?path=/neighbour&search=t2").json()
    assert ([item["value"] for item in found["items"]], found["next"]) == (["t2"], None)
    (nest,) = ann.get(form["at"] + "/choices?path=/nest&what=types").json()["items"]
    assert nest["value"].startswith("test.Nest/")
    assert ann.get(form["at"] + "/choices?path=/no").status_code == 404
    water = begin(ann, environment_id=environment, action="t1_water")
    assert post(ann, water["at"] + "/submit", {"answers": {"litres": "x"}})["outcome"] == "invalid"
    assert post(ann, water["at"] + "/submit", {"answers": {"litres": 4}})["outcome"] == "ready"
    task = post(ann, water["at"] + "/finish")["task_id"]
    assert drain() == 1
    assert ann.get(f"/v2/tasks/{task}").json()["result"] == 5
    total = begin(ann, **{"class": "test.Tree"}, method="sum")
    post(ann, total["at"] + "/submit", {"answers": {"a": 1, "b": 2}})
    task = post(ann, total["at"] + "/finish")["task_id"]
    assert drain() == 1
    assert ann.get(f"/v2/tasks/{task}").json()["result"] == 3


def test_forms_of_others_are_unknown_ones(ann: Any, bob: Any, eve: Any, orchard: Any, environment: str) -> None:
    form = begin(ann, environment_id=environment, package=orchard["id"])
    listed = ann.get("/v2/forms", data={"environment": environment}).json()
    assert ([item["id"] for item in listed["items"]], listed["total"]) == ([form["id"]], 1)
    assert ann.get("/v2/forms?environment=other").json()["items"] == []
    body = {"answers": {}}
    calls = [("GET", ""), ("DELETE", ""), ("POST", "/evaluate"), ("POST", "/validate"), ("POST", "/submit"),
             ("GET", "/review"), ("POST", "/finish"), ("GET", "/choices?path=/name")]  # fmt: skip
    for person in (bob, eve):
        assert person.get("/v2/forms").json()["items"] == []
        for method, rest in calls:
            sent = body if method == "POST" and rest != "/finish" else None
            found, unknown = (person.request(method, f"/v2/forms/{id}{rest}", sent) for id in (form["id"], "0000"))
            assert (found.status_code, unknown.status_code) == (404, 404)
            assert found.content.replace(form["id"].encode(), b"0000") == unknown.content
    assert post(eve, "/v2/forms", {"environment_id": environment, "object_id": "x"}, 404)
    assert post(eve, "/v2/forms", {"package": orchard["id"]}, 404)
    assert ann.delete(form["at"]).status_code == 204


def test_readers_look_and_do_not_finish(people: Callable[..., Any], orchard: Any, environment: str) -> None:
    reader = people("rita", "demo", "reader")
    form = begin(reader, environment_id=environment, package=orchard["id"], source="class")
    assert post(reader, form["at"] + "/submit", {"answers": {"name": "oak"}, "partial": True})["outcome"] == "ready"
    assert post(reader, form["at"] + "/finish", status=403)["error"]["code"] == "SRV403"
    assert reader.get(form["at"]).status_code == 200


def test_what_is_wrong_with_a_request_is_said(ann: Any, orchard: Any) -> None:
    form = begin(ann, package=orchard["id"])
    for path, body in [("/submit", {}), ("/submit", {"answers": []}), ("/submit", {"answers": {}, "pages": 1}),
                       ("/back", {"page": -1}), ("/back", {"page": 9}), ("/evaluate", {"answers": {}, "page": 9}),
                       ("/switch", {"source": "x"}), ("/start-from", {"builder": "x"})]:  # fmt: skip
        answer = ann.post(form["at"] + path, body)
        assert answer.status_code in (400, 404) and answer.json()["error"]["message"], path
    assert ann.get(form["at"] + "/builders/x").status_code == 404
    assert ann.get(form["at"] + "?page=9").status_code == 400


def test_a_component_of_a_template_is_made_and_changed_by_a_form(
    ann: Any, eve: Any, orchard: Any, environment: str
) -> None:
    template = ann.post("/v2/templates", {"name": "grove"}).json()["id"]
    form = begin(ann, package=orchard["id"], template=template)
    assert (form["template_id"], form["environment_id"]) == (template, None)
    post(ann, form["at"] + "/submit", {"answers": {"name": "oak"}})
    post(ann, form["at"] + "/submit", {"answers": {"application_name": "oak"}})
    done = post(ann, form["at"] + "/finish")
    assert (done["template_id"], done["environment_id"], done["session_id"]) == (template, None, None)
    (made,) = ann.get(f"/v2/templates/{template}").json()["services"]
    assert (made["?"]["id"], made["name"]) == (done["object_id"], "oak")
    edit = begin(ann, object_id=done["object_id"], template=template)
    changed = post(ann, edit["at"] + "/submit", {"answers": {"name": "elm"}, "partial": True})
    assert changed["outcome"] == "ready"
    post(ann, edit["at"] + "/finish")
    assert ann.get(f"/v2/templates/{template}").json()["services"][0]["name"] == "elm"
    # Both at once, actions, and templates of others are refused.
    for wanted in ({"environment_id": environment, "package": orchard["id"]}, {"class": "t.T", "method": "m"}):
        assert ann.post("/v2/forms", {**wanted, "template": template}).status_code == 400
    assert eve.post("/v2/forms", {"package": orchard["id"], "template": template}).status_code == 404
