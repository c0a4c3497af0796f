"""What drivers have to do that claim more than the core: a class for each facet; its tests skip what is not claimed."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import SkipTest

from vetro.clouds.drivers.base import (
    AgentDriver,
    CommandDriver,
    ConfigResult,
    DriverError,
    JournalDriver,
    MeasuringDriver,
    ServerDriver,
    SnapshotDriver,
)
from vetro.clouds.drivers.conformance.case import OWNER, DriverCase, spec_of
from vetro.clouds.drivers.specs import ConfigSpec, ServerSpec, VolumeSpec
from vetro.clouds.guest.running_command import send_input
from vetro.clouds.interface import Command, MeasuresServers, NotAvailable, NotFound, PowerAction, RunningCommand
from vetro.clouds.interface import Power as Switches
from vetro.clouds.messages import Message
from vetro.clouds.quotas import QuotaExceeded

#: A service that says something in red.
SAYS = """\
#!/bin/sh
cat > /root/says <<'END'
#!/bin/sh
printf 'said-\\033[31mred\\n'
END
chmod 755 /root/says
printf '[Service]\\nType=oneshot\\nExecStart=/root/says\\n' > /etc/systemd/system/said.service
systemctl daemon-reload
systemctl start said
echo > /root/done
"""


class Power(DriverCase):
    """`Capabilities.power`: servers are stopped, started and end."""

    def test_a_stopped_server_keeps_its_files(self) -> None:
        """And is known: stopped, it is neither gone nor broken."""
        self._needs_execution()
        with self._cloud() as driver:
            spec = self._server(1)
            driver.create(spec)
            driver.put_file(spec.id, "/srv/kept", b"data")
            driver.stop(spec.id)
            assert dict(driver.statuses([spec.id, "server-9"])) == {spec.id: "SHUTOFF"}
            driver.start(spec.id)
            assert self._file(driver, spec, "/srv/kept") == b"data"

    def test_a_stopped_server_is_removed(self) -> None:
        """With everything that it had; one that is not there cannot be started."""
        with self._folder() as folder:
            before = set(self.listing())
            driver = self._driver(folder)
            try:
                self._prepared(driver)
                driver.create(self._server(1))
                driver.stop("server-1")
                driver.delete("server-1")
                self._refused(lambda: driver.start("server-1"))
            finally:
                driver.clear()
                driver.close()
            self._settles(before)

    def test_the_cloud_switches_servers_as_claimed(self) -> None:
        """Each action twice ends in the same state, also what is broken or off; only servers of one's own."""
        self._needs(power=(True,))
        with self._folder() as folder, self._whole_cloud(folder, self.place(folder)) as cloud:
            assert issubclass(type(cloud), Switches), "it is claimed"
            self._push(cloud)
            (server,) = cloud.servers(OWNER)
            wanted: list[tuple[PowerAction, str]] = [("stop", "SHUTOFF"), ("start", "ACTIVE"), ("restart", "ACTIVE")]
            for action, state in [*wanted, wanted[0], wanted[2], *wanted[:2]]:
                self._twice(lambda action=action: cloud.power(OWNER, server.id, action))  # type: ignore[misc]
                assert [found.status for found in cloud.servers(OWNER)] == [state], action
            for owner, id in ((replace(OWNER, environment="other"), server.id), (OWNER, "server-9")):
                try:
                    cloud.power(owner, id, "stop")
                except NotFound:
                    continue
                raise AssertionError(f"{id} of {owner} was stopped")
            assert [found.status for found in cloud.servers(OWNER)] == ["ACTIVE"]

    def test_a_process_that_is_killed_while_it_switches_leaves_what_the_next_one_finishes(self) -> None:
        """Whenever it dies, the same action again ends in its state."""
        self._needs(power=(True,))
        self.check()
        with self._folder() as folder:
            try:
                with self._open_cloud(folder) as cloud:
                    self._push(cloud)
                steps: list[tuple[PowerAction, str]] = [("stop", "SHUTOFF"), ("start", "ACTIVE"), ("restart", "ACTIVE")]
                for after in self.kills:
                    for action, state in steps:
                        self._killed(partial(self._switch, folder, action), after)
                        assert self._switch(folder, action) == [state], f"{action}, killed after {after} s"
            finally:
                with self._whole_cloud(folder, self.place(folder)):
                    pass

    def _switch(self, folder: Path, action: PowerAction) -> list[str]:
        with self._open_cloud(folder) as cloud:
            (server,) = cloud.servers(OWNER)
            cloud.power(OWNER, server.id, action)
            return [found.status for found in cloud.servers(OWNER)]


