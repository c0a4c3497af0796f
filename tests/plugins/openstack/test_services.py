"""Lists, networks, servers: asked of services that may be there or not; settings; ways to sign in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.plugins.openstack.documented import objection
from tests.plugins.openstack.fake import Fake
from vetro.clouds.interface import CloudError, NotAvailable, NotFound, Owner, Power, StackChange
from vetro.forms.cloud_lists import rows
from vetro.library.stackdata import difference, digest_of, parts_of
from vetro_openstack import OpenStackCloud, OpenStackSettings, SettingWrong, networking, servers, stack_progress
from vetro_openstack import link as links
from vetro_openstack.catalog import QueryUnknown
from vetro_openstack.errors import Closing, SignInRefused

OWNER = Owner("project", "Env")
SIGN_IN = {"username": "worker", "password": "secret", "project_name": "p"}


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(stack_progress, "_FIRST", 0.001)


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake("compute", "network", "image", "block-storage") as made:
        yield made


def opened(fake: Fake, **more: Any) -> OpenStackCloud:
    return OpenStackCloud(OpenStackSettings.from_json({"auth_url": fake.url, **SIGN_IN, **more}))


@pytest.fixture
def cloud(fake: Fake) -> Iterator[OpenStackCloud]:
    made = opened(fake, dns_ipv4=["9.9.9.9", "2620:fe::fe"])
    yield made
    made.close()


def test_lists_to_choose_from(fake: Fake, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_PAGE", 2)
    images = [
        {"id": "1", "name": "one", "status": "active", "murano_image_info": '{"type": "linux", "title": "One"}'},
        {"id": "2", "name": "two", "status": "active", "murano_image_info": "no json"},
        {"id": "3", "name": "three", "status": "active"},
    ]
    networks = [{"id": "n1", "name": "net", "router:external": False}]
    fake.lists = {
        "glance": {"/images": {"images": images}},
        "nova": {
            "/flavors/detail": {"flavors": [{"id": "f", "name": "m1", "ram": 1, "vcpus": 2, "disk": 3}]},
            "/os-keypairs": {"keypairs": [{"keypair": {"name": "k", "private_key": "x", "fingerprint": "y"}}]},
            "/os-availability-zone": {"availabilityZoneInfo": [{"zoneName": "z", "zoneState": {"available": False}}]},
        },
        "neutron": {
            "/networks": {"networks": networks},
            "/subnets": {"subnets": [{"id": "s1", "network_id": "n1", "cidr": "10.0.0.0/24", "name": ""}]},
            "/security-groups": {"security_groups": [{"id": "g", "name": "default"}]},
        },
        "cinder": {
            "/volumes/detail": {"volumes": [{"id": "v", "name": "vol", "status": "available"}]},
            "/snapshots/detail": {"snapshots": []},
        },
    }
    shown = rows(cloud, OWNER, "images", None)
    assert [row["name"] for row in shown] == ["one", "two", "three"]
    assert [row["murano"] for row in shown] == [{"type": "linux", "title": "One"}, None, None]
    assert rows(cloud, OWNER, "flavors", None) == [{"id": "f", "name": "m1", "ram": 1, "vcpus": 2, "disk": 3}]
    assert rows(cloud, OWNER, "keypairs", None) == ["k"]
    assert "private_key" not in cloud.catalog(OWNER, "", "keypairs")[0]
    assert rows(cloud, OWNER, "availability_zones", None) == [{"name": "z", "available": False}]
    (network,) = rows(cloud, OWNER, "networks", None)
    assert network["subnets"] == [{"id": "s1", "name": "", "cidr": "10.0.0.0/24"}] and not network["external"]
    assert rows(cloud, OWNER, "security_groups", None) == ["default"]
    assert rows(cloud, OWNER, "volumes", None) == [{"id": "v", "name": "vol", "status": "available"}]
    assert rows(cloud, OWNER, "snapshots", None) == []
    with pytest.raises(QueryUnknown, match="there is no catalog of 'pets'"):
        cloud.catalog(OWNER, "", "pets")  # type: ignore[arg-type]


def test_services_that_are_not_there_are_named() -> None:
    with Fake() as fake:
        cloud = opened(fake)
        for what, name in (("images", "Glance"), ("flavors", "Nova"), ("networks", "Neutron"), ("volumes", "Cinder")):
            with pytest.raises(NotAvailable, match=f"this cloud has no {name} "):
                cloud.catalog(OWNER, "", what)  # type: ignore[arg-type]
        with pytest.raises(NotAvailable, match="Neutron"):
            cloud.network(OWNER, "", "router", {})
        with pytest.raises(NotAvailable, match="Glance"):
            cloud.metadef(OWNER, "", "namespaces", {"resource_type": "OS::Nova::Server"})
        assert cloud.servers(OWNER) == []
        with pytest.raises(NotFound, match="there is no server 's'"):
            cloud.console(OWNER, "s")
        cloud.close()


def test_metadata_definitions(fake: Fake, cloud: OpenStackCloud) -> None:
    fake.lists = {
        "glance": {
            "/metadefs/namespaces": {"namespaces": [{"namespace": "N"}]},
            "/metadefs/namespaces/N/objects": {"objects": [{"name": "O", "properties": {"tag": {}}}]},
        }
    }
    assert cloud.metadef(OWNER, "", "namespaces", {"resource_type": "T"}) == [{"namespace": "N"}]
    assert cloud.metadef(OWNER, "", "objects", {"namespace": "N"})[0]["properties"] == {"tag": {}}
    for query, args in (("objects", {}), ("objects", {"namespace": "a/b"}), ("pets", {})):
        with pytest.raises(QueryUnknown):
            cloud.metadef(OWNER, "", query, args)


def test_networks_and_routers(fake: Fake, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = cloud.network
    routers: list[dict[str, Any]] = [{"id": "r0", "name": "murano-default-router", "tenant_id": "other"}]
    networks = [{"id": "n", "name": "n", "router:external": False}]
    ports = [{"id": "po", "network_id": "n", "device_id": "r1", "device_owner": "network:router_interface",
              "fixed_ips": [{"subnet_id": "s", "ip_address": "10.0.0.1"}]}]  # fmt: skip
    subnets = [{"id": "s", "network_id": "n", "cidr": "10.0.0.0/17", "ip_version": 4}]
    record = {"id": "r1", "tenant_id": "p1", "external_gateway_info": {"network_id": "ext"}}
    fake.lists = {
        "neutron": {
            "/routers": {"routers": routers},
            "/networks": {"networks": networks},
            "/ports": {"ports": ports},
            "/subnets": {"subnets": subnets},
            "/extensions": {"extensions": [{"alias": "router"}]},
            "/routers/r1": {"router": record},
        }
    }
    with pytest.raises(NotFound, match="there is no external network 'ext-net'; there are: none"):
        ask(OWNER, "", "router", {})
    networks.append({"id": "ext", "name": "ext-net", "router:external": True})
    fake.answers = {("neutron", "/v2.0/routers"): {"router": record}}
    assert ask(OWNER, "", "router", {}) == "r1"
    assert fake.posted == [
        ("neutron", "/v2.0/routers",
         {"router": {"name": "murano-default-router", "external_gateway_info": {"network_id": "ext"}}}),
    ]  # fmt: skip
    routers.append({**record, "name": "murano-default-router"})
    assert ask(OWNER, "", "router", {}) == "r1" and len(fake.posted) == 1
    routers[-1]["external_gateway_info"] = None
    monkeypatch.setattr(networking, "_GATEWAY_SECONDS", -1.0)
    with pytest.raises(NotFound, match="has no gateway"):
        ask(OWNER, "", "router", {})

    blocks = [ask(OWNER, "", "cidr", {"router": "r1", "network": f"net{n}"}) for n in range(20)]
    assert len(set(blocks)) == 20 and all(int(block.split(".")[2]) >= 128 for block in blocks)
    assert ask(OWNER, "", "cidr", {"router": "r1", "network": "net3"}) == blocks[3]
    assert ask(OWNER, "", "cidr", {"router": "r1", "network": "six", "version": 6}).endswith("/64")
    subnets[0]["cidr"] = "10.0.0.0/8"
    assert ask(OWNER, "", "cidr", {"router": "r1", "network": "more"}) is None
    assert ask(OWNER, "", "dns", {}) == ["9.9.9.9"] and ask(OWNER, "", "dns", {"version": 6}) == ["2620:fe::fe"]
    assert ask(OWNER, "", "external_of_router", {"router": "r1"}) == "ext"
    assert ask(OWNER, "", "external_of_network", {"network": "n"}) == "ext"
    assert ask(OWNER, "", "external_of_network", {"network": "elsewhere"}) is None
    assert [row["id"] for row in ask(OWNER, "", "networks", {})] == ["n", "ext"]
    assert ask(OWNER, "", "extensions", {}) == [{"alias": "router"}]
    with pytest.raises(NotFound):
        ask(OWNER, "", "external_of_router", {"router": "r9"})
    for query, args in (("pets", {}), ("cidr", {"router": "r1"}), ("external_of_router", {"router": "../x"})):
        with pytest.raises(QueryUnknown):
            ask(OWNER, "", query, args)
    strict = opened(fake, create_router=False, router="none")
    with pytest.raises(NotFound, match="create_router is off"):
        strict.network(OWNER, "", "router", {})
    strict.close()


def test_servers_and_consoles(fake: Fake, cloud: OpenStackCloud) -> None:
    wanted = parts_of({"resources": {"a": {"type": "OS::Nova::Server"}}})
    cloud.push_stack(OWNER, "", "web", StackChange(digest_of(wanted), None, *difference({}, wanted)))
    ((_, row),) = fake.stacks.items()
    row["resources"] = [
        {
            "resource_name": "a",
            "resource_type": "OS::Nova::Server",
            "physical_resource_id": "s1",
            "resource_status": "",
        },
        {"resource_name": "b", "resource_type": "OS::Heat::None", "physical_resource_id": "x", "resource_status": ""},
    ]
    server = {"id": "s1", "name": "web-1", "status": "PAUSED", "addresses": {"n": [{"addr": "10.0.0.5"}]},
              "flavor": {"original_name": "m1"}, "image": {"id": "i"}, "created": "2026-01-01T00:00:00Z"}  # fmt: skip
    fake.lists = {"nova": {"/servers/s1": {"server": server}}}
    (found,) = cloud.servers(OWNER)
    assert (found.id, found.name, found.stack, found.status) == ("s1", "web-1", "web", "SHUTOFF")
    assert (list(found.addresses), found.flavor, found.image) == (["10.0.0.5"], "m1", "i")
    fake.answers = {("nova", "/servers/s1/action"): {"output": "login:"}}
    assert cloud.console(OWNER, "s1", 5) == "login:"
    assert fake.posted == [("nova", "/servers/s1/action", {"os-getConsoleOutput": {"length": 5}})]
    for owner, id in ((OWNER, "x"), (Owner("project", "Env2"), "s1")):
        with pytest.raises(NotFound):
            cloud.console(owner, id)


def one_server(fake: Fake, cloud: OpenStackCloud, state: str) -> dict[str, Any]:
    wanted = parts_of({"resources": {"a": {"type": "OS::Nova::Server"}}})
    cloud.push_stack(OWNER, "", "web", StackChange(digest_of(wanted), None, *difference({}, wanted)))
    ((_, row),) = fake.stacks.items()
    row["resources"] = [
        {"resource_name": "a", "resource_type": "OS::Nova::Server", "physical_resource_id": "s1", "resource_status": ""}
    ]
    fake.servers = {"s1": {"id": "s1", "name": "web-1", "status": state}, "s2": {"id": "s2", "status": "ACTIVE"}}
    return fake.servers["s1"]


@pytest.mark.parametrize(
    ("action", "before", "asked", "after"),
    [
        ("start", "SHUTOFF", ["os-start"], "ACTIVE"),
        ("start", "ACTIVE", [], "ACTIVE"),
        ("start", "ERROR", ["reboot"], "ACTIVE"),
        ("start", "PAUSED", ["unpause"], "ACTIVE"),
        ("stop", "ACTIVE", ["os-stop"], "SHUTOFF"),
        ("stop", "SHUTOFF", [], "SHUTOFF"),
        ("stop", "ERROR", ["os-stop"], "SHUTOFF"),
        ("restart", "ACTIVE", ["reboot"], "ACTIVE"),
        ("restart", "SHUTOFF", ["os-start"], "ACTIVE"),
    ],
)
def test_servers_are_switched(
    fake: Fake, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch, action: Any, before: str, asked: Any, after: str
) -> None:
    monkeypatch.setattr(servers, "_LOOK", 0.001)
    record = one_server(fake, cloud, before)
    assert isinstance(cloud, Power)
    cloud.power(OWNER, "s1", action)
    assert fake.acted == [("s1", name) for name in asked] and record["status"] == after
    assert "OS-EXT-STS:task_state" not in record, "it waits for the end"
    if action != "restart":
        cloud.power(OWNER, "s1", action)
        assert len(fake.acted) == len(asked), "a second time does nothing"


def test_what_nova_is_at_already_is_waited_for(
    fake: Fake, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a worker that was killed when it had asked."""
    monkeypatch.setattr(servers, "_LOOK", 0.001)
    record = one_server(fake, cloud, "ACTIVE")
    record.update({"OS-EXT-STS:task_state": "powering-off", "next": "SHUTOFF"})
    cloud.power(OWNER, "s1", "stop")
    assert fake.acted == [] and record["status"] == "SHUTOFF"
    record.update({"OS-EXT-STS:task_state": "powering-off", "next": "SHUTOFF"})
    cloud.power(OWNER, "s1", "start")
    assert fake.acted == [("s1", "os-start")] and record["status"] == "ACTIVE"


