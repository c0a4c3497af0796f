"""Stacks in Heat: what is asked of it, what is done when answers get lost, and whose stacks are whose."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from tests.plugins.openstack.fake import Fake
from vetro.clouds.interface import Conflict, Owner, StackChange, StackFailed, StackState, StaleStack, TemplateInvalid
from vetro.library.stackdata import EMPTY, Parts, difference, digest_of, parts_of
from vetro_openstack import OpenStackCloud, OpenStackSettings, marks, stack_progress
from vetro_openstack import link as links
from vetro_openstack.errors import Closing, CloudUnreachable

OWNER = Owner("project", "Env")
links_pause = links.Link.pause


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(stack_progress, "_FIRST", 0.001)
    monkeypatch.setattr("vetro_openstack.stacks._PAUSE", 0.0)


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as made:
        yield made


def opened(fake: Fake, **more: Any) -> OpenStackCloud:
    own = {"auth_url": fake.url, "username": "worker", "password": "secret", "project_name": "p"}
    return OpenStackCloud(OpenStackSettings.from_json({**own, **more}))


@pytest.fixture
def cloud(fake: Fake) -> Iterator[OpenStackCloud]:
    made = opened(fake)
    yield made
    made.close()


def parts(values: Mapping[str, Any] | None = None, environment: str | None = None, **resources: Any) -> Parts:
    made = {name: {"type": "OS::Heat::Value", "properties": {"value": value}} for name, value in resources.items()}
    outputs = {name: {"value": value} for name, value in resources.items()}
    return parts_of({"resources": made, "outputs": outputs}, values, {"f": "x"}, environment)


def change(new: Parts, old: Parts | None = None) -> StackChange:
    put, drop = difference(old or {}, new)
    return StackChange(digest_of(new), None if old is None else digest_of(old), put, drop)


def push(cloud: OpenStackCloud, new: Parts, old: Parts | None = None, owner: Owner = OWNER) -> StackState:
    return cloud.push_stack(owner, "", "web", change(new, old))


def writes(fake: Fake) -> list[str]:
    return [method for method, _ in fake.asked if method != "GET"]


def test_a_stack_is_made_changed_and_deleted(fake: Fake, cloud: OpenStackCloud) -> None:
    first, second = parts(a="1"), parts(a="1", b="2")
    assert cloud.read_stack(OWNER, "", "web") is None
    made = push(cloud, first)
    assert (made.name, made.status, made.digest, made.outputs) == (
        "web",
        "CREATE_COMPLETE",
        digest_of(first),
        {"a": "1"},
    )
    push(cloud, first)
    assert writes(fake) == ["POST"]
    changed = push(cloud, second, first)
    assert changed.status == "UPDATE_COMPLETE" and changed.outputs == {"a": "1", "b": "2"}
    ((heat, row),) = fake.stacks.items()
    assert heat == marks.heat_name(OWNER, "web") and row["body"]["disable_rollback"] is True
    assert row["body"]["template"] == {
        "resources": {n: {"type": "OS::Heat::Value", "properties": {"value": v}} for n, v in (("a", "1"), ("b", "2"))},
        "outputs": {"a": {"value": "1"}, "b": {"value": "2"}},
    }
    assert [stack.name for stack in cloud.stacks(OWNER)] == ["web"]
    cloud.delete_stack(OWNER, "", "web")
    cloud.delete_stack(OWNER, "", "web")
    assert fake.stacks == {} and writes(fake) == ["POST", "PUT", "DELETE"]


def test_another_process_learns_the_state_from_heat(fake: Fake, cloud: OpenStackCloud) -> None:
    first = parts({"p": [1, {"x": None}]}, "parameters: {q: 1}\n", a="1")
    push(cloud, first)
    # Parameters of the environment's text are in what Heat tells of parameters, too.
    ((_, row),) = fake.stacks.items()
    row["body"]["parameters"]["q"] = 1
    other = opened(fake)
    try:
        read = other.read_stack(OWNER, "", "web", settled=True)
        assert read is not None and read.digest == digest_of(first)
        assert read.parameters == {"p": [1, {"x": None}]}
        second = parts({"p": 2}, "parameters: {q: 1}\n", a="3")
        assert push(other, second, first).outputs == {"a": "3"}
        assert row["body"]["parameters"] == {"p": 2} and row["body"]["environment"] == "parameters: {q: 1}\n"
        assert set(row["body"]["files"]) == {"f", marks.STATE_FILE}
        assert "[1" not in row["body"]["files"][marks.STATE_FILE], "values of parameters may be secret"
    finally:
        other.close()


def test_differences_to_another_state_are_stale(fake: Fake, cloud: OpenStackCloud) -> None:
    first, second = parts(a="1"), parts(a="2")
    with pytest.raises(StaleStack):
        push(cloud, second, first)
    assert push(cloud, second, {}).outputs == {"a": "2"}
    assert digest_of({}) == EMPTY
    with pytest.raises(StaleStack):
        push(cloud, parts(a="3"), first)
    # Other hands have changed the template: the digest of its tags says what it was given, not what it has.
    ((_, row),) = fake.stacks.items()
    row["body"]["template"]["resources"]["a"]["properties"]["value"] = "other"
    other = opened(fake)
    try:
        with pytest.raises(StaleStack):
            push(other, parts(a="3"), second)
        assert push(other, parts(a="3")).outputs == {"a": "3"}
    finally:
        other.close()
    wrong = StackChange("0" * 63 + "1", None, change(first).put, ())
    with pytest.raises(TemplateInvalid, match="digest"):
        cloud.push_stack(OWNER, "", "web", wrong)
    with pytest.raises(TemplateInvalid, match="'put'"):
        cloud.push_stack(OWNER, "", "web", StackChange(digest_of(first), None, [["a"]], ()))


@pytest.mark.parametrize("status", [0, 1, 503])
def test_lost_answers_make_nothing_twice(fake: Fake, cloud: OpenStackCloud, status: int) -> None:
    first, second = parts(a="1"), parts(a="2")
    fake.trouble = [("POST", "/stacks", status), ("GET", "/stacks/", status), ("PUT", "/stacks/", status)]
    assert push(cloud, first).outputs == {"a": "1"}
    assert push(cloud, second, first).outputs == {"a": "2"}
    fake.trouble = [("DELETE", "/stacks/", status)]
    cloud.delete_stack(OWNER, "", "web")
    assert fake.stacks == {}
    # What was done is found; what was not done is sent again. To delete twice is no harm.
    assert writes(fake) == (["POST", "PUT", "DELETE"] if status == 0 else ["POST"] * 2 + ["PUT"] * 2) + (
        ["DELETE"] * (1 if status == 0 else 2)
    )


def test_heat_that_stays_away_is_named(fake: Fake, cloud: OpenStackCloud) -> None:
    fake.trouble = [("POST", "/stacks", 503)] * 4
    with pytest.raises(CloudUnreachable, match=r"Heat is in trouble \(503\): in trouble"):
        push(cloud, parts(a="1"))
    assert fake.stacks == {} and fake.trouble == []
    assert push(cloud, parts(a="1")).status == "CREATE_COMPLETE"


def test_heat_may_be_away_while_a_stack_is_made(
    fake: Fake, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(cloud, parts(a="1"))
    ((_, row),) = fake.stacks.items()
    # Each look asks four times.
    monkeypatch.setattr(stack_progress, "_LONGEST", 0.02)
    for away in (503, 1):
        row.update(stack_status="UPDATE_IN_PROGRESS", left=3)
        fake.trouble = [("GET", f"/{row['id']}", away)] * 22
        assert push(cloud, parts(a="1")).status == "UPDATE_COMPLETE" and fake.trouble == []
    cloud.delete_stack(OWNER, "", "web")
    assert fake.stacks == {} and writes(fake) == ["POST", "DELETE"]
    monkeypatch.setattr(stack_progress, "_AWAY", 0.0)
    fake.trouble = [("GET", "/id2", 503)] * 100
    with pytest.raises(CloudUnreachable, match="in trouble"):
        push(cloud, parts(a="2"))


def test_an_operation_under_way_is_adopted_or_waited_for(fake: Fake, cloud: OpenStackCloud) -> None:
    first, second = parts(a="1"), parts(a="2")
    push(cloud, first)
    ((_, row),) = fake.stacks.items()
    for status in ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS"):
        row.update(stack_status=status, left=3)
        other = opened(fake)
        assert push(other, first).status == status.replace("IN_PROGRESS", "COMPLETE")
        other.close()
    assert writes(fake) == ["POST"]
    row.update(stack_status="UPDATE_IN_PROGRESS", left=3)
    assert push(cloud, second, first).outputs == {"a": "2"}
    row.update(stack_status="UPDATE_IN_PROGRESS", left=3)
    fake.failing = "no"
    with pytest.raises(StackFailed, match="UPDATE_FAILED: no"):
        push(cloud, second)
    assert writes(fake) == ["POST", "PUT"], "what was adopted and failed was not begun again"
    row.update(stack_status="DELETE_IN_PROGRESS", left=3)
    fake.failing = ""
    assert push(cloud, second, {}).status == "CREATE_COMPLETE"
    assert len(fake.stacks) == 1


def test_failures_are_told_and_mended(fake: Fake, cloud: OpenStackCloud) -> None:
    first = parts(a="1")
    fake.failing = "Resource CREATE failed"
    with pytest.raises(StackFailed) as caught:
        push(cloud, first)
    assert caught.value.message == "stack 'web' is in state CREATE_FAILED: Resource CREATE failed"
    ((_, row),) = fake.stacks.items()
    row["resources"] = [
        {"resource_name": "good", "resource_type": "T", "resource_status": "CREATE_COMPLETE"},
        {"resource_name": "bad", "resource_type": "OS::Nova::Server", "resource_status": "CREATE_FAILED",
         "resource_status_reason": "Quota exceeded for cores"},
    ]  # fmt: skip
    fake.services = ("orchestration", "compute")
    absolute = {"maxTotalCores": 8, "totalCoresUsed": 8, "maxTotalInstances": -1, "totalInstancesUsed": 3}
    fake.lists = {"nova": {"/limits": {"limits": {"absolute": absolute}}}}
    other = opened(fake)
    with pytest.raises(
        StackFailed, match=r"bad .OS::Nova::Server.: Quota exceeded for cores; Nova has 8 of 8 cores in use$"
    ):
        push(other, first)
    # Resources that are gone again are known by their events.
    row["resources"] = []
    row["events"] = [
        {"id": "2", "resource_name": "lost", "resource_status": "UPDATE_FAILED", "event_time": "2026-01-02",
         "resource_status_reason": "it broke"},
        {"id": "1", "resource_name": "old", "resource_status": "CREATE_FAILED", "event_time": "2025-01-01",
         "resource_status_reason": "long ago"},
    ]  # fmt: skip
    with pytest.raises(StackFailed, match=r"UPDATE_FAILED: Resource CREATE failed; lost \(resource\): it broke$"):
        push(other, first)
    fake.failing = ""
    assert push(other, first).status == "UPDATE_COMPLETE"
    fake.failing = "in use"
    with pytest.raises(StackFailed, match="DELETE_FAILED: in use"):
        other.delete_stack(OWNER, "", "web")
    fake.failing = ""
    assert push(other, first, {}).status == "CREATE_COMPLETE"
    other.close()


def test_stacks_of_others_are_not_there(fake: Fake, cloud: OpenStackCloud) -> None:
    push(cloud, parts(a="1"))
    for owner in (Owner("project", "Env2"), Owner("project2", "Env")):
        assert cloud.read_stack(owner, "", "web") is None and cloud.stacks(owner) == []
        cloud.delete_stack(owner, "", "web")
        push(cloud, parts(a="2"), owner=owner)
    assert len(fake.stacks) == 3
    # Somebody took a name by hand: nothing of theirs is touched.
    row = fake.stacks[marks.heat_name(OWNER, "web")]
    row["tags"] = ["mine"]
    with pytest.raises(Conflict, match="not of this environment"):
        push(cloud, parts(a="9"))
    cloud.delete_stack(OWNER, "", "web")
    assert cloud.read_stack(OWNER, "", "web") is None and row["stack_status"] == "CREATE_COMPLETE"


def test_what_heat_refuses_is_said(fake: Fake, cloud: OpenStackCloud) -> None:
    wanted = parts_of({"resources": {"a": {"type": "No::Such"}}})
    with pytest.raises(TemplateInvalid, match=r"stack 'web': Heat refuses \(400\): The Resource Type \(No::Such\)"):
        push(cloud, wanted)
    with pytest.raises(TemplateInvalid, match="needs a name"):
        cloud.push_stack(OWNER, "", "", change(wanted))


def test_closing_ends_the_waiting(fake: Fake, cloud: OpenStackCloud) -> None:
    fake.looks = 1_000_000
    caught: list[BaseException] = []

    def work() -> None:
        try:
            push(cloud, parts(a="1"))
        except Closing as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not fake.stacks and thread.is_alive():
        thread.join(0.005)
    cloud.close()
    thread.join(10)
    assert len(caught) == 1 and len(fake.stacks) == 1


def test_what_heat_works_on_and_that_it_is_away_is_told(
    fake: Fake, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_progress, "_FIRST", 1.01)  # pauses as long as these go by the events
    monkeypatch.setattr(links.Link, "pause", lambda link, seconds: links_pause(link, 0.01))
    fake.looks = 1_000_000

    def work() -> None:
        with suppress(Closing):
            push(cloud, parts(a="1"))

    def until(wanted: tuple[str, str]) -> None:
        while wanted not in [(wait.kind, wait.text) for wait in cloud.waits(OWNER)]:
            assert thread.is_alive()
            thread.join(0.005)
        assert cloud.waits(Owner("project", "other")) == []

    thread = threading.Thread(target=work)
    thread.start()
    name = marks.heat_name(OWNER, "web")
    until(("resource", f"resource '{name}' (OS::Heat::Stack), which is being made"))
    event = {"id": "e1", "resource_name": "vm", "resource_type": "OS::Nova::Server"}
    fake.stacks[name]["events"] = [{**event, "resource_status": "CREATE_IN_PROGRESS"}]
    until(("resource", "resource 'vm' (OS::Nova::Server), which is being made"))
    fake.trouble = [("GET", "/" + fake.stacks[name]["id"], 503)] * 10_000
    until(("resource", "the service Heat, which does not answer"))
    until(("service", "the service Heat, which does not answer"))
    cloud.close()
    thread.join(10)
    assert not thread.is_alive() and cloud.waits(OWNER) == []


def test_names_and_tags_fit_into_heat(fake: Fake) -> None:
    names = [marks.heat_name(OWNER, name) for name in ("ü", "", "9 lives", "a" * 400, "a/b", "a.b")]
    assert len(set(names)) == 6
    assert all(
        name[0].isalpha() and len(name) <= 90 and name.replace(".", "").replace("-", "").isalnum() for name in names
    )
    settings = OpenStackSettings.from_json(
        {"auth_url": "http://k", "username": "u", "password": "p", "tags": ["team-a"]}
    )
    tags = marks.tags_of(settings, OWNER, "One", "n" * 100, "f" * 64).split(",")
    assert "team-a" in tags and all(len(tag) <= 80 for tag in tags)
    assert marks.name_in({"stack_name": "heat", "tags": tags}) == "heat" and marks.region_in({"tags": tags}) == "One"
    assert marks.parts_in({}, {marks.STATE_FILE: "no json"}, {}) == {}
    assert marks.parts_in({}, {marks.STATE_FILE: json.dumps([])}, {}) == {}
