"""Which server has which agent: known by the user data that the template of its stack makes."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.test_host_silence import ARGS, Silence
from tests.plugins.openstack.fake import Fake
from vetro.clouds.interface import CloudError, Owner, ShowsAgents, StackChange
from vetro.engine.host.performer import EffectsHost, Watchful
from vetro.library.stackdata import FILES, VALUES, Parts, difference, digest_of, parts_of
from vetro_openstack import OpenStackCloud, OpenStackSettings, stack_progress
from vetro_openstack import cloud as clouds
from vetro_openstack import link as links
from vetro_openstack.agents import queues

OWNER = Owner("project", "Env")
SERVER = "OS::Nova::Server"
QUEUE = "eenv-hone"
CONF = f"[rabbitmq]\ninput_queue = {QUEUE}\n"


def server(user_data: Any, **more: Any) -> dict[str, Any]:
    return {"type": SERVER, "properties": {"user_data": user_data, **more}}


def resources(**bodies: Any) -> Parts:
    return parts_of({"resources": bodies})


def config(text: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::SoftwareConfig", "properties": {"config": text}}


SCRIPT = "#!/bin/sh\nunpack 600 agent.conf <<E\n" + base64.b64encode(CONF.encode()).decode() + "\nE\n"
PARTS = {"type": "OS::Heat::MultipartMime", "properties": {"parts": [{"config": {"get_resource": "boot"}}]}}


@pytest.mark.parametrize(
    "parts",
    [
        resources(one=server(CONF)),
        resources(one=server(SCRIPT, name={"get_param": "n"})),
        resources(one=server({"get_resource": "mime"}, name="one"), mime=PARTS, boot=config(SCRIPT)),
        resources(one=server({"get_attr": ["boot", "config"]}), boot=config(SCRIPT)),
        resources(one=server({"Fn::Base64": {"Ref": "boot"}}), boot=config(CONF)),
        {**resources(one=server({"get_file": "boot.sh"})), (FILES, "boot.sh"): SCRIPT},
        {**resources(one=server({"str_replace": {"template": "T", "params": {"T": {"get_param": "t"}}}})),
         (VALUES, "t"): SCRIPT},
        resources(one=server({"get_resource": "a"}), a=config({"get_resource": "b"}), b=config([{"Ref": "a"}, CONF])),
    ],
)  # fmt: skip
def test_queues_stand_in_user_data(parts: Parts) -> None:
    assert queues(parts, "Env") == {QUEUE: ("one", "one")}
    assert queues(parts, "Other") == {}


def test_what_names_no_queue_has_none() -> None:
    parts = resources(one=server(None), two=server({"get_resource": "gone"}), three={"type": SERVER}, four=config(CONF))
    assert queues(parts, "Env") == {}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setattr(links, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(stack_progress, "_FIRST", 0.001)
    with Fake("compute") as made:
        made.regions = ["One", "Two"]
        yield made


def opened(fake: Fake) -> OpenStackCloud:
    sign_in = {"username": "worker", "password": "secret", "project_name": "p"}
    settings = {"auth_url": fake.url, **sign_in, "region": "One", "regions": ["One", "Two"]}
    return OpenStackCloud(OpenStackSettings.from_json(settings))


def push(cloud: OpenStackCloud, name: str, parts: Parts, region: str = "") -> None:
    change = StackChange(digest_of(parts), None, *difference({}, parts))
    cloud.push_stack(OWNER, region, name, change)


def test_the_console_of_an_agents_server(fake: Fake) -> None:
    cloud = opened(fake)
    assert isinstance(cloud, ShowsAgents) and cloud.console_of(OWNER, QUEUE, 5) is None
    push(cloud, "other", resources(zero=server(None)))
    push(cloud, "web", resources(**{"the / server": server(CONF, name="web-1")}), "Two")
    assert cloud.console_of(OWNER, QUEUE, 5) is None  # Heat has not made it
    row = next(row for row in fake.stacks.values() if "vetro-name=web" in row["tags"])
    row["resources"] = [{"resource_name": "the / server", "resource_type": SERVER, "physical_resource_id": "s1"}]
    fake.answers = {("nova", "/servers/s1/action"): {"output": "login:"}}
    assert cloud.console_of(OWNER, QUEUE, 5) == ("web-1", "login:")
    assert fake.posted[-1] == ("nova", "/servers/s1/action", {"os-getConsoleOutput": {"length": 5}})
    assert cloud.console_of(Owner("project", "Env2"), QUEUE, 5) is None
    cloud.close()

    # A worker that began later reads the templates once; then it knows.
    other = opened(fake)
    fake.asked.clear()
    for _ in range(3):
        assert other.console_of(OWNER, QUEUE, 5) == ("web-1", "login:")
    # Both regions of this double are one Heat with two stacks.
    assert sum(path.endswith("/template") for _, path in fake.asked) == 2
    push(other, "web", resources(moved=server(CONF, name="web-2")))
    row["resources"] = [{"resource_name": "moved", "resource_type": SERVER, "physical_resource_id": "s2"}]
    fake.answers["nova", "/servers/s2/action"] = {"output": "panic"}
    assert other.console_of(OWNER, QUEUE, 5) == ("web-2", "panic")
    other.close()


def test_without_nova_there_are_no_consoles() -> None:
    with Fake() as fake:
        cloud = OpenStackCloud(
            OpenStackSettings.from_json(
                {"auth_url": fake.url, "username": "worker", "password": "secret", "project_name": "p"}
            )
        )
        push(cloud, "web", resources(one=server(CONF)))
        assert cloud.console_of(OWNER, QUEUE, 5) is None
        cloud.close()


def test_an_agent_on_a_server_that_does_not_run_cannot_answer(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the host asks: it has to hear it twice, and is never kept waiting."""
    monkeypatch.setattr(clouds, "_WELL", 0.0)
    cloud = opened(fake)
    assert isinstance(cloud, Watchful)
    push(cloud, "web", resources(one=server(CONF, name="web-1")))
    ((_, row),) = fake.stacks.items()
    row["resources"] = [{"resource_name": "one", "resource_type": SERVER, "physical_resource_id": "s1"}]

    def until(wanted: str | None, owner: Owner = OWNER) -> None:
        end = time.monotonic() + 10
        while cloud.why_silent(owner, QUEUE) != wanted:
            assert time.monotonic() < end, cloud.why_silent(owner, QUEUE)
            time.sleep(0.01)

    record = {"id": "s1", "name": "web-1", "status": "ACTIVE"}
    fake.servers = {"s1": record}
    monkeypatch.setattr(clouds, "_SILENT", 0.0)
    until(None)
    record["status"] = "SHUTOFF"
    until("server 'web-1' is switched off (SHUTOFF); start it first")
    record.update(status="ERROR", fault={"message": "the host is gone"})
    until("server 'web-1' is broken: the host is gone")
    record.update({"status": "ACTIVE"})
    until(None)
    fake.servers = {}
    fake.lists = {"nova": {}}
    until("server 'web-1' is gone")
    fake.trouble = [("GET", "/stacks", 503)] * 20
    until(None)
    fake.trouble.clear()
    until("server 'web-1' is gone")
    assert cloud.why_silent(Owner("project", "Env2"), QUEUE) is None
    assert cloud.why_missing(OWNER, "nobody") is None
    cloud.close()


