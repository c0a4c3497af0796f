"""Environments on an OpenStack come back as they were: images, volumes, templates; what cannot come back is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.plugins.openstack import strict
from tests.plugins.openstack.keeping import ATTACHMENT, VOLUME, Keeping
from tests.support.fuzzing import EVERYTHING
from vetro.clouds.interface import CloudError, Conflict, NotFound, Owner, Snapshots, StackChange
from vetro.library.stackdata import difference, digest_of, parts_of
from vetro_openstack import OpenStackCloud, OpenStackSettings
from vetro_openstack.errors import NoWayBack
from vetro_openstack.kind import KIND
from vetro_openstack.link import Link

OWNER = Owner("project", "Env")
SIGN_IN = {"username": "worker", "password": "secret", "project_name": "p"}


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stack_progress._FIRST", "disks._LOOK", "servers._LOOK", "stacks._PAUSE"):
        monkeypatch.setattr(f"vetro_openstack.{name}", 0.001)
    monkeypatch.setattr("vetro_openstack.link.PAUSES", (0.0, 0.0, 0.0))


@pytest.fixture
def fake() -> Iterator[Keeping]:
    with Keeping() as made:
        yield made


def opened(fake: Keeping) -> OpenStackCloud:
    return OpenStackCloud(OpenStackSettings.from_json({"auth_url": fake.url, **SIGN_IN}))


@pytest.fixture
def cloud(fake: Keeping) -> Iterator[OpenStackCloud]:
    made = opened(fake)
    yield made
    made.close()


def server(name: str, **more: Any) -> dict[str, Any]:
    given = {"flavor": "gp1.small", "image": "ubuntu-24", "key_name": "ops", "networks": [{"network": "corp"}]}
    return {"type": "OS::Nova::Server", "properties": {"name": name, **given, **more}}


def shop(**more: Any) -> dict[str, Any]:
    """Two servers; one has a volume."""
    attached = {"volume_id": {"get_resource": "data"}, "instance_uuid": {"get_resource": "db"}}
    return {
        "web": server("web-1"),
        "db": server("db-1"),
        "data": {"type": VOLUME, "properties": {"name": "data-1", "size": 1}},
        "attached": {"type": ATTACHMENT, "properties": attached},
        **more,
    }


def push(cloud: OpenStackCloud, stack: str = "shop", **resources: Any) -> None:
    parts = parts_of({"heat_template_version": "2016-10-14", "resources": resources})
    put, _ = difference({}, parts)
    cloud.push_stack(OWNER, "", stack, StackChange(digest_of(parts), None, put, ()))


def seen(fake: Keeping, cloud: OpenStackCloud) -> Any:
    """All of an environment: templates, servers with what is on their disks, volumes with where they are attached."""
    found = cloud.servers(OWNER)
    return (
        [(one.name, one.digest) for one in cloud.stacks(OWNER)],
        sorted((one.name, one.id, one.status, fake.disks[one.id]) for one in found),
        sorted((one["name"], one["content"], one["attachments"][0]["server_id"]) for one in fake.volumes.values()),
    )


def written(fake: Keeping, word: str) -> None:
    """Everything that runs writes to its disks."""
    for id in fake.servers:
        fake.disks[id] = f"{word} of {fake.servers[id]['name']}"
    for volume in fake.volumes.values():
        volume["content"] = f"{word} of {volume['name']}"


def test_an_update_is_taken_back_again_and_again(fake: Keeping, cloud: OpenStackCloud) -> None:
    assert isinstance(cloud, Snapshots) and KIND.capabilities(OpenStackSettings(auth_url="x")).server_snapshots
    push(cloud, **shop())
    written(fake, "before")
    (off,) = [id for id, one in fake.servers.items() if one["name"] == "web-1"]
    fake.servers[off]["status"] = "SHUTOFF"
    before = seen(fake, cloud)
    held = cloud.snapshot(OWNER, "first")
    assert sorted((one.name, one.kind, one.method, one.standstill) for one in held) == [
        ("data-1", "volume", "snapshot", 0.0), ("db-1", "server", "image", 0.0), ("web-1", "server", "image", 0.0),
    ]  # fmt: skip
    assert list(cloud.snapshot(OWNER, "first")) == list(held) and len(fake.images) == 2 and len(fake.snapshots) == 1
    assert len(cloud.stacks(OWNER)) == 1 and len(cloud.resources(OWNER)) == 5, "what is written down is no stack of it"
    for round in range(2):
        push(cloud, **shop(web=server("web-1", flavor="gp1.large"), more=server("more")))
        push(cloud, "other", another=server("another"))
        written(fake, f"after {round}")
        for _ in range(2 - round):
            cloud.restore(OWNER, "first")
        assert seen(fake, cloud) == before
    push(cloud, **shop(more=server("more")))
    assert len(cloud.servers(OWNER)) == 3
    after = seen(fake, cloud)
    for _ in range(2):
        cloud.drop(OWNER, "first")
    assert seen(fake, cloud) == after and fake.snapshots == {} and len(fake.stacks) == 1
    # Servers were rebuilt with them: they stay for these, and go with the next snapshot once nobody needs them.
    assert {row["id"] for row in fake.images} == {one["image"]["id"] for one in fake.servers.values()} - {
        "a1f0c7f0-0000-4000-8000-000000000001"
    }
    push(cloud, web=server("web-1", key_name="win"))
    cloud.snapshot(OWNER, "second")
    cloud.drop(OWNER, "second")
    assert fake.images == []


def test_what_heat_replaced_has_no_way_back_and_is_named(fake: Keeping, cloud: OpenStackCloud) -> None:
    push(cloud, **shop(old=server("from-volume")))
    written(fake, "before")
    report = {one.name: one for one in cloud.snapshot_report(OWNER)}
    assert {(one.name, one.method) for one in report.values() if one.lost_when_replaced} == {
        ("web-1", "image"), ("db-1", "image"), ("data-1", "snapshot"), ("from-volume", ""),
    }  # fmt: skip
    assert "starts from a volume" in report["from-volume"].why
    first = seen(fake, cloud)
    held = cloud.snapshot(OWNER, "first")
    assert {one.name for one in held} == {"web-1", "db-1", "data-1"}
    push(cloud, **shop(web=server("web-1", key_name="win"), old=server("from-volume")))
    written(fake, "after")
    (lost,) = [one for one in cloud.snapshot_report(OWNER) if "no way back" in one.why]
    assert (lost.name, lost.method, lost.id) == ("web-1", "", report["web-1"].id)
    for _ in range(2):
        with pytest.raises(NoWayBack, match="as it was but for web-1"):
            cloud.restore(OWNER, "first")
        stacks, servers, volumes = seen(fake, cloud)
        assert (stacks, volumes) == (first[0], first[2])
        assert {row[0]: row[3] for row in servers} == {
            "web-1": "fresh ubuntu-24", "db-1": "before of db-1", "from-volume": "after of from-volume",
        }  # fmt: skip
    assert len(fake.images) == 2, "what it had is there for who wants it"
    cloud.drop(OWNER, "first")


def test_a_server_that_heat_rebuilt_itself_gets_its_disk_back(
    fake: Keeping, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heat rebuilds for another image: with the new template, and with the old one again."""
    monkeypatch.setitem(strict._IN_PLACE, "OS::Nova::Server", {"image"})
    fake.lists["glance"]["/images"]["images"].append({"id": "24-10", "name": "ubuntu-24.10", "status": "active"})
    push(cloud, **shop())
    written(fake, "before")
    before = seen(fake, cloud)
    cloud.snapshot(OWNER, "first")
    push(cloud, **shop(web=server("web-1", image="ubuntu-24.10")))
    assert "fresh ubuntu-24.10" in fake.disks.values()
    cloud.restore(OWNER, "first")
    assert seen(fake, cloud) == before


