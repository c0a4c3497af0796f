"""What drivers have to do that keep the disks of servers: `Capabilities.server_snapshots`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.base import DriverError, ServerDriver, SnapshotDriver
from vetro.clouds.drivers.conformance.case import OWNER, DriverCase, spec_of
from vetro.clouds.drivers.specs import ConfigSpec, ServerSpec
from vetro.clouds.interface import CloudError, Held, NotFound, ServerState
from vetro.clouds.interface import Snapshots as Restores

#: What a file is before a snapshot and after it, which is longer and shorter than a page.
_BEFORE, _AFTER = b"before\n", b"after" * 2000


class Snapshots(DriverCase):
    """`Capabilities.server_snapshots`."""

    def test_disks_come_back(self) -> None:
        """Changed, new and removed files; again and again, until the snapshot is dropped. Each call twice is one."""
        self._needs(server_snapshots=(True,))
        with self._cloud() as driver:
            assert isinstance(driver, SnapshotDriver), "it is claimed"
            spec = self._server(1)
            driver.create(spec)
            self._write(driver, spec, {"/srv/changed": _BEFORE, "/srv/removed": _BEFORE})
            assert set(driver.snapshot_methods([spec.id, "server-9"])) == {spec.id}
            self._twice(lambda: driver.take_snapshot(spec.id, "first"))
            self._twice(lambda: driver.start(spec.id))
            for number in range(2):
                self._changes(driver, spec, number)
                for _ in range(2 - number):
                    driver.revert_to_snapshot(spec.id, "first")
                if self._able().executes:
                    assert self._status(driver, spec) == "SHUTOFF"
                driver.start(spec.id)
                self._is_as_before(driver, spec)
            self._twice(lambda: driver.drop_snapshot(spec.id, "first"))
            assert self._status(driver, spec) == "ACTIVE"
            self._is_as_before(driver, spec)
            self._refused(lambda: driver.revert_to_snapshot(spec.id, "first"))
            driver.drop_snapshot("server-9", "first")

    def test_what_was_changed_stays_without_a_snapshot(self) -> None:
        """One snapshot after the other is taken and dropped: the disks go on as they are."""
        self._needs(server_snapshots=(True,))
        with self._cloud() as driver:
            assert isinstance(driver, SnapshotDriver), "it is claimed"
            spec = self._server(1)
            driver.create(spec)
            for number in range(3):
                name = f"number-{number}"
                driver.take_snapshot(spec.id, name)
                driver.start(spec.id)
                self._write(driver, spec, {f"/srv/{name}": name.encode(), "/srv/changed": name.encode()})
                driver.drop_snapshot(spec.id, name)
            for number in range(3):
                assert self._file(driver, spec, f"/srv/number-{number}") == f"number-{number}".encode()
            assert self._file(driver, spec, "/srv/changed") == b"number-2"

    def test_the_cloud_brings_an_environment_back(self) -> None:
        """A server that was replaced comes back with its id, addresses and files; nothing is left of what came."""
        self._needs(server_snapshots=(True,))
        with self._folder() as folder:
            place = self.place(folder)
            before = set(self.listing())
            with self._whole_cloud(folder, place) as cloud:
                assert issubclass(type(cloud), Restores), "it is claimed"
                self._push(cloud)
                (server,) = cloud.servers(OWNER)
                self._write(cloud.driver, server, {"/srv/changed": _BEFORE})
                made = set(self.listing())
                assert [(one.id, one.why) for one in cloud.snapshot_report(OWNER)] == [(server.id, "")]
                assert self._held(cloud) == self._held(cloud) == {server.id}
                for number in range(2):
                    self._push(cloud, user_data="#!/bin/sh\necho another\n")
                    assert [found.id for found in cloud.servers(OWNER)] != [server.id]
                    assert cloud.sweep() == [], "what is held is taken for leftovers"
                    for _ in range(2 - number):
                        cloud.restore(OWNER, "first")
                    assert cloud.servers(OWNER) == [server]
                    self._is(cloud.driver, server, "/srv/changed", _BEFORE)
                    self._settles(made, "restored")
                for owner, name in ((replace(OWNER, environment="other"), "first"), (OWNER, "second")):
                    try:
                        cloud.restore(owner, name)
                    except NotFound:
                        continue
                    raise AssertionError(f"{name} of {owner} was restored")
                self._push(cloud, user_data="#!/bin/sh\necho another\n")
                (kept,) = cloud.servers(OWNER)
                self._twice(lambda: cloud.drop(OWNER, "first"))
                assert cloud.servers(OWNER) == [kept]
                assert set(cloud.driver.statuses([server.id, kept.id])) == {kept.id}, "what was held is removed"
                cloud.delete_stack(OWNER, "", "stack")
            self._settles(before)

    def test_a_process_that_is_killed_in_the_middle_leaves_what_the_next_one_finishes(self) -> None:
        """Whenever it dies, the same call again ends in the same state."""
        self._needs(server_snapshots=(True,))
        self.check()
        with self._folder() as folder:
            try:
                for after in self.kills[1:]:
                    with self._open_cloud(folder) as cloud:
                        self._push(cloud)
                        (server,) = cloud.servers(OWNER)
                        self._write(cloud.driver, server, {"/srv/changed": _BEFORE})
                    self._killed(partial(self._do, folder, lambda cloud: cloud.snapshot(OWNER, "first")), after)
                    self._do(folder, lambda cloud: cloud.snapshot(OWNER, "first"))
                    with self._open_cloud(folder) as cloud:
                        self._write(cloud.driver, server, {"/srv/changed": _AFTER})
                    self._killed(partial(self._do, folder, lambda cloud: cloud.restore(OWNER, "first")), after)
                    self._do(folder, lambda cloud: cloud.restore(OWNER, "first"))
                    with self._open_cloud(folder) as cloud:
                        assert cloud.servers(OWNER) == [server], f"killed after {after} s"
                        self._is(cloud.driver, server, "/srv/changed", _BEFORE)
                    self._killed(partial(self._do, folder, lambda cloud: cloud.drop(OWNER, "first")), after)
                    self._do(folder, lambda cloud: cloud.drop(OWNER, "first"))
                    with self._open_cloud(folder) as cloud:
                        assert cloud.servers(OWNER) == [server], f"killed after {after} s"
                        cloud.delete_stack(OWNER, "", "stack")
            finally:
                with self._whole_cloud(folder, self.place(folder)):
                    pass

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _do(self, folder: Path, work: Callable[[Any], object]) -> None:
        with self._open_cloud(folder) as cloud:
            work(cloud)

    def _held(self, cloud: Any) -> set[str]:
        held: list[Held] = cloud.snapshot(OWNER, "first")
        return {one.id for one in held}

    def _write(self, driver: ServerDriver, spec: ServerSpec | ServerState, files: dict[str, bytes]) -> None:
        """Writes files, once the server takes them."""
        end = time.monotonic() + self.patience
        for path, data in files.items():
            while True:
                try:
                    driver.put_file(spec.id, path, data)
                    break
                except CloudError:
                    assert time.monotonic() < end, driver.console(spec.id)
                    time.sleep(0.05)

    def _changes(self, driver: ServerDriver, spec: ServerSpec | ServerState, number: int) -> None:
        self._write(driver, spec, {"/srv/changed": _AFTER, f"/srv/new-{number}": _AFTER})
        if self._able().executes:
            self._scripted(driver, spec, f"remove-{number}", "#!/bin/sh\nrm /srv/removed\nmkdir -p /opt/deep/er\n")

    def _scripted(self, driver: ServerDriver, spec: ServerSpec | ServerState, id: str, script: str) -> None:
        """Runs a script where the driver takes configurations."""
        config = spec_of(ConfigSpec, id, "c", "script", script, timeout=60)
        with contextlib.suppress(DriverError):
            assert driver.configure(spec.id, config).code == 0

    def _is_as_before(self, driver: ServerDriver, spec: ServerSpec | ServerState) -> None:
        self._is(driver, spec, "/srv/changed", _BEFORE)
        self._is(driver, spec, "/srv/removed", _BEFORE)
        for path in ("/srv/new-0", "/srv/new-1"):
            self._refused(lambda path=path: driver.get_file(spec.id, path))  # type: ignore[misc]

    def _is(self, driver: ServerDriver, spec: ServerSpec | ServerState, path: str, data: bytes) -> None:
        assert self._file(driver, spec, path) == data
