"""What every driver of servers has to do, whatever its kind claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest import SkipTest

from vetro.clouds import kinds
from vetro.clouds.drivers.conformance.case import OWNER, DriverCase, spec_of
from vetro.clouds.drivers.specs import GroupSpec, SecurityRule, VolumeSpec
from vetro.clouds.kind_protocols import Capabilities, CloudKind

#: Writes a line each time that it runs, and shows the server's own name.
#: The name is there as a whole, or not: who waits for the file looks as soon as it can be read.
USER_DATA = "#!/bin/sh\necho run >> /root/runs\nhostname > /root/name.new\nmv /root/name.new /root/name\n"


class Core(DriverCase):
    """The core part."""

    # -- what the kind says --------------------------------------------------------------------------------------------

    def test_it_is_a_kind(self) -> None:
        """It has what kinds have, tells what it can do without a cloud, and is registered under its name."""
        assert isinstance(self.kind, CloudKind)
        assert isinstance(self.kind.capabilities(None), Capabilities)
        assert self.kind.title and self.kind.name == self.kind.name.strip().lower()
        if self.registered:
            assert kinds.find(self.kind.name) is self.kind

    # -- convergence ---------------------------------------------------------------------------------------------------

    def test_each_call_twice_is_one(self) -> None:
        """Making, stopping, starting and removing a server a second time changes nothing."""
        with self._cloud() as driver:
            spec = self._server(1)
            self._twice(lambda: driver.create(spec))
            assert self._status(driver, spec) == "ACTIVE"
            made = set(self.listing())
            driver.create(spec)
            assert set(self.listing()) == made, "making it again made something"
            self._twice(lambda: driver.stop(spec.id))
            if self._able().executes:
                assert self._status(driver, spec) == "SHUTOFF"
            self._twice(lambda: driver.start(spec.id))
            assert self._status(driver, spec) == "ACTIVE"
            self._twice(lambda: driver.delete(spec.id))
            assert self._status(driver, spec) is None
            driver.stop(spec.id)

    def test_networks_groups_and_volumes_twice_are_one(self) -> None:
        """The same for what servers need."""
        with self._cloud() as driver:
            group = spec_of(
                GroupSpec,
                "group-1",
                "web",
                [spec_of(SecurityRule, protocol="tcp", port_min=80, port_max=80)],
                OWNER.project,
            )
            volume = spec_of(VolumeSpec, "volume-1", "data", 1)
            network = self._network()
            makings: list[tuple[Callable[[], None], Callable[[], None]]] = [
                (lambda: driver.ensure_network(network), lambda: driver.delete_network(network.id)),
                (lambda: driver.ensure_group(group), lambda: driver.delete_group(group.id)),
            ]
            if self._able().volumes != "none":
                makings.append((lambda: driver.ensure_volume(volume), lambda: driver.delete_volume(volume.id)))
                makings.append(
                    (
                        lambda: driver.ensure_volume(spec_of(VolumeSpec, "volume-1", "data", 2)),
                        lambda: driver.delete_volume(volume.id),
                    )
                )
            for make, remove in makings:
                self._twice(make)
                self._twice(remove)

    def test_a_process_that_is_killed_leaves_what_the_next_one_finishes(self) -> None:
        """A process that makes a server dies at some moment: making it again ends in the same state."""
        for after in self.kills:
            with self._folder() as folder:
                before = set(self.listing())
                spec = self._server(1)
                self._killed(lambda folder=folder, spec=spec: self._make(folder, spec), after)  # type: ignore[misc]
                driver = self._driver(folder)
                try:
                    driver.ensure_network(self._network())
                    driver.create(spec)
                    assert self._status(driver, spec) == "ACTIVE", f"killed after {after} s"
                finally:
                    driver.clear()
                    driver.close()
                self._settles(before, f"killed after {after} s")

    # -- leftovers -----------------------------------------------------------------------------------------------------

    def test_nothing_is_left(self) -> None:
        """After a server and its network are removed the backend holds what it held before."""
        with self._folder() as folder:
            before = set(self.listing())
            driver = self._driver(folder)
            try:
                self._prepared(driver)
                driver.create(self._server(1))
                assert set(self.listing()) > before, "the listing does not show a server"
                driver.delete("server-1")
                driver.delete_network("net")
                driver.clear()
            finally:
                driver.close()
            self._settles(before)

    def test_what_the_cloud_does_not_know_is_swept(self) -> None:
        """Servers that the cloud does not know run no more; those it knows are left alone; a second time is none."""
        with self._cloud() as driver:
            known, unknown = self._server(1), self._server(2)
            driver.create(known)
            driver.create(unknown)
            assert driver.sweep([known.id], ["net"])
            assert self._status(driver, known) == "ACTIVE"
            assert self._status(driver, unknown) != "ACTIVE"
            assert list(driver.sweep([known.id], ["net"])) == []

    def test_another_cloud_is_left_alone(self) -> None:
        """Removing everything of one cloud touches nothing of another one."""
        with self._cloud() as mine, self._folder() as folder:
            mine.create(self._server(1))
            other = self._driver(folder)
            try:
                other.sweep([], [])
                other.clear()
                assert self._status(mine, self._server(1)) == "ACTIVE"
                assert self._status(other, self._server(1)) is None
            finally:
                other.close()

    def test_another_process_sees_the_same(self) -> None:
        """A driver that is opened in the same folder knows the servers, and removes them."""
        with self._cloud() as driver:
            driver.create(self._server(1))
            again = self._driver(self._at)
            try:
                assert self._status(again, self._server(1)) == "ACTIVE"
                again.delete("server-1")
            finally:
                again.close()
            assert self._status(driver, self._server(1)) is None

    # -- guests --------------------------------------------------------------------------------------------------------

    def test_user_data_runs_once(self) -> None:
        """As root, with the server's name, and not again when the server is started again."""
        self._needs_execution()
        with self._cloud() as driver:
            spec = self._server(1, user_data=USER_DATA)
            driver.create(spec)
            assert self._file(driver, spec, "/root/name") == b"web1\n"
            driver.stop(spec.id)
            driver.start(spec.id)
            driver.put_file(spec.id, "/root/again", b"")
            assert self._file(driver, spec, "/root/runs") == b"run\n"

    def test_files_go_in_and_out(self) -> None:
        """Any bytes; links are followed inside the server only; what is no file is an error."""
        self._needs_execution()
        with self._cloud() as driver:
            spec = self._server(1)
            driver.create(spec)
            data = bytes(range(256)) * 500
            driver.put_file(spec.id, "/srv/new/data.bin", data, 0o600)
            assert driver.get_file(spec.id, "/srv/new/data.bin") == data
            for wrong in ("/srv/none", "/srv/new", "relative"):
                self._refused(lambda wrong=wrong: driver.get_file(spec.id, wrong))  # type: ignore[misc]
            self._refused(lambda: driver.put_file(spec.id, "../outside", b"x"))
            self._refused(lambda: driver.get_file("server-9", "/etc/hostname"))

    def test_a_console_is_there(self) -> None:
        """It ends with lines, never with an error."""
        if self._able().consoles == "none":
            raise SkipTest("it has no consoles")
        with self._cloud() as driver:
            driver.create(self._server(1))
            assert isinstance(driver.console("server-1"), str)
            assert len(driver.console("server-1", 1).splitlines()) <= 1

    # -- volumes -------------------------------------------------------------------------------------------------------

    def test_volumes_are_attached_as_claimed(self) -> None:
        """Where volumes can be attached it works; where not, it is refused and the server stays as it is."""
        with self._cloud() as driver:
            spec = self._server(1)
            driver.create(spec)
            volume = spec_of(VolumeSpec, "volume-1", "data", 1, device="/dev/vdb")
            if self._able().volumes == "attach":
                driver.ensure_volume(volume)
                driver.update(replace(spec, volumes=(volume,)))
                driver.update(spec)
                driver.delete_volume(volume.id)
            else:
                fresh = replace(self._server(2), volumes=(volume,))
                self._refused(lambda: driver.create(fresh))
                driver.delete(fresh.id)
            assert self._status(driver, spec) == "ACTIVE"

    # -- the whole -----------------------------------------------------------------------------------------------------

    def test_a_stack_is_made_and_removed(self) -> None:
        """A cloud of the kind makes the servers of a template, and nothing is left when it is deleted."""
        with self._folder() as folder:
            before = set(self.listing())
            with self._whole_cloud(folder, self.place(folder)) as cloud:
                assert self._push(cloud).status == "CREATE_COMPLETE"
                assert [(server.name, server.status) for server in cloud.servers(OWNER)] == [("web", "ACTIVE")]
                cloud.delete_stack(OWNER, "", "stack")
                assert cloud.servers(OWNER) == []
            self._settles(before)
