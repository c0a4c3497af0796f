"""What resource types need of a cloud is checked before anything is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds import kinds
from vetro.clouds.drivers.needs import NeedsMissing, kinds_with, require, satisfied
from vetro.clouds.kind_protocols import Capabilities

LEAST = Capabilities(executes=True, walls="none", agents="none")
SERVER = {"image": "debian-12-murano", "flavor": "m1.small"}
ATTACHED = {
    "vm": {"type": "OS::Nova::Server", "properties": SERVER},
    "disk": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
    "both": {
        "type": "OS::Cinder::VolumeAttachment",
        "properties": {"instance_uuid": {"get_resource": "vm"}, "volume_id": {"get_resource": "disk"}},
    },
}
BOOTED = {
    "disk": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
    "vm": {
        "type": "OS::Nova::Server",
        "properties": {
            **SERVER,
            "block_device_mapping_v2": [{"volume_id": "0" * 32, "boot_index": 1, "device_name": "vdb"}],
        },
    },
}


@pytest.mark.parametrize(
    ("needs", "able", "enough"),
    [
        ({}, {}, True),
        ({"volumes": "record"}, {}, False),
        ({"volumes": "record"}, {"volumes": "attach"}, True),
        ({"volumes": "attach"}, {"volumes": "record"}, False),
        ({"floating": True}, {}, False),
        ({"floating": True, "networks": "own"}, {"floating": True, "networks": "given"}, False),
        ({"floating": True, "networks": "given"}, {"floating": True, "networks": "own"}, True),
    ],
)
def test_more_includes_less(needs: dict[str, Any], able: dict[str, Any], enough: bool) -> None:
    assert satisfied(needs, replace(LEAST, **able)) is enough


def test_the_error_names_the_kinds_that_have_it() -> None:
    having = kinds_with({"volumes": "attach"})
    assert {"record", "nspawn", "proot"} <= {*having} and "proot" not in kinds_with({"floating": True})
    with pytest.raises(
        NeedsMissing, match="it needs data volumes that are attached to servers, which clouds"
    ) as caught:
        require({"volumes": "attach"}, LEAST, "lab")
    assert caught.value.hint == f"clouds that have them: {', '.join(having)}"


@pytest.mark.parametrize(
    ("resources", "volumes", "words"),
    [
        (ATTACHED, "record", "resources.both: it needs data volumes that are attached to servers"),
        ({"disk": ATTACHED["disk"]}, "none", "resources.disk: it needs data volumes, which"),
        (BOOTED, "record", "resources.vm: it needs data volumes that are attached"),
    ],
)
def test_nothing_is_made_of_a_stack_that_needs_more(
    tmp_path: Path, resources: dict[str, Any], volumes: str, words: str
) -> None:
    world = World(tmp_path, capabilities=replace(LEAST, volumes=volumes))
    try:
        with pytest.raises(NeedsMissing, match=words) as caught:
            world.push(hot(resources))
        assert "record" in str(caught.value.hint)
        assert [what for what, _ in world.driver.calls() if "network" not in what] == []
        assert world.cloud.servers(OWNER) == []
    finally:
        world.cloud.close()


def test_a_stack_that_was_made_before_can_be_removed(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.push(hot(ATTACHED))
    world.capabilities = LEAST
    world.reopen()
    try:
        assert world.cloud.read_stack(OWNER, "", "stack") is not None
        world.cloud.delete_stack(OWNER, "", "stack")
        assert world.cloud.stacks(OWNER) == []
    finally:
        world.cloud.close()


def test_a_plan_goes_by_what_the_target_can_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.clouds.interface import StackChange
    from vetro.engine.planning import recorder
    from vetro.library.stackdata import difference, digest_of, parts_of

    kind = kinds.find("proot")
    able = replace(kind.capabilities(None), volumes="record")
    monkeypatch.setattr(type(kind), "capabilities", lambda self, settings: able)
    real = {"kind": "proot", "directory": str(tmp_path / "cloud"), "settings": {}}
    folder = tmp_path / "plan"
    folder.mkdir()
    cloud = recorder.make({"folder": str(folder), "real": real}, OWNER)
    try:
        parts = parts_of(hot(ATTACHED))
        put, drop = difference({}, parts)
        with pytest.raises(NeedsMissing, match="which clouds of kind 'proot' do not have"):
            cloud.push_stack(OWNER, "", "web", StackChange(digest_of(parts), None, put, drop))
    finally:
        cloud.close()


def test_every_need_is_a_capability() -> None:
    from vetro.clouds.stacks.types.registry import TYPES

    for handler in TYPES.values():
        assert satisfied(handler.needs, kinds.find(kinds.RECORD).capabilities(None))