def test_what_does_not_start_says_why(fake: Fake, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_LOOK", 0.001)
    record = one_server(fake, cloud, "SHUTOFF")
    record["fault"] = {"message": "No valid host was found"}
    fake.failing = "yes"
    with pytest.raises(CloudError, match="server 'web-1' did not start: No valid host was found"):
        cloud.power(OWNER, "s1", "start")
    monkeypatch.setattr(servers, "_WITHIN", 0.0)
    record.update(status="BUILD")
    with pytest.raises(CloudError, match=r"server 'web-1' did not start within 0 s: Nova shows it as BUILD$"):
        cloud.power(OWNER, "s1", "start")
    record.update(status="SHUTOFF", locked=True)
    with pytest.raises(CloudError, match=r"Nova shows it as SHUTOFF .*Instance s1 is locked"):
        cloud.power(OWNER, "s1", "start")
    for owner, id in ((OWNER, "s2"), (OWNER, "none"), (Owner("project", "Env2"), "s1")):
        with pytest.raises(NotFound, match="there is no server"):
            cloud.power(owner, id, "stop")
    assert fake.servers["s2"]["status"] == "ACTIVE"


def test_regions(fake: Fake) -> None:
    fake.regions = ["One", "Two"]
    cloud = opened(fake, region="One", regions=["One", "Two"])
    assert cloud.regions() == ("Two",)
    wanted = parts_of({"resources": {"a": {"type": "T"}}})
    change = StackChange(digest_of(wanted), None, *difference({}, wanted))
    assert cloud.push_stack(OWNER, "Two", "web", change).region == "Two"
    assert cloud.read_stack(OWNER, "One", "none") is None
    with pytest.raises(NotFound, match="names no region 'Three'; there are One, Two"):
        cloud.read_stack(OWNER, "Three", "web")
    cloud.close()
    cloud = opened(fake, region="Nowhere")
    with pytest.raises(NotAvailable, match="region 'Nowhere' has no Heat"):
        cloud.read_stack(OWNER, "", "web")
    cloud.close()


def test_who_signs_in(fake: Fake) -> None:
    def login(project: str, **settings: Any) -> dict[str, Any]:
        fake.logins.clear()
        cloud = OpenStackCloud(OpenStackSettings.from_json({"auth_url": fake.url + "/v3/", **settings}))
        cloud.stacks(Owner(project, "Env"))
        cloud.close()
        (found,) = fake.logins
        return found

    user = {"name": "worker", "password": "secret", "domain": {"id": "default"}}
    own = {"project": {"name": "p", "domain": {"id": "default"}}}
    found = login("a", **SIGN_IN)
    assert found["identity"]["password"]["user"] == user and found["scope"] == own
    assert login("a", **{**SIGN_IN, "projects": "environment"})["scope"] == {"project": {"id": "a"}}
    credentials = {
        "a": {"trust_id": "t1"},
        "b": {"application_credential_id": "ac", "application_credential_secret": "secret"},
        "c": {"username": "carl", "password": "secret"},
    }
    found = login("a", **SIGN_IN, credentials=credentials)
    assert found["scope"] == {"OS-TRUST:trust": {"id": "t1"}} and found["identity"]["password"]["user"] == user
    found = login("b", **SIGN_IN, credentials=credentials)
    assert found["identity"]["application_credential"] == {"id": "ac", "secret": "secret"} and "scope" not in found
    found = login("c", **SIGN_IN, credentials=credentials)
    assert found["identity"]["password"]["user"]["name"] == "carl" and found["scope"] == {"project": {"id": "c"}}
    assert login("d", **SIGN_IN, credentials=credentials)["scope"] == own
    with pytest.raises(SignInRefused, match="Keystone refuses the worker's credentials"):
        login("a", **{**SIGN_IN, "password": "wrong"})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"auth_url": "keystone"}, "'auth_url' must be the address"),
        ({"username": None}, "'username' must be text"),
        ({"pasword": "x"}, "there is no setting 'pasword'; did you mean 'password'?"),
        ({"projects": "all"}, "'projects' must be one of own, environment, not 'all'"),
        ({"timeout": "1"}, "'timeout' must be a positive number, not '1'"),
        ({"stack_minutes": True}, "'stack_minutes' must be a positive number, not True"),
        ({"verify": 1}, "'verify' must be true or false"),
        ({"regions": "One"}, "'regions' must be a list of texts"),
        ({"credentials": []}, "'credentials' must be a mapping"),
        ({"credentials": {"a": {"token": "x"}}}, "'credentials' of project 'a' may hold"),
        ({"credentials": {"a": {"application_credential_secret": "x"}}}, "'application_credential_id' of project 'a'"),
        ({"tags": ["a,b"]}, "a tag must be text of at most 80 characters without commas"),
        ({"projects": "environment", "application_credential_secret": "x"}, "is for one project"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingWrong, match="^[^\n]*" + words.replace("?", r"\?")):
        OpenStackSettings.from_json({"auth_url": "https://k/v3", **SIGN_IN, **settings})


