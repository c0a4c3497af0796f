"""What the cloud helper does with requests of a service that somebody has taken over."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.image_tool import SMALL, becomes, image_tool
from tests.support.servers import OWNER, network, pool, server
from vetro.cli.commands.cloud_helper import command
from vetro.clouds.drivers import spec_files
from vetro.clouds.drivers.errors import GuestCommandFailed, HelperAway, HelperRefused, HostFailed, ImageMissing
from vetro.clouds.drivers.specification import parser
from vetro.clouds.drivers.specs import ConfigSpec, GroupSpec, ServerSpec, VolumeSpec
from vetro.clouds.drivers.values import ValueInvalid
from vetro.clouds.helper import service
from vetro.clouds.helper.calls import CALLS, DESCRIPTORS, plain
from vetro.clouds.helper.driver import HelperDriver
from vetro.clouds.helper.failures import error_of
from vetro.clouds.helper.limits import HelperLimits, of_machine
from vetro.clouds.images.store import ImageStore
from vetro.clouds.interface import Command, Owner
from vetro.clouds.nspawn.driver import NspawnDriver
from vetro.frames import Decoder, encode, values_in

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the helper is root's")
PATIENCE = 30.0
CLOUD = "c" * 32
#: Nothing that a request takes, wherever it stands.
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 1 << 80, 0.5, "", "../../etc/passwd", "/etc/shadow", "a/b", ".", "-rf", "x;reboot", "$(reboot)",
    "a\0b", "a\nb", "x" * 70_000, [], [[]], [None], ["../x"], {}, {"id": "../x"}, {"id": "a", "name": "x\n"},
)  # fmt: skip


class Helper:
    """A helper in this process with the driver that it has on machines, which has made nothing yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = tempfile.TemporaryDirectory(prefix="vetro-helper-")  # others than root get there
        os.chmod(self.place.name, 0o711)
        self.at = Path(self.place.name, "socket")
        self.driver = NspawnDriver(folder / "home", images=ImageStore(folder / "images"))
        self.helper = service.CloudHelper(folder, self.driver, HelperLimits(servers=2), 65534, lambda: None)
        self.listener = service.listening(self.at, 65534)
        threading.Thread(target=self.helper.serve, args=(self.listener,), daemon=True).start()

    def raw(self, data: bytes, descriptors: tuple[int, ...] = ()) -> dict[str, Any] | None:
        """What is answered to these bytes; None where the connection is closed instead."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(self.at))
            try:
                socket.send_fds(connection, [data[:1]], list(descriptors))
                connection.sendall(data[1:])
                decoder = Decoder()
                while more := connection.recv(1 << 16):
                    for message in decoder.feed(more):
                        return message
            except ConnectionError:
                pass
        return None

    def ask(self, name: Any, *args: Any, cloud: Any = CLOUD, descriptors: tuple[int, ...] = ()) -> Any:
        message = {"t": "call", "cloud": cloud, "name": name, "args": plain(args)}
        answer = self.raw(encode(message), descriptors)
        assert answer is not None
        if answer["t"] == "failed":
            raise error_of(answer)
        return answer["result"]

    def made(self) -> set[str]:
        return {str(path) for path in (self.folder / "home").rglob("*") if path.is_file() and path.suffix != ".lock"}


@pytest.fixture
def helper(tmp_path: Path) -> Iterator[Helper]:
    made = Helper(tmp_path)
    yield made
    made.listener.shutdown(socket.SHUT_RDWR)
    made.listener.close()
    made.place.cleanup()


@pytest.mark.attack("processes", "I16")
def test_no_hostile_value_is_taken_anywhere(helper: Helper) -> None:
    before = helper.made()
    sockets = [socket.socket() for _ in range(2)]
    tried = 0
    for name, takes in CALLS.items():
        fds = tuple(one.fileno() for one in sockets[: DESCRIPTORS.get(name, 0)])
        for place in range(len(takes)):
            for value in HOSTILE:
                args = [_fitting(hint) for hint in takes]
                args[place] = value
                tried += 1
                try:
                    helper.ask(name, *args, descriptors=fds)
                except Exception as error:
                    # It is refused as what it is, or is a word for something that there is not.
                    assert not isinstance(error, HelperAway), (name, place, value, error)
        for count in (len(takes) + 1, *range(len(takes))):
            with pytest.raises(ValueInvalid, match="takes"):
                helper.ask(name, *["x"] * count, descriptors=fds)
    for name in ("close", "__init__", "_folder", "execute", "channel", "../create", "", None, 7, ["create"], {}):
        with pytest.raises(ValueInvalid, match="nothing that the cloud helper"):
            helper.ask(name)
    assert tried > 500 and helper.made() == before
    for one in sockets:
        one.close()


def _fitting(hint: Any) -> Any:
    """Something that this argument may be."""
    specifications = (
        server(1, "10.0.3"), network("10.0.3"), GroupSpec("g", "g"), VolumeSpec("v", "v", 1),
        ConfigSpec("c", "c", "script", ""), OWNER,
    )  # fmt: skip
    for candidate in ("server-1", "aGk=", 5, [], ["true"], None, False, *map(plain, specifications)):
        try:
            parser(hint)(candidate)
            return candidate
        except ValueInvalid:
            continue
    raise AssertionError(hint)


@pytest.mark.attack("processes", "I16")
def test_what_would_reach_beyond_servers_is_refused(helper: Helper) -> None:
    for cidr in ("8.8.8", "192.168.0", "10.1.0", "10.255.0"):
        with pytest.raises(HelperRefused, match="leads to servers"):
            helper.ask("ensure_network", network(cidr))
    with pytest.raises(HelperRefused, match="pool"):
        helper.ask("ensure_network", pool("8.8.8.0/24"))
    spec_files.Table(helper.folder / "home/nspawn/networks").put("net", network("10.0.3"))
    with pytest.raises(HelperRefused, match="another project"):
        helper.ask("ensure_network", network("10.0.3", project="stranger"))
    spec = server(1, "10.0.3")
    for nic in (replace(spec.nics[0], floating=("8.8.8.8",)), replace(spec.nics[0], floating=("fd00::1",))):
        with pytest.raises(HelperRefused, match="floating address"):
            helper.ask("create", replace(spec, nics=(nic,)))
    for flavor in ({}, {"ram": 0, "vcpus": 1}, {"ram": 512, "vcpus": "1;x"}, {"ram": 1 << 40, "vcpus": 1},
                   {"ram": 512, "vcpus": 1, "disk": -1}, {"ram": True, "vcpus": 1}):  # fmt: skip
        with pytest.raises(HelperRefused, match="flavor"):
            helper.ask("create", replace(spec, flavor=flavor))
    for number in (1, 2):
        folder = helper.folder / "home/nspawn/servers" / f"server-{number}"
        folder.mkdir()
        spec_files.save_server(folder / "server.json", server(number, "10.0.3"))
    stranger = Owner("project", "other")
    for name in ("create", "update"):
        with pytest.raises(HelperRefused, match="another environment"):
            helper.ask(name, server(1, "10.0.3", owner=stranger))
    with pytest.raises(HelperRefused, match="the most that the cloud helper makes"):
        helper.ask("create", server(3, "10.0.3"))


@pytest.mark.attack("processes", "I16")
def test_frames_are_bounded(helper: Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(service, "MOST_MEMORY", 4 << 20)
    assert helper.raw(b"\xff\xff\xff\xff" + b"x" * 100) is None, "larger than any request"
    assert helper.raw(b"\0\0\0\x05hello") is None and helper.raw(b"\0\0\0\x02[]") is None
    begun = time.monotonic()
    assert helper.raw(b"\0\0\1\0{") is None, "never finished"
    assert time.monotonic() - begun < PATIENCE
    assert helper.raw(b"\0\x20\0\0" + b" " * (1 << 21)) is None, "more bytes than all requests may have"
    deep = b"[" * 100_000
    assert helper.raw(len(deep).to_bytes(4, "big") + deep) is None
    with open("/dev/null", "rb") as file, socket.socket() as one:
        for given in ((file.fileno(), file.fileno()), (one.fileno(),)):
            with pytest.raises(ValueInvalid, match="sockets"):
                helper.ask("run_command", "server-1", ["true"], None, False, descriptors=given)
        message = {"t": "call", "cloud": CLOUD, "name": "run_command", "args": ["server-1", ["true"], None, False]}
        assert helper.raw(encode(message), (one.fileno(),) * 3) is None
        with pytest.raises(ValueInvalid, match="0 sockets"):
            helper.ask("networks", descriptors=(one.fileno(),))
    assert helper.ask("networks") == [], "it goes on"
    numbers = [int(number) for number in os.listdir("/proc/self/fd")]
    for _ in range(50):
        with pytest.raises(ValueInvalid), socket.socket() as one:
            helper.ask("networks", descriptors=(one.fileno(),))
    assert len(os.listdir("/proc/self/fd")) < len(numbers) + 20, "descriptors that come are closed"


@pytest.mark.attack("processes", "I16")
def test_only_the_service_asks_and_only_about_its_cloud(helper: Helper) -> None:
    assert helper.ask("networks") == []
    for cloud in ("d" * 32, "", None, 7, "../x"):
        with pytest.raises((HelperAway, ValueInvalid)):
            helper.ask("networks", cloud=cloud)
    script = (
        "import socket, sys; one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[1]); one.sendall(bytes.fromhex("
        "sys.argv[2])); print(one.recv(9999))"
    )
    message = encode({"t": "call", "cloud": CLOUD, "name": "networks", "args": []}).hex()
    os.chmod(helper.at, 0o666)  # as if the rights of the socket did not hold
    python = shutil.which("python3", path="/usr/bin") or sys.executable  # that of the tests may be in a closed home
    program = [python, "-I", "-c", script, str(helper.at), message]
    said = {
        user: subprocess.run(program, user=user, group=65534, extra_groups=[], capture_output=True, cwd="/").stdout
        for user in (65534, 65533)
    }
    assert b'"done"' in said[65534] and b"another user" in said[65533] and b'"done"' not in said[65533]


def test_errors_come_back_as_what_they_are(helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_CLOUD_HELPER", str(helper.at))
    driver = HelperDriver("nspawn", tmp_path / "cloud")
    words = Command(words=("true",), socket=tmp_path / "a.sock")
    folder = helper.folder / "home/nspawn/servers/server-1"
    folder.mkdir()
    spec_files.save_server(folder / "server.json", server(1, "10.0.3"))
    with pytest.raises(GuestCommandFailed, match="does not run"):
        driver.run_command("server-1", words)
    assert not words.socket.exists()
    assert driver.statuses(["server-1", "server-2"]) == {"server-1": "ERROR"}
    assert [one.id for one, *_ in driver.quarantined()] == []
    # What the cloud has is asked about one by one, at the moment when it would be removed.
    assert driver.sweep({"server-1"}, set()) == [] and folder.exists()
    assert len(driver.sweep(set(), set())) == 1 and not folder.exists()
    assert json.loads((tmp_path / "cloud" / "helper.json").read_text()) == spec_files.load(helper.folder / "cloud.json")


def test_the_helper_builds_the_image(helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_CLOUD_HELPER", str(helper.at))
    becomes(image_tool(tmp_path / "bin", monkeypatch), SMALL)
    driver = HelperDriver("nspawn", tmp_path / "cloud")
    assert driver.last_build() is None
    with pytest.raises(ImageMissing):
        driver.begin_build("../debian-12")
    driver.begin_build("debian-12")
    end = time.monotonic() + PATIENCE
    while (found := driver.last_build()) is not None and found.state == "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    assert found is not None and found.state == "done", found
    assert [image["name"] for image in driver.images()] == ["debian-12"]


@pytest.mark.attack("processes", "I16")
def test_what_is_kept_is_bounded(helper: Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 2 * 16
    for number in range(most):
        helper.ask("ensure_group", GroupSpec(f"g{number}", "g", project="p"))
        helper.ask("ensure_volume", VolumeSpec(f"v{number}", "v", 1))
    for name, spec in (("ensure_group", GroupSpec("more", "g")), ("ensure_volume", VolumeSpec("more", "v", 1))):
        with pytest.raises(HelperRefused, match=f"there are {most}"):
            helper.ask(name, spec)
    helper.ask("ensure_group", GroupSpec("g0", "another name", project="p"))
    locks = [path.name for path in (helper.folder / "home/nspawn").glob("network-*.lock")]
    assert [len(name) for name in locks] == [len("network-fff.lock")], "their number is bounded: projects are not"
    spec, deep = server(1, "10.0.3"), list[Any]()
    for _ in range(300):
        deep = [deep]
    for image in ({"name": "x" * (1 << 20)}, {"name": "x", "properties": deep}):
        with pytest.raises(HelperRefused, match="record"):
            helper.ask("create", replace(spec, image=image))
    broken = helper.folder / "home/nspawn/servers/server-9"
    broken.mkdir()
    (broken / "server.json").write_text("[" * 100_000)
    assert helper.ask("agent_socket", "q", OWNER) is None, "one record does not keep it from reading the others"
    broken.joinpath("server.json").unlink()
    broken.rmdir()
    # Servers that are begun at the same time count, too.
    go, made = threading.Event(), list[str]()
    monkeypatch.setattr(helper.driver, "create", lambda spec: (made.append(spec.id), go.wait(PATIENCE)))
    refused = list[Exception]()

    def create(number: int) -> None:
        try:
            helper.ask("create", server(number, "10.0.3"))
        except HelperRefused as error:
            refused.append(error)
        if len(refused) >= 3:
            go.set()

    threads = [threading.Thread(target=create, args=(number,)) for number in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 2 and len(refused) == 3


@pytest.mark.attack("processes", "I16")
def test_the_helper_writes_to_no_other_process_and_logs_no_lines_of_others(helper: Helper) -> None:
    """Root's writes are believed by whoever asks the kernel who wrote: journals, units, buses."""
    script = (
        "import socket, sys; one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[1]);"
        "other = socket.socket(socket.AF_UNIX); other.connect(sys.argv[3]); mine, _ = socket.socketpair();"
        "tried = {'other': other, 'mine': mine, 'datagrams': socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)};"
        "socket.send_fds(one, [bytes.fromhex(sys.argv[2])], [tried[sys.argv[4]].fileno(), mine.fileno()]);"
        "print(one.recv(9999))"
    )
    args = ["server-1", ["true"], None, False]
    message = encode({"t": "call", "cloud": CLOUD, "name": "run_command", "args": args}).hex()
    python = shutil.which("python3", path="/usr/bin") or sys.executable
    daemon = Path(helper.place.name, "daemon")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(daemon))
        os.chmod(daemon, 0o666)
        listener.listen(8)
        said = {
            what: subprocess.run(
                [python, "-I", "-c", script, str(helper.at), message, str(daemon), what],
                user=65534, group=65534, extra_groups=[], capture_output=True, cwd="/",
            ).stdout
            for what in ("other", "mine", "datagrams")
        }  # fmt: skip
    assert b"no server server-1" in said["mine"], said
    assert b"of who asks" in said["other"] and b"of who asks" in said["datagrams"], said
    owner = {**plain(OWNER), "x\nroot logged in" * 1000: "y"}
    with pytest.raises(ValueInvalid) as caught:
        helper.ask("create", {**plain(server(1, "10.0.3")), "owner": owner})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.attack("processes", "I16")
