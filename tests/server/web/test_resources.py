"""Resources of a cloud that is far away: shown when it tells them, and no page waits long for one that does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from vetro.clouds.interface import CloudError, ResourceState
from vetro.server.setup import config
from vetro.server.web.views.environments import resources


class Far:
    """A cloud at the other end of a network."""

    def __init__(self) -> None:
        self.asked = 0
        self.error: Exception | None = None
        self.answers = threading.Event()
        self.answers.set()

    def resources(self, owner: Any) -> Sequence[ResourceState]:
        self.asked += 1
        self.answers.wait(20)
        if self.error is not None:
            raise self.error
        return [
            ResourceState("stack:1", None, "farm", "stack", "CREATE_COMPLETE"),
            ResourceState("resource:1:ip", "stack:1", "ip", "OS::Neutron::FloatingIP", "CREATE_FAILED"),
            ResourceState(
                "resource:1:vm", "stack:1", "vm", "OS::Nova::Server", "CREATE_IN_PROGRESS", ("resource:1:ip",)
            ),
        ]

    def close(self) -> None:
        """There is nothing to let go."""


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> Iterator[Far]:
    """The configured cloud is a far one."""
    cloud = Far()
    settings = config()._values
    monkeypatch.setitem(settings, "cloud.kind", replace(settings["cloud.kind"], value="module:far"))
    monkeypatch.setattr("vetro.engine.host.config.cloud_of", lambda settings, owner, sweeps=True: cloud)
    resources.forget()
    yield cloud
    cloud.answers.set()
    resources.forget()


def test_the_picture_and_the_table_have_them(ann: Any, far: Far, browser: Any) -> None:
    environment = ann.post("/v2/environments", {"name": "far"}).json()["id"]
    client = browser(ann)
    page = client.get(f"/app/environments/{environment}/topology?all=1").content.decode()
    assert "OS::Neutron::FloatingIP" in page and "being worked on" in page
    data = client.get(f"/app/environments/{environment}/topology.json?all=1").json()
    nodes = {node["label"]: node for node in data["nodes"] if node["kind"] == "resource"}
    assert {name: node["state"] for name, node in nodes.items()} == {
        "farm": "deployed", "ip": "failed", "vm": "working",
    }  # fmt: skip
    assert [(e["source"], e["target"]) for e in data["edges"] if e["kind"] == "uses"] == [
        ("resource:1:vm", "resource:1:ip")
    ]
    assert far.asked == 1  # the page and its picture, one after the other


def test_a_cloud_that_takes_long_is_waited_for_in_the_background(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_WAIT", 0.05)
    far.answers.clear()
    assert resources.of_environment("p", "e") == [] == resources.of_environment("p", "e")
    assert far.asked == 1
    far.answers.set()
    monkeypatch.setattr(resources, "_WAIT", 20.0)
    assert [found["name"] for found in resources.of_environment("p", "e")] == ["farm", "ip", "vm"]
    assert far.asked == 1


@pytest.mark.parametrize("error", [CloudError("in trouble"), TimeoutError("late"), RuntimeError("a defect")])
def test_without_an_answer_it_shows_what_was_known(far: Far, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(resources, "_FRESH", -1.0)
    before = resources.of_environment("p", "e")
    far.error = error
    assert resources.of_environment("p", "e") == before != []
    assert resources.of_environment("p", "e") == before and far.asked == 2  # it is left in peace for a while


def test_a_cloud_that_tells_nothing(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Far, "resources")
    assert resources.of_environment("p", "e") == []
