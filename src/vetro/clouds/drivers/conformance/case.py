"""`DriverCase`: what the tests of a driver are about, and what they share."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from unittest import SkipTest

from vetro.clouds.drivers.base import DriverError, ServerDriver
from vetro.clouds.drivers.specification import Specification
from vetro.clouds.drivers.specs import NetworkSpec, NicSpec, ServerSpec, SubnetSpec
from vetro.clouds.interface import Cloud, Owner, ServerState, StackChange, StackState
from vetro.clouds.kind_protocols import Capabilities, Place
from vetro.library.stackdata import difference, digest_of, parts_of

OWNER = Owner("project", "e1f2")
SpecT = TypeVar("SpecT", bound=Specification)


def spec_of(kind: type[SpecT], *values: Any, **more: Any) -> SpecT:
    """A specification, whose fields parse what they are given."""
    return kind(*values, **more)


class DriverCase:
    """Authors set `kind`, and give the `listing` of its backend."""

    #: The kind, a `vetro.clouds.stacks.kind.DriverKind`.
    kind: ClassVar[Any]
    #: The record of an image that servers can be made from.
    image: ClassVar[Mapping[str, Any]] = {"name": "debian-12-murano"}
    #: Whether the kind is looked for among those that are installed.
    registered: ClassVar[bool] = True
    #: Seconds that a server may take until it runs, and until its user data was done.
    patience: ClassVar[float] = 120.0
    #: Moments, in seconds after the beginning, at which a process that makes a server is killed.
    kills: ClassVar[tuple[float, ...]] = (0.0, 0.05, 0.3)

    def listing(self) -> Collection[str]:
        """Names of everything that the backend holds now: servers, networks, volumes, groups, processes."""
        raise NotImplementedError(f"{type(self).__name__} has to list what its backend holds")

    def settings(self) -> Mapping[str, Any]:
        """Settings of the cloud as plain data."""
        return {}

    def place(self, directory: Path) -> Place:
        """What the kind may use for a cloud in this folder."""
        return Place(directory=directory)

    def block(self) -> str:
        """The first three numbers of a network that this machine does not use."""
        return "10.211.7"

    def other_block(self) -> str:
        """The same of a second network."""
        return "10.211.8"

    def floating_block(self) -> str:
        """The same of addresses that this machine may be reached at."""
        return "198.18.7"

    def check(self) -> None:
        """Raises `unittest.SkipTest` where the kind cannot run."""

    # -- for the tests -------------------------------------------------------------------------------------------------

    def _able(self) -> Capabilities:
        found: Capabilities = self.kind.capabilities(self.kind.settings.from_json(self.settings()))
        return found

    def _needs_execution(self) -> None:
        if not self._able().executes:
            raise SkipTest("its servers execute nothing")

    def _needs(self, **claims: Collection[Any]) -> None:
        """Skips where the kind claims another value of a capability than these."""
        able = self._able()
        for name, values in claims.items():
            if getattr(able, name) not in values:
                raise SkipTest(f"it claims {name}: {getattr(able, name)}")

    def _driver(self, folder: Path) -> ServerDriver:
        driver: ServerDriver = self.kind.driver(self.kind.settings.from_json(self.settings()), self.place(folder))
        assert isinstance(driver, ServerDriver)
        return driver

    @contextlib.contextmanager
    def _folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="vetro-conformance-") as folder:
            yield Path(folder)

    @contextlib.contextmanager
    def _cloud(self) -> Iterator[ServerDriver]:
        """A driver with a network; all that it made is removed at the end."""
        self.check()
        with self._folder() as folder:
            self._at = folder
            driver = self._driver(folder)
            try:
                self._prepared(driver)
                yield driver
            finally:
                driver.clear()
                driver.close()

    def _open_cloud(self, folder: Path) -> contextlib.closing[Any]:
        """The cloud of the kind in a folder, to be closed again."""
        return contextlib.closing(self.kind.open(self.kind.settings.from_json(self.settings()), self.place(folder)))

    @contextlib.contextmanager
    def _whole_cloud(self, folder: Path, place: Place) -> Iterator[Any]:
        """A cloud of the kind, with everything that it has around the driver."""
        self.check()
        cloud: Any = self.kind.open(self.kind.settings.from_json(self.settings()), place)
        try:
            yield cloud
        finally:
            cloud.driver.clear()
            cloud.close()

    def _push(self, cloud: Cloud, **properties: Any) -> StackState:
        """Makes a stack of one server."""
        properties = {"image": self.image["name"], "flavor": "m1.small", "name": "web", **properties}
        resources = {"web": {"type": "OS::Nova::Server", "properties": properties}}
        parts = parts_of({"heat_template_version": "2013-05-23", "resources": resources})
        return cloud.push_stack(OWNER, "", "stack", StackChange(digest_of(parts), None, *difference({}, parts)))

    def _prepared(self, driver: ServerDriver) -> None:
        self.check()
        driver.ensure_network(self._network())

    def _make(self, folder: Path, spec: ServerSpec) -> None:
        driver = self._driver(folder)
        self._prepared(driver)
        driver.create(spec)

    def _network(self) -> NetworkSpec:
        block = self.block()
        subnet = spec_of(SubnetSpec, "sub-net", f"{block}.0/24", f"{block}.1", leased=True)
        return spec_of(NetworkSpec, "net", "net", [subnet], router="router", uplink=True, project=OWNER.project)

    def _server(self, number: int, **more: Any) -> ServerSpec:
        block = self.block()
        mac, address = f"02:00:00:00:03:{number:02x}", f"{block}.{number + 10}"
        nic = spec_of(NicSpec, f"port-{number}", "net", mac, address, 24, f"{block}.1")
        facts: dict[str, Any] = {
            "id": f"server-{number}",
            "name": f"web{number}",
            "hostname": f"web{number}",
            "owner": OWNER,
            "region": "",
            "stack": "stack",
            "image": self.image,
            "flavor": {"name": "tiny", "vcpus": 1, "ram": 512, "disk": 2},
            "nics": (nic,),
        }
        return ServerSpec(**facts, **more)

    def _settles(self, before: Collection[str], when: str = "in the end") -> None:
        """The backend holds again what it held before. What is about to end of itself gets a moment."""
        end = time.monotonic() + self.patience / 10
        while (now := set(self.listing())) != before:
            assert time.monotonic() < end, f"{when}: left {sorted(now - set(before))}, gone {sorted(set(before) - now)}"
            time.sleep(0.05)

    def _status(self, driver: ServerDriver, spec: ServerSpec) -> str | None:
        return driver.statuses([spec.id]).get(spec.id)

    def _file(self, driver: ServerDriver, spec: ServerSpec | ServerState, path: str) -> bytes:
        """A file, once it is there."""
        end = time.monotonic() + self.patience
        while True:
            try:
                return driver.get_file(spec.id, path)
            except DriverError:
                assert time.monotonic() < end, driver.console(spec.id)
                time.sleep(0.05)

    @staticmethod
    def _twice(call: Callable[[], object]) -> None:
        call()
        call()

    @staticmethod
    def _refused(call: Callable[[], Any]) -> None:
        try:
            call()
        except DriverError as error:
            assert error.message
        else:
            raise AssertionError("it was not refused")

    @staticmethod
    def _killed(work: Callable[[], object], after: float) -> None:
        """Does ``work`` in another process, which is killed after so many seconds."""
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                work()
            os._exit(0)
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