class Consoles(DriverCase):
    """`Capabilities.consoles`."""

    def test_what_a_server_prints_is_on_its_console(self) -> None:
        """The output of its user data; the last lines are given, as many as were asked for."""
        self._needs_execution()
        self._needs(consoles=("log", "terminal"))
        with self._cloud() as driver:
            spec = self._server(1, user_data="#!/bin/sh\nfor n in 1 2 3; do echo printed-$n; done\necho > /root/done\n")
            driver.create(spec)
            self._file(driver, spec, "/root/done")
            end = time.monotonic() + self.patience
            while "printed-3" not in (said := driver.console(spec.id)):
                assert time.monotonic() < end, said
                time.sleep(0.05)
            assert driver.console(spec.id, 2).splitlines() == driver.console(spec.id).splitlines()[-2:]


class Journals(DriverCase):
    """`Capabilities.journals`."""

    def test_what_a_service_says_is_in_the_journal(self) -> None:
        """The last lines are given, without what would command a terminal; of a server that runs."""
        self._needs_execution()
        self._needs(journals=(True,))
        with self._cloud() as driver:
            assert isinstance(driver, JournalDriver)
            spec = self._server(1, user_data=SAYS)
            driver.create(spec)
            self._file(driver, spec, "/root/done")
            end = time.monotonic() + self.patience
            while "said-red" not in (said := driver.journal(spec.id)):
                assert time.monotonic() < end, said
                time.sleep(0.05)
            assert len(driver.journal(spec.id, 1).splitlines()) <= 1
            driver.stop(spec.id)
            try:
                driver.journal(spec.id)
            except DriverError:
                return
            raise AssertionError("nobody reads the journal of a server that does not run")


class Commands(DriverCase):
    """`Capabilities.commands`."""

    def test_a_command_is_told_apart_from_its_errors_and_ends_with_its_status(self) -> None:
        """What it is given it reads; only in a server that runs."""
        self._needs_execution()
        self._needs(commands=(True,))
        with self._cloud() as driver, tempfile.TemporaryDirectory() as folder:
            assert isinstance(driver, CommandDriver)
            spec = self._server(1)
            driver.create(spec)
            words = ("sh", "-c", 'read word; echo "$1 $word"; echo bad >&2; cat; exit 7', "sh", "a b")
            command = Command(words=words, input=True, socket=Path(folder, "one"))
            running = driver.run_command(spec.id, command)
            try:
                assert send_input(command.socket, b"you\nrest", end=True) == "ok"
                said, code = self._said(running)
            finally:
                running.close()
            assert (said["stdout"], said["stderr"], code) == (b"a b you\nrest", b"bad\n", 7)
            driver.stop(spec.id)
            try:
                driver.run_command(spec.id, replace(command, socket=Path(folder, "two")))
            except DriverError:
                return
            raise AssertionError("nobody runs a command in a server that does not run")

    def test_a_terminal_has_a_size_and_ends_with_who_has_it(self) -> None:
        """What is typed is shown and done; nothing of the session stays when it is closed."""
        self._needs_execution()
        self._needs(commands=(True,))
        with self._cloud() as driver, tempfile.TemporaryDirectory() as folder:
            assert isinstance(driver, CommandDriver)
            spec = self._server(1)
            driver.create(spec)
            command = Command(words=("sh", "-i"), terminal=(91, 33), socket=Path(folder, "one"))
            running = driver.run_command(spec.id, command)
            try:
                assert (
                    send_input(command.socket, b"tty && stty size && sh -c 'echo $((40 + 2)); exec sleep 4321'\n")
                    == "ok"
                )
                assert b"33 91" in self._until(running, b"42")
                assert send_input(command.socket, b"\x03", size=(70, 20)) == "ok"
                assert send_input(command.socket, b"stty size; sleep 4321\n") == "ok"
                self._until(running, b"20 70")
            finally:
                running.close()
            listed = Command(words=("sh", "-c", "cat /proc/[0-9]*/cmdline"), socket=Path(folder, "two"))
            running = driver.run_command(spec.id, listed)
            try:
                said, _ = self._said(running)
            finally:
                running.close()
            assert b"sleep\x004321" not in said["stdout"]

    def _said(self, running: RunningCommand) -> tuple[dict[str, bytes], int]:
        """What a command writes to its end, and its status."""
        said = {"stdout": b"", "stderr": b"", "input": b""}
        while True:
            event = running.read(self.patience)
            assert event is not None, said
            if event.kind == "exit":
                return said, event.code
            said[event.kind] += event.data

    def _until(self, running: RunningCommand, text: bytes) -> bytes:
        """What a command writes until it has written this."""
        said = b""
        while text not in said:
            event = running.read(self.patience)
            assert event is not None and event.kind != "exit", said
            said += event.data
        return said


