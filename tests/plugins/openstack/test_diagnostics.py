"""What servers of an OpenStack use: Nova's diagnostics, where the policy allows them, and no question where not."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from tests.plugins.openstack.fake import Fake, Reply
from tests.plugins.openstack.test_services import OWNER, SIGN_IN
from vetro.clouds.interface import MeasuresServers, Owner, StackChange
from vetro.library.stackdata import difference, digest_of, parts_of
from vetro_openstack import OpenStackCloud, OpenStackSettings, diagnostics, stack_progress
from vetro_openstack import link as links
from vetro_openstack.errors import CloudUnreachable

THEIRS = Owner("project", "Theirs")


class Measured(Fake):
    """One whose Nova tells diagnostics as its API reference has it."""

    #: What a request is answered with instead: 403 by its policy, 501 by a hypervisor that tells nothing.
    refused = 0
    #: Processor seconds by server that runs.
    used: dict[str, list[float]]

    def own(self, service: str, method: str, path: str, query: dict[str, list[str]], body: Any) -> Reply | None:
        found = re.fullmatch(r"/servers/([^/]+)/diagnostics", path)
        if service != "nova" or found is None:
            return None
        assert self.version == "compute 2.48", "older versions tell what each driver likes"
        if self.refused:
            return self.refused, {"error": {"message": "no"}}
        if found[1] not in self.servers:
            return 404, {"itemNotFound": {"message": "Instance could not be found."}}
        if self.servers[found[1]]["status"] != "ACTIVE":
            return 409, {"conflictingRequest": {"message": "Cannot 'get_diagnostics' instance"}}
        processors = [
            {"id": id, "time": time * 1e9, "utilisation": None} for id, time in enumerate(self.used[found[1]])
        ]
        return 200, {
            "config_drive": True, "state": "running", "driver": "libvirt", "hypervisor": "kvm",
            "hypervisor_os": "linux", "uptime": 46664, "num_cpus": len(processors), "num_nics": 0, "num_disks": 1,
            "memory_details": {"maximum": 524288, "used": 0}, "cpu_details": processors or None, "nic_details": [],
            "disk_details": [{"read_bytes": 1, "read_requests": 1, "write_bytes": 1, "write_requests": 1,
                              "errors_count": None}],
        }  # fmt: skip


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(stack_progress, "_FIRST", 0.001)


@pytest.fixture
def fake() -> Iterator[Measured]:
    with Measured("compute") as opened:
        made = cast(Measured, opened)
        made.servers = {
            "s1": {"id": "s1", "status": "ACTIVE"}, "s2": {"id": "s2", "status": "SHUTOFF"},
            "s3": {"id": "s3", "status": "ACTIVE"},
        }  # fmt: skip
        made.used = {"s1": [17.5, 2.5], "s3": []}
        yield made


@pytest.fixture
def cloud(fake: Measured) -> Iterator[OpenStackCloud]:
    made = OpenStackCloud(OpenStackSettings.from_json({"auth_url": fake.url, **SIGN_IN}))
    for owner, ids in ((OWNER, ("s1", "s2", "gone")), (THEIRS, ("s3",))):
        parts = parts_of({"resources": {"a": {"type": "OS::Nova::Server"}}}, {}, {}, None)
        made.push_stack(owner, "", "farm", StackChange(digest_of(parts), None, *difference({}, parts)))
        list(fake.stacks.values())[-1]["resources"] = [
            {"resource_type": "OS::Nova::Server", "physical_resource_id": id, "resource_name": id} for id in ids
        ]
    yield made
    made.close()


def asked(fake: Measured) -> list[str]:
    found = [path.split("/")[-2] for _, path in fake.asked if path.endswith("/diagnostics")]
    fake.asked.clear()
    return found


def test_what_runs_is_measured_and_a_strangers_server_is_not(fake: Measured, cloud: OpenStackCloud) -> None:
    assert isinstance(cloud, MeasuresServers)
    found = cloud.server_metrics({OWNER: ["s1", "s2", "s3", "gone"], THEIRS: ["s1"]})
    assert {id: one.cpu_seconds for id, one in found.items()} == {"s1": 20.0}
    assert sorted(asked(fake)) == ["gone", "s1", "s2"]
    (one,) = found.values()
    assert (one.memory, one.memory_limit, one.disk) == (None, None, None), "not what the server uses of them"
    assert cloud.server_metrics({THEIRS: ["s3"]}) == {}, "its hypervisor counts nothing"


@pytest.mark.parametrize("status", [403, 406, 501])
def test_who_is_refused_asks_once_an_hour(
    fake: Measured, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    fake.refused = status
    for _ in range(3):
        assert cloud.server_metrics({OWNER: ["s1", "s2"], THEIRS: ["s3"]}) == {}
    assert len(asked(fake)) == 1
    fake.refused = 0
    assert cloud.server_metrics({OWNER: ["s1"]}) == {}
    later = time.monotonic() + 3601
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert set(cloud.server_metrics({OWNER: ["s1"]})) == {"s1"}


def test_a_round_is_bounded_and_takes_turns(
    fake: Measured, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostics, "_MOST", 2)
    wanted = {OWNER: ["s1", "s2", "gone"], THEIRS: ["s3"]}
    rounds = list[list[str]]()
    for _ in range(2):
        cloud.server_metrics(wanted)
        rounds.append(asked(fake))
    assert [len(one) for one in rounds] == [2, 2] and sorted(rounds[0] + rounds[1]) == ["gone", "s1", "s2", "s3"]


def test_a_hypervisor_that_is_away_costs_others_a_round_at_most(fake: Measured, cloud: OpenStackCloud) -> None:
    fake.trouble = [("GET", "/diagnostics", 500)]
    with pytest.raises(CloudUnreachable):
        cloud.server_metrics({OWNER: ["s1", "s2", "gone"]})
    (away,) = asked(fake)
    cloud.server_metrics({OWNER: ["s1", "s2", "gone"]})
    assert asked(fake)[-1] == away, "it is asked after all others"
