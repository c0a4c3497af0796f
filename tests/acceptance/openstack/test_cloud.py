"""The cloud by itself against a real Keystone and Heat: who signs in, what is not there, what another one does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.acceptance.openstack.place import OpenStack, soon
from vetro.clouds.interface import NotAvailable, Owner, StackChange, StackState, StaleStack, TemplateInvalid
from vetro.library.stackdata import difference, digest_of, parts_of
from vetro_openstack import OpenStackCloud, OpenStackSettings
from vetro_openstack.errors import SignInRefused

pytestmark = pytest.mark.timeout(200)


def cloud_of(openstack: OpenStack, **settings: Any) -> OpenStackCloud:
    return OpenStackCloud(OpenStackSettings.from_json({"auth_url": openstack.keystone, **settings}))


def push(
    cloud: OpenStackCloud,
    owner: Owner,
    name: str,
    new: Mapping[Any, Any],
    old: Mapping[Any, Any] | None = None,
) -> StackState:
    put, drop = difference(old or {}, new)
    return cloud.push_stack(
        owner, "", name, StackChange(digest_of(new), None if old is None else digest_of(old), put, drop)
    )


def parts(files: Mapping[str, str] | None = None, environment: str | None = None, **resources: Any) -> dict[Any, Any]:
    made = {
        name: {"type": "OS::Heat::TestResource", "properties": properties} for name, properties in resources.items()
    }
    outputs = {name: {"value": {"get_attr": [name, "output"]}} for name in resources}
    template = {"heat_template_version": "2016-10-14", "resources": made, "outputs": outputs}
    return parts_of(template, None, files, environment)


@pytest.fixture
def own(openstack: OpenStack) -> Iterator[OpenStackCloud]:
    """Signs in as the user other, in whose project all owners' stacks are."""
    cloud = cloud_of(openstack, username="other", password=openstack.password, project_name="other")
    yield cloud
    cloud.close()


def test_a_stack_by_differences(own: OpenStackCloud, openstack: OpenStack) -> None:
    owner, twin = Owner("one", "Env"), Owner("two", "Env")
    first = parts({"f": "text"}, "parameter_defaults: {z: 1}\n", a={"value": "1"})
    made = push(own, owner, "tür, 1", first)
    assert (made.status, made.outputs, made.name, made.digest) == (
        "CREATE_COMPLETE", {"a": "1"}, made.name, digest_of(first),
    )  # fmt: skip
    assert own.read_stack(twin, "", "tür, 1") is None
    second = parts({"f": "text"}, "parameter_defaults: {z: 1}\n", a={"value": "1"}, b={"value": "2"})

    # Another process knows nothing but what Heat gives back.
    other = cloud_of(openstack, username="other", password=openstack.password, project_name="other")
    try:
        assert push(other, owner, "tür, 1", second, first).outputs == {"a": "1", "b": "2"}
        with pytest.raises(StaleStack):
            push(own, owner, "tür, 1", parts(a={"value": "3"}), first)
        read = own.read_stack(owner, "", "tür, 1", settled=True)
        assert read is not None and read.digest == digest_of(second)
        assert parts_of(read.template)["resources", "b"] == second["resources", "b"]
        # Two owners, one name, one project of Heat.
        assert push(own, twin, "tür, 1", parts(a={"value": "9"})).outputs == {"a": "9"}
        assert len(openstack.stacks("other")) == 2
        assert [stack.digest for stack in own.stacks(owner)] == [digest_of(second)]
        # One asks while the other one waits for the same state.
        third = parts(a={"value": "4", "wait_secs": 2})
        found: list[StackState] = []
        thread = threading.Thread(target=lambda: found.append(push(other, owner, "tür, 1", third)))
        thread.start()
        soon(lambda: any(row["stack_status"] == "UPDATE_IN_PROGRESS" for row in openstack.stacks("other")))
        assert push(own, owner, "tür, 1", third).outputs == {"a": "4"}
        thread.join()
        assert found and found[0].outputs == {"a": "4"}
    finally:
        other.close()
        for one in (owner, twin):
            own.delete_stack(one, "", "tür, 1")
    own.delete_stack(owner, "", "tür, 1")
    assert openstack.stacks("other") == []


def test_what_is_not_there_is_said(own: OpenStackCloud) -> None:
    owner = Owner("one", "Env")
    with pytest.raises(NotAvailable, match="Glance"):
        own.catalog(owner, "", "images")
    with pytest.raises(NotAvailable, match="Neutron"):
        own.network(owner, "", "networks", {})
    assert own.servers(owner) == []
    template = {"heat_template_version": "2016-10-14", "resources": {"a": {"type": "OS::No::Such"}}}
    with pytest.raises(TemplateInvalid, match="OS::No::Such"):
        push(own, owner, "bad", parts_of(template))


def test_ways_to_sign_in(openstack: OpenStack) -> None:
    project = openstack.project("demo")
    owner = Owner(project, "Env")
    catalog = {"username": "catalog", "password": openstack.password}
    for settings in (
        {**catalog, "project_name": "service"},
        {**catalog, "project_name": "service", "credentials": {project: {"trust_id": openstack.trust("demo")}}},
        {**catalog, "project_name": "service", "credentials": {project: openstack.application_credential("demo")}},
        openstack.application_credential("demo"),
        {"username": "demo", "password": openstack.password, "projects": "environment"},
    ):
        cloud = cloud_of(openstack, **settings)
        try:
            assert cloud.stacks(owner) == []
        finally:
            cloud.close()
    for settings in (
        {**catalog, "projects": "environment"},  # no role in the project of demo
        {**catalog, "password": "wrong", "project_name": "service"},
    ):
        cloud = cloud_of(openstack, **settings)
        try:
            with pytest.raises(SignInRefused, match="role in the project"):
                cloud.stacks(owner)
        finally:
            cloud.close()