class Measurements(DriverCase):
    """Drivers that tell what servers use (`MeasuringDriver`)."""

    def test_a_running_server_is_measured(self) -> None:
        """Processors, memory, disk; not one that is stopped, or that there is not."""
        self._needs_execution()
        with self._cloud() as driver:
            if not isinstance(driver, MeasuringDriver):
                raise SkipTest("the driver tells nothing of what servers use")
            spec = self._server(
                1, user_data="#!/bin/sh\nhead -c 3000000 /dev/urandom > /root/data\nsync\necho > /root/done\n"
            )
            driver.create(spec)
            self._file(driver, spec, "/root/done")
            found = driver.server_metrics([spec.id, "server-9"])
            assert set(found) == {spec.id}
            told = found[spec.id]
            assert told.cpu_seconds is not None and told.cpu_seconds > 0
            assert told.memory is not None and told.memory > 100_000
            assert told.disk is not None and told.disk >= 3_000_000, told
            if isinstance(driver, AgentDriver):  # it has none
                assert driver.agents_run([spec.id, "server-9"]) == {spec.id: False}
            driver.stop(spec.id)
            assert driver.server_metrics([spec.id]) == {}
            assert not isinstance(driver, AgentDriver) or driver.agents_run([spec.id]) == {}

    def test_the_cloud_measures_servers_of_their_owner_only(self) -> None:
        """A model may name the servers of strangers."""
        self._needs_execution()
        with self._folder() as folder, self._whole_cloud(folder, self.place(folder)) as cloud:
            meter: object = cloud
            if not isinstance(meter, MeasuresServers):
                raise SkipTest("the cloud tells nothing of what servers use")
            self._push(cloud)
            (server,) = cloud.servers(OWNER)
            other = replace(OWNER, environment="other")
            assert meter.server_metrics({other: [server.id]}) == {}
            assert set(meter.server_metrics({OWNER: [server.id], other: [server.id]})) <= {server.id}


class Configurations(DriverCase):
    """Software configurations and signals. A driver takes both or refuses the first."""

    def test_a_configuration_runs_once(self) -> None:
        """It gets its inputs, its result is kept, and the same id is not run again."""
        with self._cloud() as driver:
            spec = self._server(1)
            driver.create(spec)
            script = '#!/bin/sh\necho "$word"; echo x >> /root/configured; exit 4\n'
            first = self._configured(driver, spec, "c-1", script, {"word": "two words"})
            assert self._configured(driver, spec, "c-1", script, {"word": "two words"}) == first
            if self._able().executes:
                assert (first.stdout, first.code) == ("two words\n", 4)
                assert self._file(driver, spec, "/root/configured") == b"x\n"

    def test_signals_of_a_server_come(self) -> None:
        """Those that it sent to a wait handle, and those of no other server."""
        with self._cloud() as driver:
            spec = self._server(1)
            driver.create(spec)
            said = json.dumps({"status": "SUCCESS", "id": "7", "data": "d"})
            command = f"{driver.signal_command('handle-1')} --data-binary '{said}'"
            self._configured(driver, spec, "c-1", f"#!/bin/sh\n{command}\n", {})
            assert [signal.status for signal in driver.signals("handle-1", [spec.id])] == ["SUCCESS"]
            if self._able().executes:
                assert [(signal.id, signal.data) for signal in driver.signals("handle-1", [spec.id])] == [("7", "d")]
                assert list(driver.signals("handle-1", ["server-9"])) == []
                assert list(driver.signals("handle-2", [spec.id])) == []

    def _configured(
        self, driver: ServerDriver, spec: ServerSpec, id: str, script: str, inputs: dict[str, str]
    ) -> ConfigResult:
        """Runs a script in a server. Skips where the driver takes no configurations."""
        try:
            return driver.configure(spec.id, spec_of(ConfigSpec, id, "c", "script", script, inputs, timeout=60))
        except DriverError as error:
            raise SkipTest(f"it takes no configurations: {error.message}") from None


