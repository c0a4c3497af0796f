"""A server comes back after everything of its cloud on this machine has ended, as after a start of the machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.servers import OWNER, free_block, real_servers, traces
from vetro.agent.sockets import SocketChannel
from vetro.clouds.interface import Owner, StackChange
from vetro.clouds.kind_protocols import Place
from vetro.clouds.nspawn.cgroups import Cgroups
from vetro.clouds.nspawn.kind import KIND
from vetro.clouds.nspawn.links import cloud_id
from vetro.library.stackdata import difference, digest_of, parts_of


def pull_the_plug(cloud: str) -> None:
    """All processes of a cloud end at once, its keepers too; namespaces and interfaces go with the machine."""
    for name in list(Cgroups().group(f"vetro-{cloud}").names()):
        group = Cgroups().group(f"vetro-{cloud}", name)
        end = time.monotonic() + 10
        while pids := group.pids():
            assert time.monotonic() < end, pids
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    for name in {line.split()[0] for line in listed.splitlines() if cloud in line.split()[0]}:
        subprocess.run(["ip", "netns", "del", name], check=True)
    end = time.monotonic() + 30  # the kernel takes its interfaces away a moment later
    while any(cloud in link.name for link in Path("/sys/class/net").iterdir()):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_ran_is_started_again_and_what_was_stopped_is_known(tmp_path: Path) -> None:
    images = real_servers()

    def opened() -> Any:
        place = Place(directory=tmp_path, images=images, channels=partial(SocketChannel, tmp_path))
        return KIND.open(KIND.settings.from_json({}), place)

    properties = {"image": "debian-12-murano", "flavor": "m1.small"}
    vm = lambda name: {"type": "OS::Nova::Server", "properties": {**properties, "name": name}}  # noqa: E731
    parts = parts_of({"heat_template_version": "2013-05-23", "resources": {"a": vm("runs"), "b": vm("rests")}})
    cloud, id = opened(), ""
    other = Owner(OWNER.project, "another")
    try:
        cloud.push_stack(OWNER, "", "stack", StackChange(digest_of(parts), None, *difference({}, parts)))
        gone = vm("gone")
        gone["properties"]["networks"], gone["depends_on"] = [{"network": {"get_resource": "n"}}], "s"
        sub = {"network": {"get_resource": "n"}, "cidr": f"{free_block()}.0/24"}
        net = {"n": {"type": "OS::Neutron::Net"}, "s": {"type": "OS::Neutron::Subnet", "properties": sub}}
        alone = parts_of({"heat_template_version": "2013-05-23", "resources": {**net, "c": gone}})
        cloud.push_stack(other, "", "another", StackChange(digest_of(alone), None, *difference({}, alone)))
        bare = parts_of({"heat_template_version": "2013-05-23", "resources": {"n": net["n"]}})
        cloud.push_stack(other, "", "net", StackChange(digest_of(bare), None, *difference({}, bare)))
        ids = {server.name: server.id for owner in (OWNER, other) for server in cloud.servers(owner)}
        cloud.power(OWNER, ids["rests"], "stop")
        cloud.driver.put_file(ids["runs"], "/srv/kept", b"data")
        id = cloud_id(tmp_path / "nspawn")
        # After another start of the machine the numbers and times of its processes may be those of others.
        file = tmp_path / "nspawn/servers" / ids["runs"] / "running.json"
        noted = json.loads(file.read_text())
        for which, status in (({**noted, "keeper": [*noted["keeper"][:2], "another"]}, "ERROR"), (noted, "ACTIVE")):
            file.write_text(json.dumps(which))
            assert {s.name: s.status for s in cloud.servers(OWNER)}["runs"] == status
        cloud.close()
        pull_the_plug(id)

        cloud = opened()
        assert {s.name: s.status for s in cloud.servers(OWNER)} == {"runs": "ERROR", "rests": "SHUTOFF"}
        # What nobody started yet can be removed: networks whose project has another one, a server.
        cloud.delete_stack(other, "", "net")
        cloud.delete_stack(other, "", "another")
        assert not cloud.servers(other) and ids["gone"] not in os.listdir(tmp_path / "nspawn/servers")
        cloud.power(OWNER, ids["runs"], "start")
        assert {s.name: s.status for s in cloud.servers(OWNER)} == {"runs": "ACTIVE", "rests": "SHUTOFF"}
        assert cloud.driver.get_file(ids["runs"], "/srv/kept") == b"data"
        said = cloud.driver.execute(ids["runs"], ["ip", "-4", "-brief", "address", "show", "eth0"]).stdout.decode()
        address = next(server for server in cloud.servers(OWNER) if server.name == "runs").addresses[0]
        assert f" {address}/" in said
    finally:
        cloud.driver.clear()
        cloud.close()
    assert not any(traces(id, tmp_path).values()), "cleaning left something behind"
