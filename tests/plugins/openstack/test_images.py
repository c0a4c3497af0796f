"""Marks of images in Glance, which takes changes of its own kind and is particular about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.plugins.openstack.fake import Fake, Reply
from vetro.clouds.interface import Conflict, NotAvailable, NotFound, Owner
from vetro_openstack import OpenStackCloud, OpenStackSettings
from vetro_openstack import link as links
from vetro_openstack.errors import Refused

OWNER = Owner("project", "Env")
SIGN_IN = {"username": "worker", "password": "secret", "project_name": "p"}


class Glance(Fake):
    """A Glance with images by id. As the real one, it adds no property twice and removes none that there is not."""

    def __init__(self, *services: str) -> None:
        super().__init__(*services)
        self.images: dict[str, dict[str, Any]] = {"i 1": {"id": "i 1", "name": "one", "status": "active"}}
        self.forbids = False

    def other(self, service: str, method: str, path: str, query: dict[str, list[str]], body: Any) -> Reply:
        path = path.removeprefix("/v2")
        if service != "glance" or not path.startswith("/images/"):
            return super().other(service, method, path, query, body)
        found = self.images.get(path.removeprefix("/images/"))
        if found is None:
            return 404, {"message": "No image found"}
        if method == "PATCH":
            if self.forbids:
                return 403, {"message": "You are not permitted to modify this image."}
            ((op, name, value),) = ((one["op"], one["path"].removeprefix("/"), one.get("value")) for one in body)
            if (op == "add") == (name in found):
                return 409, {"message": f"Property {name} is there, or is not."}
            if op == "remove":
                del found[name]
            else:
                found[name] = value
        return 200, found


@pytest.fixture
def glance(monkeypatch: pytest.MonkeyPatch) -> Iterator[Glance]:
    monkeypatch.setattr(links, "PAUSES", (0.0, 0.0, 0.0))
    with Glance("image") as made:
        assert isinstance(made, Glance)
        yield made


@pytest.fixture
def cloud(glance: Glance) -> Iterator[OpenStackCloud]:
    made = OpenStackCloud(OpenStackSettings.from_json({"auth_url": glance.url, **SIGN_IN}))
    yield made
    made.close()


def test_marked_changed_and_unmarked(glance: Glance, cloud: OpenStackCloud) -> None:
    image = glance.images["i 1"]
    marked = cloud.mark_image(OWNER, "", "i 1", {"title": "Eins ✓", "type": "linux", "more": "not sent"})
    assert marked["murano_image_info"] == json.loads(image["murano_image_info"]) == {"title": "Eins ✓", "type": "linux"}
    cloud.mark_image(OWNER, "", "i 1", {"title": "Two", "type": "windows.2012"})
    assert json.loads(image["murano_image_info"])["type"] == "windows.2012"
    assert "murano_image_info" not in cloud.mark_image(OWNER, "", "i 1", None)
    asked = len(glance.asked)
    cloud.mark_image(OWNER, "", "i 1", None)
    assert [method for method, _ in glance.asked[asked:]] == ["GET"]


def test_an_answer_that_is_lost(glance: Glance, cloud: OpenStackCloud) -> None:
    """What is sent again is refused, and is done."""
    for mark in ({"title": "One", "type": "linux"}, None):
        glance.trouble = [("PATCH", "/images/", 0)]
        shown = cloud.mark_image(OWNER, "", "i 1", mark)
        assert shown.get("murano_image_info") == mark and ("murano_image_info" in glance.images["i 1"]) == bool(mark)


def test_somebody_was_faster(glance: Glance, cloud: OpenStackCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    read = links.Link.get

    def late(link: Any, service: str, path: str, **params: Any) -> Any:
        found = dict(read(link, service, path, **params))
        glance.images["i 1"]["murano_image_info"] = "of somebody else"
        return found

    monkeypatch.setattr(links.Link, "get", late)
    with pytest.raises(Conflict, match="is there, or is not"):
        cloud.mark_image(OWNER, "", "i 1", {"title": "One", "type": "linux"})
    assert glance.images["i 1"]["murano_image_info"] == "of somebody else"


def test_what_is_refused(glance: Glance, cloud: OpenStackCloud) -> None:
    for wrong in ("nowhere", "", "../stacks"):
        with pytest.raises(NotFound, match="there is no image with the id"):
            cloud.mark_image(OWNER, "", wrong, None)
    glance.forbids = True
    with pytest.raises(Refused, match="not permitted") as refused:
        cloud.mark_image(OWNER, "", "i 1", {"title": "One", "type": "linux"})
    assert refused.value.status == 403
    glance.services = ("orchestration",)
    fresh = OpenStackCloud(OpenStackSettings.from_json({"auth_url": glance.url, **SIGN_IN}))
    try:
        with pytest.raises(NotAvailable, match="no Glance"):
            fresh.mark_image(OWNER, "", "i 1", None)
    finally:
        fresh.close()