class Volumes(DriverCase):
    """`Capabilities.volumes`."""

    def test_volumes_go_from_one_server_to_another(self) -> None:
        """A volume outlives its server, and is another one's then."""
        self._needs(volumes=("attach",))
        with self._cloud() as driver:
            volume = spec_of(VolumeSpec, "volume-1", "data", 1, device="/dev/vdb")
            driver.ensure_volume(volume)
            first, second = (replace(self._server(number), volumes=(volume,)) for number in (1, 2))
            driver.create(first)
            driver.delete(first.id)
            driver.create(second)
            self._twice(lambda: driver.update(replace(second, volumes=())))
            assert self._status(driver, second) == "ACTIVE"
            self._twice(lambda: driver.delete_volume(volume.id))

    def test_without_volumes_none_is_made(self) -> None:
        """What is not claimed is refused."""
        self._needs(volumes=("none",))
        with self._cloud() as driver:
            self._refused(lambda: driver.ensure_volume(spec_of(VolumeSpec, "volume-1", "data", 1)))


class Agents(DriverCase):
    """`Capabilities.agents`: the channel. What agents do with plans is tested with the agent."""

    def test_queues_are_those_of_the_environment(self) -> None:
        """A message goes to queues of this environment only, and is kept once for each id."""
        self._needs(agents=("stream",))
        with self._cloud() as driver:
            queue = f"e{OWNER.environment}-h1"
            spec = self._server(1, queue=queue)
            driver.create(spec)
            channel = driver.channel(OWNER)
            try:
                message = Message("1", json.dumps({"FormatVersion": "2.0.0", "Name": "p"}), None, "answers")
                self._twice(lambda: channel.send(queue, message))
                assert channel.connected(queue) in (True, False, None)
                stranger = "eanother-h1"
                try:
                    channel.send(stranger, message)
                except NotFound:
                    pass
                else:
                    raise AssertionError("a queue of another environment was taken")
            finally:
                channel.close()

    def test_without_agents_there_is_no_channel(self) -> None:
        """What is not claimed is refused, as what a cloud does not have."""
        self._needs(agents=("none",))
        with self._cloud() as driver:
            try:
                driver.channel(OWNER)
            except NotAvailable:
                return
            raise AssertionError("there is a channel, and no agents are claimed")


class Quotas(DriverCase):
    """`Capabilities.quota`."""

    def test_what_exceeds_a_quota_is_refused_before_anything_is_made(self) -> None:
        """A cloud of a kind that claims quotas keeps to them."""
        self._needs(quota=(True,))
        self.check()
        with self._folder() as folder:
            before = set(self.listing())
            with self._whole_cloud(folder, replace(self.place(folder), quotas={"servers": 0})) as cloud:
                try:
                    self._push(cloud)
                except QuotaExceeded as error:
                    assert "'servers'" in error.message
                else:
                    raise AssertionError("the quota of servers was exceeded")
                assert cloud.servers(OWNER) == [] and set(self.listing()) == before
            self._settles(before)


class Claims(DriverCase):
    """Capabilities for which a driver has to offer an interface."""

    def test_nothing_is_claimed_without_an_interface(self) -> None:
        """Several machines need `Placement`, journals `JournalDriver`, commands `CommandDriver`, snapshots of servers
        `SnapshotDriver`; consoles that are terminals have no interface for drivers yet.

        Whoever can start and stop servers at all says so: every driver can.
        """
        able = self._able()
        assert able.consoles != "terminal"
        assert able.power
        self.check()
        with self._folder() as folder:
            driver = self._driver(folder)
            try:
                assert able.members == hasattr(driver, "member"), "members are claimed where Placement is there"
                assert able.journals == isinstance(driver, JournalDriver)
                assert able.commands == isinstance(driver, CommandDriver)
                assert able.server_snapshots == isinstance(driver, SnapshotDriver)
            finally:
                driver.close()