def test_credentials_are_needed_and_not_printed() -> None:
    with pytest.raises(SettingWrong, match="credentials are missing"):
        OpenStackSettings.from_json({"auth_url": "https://k/v3", "username": "u"})
    settings = OpenStackSettings.from_json(
        {"auth_url": "https://k/v3", **SIGN_IN, "credentials": {"a": {"trust_id": "deep"}}}
    )
    assert "secret" not in repr(settings) and "deep" not in repr(settings)


def test_a_link_that_is_let_go_asks_nothing(fake: Fake) -> None:
    closing = threading.Event()
    settings = OpenStackSettings.from_json({"auth_url": fake.url, **SIGN_IN})
    link = links.Link(settings, links.sign_in(settings, "p"), "", closing)
    closing.set()
    with pytest.raises(Closing):
        link.get("orchestration", "/stacks")
    assert fake.asked == []


def test_the_fake_objects_to_what_no_service_has() -> None:
    """Requests of the tests above are checked against openstacksdk's descriptions."""
    assert objection("neutron", "GET", "/routers", ["name", "limit"], None) == ""
    assert objection("neutron", "POST", "/routers", [], {"router": {"name": "r", "external_gateway_info": {}}}) == ""
    for request, said in (
        (("neutron", "GET", "/router", [], None), "has no /router"),
        (("neutron", "GET", "/routers", ["nam"], None), "nam"),
        (("neutron", "POST", "/routers", [], {"router": {"gateway": {}}}), "gateway"),
        (("neutron", "POST", "/routers", [], {"name": "r"}), "body"),
        (("nova", "DELETE", "/os-availability-zone", [], None), "DELETE"),
    ):
        assert said in objection(*request)


