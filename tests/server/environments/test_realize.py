"""What is simulated is made real: what was written down goes, and all of it is deployed by a cloud that executes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.environments.test_power import Street
from tests.support.moon import moon
from vetro.clouds import kinds
from vetro.clouds.interface import Owner
from vetro.clouds.kind_protocols import Place
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.stacks.cloud import StackCloud
from vetro.server.audit.models import AuditRecord
from vetro.server.config import cloud_settings
from vetro.server.environments import deploy as deploying
from vetro.server.environments import power, realize, sessions, simulation
from vetro.server.environments.models import Environment, InstanceUsage, State
from vetro.server.errors import Conflict, Forbidden, NotFound
from vetro.server.tasks import queue
from vetro.server.tasks.models import Task


class MoonStreet(Street):
    """A street that is only written down, on a machine where servers on the moon need no more than an image."""

    image: Path

    def servers(self, place: Path | None = None) -> list[str]:
        with closing(RecordDriver(place or self.place)) as driver:
            rows = driver.store.rows("SELECT name FROM servers WHERE status != 'DELETED' ORDER BY name")
            return [name for (name,) in rows]

    def on_the_moon(self) -> list[str]:
        return self.servers(self.place / "moon")

    def stacks(self) -> list[str]:
        settings = kinds.find("record").settings.from_json({})
        cloud = kinds.find("record").open(settings, Place(directory=self.place))
        assert isinstance(cloud, StackCloud)
        try:
            return [f"{owner.environment} {stack.name}" for owner, stack in cloud.all_stacks()]
        finally:
            cloud.close()

    def realize(self) -> Task:
        return realize.realize(self.caller, self.row.id)

    @property
    def simulated(self) -> bool:
        return simulation.of_environments([self.row.id]) == {self.row.id}


@pytest.fixture
def street(
    ann: Any, drain: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MoonStreet]:
    from vetro.server import setup
    from vetro.server.config.config import Config

    place = tmp_path / "cloud"
    monkeypatch.setattr(cloud_settings, "_chosen", {})
    with moon(tmp_path) as image:
        # Whatever else this machine could run.
        here = ("moon", "record")
        ranked = kinds.ranked
        monkeypatch.setattr(kinds, "ranked", lambda: [kind for kind in ranked() if kind.name in here])
        given = {"cloud.kind": "auto", "cloud.directory": str(place)}
        monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
        made = MoonStreet(ann, place, drain)
        # As tasks that people begin keep it.
        Environment.objects.filter(id=made.row.id).update(cloud={"kind": "record"})
        made.row.refresh_from_db()
        made.image = image
        yield made


def test_what_was_written_down_goes_and_all_of_it_is_made(street: MoonStreet) -> None:
    assert street.simulated and street.servers() == ["back-1", "front-1"] and len(street.stacks()) == 1
    street.change("stop", "back")
    counted = InstanceUsage.objects.filter(environment=street.row, destroyed=None)
    assert counted.count() == 2
    before = State.objects.filter(environment=street.row).order_by("-number")[0].model["Objects"]
    written = {app["?"]["id"]: app["instance"]["openstackId"] for app in before["applications"]}
    with pytest.raises(Conflict, match="there is no image yet") as refused:
        street.realize()
    assert "vetro image build debian-12" in refused.value.message and "do this again" in str(refused.value.hint)
    assert street.simulated and len(street.servers()) == 2, "nothing was done"

    street.image.touch()
    task = street.realize()
    assert not street.simulated and street.servers() == [] and street.stacks() == []
    assert not counted.exists(), "they are not counted as servers that were there"
    with pytest.raises(Forbidden):
        street.realize()  # sent twice
    street.ran(task)
    assert street.on_the_moon() == ["back-1", "front-1"] and street.servers() == [], "made by the other kind"
    assert street.row.cloud == {"kind": "moon"} and street.row.failure == "" and street.row.stopped == {}
    after = State.objects.filter(environment=street.row).order_by("-number")[0].model["Objects"]
    made = {app["?"]["id"]: app["instance"]["openstackId"] for app in after["applications"]}
    assert made.keys() == written.keys() and set(made.values()).isdisjoint(written.values()), "ids of the new servers"
    with pytest.raises(Conflict, match="is not simulated"):
        street.realize()
    actions = AuditRecord.objects.filter(target_id=street.row.id, action__contains="realize")
    assert [row.user_name for row in actions] == [street.caller.user_name]
    # It is one like any other: deployed again it stays as it is, destroyed nothing is left.
    street.ran(deploying.deploy(street.caller, street.row.id, sessions.open_session(street.caller, street.row.id).id))
    assert len(street.on_the_moon()) == 2
    street.ran(power.change(street.caller, street.row.id, "stop"))
    deleted = deploying.delete(street.caller, street.row.id)
    assert deleted is not None
    street.drain()
    assert not Environment.objects.filter(id=street.row.id).exists()
    assert street.on_the_moon() == [] and street.stacks() == []


def test_new_environments_are_real_as_soon_as_there_is_an_image(
    street: MoonStreet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody starts the service again; every process of it looks for itself."""
    assert simulation.of_service()
    street.image.touch()
    assert simulation.of_service(), "not looked for with every request"
    now = cloud_settings.time.monotonic()
    monkeypatch.setattr(cloud_settings.time, "monotonic", lambda: now + 31)
    assert not simulation.of_service() and street.simulated
    street.image.unlink()
    monkeypatch.setattr(cloud_settings.time, "monotonic", lambda: now + 3600)
    assert not simulation.of_service(), "what runs servers is kept"


@pytest.mark.parametrize("step", [pytest.param("before", marks=pytest.mark.campaign), "after"])
def test_whoever_is_killed_does_it_again(street: MoonStreet, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The request ends while what was written down is destroyed, and when that is done but nothing committed yet."""
    street.image.touch()
    delete = StackCloud.delete_stack

    def killed(cloud: StackCloud, owner: Owner, region: str, name: str) -> None:
        if step == "after":
            delete(cloud, owner, region, name)
        raise KeyboardInterrupt

    version, states = street.row.version, State.objects.filter(environment=street.row).count()
    monkeypatch.setattr(StackCloud, "delete_stack", killed)
    with pytest.raises(KeyboardInterrupt):
        street.realize()
    monkeypatch.setattr(StackCloud, "delete_stack", delete)
    street.row.refresh_from_db()
    assert street.simulated and (street.row.version, street.row.cloud) == (version, {"kind": "record"})
    assert State.objects.filter(environment=street.row).count() == states
    assert not Task.objects.filter(environment_id=street.row.id, state=Task.QUEUED).exists()
    street.ran(street.realize())
    assert street.on_the_moon() == ["back-1", "front-1"] and street.servers() == []


def test_what_did_not_end_well_is_deployed_like_any_other(street: MoonStreet) -> None:
    """From the first step on it is real: what is left to do is a deployment."""
    street.image.touch()
    task = street.realize()
    queue.cancel(street.caller, task.id)
    task.refresh_from_db()
    assert task.state == "cancelled" and not street.simulated and street.on_the_moon() == []
    street.ran(deploying.again(street.caller, task))
    assert street.on_the_moon() == ["back-1", "front-1"] and street.row.cloud == {"kind": "moon"}


def test_others_cannot(street: MoonStreet, eve: Any) -> None:
    street.image.touch()
    with pytest.raises((Forbidden, NotFound)):
        realize.realize(eve.caller, street.row.id)
    assert street.simulated and len(street.servers()) == 2
