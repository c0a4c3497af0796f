"""Volumes, block devices and affinity groups: the resources that they become."""

from __future__ import annotations

from typing import Any

import pytest

from tests.library.deploying import Deployed, resource, server
from tests.library.templates import nova


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        (
            {"name": "n", "availabilityZone": "z", "readOnly": True, "sourceImage": "img"},
            {"name": "n", "availability_zone": "z", "read_only": True, "image": "img"},
        ),
        ({"sourceSnapshot": resource("CinderVolumeSnapshot", "s", openstackId="S")}, {"snapshot_id": "S"}),
        ({"sourceVolumeBackup": resource("CinderVolumeBackup", "b", openstackId="B")}, {"backup_id": "B"}),
        ({"sourceVolume": resource("ExistingCinderVolume", "e", openstackId="E")}, {"source_volid": "E"}),
        ({"sourceVolume": resource("CinderVolume", "o", size=1)}, {"source_volid": {"get_resource": "vol-o"}}),
    ],
)
def test_volumes(given: dict[str, Any], expected: dict[str, Any]) -> None:
    done = Deployed(resource("CinderVolume", "v", size=5, **given))
    assert done.resources["vol-v"] == {"type": "OS::Cinder::Volume", "properties": {"size": 5, **expected}}
    assert done.outputs["vol-v-id"] == {"get_resource": "vol-v"}
    assert done.outputs["vol-v-attachments"] == {"get_attr": ["vol-v", "attachments_list"]}
    assert done.parts[0]["openstackId"] == "id of vol-v"


def test_a_volume_is_pushed_when_its_definition_changes() -> None:
    done = Deployed(resource("CinderVolume", "v", size=5))
    pushes = len(done.cloud.pushes)
    done.deploy()
    assert len(done.cloud.pushes) == pushes
    done.deploy(parts=[{**done.parts[0], "size": 6}])
    assert len(done.cloud.pushes) == pushes + 1
    assert done.resources["vol-v"]["properties"] == {"size": 6}
    done.deploy(parts=[])
    assert "vol-v" not in done.resources


def test_attached_volumes() -> None:
    volumes = {
        "/data": resource("CinderVolume", "v", size=1),
        "/old": resource("ExistingCinderVolume", "e", openstackId="E"),
    }
    done = Deployed(server("Instance", volumes=volumes))
    for volume, path, ref in (("v", "/data", {"get_resource": "vol-v"}), ("e", "/old", "E")):
        assert done.resources[f"vol-attachment-{volume}-web"] == {
            "type": "OS::Cinder::VolumeAttachment",
            "properties": {"instance_uuid": {"get_resource": "web"}, "mountpoint": path, "volume_id": ref},
        }
    done.deploy(parts=[])
    assert not [key for key in done.resources if key.startswith("vol")]
    assert done.host.performed("log") == []


def test_servers_that_boot_from_block_devices() -> None:
    devices = [
        {"volume": resource("CinderVolume", "v", size=1, sourceImage="img"), "bootIndex": 0, "deviceName": "vda"},
        {"volume": resource("ExistingCinderVolume", "e", openstackId="E"), "deviceType": "cdrom"},
    ]
    done = Deployed(server("Instance", image=None, blockDevices=devices))
    mapping = [
        {"device_name": "vda", "volume_id": {"get_resource": "vol-v"}, "device_type": None, "boot_index": 0},
        {"device_name": None, "volume_id": "E", "device_type": "cdrom", "boot_index": None},
    ]
    assert done.resources["web"] == nova(image=..., block_device_mapping_v2=mapping)


@pytest.mark.parametrize(("affinity", "policy"), [(True, "affinity"), (False, "anti-affinity")])
def test_affinity_groups(affinity: bool, policy: str) -> None:
    together = resource("InstanceAffinityGroup", "g", affinity=affinity)
    done = Deployed(server("Instance", instanceAffinityGroup=together))
    assert done.resources["NovaServerGroup-g"] == {
        "type": "OS::Nova::ServerGroup",
        "properties": {"name": "NovaServerGroup-g", "policies": [policy]},
    }
    assert done.resources["web"] == nova(scheduler_hints={"group": {"get_resource": "NovaServerGroup-g"}})
    done.deploy(parts=[])
    assert not {"NovaServerGroup-g", "web"} & set(done.resources)