def test_small_requests_do_not_become_large_in_memory(helper: Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_MEMORY", 8 << 20)
    message = {"t": "call", "cloud": CLOUD, "name": "statuses", "args": [["s"] * 100_000]}
    assert helper.raw(encode(message)) is None
    assert helper.ask("statuses", ["s"] * 1000) == {}
    for item in (b"[[]],", b"1,", b'"",', b'"\\"",', b"[" * 10):
        assert values_in(b'{"t":[' + item * 100_000, 1 << 30) >= 100_000
    assert values_in(b'{"t":"' + b'\\"' * (1 << 20), 1 << 30) < 10, "each of these could begin a string"
    assert values_in(encode({"t": "x", "script": 'echo "[1,2,3]" ,\n\\' * 100_000}), 1 << 30) < 10


def test_what_the_machine_refuses_is_said(helper: Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(volume: VolumeSpec) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(helper.driver, "ensure_volume", full)
    with pytest.raises(HostFailed, match="No space left"):  # and not half a minute of no answer
        helper.ask("ensure_volume", VolumeSpec("v", "v", 1))


@pytest.mark.parametrize("option", ["--socket", "--directory", "images"])
def test_others_cannot_change_where_it_writes_and_what_it_reads(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.CloudHelper, "serve", lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="vetro-helper-") as mine, tempfile.TemporaryDirectory() as theirs:
        os.chown(theirs, 65534, 65534)
        places = {"--directory": f"{mine}/home", "--socket": f"{mine}/socket", "images": f"{mine}/images"}
        places[option] = f"{theirs}/x"
        words = ["--directory", places["--directory"], "--socket", places["--socket"], "--user", "65534"]
        done = CliRunner().invoke(command, words, env={"VETRO_IMAGES": places["images"]}, standalone_mode=False)
        assert done.exit_code != 0 and "others than root can change" in done.output + str(done.exception)
        assert option == "--directory" or os.listdir(theirs) == []


@pytest.mark.attack("processes", "I16")
def test_servers_share_what_the_machine_gives(helper: Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = HelperLimits(servers=50, memory=2048, disk=10)
    monkeypatch.setattr(helper.helper, "_limits", bounds)
    made = helper.folder / "home/nspawn/servers"

    def create(spec: ServerSpec) -> None:
        (made / spec.id).mkdir(exist_ok=True)
        spec_files.save_server(made / spec.id / "server.json", spec)

    monkeypatch.setattr(helper.driver, "create", create)
    monkeypatch.setattr(helper.driver, "update", create)
    small = [replace(server(number, "10.0.3"), flavor={"ram": 512, "vcpus": 1, "disk": 2}) for number in range(1, 9)]
    for spec in small[:4]:
        helper.ask("create", spec)
    with pytest.raises(HelperRefused, match="beyond the 2048") as refused:
        helper.ask("create", small[4])
    assert "--memory" in str(refused.value.hint)
    helper.ask("create", small[0])  # it is there, and is started again
    with pytest.raises(HelperRefused, match="memory"):
        helper.ask("update", replace(small[0], flavor={"ram": 1024, "vcpus": 1, "disk": 2}))
    helper.ask("update", replace(small[0], flavor={"ram": 256, "vcpus": 1, "disk": 2}))
    with pytest.raises(HelperRefused, match="beyond the 10") as refused:
        helper.ask("create", replace(small[4], flavor={"ram": 64, "vcpus": 1, "disk": 3}))
    assert "--disk" in str(refused.value.hint)
    helper.ask("create", replace(small[4], flavor={"ram": 256, "vcpus": 1, "disk": 2}))
    # What is being made counts before it has a record, and what becomes larger does.
    shutil.rmtree(made)
    made.mkdir()
    go, begun, refusals = threading.Event(), list[str](), list[str]()
    monkeypatch.setattr(helper.driver, "create", lambda spec: (begun.append(spec.id), go.wait(PATIENCE)))

    def ask(spec: ServerSpec) -> None:
        try:
            helper.ask("create", spec)
        except HelperRefused as error:
            refusals.append(error.message)
        if len(refusals) >= 4:
            go.set()

    threads = [threading.Thread(target=ask, args=(spec,)) for spec in small]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(begun), len(refusals)) == (4, 4)
    memory, disk = of_machine(helper.folder)
    assert memory > 512 and disk > 1


@pytest.mark.attack("processes", "I16")
def test_a_thousand_connections_hold_nobody_up_for_long(
    helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is closed when it has asked nothing in its time; who asks something tries again meanwhile."""
    monkeypatch.setattr(service, "REQUEST_SECONDS", 0.5)
    monkeypatch.setenv("VETRO_CLOUD_HELPER", str(helper.at))
    files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    held = list[socket.socket]()
    try:
        for _ in range(1000):
            one = socket.socket(socket.AF_UNIX)
            held.append(one)
            one.connect(str(helper.at))  # waits as long as there is no room
            assert threading.active_count() <= threads + service.MOST_CONNECTIONS + 1
        assert HelperDriver("nspawn", tmp_path / "cloud").networks() == []
    finally:
        for one in held:
            one.close()
    end = time.monotonic() + PATIENCE
    while threading.active_count() > threads + 1 or len(os.listdir("/proc/self/fd")) > files + 5:
        assert time.monotonic() < end, "nothing is left of them"
        time.sleep(0.05)


@pytest.mark.attack("processes", "I16")
def test_of_two_services_that_ask_at_once_one_is_served(helper: Helper) -> None:
    served, refused = set[str](), set[str]()
    start = threading.Barrier(16)

    def ask(cloud: str) -> None:
        start.wait(PATIENCE)
        try:
            helper.ask("ensure_group", GroupSpec(f"g{cloud[0]}", "g", project="p"), cloud=cloud)
            served.add(cloud)
        except HelperAway as error:
            assert "another cloud" in error.message
            refused.add(cloud)

    threads = [threading.Thread(target=ask, args=(letter * 32,)) for letter in "ab" * 8]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(served) == 1 and served.isdisjoint(refused) and served | refused == {"a" * 32, "b" * 32}
    assert helper.driver.count("groups") == 1