@pytest.mark.parametrize(
    ("became", "said"),
    [
        ({"status": "SHUTOFF"}, r"the agent does not answer: server 'web-1' is switched off \(SHUTOFF\)"),
        pytest.param(
            {"status": "ERROR", "fault": {"message": "the host is gone"}},
            "server 'web-1' is broken: the host is gone",
            marks=pytest.mark.campaign,
        ),
        pytest.param(None, "server 'web-1' is gone", marks=pytest.mark.campaign),
    ],
    ids=["off", "broken", "gone"],
)
def test_an_action_on_a_dead_server_ends_with_its_reason(fake: Fake, became: dict[str, Any] | None, said: str) -> None:
    """Through the host that performs it, at its own pace: nobody waits for the ten minutes that an agent has."""
    cloud = opened(fake)
    push(cloud, "web", resources(one=server(CONF, name="web-1")))
    ((_, row),) = fake.stacks.items()
    row["resources"] = [{"resource_name": "one", "resource_type": SERVER, "physical_resource_id": "s1"}]
    fake.servers = {} if became is None else {"s1": {"id": "s1", "name": "web-1", **became}}
    fake.lists = {"nova": {}}
    host = EffectsHost(cloud, Silence(), OWNER)
    begun = time.monotonic()
    try:
        with pytest.raises(CloudError, match=said):
            host.perform("0/1", "agent.call", {**ARGS, "queue": QUEUE, "timeout": 600})
    finally:
        host.close()
    assert time.monotonic() - begun < 60  # ten seconds, where others leave this machine the time