def test_names_and_unfinished_ones(fake: Keeping, cloud: OpenStackCloud) -> None:
    push(cloud, **shop())
    with pytest.raises(NotFound, match="no snapshot 'first'"):
        cloud.restore(OWNER, "first")
    cloud.drop(OWNER, "first")
    cloud.snapshot(OWNER, "first")
    with pytest.raises(Conflict, match="has the snapshot 'first' already"):
        cloud.snapshot(OWNER, "second")
    cloud.drop(OWNER, "second")
    stranger = Owner("project", "Other")
    with pytest.raises(NotFound):
        cloud.restore(stranger, "first")
    cloud.drop(stranger, "first")
    assert len(fake.images) == 2
    record = cloud._snapshots._records.read(OWNER)
    assert record is not None
    record.state = "restoring"
    cloud._snapshots._records.write(OWNER, record)
    for refused in (
        lambda: push(cloud, web=server("web-1")),
        lambda: cloud.delete_stack(OWNER, "", "shop"),
        lambda: cloud.snapshot(OWNER, "first"),
        lambda: cloud.drop(OWNER, "first"),
    ):
        with pytest.raises(Conflict, match="the snapshot 'first' of the environment is being restored, or that was"):
            refused()
    cloud.restore(OWNER, "first")
    push(cloud, web=server("web-1"))


