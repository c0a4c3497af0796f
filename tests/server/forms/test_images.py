"""Marks of images: what forms offer because of them, on a cloud of this machine and one over the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vetro.clouds.interface import CloudError, NotFound
from vetro.clouds.stacks.listing import Listing
from vetro.clouds.stacks.state.inventory import fixed_id
from vetro.server import setup
from vetro.server.environments.models import Environment
from vetro.server.errors import Forbidden, Unavailable
from vetro.server.errors import NotFound as Missing
from vetro.server.forms import cloud_lists, form_session, images
from vetro.server.setup import config
from vetro_openstack.errors import Refused

UI = """\
Version: 2.4
Application:
  ?: {type: test.Shop}
  name: $.one.image
Forms:
  - one:
      fields:
        - {name: image, type: image, imageType: special}
"""


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """No list is kept from test to test."""
    cloud_lists.forget()
    yield
    cloud_lists.forget()


def test_a_form_offers_the_images_that_are_marked_for_its_type(
    ann: Any, publish: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = Listing(tmp_path / "cloud")
    monkeypatch.setattr(cloud_lists, "_listing", lambda own=None: listing)
    package = publish(ann, ui=UI)

    def offered() -> dict[Any, str]:
        shown = form_session.begin(ann.caller, package=package.id)
        (field,) = shown.form.pages[shown.page].fields()
        return {choice.value: choice.label for choice in field.choices}

    try:
        assert offered() == {"": "No images available"}
        debian, docker = fixed_id("image", "debian-12-murano"), fixed_id("image", "debian-docker-murano")
        images.mark(ann.caller, debian, "Plain", "special")
        images.mark(ann.caller, docker, "With more", "special.more")
        assert offered() == {"": "Select Image", debian: "Plain", docker: "With more"}
        images.unmark(ann.caller, docker)
        assert offered() == {debian: "Plain"}
    finally:
        listing.close()


class Far:
    """A cloud at the other end of a network, as far as images go."""

    name = "far"

    def __init__(self) -> None:
        self.images: dict[str, Any] = {"1": {"title": "One", "type": "linux"}, "2": "{broken", "3": None}
        self.error: Exception | None = None
        self.opened = self.closed = 0

    def open(self) -> Far:
        self.opened += 1
        return self

    def catalog(self, owner: Any, region: str, what: str) -> list[dict[str, Any]]:
        return [{"id": id, "name": f"image {id}", "murano_image_info": mark} for id, mark in self.images.items()]

    def mark_image(self, owner: Any, region: str, image: str, mark: Any) -> None:
        if self.error is not None:
            raise self.error
        self.images[image] = mark

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> Far:
    """The configured cloud is a far one."""
    cloud = Far()
    settings = config()._values
    monkeypatch.setitem(settings, "cloud.kind", replace(settings["cloud.kind"], value="module:far"))
    monkeypatch.setattr("vetro.engine.host.config.cloud_of", lambda settings, owner, sweeps=True: cloud.open())
    return cloud


def test_only_what_the_cloud_runs_is_offered(ann: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Images of recorders are for clouds that execute nothing; the file of both clouds is the same."""

    def offered(kind: str) -> set[str]:
        changes = {"cloud.kind": kind, "cloud.directory": str(tmp_path / "cloud")}
        monkeypatch.setattr(setup, "_current", config().changed(changes))
        cloud_lists.forget()
        return {image.title or "" for image in images.listed(ann.caller)}

    assert {"Debian 12", "Windows Server (recorded)"} <= offered("record")
    assert [title for title in offered("nspawn") if "(recorded)" in title] == [] and "Debian 12" in offered("nspawn")


@pytest.mark.parametrize(("settings", "own"), [("record", "nspawn"), ("nspawn", "record")])
def test_an_environment_s_own_cloud_decides(
    ann: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: str, own: str
) -> None:
    """What an environment keeps holds for it, whatever the settings say today."""
    changes = {"cloud.kind": settings, "cloud.directory": str(tmp_path / "cloud")}
    monkeypatch.setattr(setup, "_current", config().changed(changes))
    cloud_lists.forget()
    kept, new = (ann.post("/v2/environments", {"name": name}).json()["id"] for name in ("kept", "new"))
    Environment.objects.filter(id=kept).update(cloud={"kind": own})

    def offered(environment: str) -> set[bool]:
        rows = cloud_lists.choices(ann.caller.project_id, environment, "images", None)
        return {"recorded" in (row["murano"] or "") for row in rows}

    only_real, all_of_them = {False}, {False, True}
    assert offered(new) == (all_of_them if settings == "record" else only_real)
    assert offered(kept) == (all_of_them if own == "record" else only_real)


def test_a_cloud_that_is_far_away(ann: Any, far: Far) -> None:
    assert [(i.id, i.title, i.type, i.broken) for i in images.listed(ann.caller)] == [
        ("1", "One", "linux", False), ("2", None, None, True), ("3", None, None, False),
    ]  # fmt: skip
    assert images.mark(ann.caller, "2", "Two", "linux").title == "Two"
    images.unmark(ann.caller, "1")
    assert far.images == {"1": None, "2": {"title": "Two", "type": "linux"}, "3": None}
    assert far.opened and far.closed == far.opened


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NotFound("gone"), Missing),
        (CloudError("in trouble"), Unavailable),
        (OSError("no route"), Unavailable),
    ],
)
def test_what_a_cloud_refuses_is_passed_on(ann: Any, far: Far, error: Exception, kind: type[Exception]) -> None:
    far.error = error
    with pytest.raises(kind):
        images.mark(ann.caller, "3", "Three", "linux")
    assert far.images["3"] is None


def test_a_user_that_may_not_change_an_image(ann: Any, far: Far) -> None:
    refused = Refused("Glance refuses (403): no")
    refused.status = 403
    far.error = refused
    with pytest.raises(Forbidden, match="Glance refuses"):
        images.unmark(ann.caller, "1")


def test_a_cloud_without_marks(ann: Any, far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Far, "mark_image")
    with pytest.raises(Unavailable, match="the cloud 'far' marks no images"):
        images.mark(ann.caller, "3", "Three", "linux")


def test_regions_that_nobody_knows_are_not_kept(ann: Any, far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_lists, "_MOST", 5)
    for number in range(30):
        images.listed(ann.caller, f"region {number}")
    assert len(cloud_lists._known) <= 5 and len(cloud_lists._reading) <= 6
