"""What is in the stacks of an environment: nested stacks, what was made after what, stacks of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.plugins.openstack.fake import Fake
from vetro.clouds.interface import Owner, ResourceState, ShowsResources, StackChange
from vetro.library.stackdata import difference, digest_of, parts_of
from vetro_openstack import OpenStackCloud, OpenStackSettings, stack_progress

OWNER = Owner("project", "Env")
TEMPLATE = {"heat_template_version": "2016-04-08", "resources": {"a": {"type": "OS::Heat::None"}}}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setattr(stack_progress, "_FIRST", 0.001)
    with Fake() as made:
        yield made


@pytest.fixture
def cloud(fake: Fake) -> Iterator[OpenStackCloud]:
    settings = {"auth_url": fake.url, "username": "worker", "password": "secret", "project_name": "p"}
    made = OpenStackCloud(OpenStackSettings.from_json(settings))
    yield made
    made.close()


def push(cloud: OpenStackCloud, owner: Owner = OWNER) -> None:
    parts = parts_of(TEMPLATE, {}, {}, None)
    put, drop = difference({}, parts)
    cloud.push_stack(owner, "", "farm", StackChange(digest_of(parts), None, put, drop))


def row(name: str, kind: str, stack: str, **more: Any) -> dict[str, Any]:
    links = [{"rel": "self", "href": "http://heat/x"}, {"rel": "stack", "href": f"http://heat/stacks/n/{stack}"}]
    return {
        "resource_name": name, "resource_type": kind, "resource_status": "CREATE_COMPLETE", "required_by": [],
        "physical_resource_id": f"p-{name}", "links": links, **more,
    }  # fmt: skip


def test_stacks_and_what_is_in_them(fake: Fake, cloud: OpenStackCloud) -> None:
    assert isinstance(cloud, ShowsResources) and list(cloud.resources(OWNER)) == []
    push(cloud)
    push(cloud, Owner("project", "Another"))
    (stack,) = [s for s in fake.stacks.values() if f"{s['stack_name']}" == next(iter(fake.stacks))]
    top = stack["id"]
    stack["resources"] = [
        row("port", "OS::Neutron::Port", "inner", resource_status="CREATE_IN_PROGRESS"),
        row("server", "OS::Nova::Server", top, required_by=["ip"], physical_resource_id=""),
        row("group", "OS::Heat::ResourceGroup", top, physical_resource_id="inner", required_by=["server", "gone"]),
        row("ip", "OS::Neutron::FloatingIP", top),
    ]
    assert list(cloud.resources(OWNER)) == [
        ResourceState(f"stack:{top}", None, "farm", "stack", "CREATE_COMPLETE"),
        ResourceState(
            f"resource:{top}:server", f"stack:{top}", "server", "OS::Nova::Server", "CREATE_COMPLETE",
            (f"resource:{top}:group",),
        ),
        ResourceState(
            f"resource:{top}:group", f"stack:{top}", "group", "OS::Heat::ResourceGroup", "CREATE_COMPLETE",
            physical="inner",
        ),
        ResourceState(
            f"resource:{top}:ip", f"stack:{top}", "ip", "OS::Neutron::FloatingIP", "CREATE_COMPLETE",
            (f"resource:{top}:server",), "p-ip",
        ),
        ResourceState(
            "resource:inner:port", f"resource:{top}:group", "port", "OS::Neutron::Port", "CREATE_IN_PROGRESS",
            physical="p-port",
        ),
    ]  # fmt: skip
    assert [found.type for found in cloud.resources(Owner("project", "Another"))] == ["stack"]


def test_rows_without_links_are_of_the_stack_itself(fake: Fake, cloud: OpenStackCloud) -> None:
    push(cloud)
    (stack,) = fake.stacks.values()
    stack["resources"] = [{"resource_name": "a", "physical_resource_id": stack["id"]}]
    (_, found) = cloud.resources(OWNER)
    assert (found.owner, found.type, found.status) == (f"stack:{stack['id']}", "", "")