@pytest.mark.parametrize("what", ["image", "snapshot"])
def test_a_snapshot_that_cannot_be_made_leaves_nothing(fake: Keeping, cloud: OpenStackCloud, what: str) -> None:
    push(cloud, **shop())
    before = seen(fake, cloud)
    fake.ends[what] = {"image": "killed", "snapshot": "error"}[what]
    with pytest.raises(CloudError, match=r"made no (image|snapshot) of the (server '(web|db)|volume 'data)-1"):
        cloud.snapshot(OWNER, "first")
    assert seen(fake, cloud) == before and fake.images == [] and fake.snapshots == {} and len(fake.stacks) == 1
    fake.ends = {"image": "active", "snapshot": "available"}
    assert len(cloud.snapshot(OWNER, "first")) == 3


def test_an_answer_that_got_lost_makes_nothing_twice(fake: Keeping, cloud: OpenStackCloud) -> None:
    push(cloud, **shop())
    written(fake, "before")
    before = seen(fake, cloud)
    fake.trouble = [("POST", "/action", 0), ("POST", "/snapshots", 0), ("POST", "/stacks", 0)]
    cloud.snapshot(OWNER, "first")
    assert len(fake.images) == 2 and len(fake.snapshots) == 1 and fake.trouble == []
    written(fake, "after")
    fake.trouble = [("POST", "/action", 0), ("PUT", "/stacks", 0), ("POST", "/os-volume_attachments", 0)]
    cloud.restore(OWNER, "first")
    assert seen(fake, cloud) == before and fake.trouble == []


class Killed(BaseException):
    """The process is gone."""


def killed(
    fake: Keeping, call: Callable[[OpenStackCloud], object], after: int, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Does this in a process that dies at a request that changes something: before it is sent (even numbers), or
    before its answer is read. Whether it died.
    """
    left = [after // 2]
    once = Link._once

    def until(self: Link, service: str, method: str, *more: Any) -> Any:
        if method == "GET":
            return once(self, service, method, *more)
        left[0] -= 1
        if left[0] < 0 and after % 2 == 0:
            raise Killed
        found = once(self, service, method, *more)
        if left[0] < 0:
            raise Killed
        return found

    cloud = opened(fake)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Link, "_once", until)
            call(cloud)
        return False
    except Killed:
        return True
    finally:
        cloud.close()


def test_a_process_that_dies_at_any_step_leaves_what_the_next_one_finishes(
    fake: Keeping, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default at every third step, with `script/test --all` at each."""
    stride = 1 if EVERYTHING else 3
    fake.looks = 1
    push(cloud, **shop())
    written(fake, "before")
    before = seen(fake, cloud)
    steps: dict[str, int] = {}

    def dies(what: str, call: Callable[[OpenStackCloud], object], number: int) -> bool:
        died = killed(fake, call, number, monkeypatch)
        steps[what] = steps.get(what, 0) + died
        call(cloud)
        return died

    number, more = 0, True
    while more:
        more = dies("make", lambda cloud: cloud.snapshot(OWNER, "first"), number)
        push(cloud, **shop(web=server("web-1", flavor="gp1.large"), more=server("more")))
        written(fake, f"after {number}")
        more |= dies("restore", lambda cloud: cloud.restore(OWNER, "first"), number)
        assert seen(fake, cloud) == before, f"killed at step {number}"
        more |= dies("drop", lambda cloud: cloud.drop(OWNER, "first"), number)
        assert seen(fake, cloud) == before and fake.snapshots == {} and len(fake.stacks) == 1
        number += stride
    assert steps["make"] * stride > 8 and steps["restore"] * stride > 14 and steps["drop"] * stride > 4, steps