def test_servers_of_many_environments_are_seen_with_one_list(fake: Fake, cloud: OpenStackCloud) -> None:
    """A project may hold environments of several tenants: whoever names a stranger's server learns nothing of it."""
    theirs = Owner("project", "Theirs")
    for owner, id in ((OWNER, "s1"), (theirs, "s2")):
        parts = parts_of({"resources": {"a": {"type": "OS::Nova::Server"}}}, {}, {}, None)
        put, drop = difference({}, parts)
        cloud.push_stack(owner, "", "farm", StackChange(digest_of(parts), None, put, drop))
        stack = list(fake.stacks.values())[-1]
        stack["resources"] = [{"resource_type": "OS::Nova::Server", "physical_resource_id": id, "resource_name": "r"}]
    network = [
        {"addr": "10.0.0.4", "OS-EXT-IPS:type": "fixed"}, {"addr": "203.0.113.7", "OS-EXT-IPS:type": "floating"},
    ]  # fmt: skip
    rows = [{"id": id, "name": id, "status": status, "addresses": {"n": network}} for id, status in (
        ("s1", "ACTIVE"), ("s2", "SHUTOFF"), ("s3", "ACTIVE")
    )]  # fmt: skip
    rows[0]["security_groups"] = [{"name": "web"}, {"name": "web"}]
    rule = {"direction": "ingress", "protocol": "tcp", "port_range_min": 80, "port_range_max": 80}
    groups = [
        {"id": "g1", "name": "web", "tenant_id": "p1", "security_group_rules": [rule]},
        {"id": "g2", "name": "web", "tenant_id": "another", "security_group_rules": [{**rule, "port_range_min": 79}]},
    ]
    fake.lists = {
        "nova": {"/servers/detail": {"servers": rows}},
        "neutron": {"/security-groups": {"security_groups": groups}},
    }
    fake.asked.clear()
    found = cloud.seen_servers({OWNER: ["s1", "s2", "s3", "gone"], theirs: ["s2"]})
    assert [found[OWNER]["s1"].ports, found[theirs]["s2"].ports, found[OWNER]["s1"].agent] == [(80,), (), None]
    told = {
        owner.environment: {id: (state.status, tuple(state.reachable)) for id, state in seen.items()}
        for owner, seen in found.items()
    }
    assert told == {
        "Env": {"s1": ("ACTIVE", ("203.0.113.7",))},
        "Theirs": {"s2": ("SHUTOFF", ("203.0.113.7",))},
    }
    assert cloud.seen_servers({OWNER: ["s2", "s3"]}) == {OWNER: {}}
    fake.asked.clear()
    cloud.seen_servers({OWNER: ["s1"], theirs: ["s2"]})
    assert [path.partition("?")[0] for _, path in fake.asked if "nova" in path or "servers" in path] == [
        path for _, path in fake.asked
    ] and len(fake.asked) == 1
