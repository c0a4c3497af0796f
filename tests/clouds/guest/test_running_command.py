"""Commands that run on: streams, terminals, input, what is bounded, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vetro.clouds.drivers.errors import GuestCommandFailed
from vetro.clouds.guest.command_process import WAITING
from vetro.clouds.guest.running_command import CommandEntry, GuestCommand, open_terminal, running, send_input
from vetro.clouds.interface import Command

PATIENCE = 30.0


class Here:
    """Commands of this machine, held as those of servers are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.open: list[GuestCommand] = []

    def start(self, *words: str, terminal: bool = False, input: bool = False, status: bool = False) -> GuestCommand:
        self.count += 1
        self.socket = self.folder / f"{self.count}.sock"
        size = (91, 33) if terminal else None
        command = Command(words=words, terminal=size, input=input, socket=self.socket)
        self.open.append(GuestCommand(CommandEntry(words, os.openpty() if terminal else None, status), command))
        return self.open[-1]

    def until(self, command: GuestCommand, text: bytes) -> bytes:
        said, end = b"", time.monotonic() + PATIENCE
        while text not in said:
            assert time.monotonic() < end, said
            event = command.read(1)
            assert event is None or event.kind != "exit", said
            said += event.data if event is not None else b""
        return said


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    folder = tmp_path / ("deep" * 40)  # longer than an address of a socket
    folder.mkdir()
    made = Here(folder)
    yield made
    for command in made.open:
        command.close()
    assert os.listdir(folder) == []


def all_of(command: GuestCommand) -> tuple[bytes, bytes, int]:
    said = {"stdout": b"", "stderr": b"", "input": b""}
    while True:
        event = command.read(PATIENCE)
        assert event is not None, said
        if event.kind == "exit":
            return said["stdout"], said["stderr"], event.code
        said[event.kind] += event.data


def gone(pid: int) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_streams_are_apart_and_the_status_is_the_command_s_own(here: Here) -> None:
    assert all_of(here.start("sh", "-c", 'cat; echo "$1"; echo bad >&2; exit 7', "sh", "a b; c")) == (
        b"a b; c\n", b"bad\n", 7
    )  # fmt: skip
    assert all_of(here.start("sh", "-c", "kill -9 $$"))[2] == 128 + 9
    big = here.start("sh", "-c", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2")
    assert [len(part) for part in all_of(big)[:2]] == [3_000_000, 3_000_000]
    with pytest.raises(GuestCommandFailed, match="No such file"):
        here.start("/no/such/program")


def test_input_comes_over_a_socket_and_is_bounded(here: Here) -> None:
    command = here.start("sh", "-c", "read go; cat", input=True)
    assert running(here.folder) == ["1.sock"]
    part = b"x" * (WAITING // 2)
    assert send_input(here.socket, b"") == "ok"
    taken = 0
    while (answer := send_input(here.socket, part)) == "ok":  # what a pipe holds, and what waits
        taken += 1
        assert taken < 5
    assert answer == "full"
    assert send_input(here.socket, b"\nrest", end=True) == "ok", "a small part is taken"
    assert send_input(here.socket, b"more") == "ended"
    assert all_of(command) == (b"rest", b"", 0)
    command.close()
    assert send_input(here.socket, b"late") == "ended" and running(here.folder) == []


def test_a_terminal_has_a_size_and_all_in_it_ends_when_it_is_closed(here: Here) -> None:
    command = here.start("sh", "-i", terminal=True)
    assert (
        send_input(here.socket, b"stty size; tty; sleep 4000 & sh -c 'echo begun-$((1 + 1)); exec sleep 4001'\n")
        == "ok"
    )
    said = here.until(command, b"begun-2")
    assert b"33 91" in said and b"/dev/pts/" in said
    assert send_input(here.socket, b"\x03", size=(70, 20)) == "ok"
    assert send_input(here.socket, b"stty size; trap '' HUP; echo own-$!-end-$((1 + 1)); sleep 4002\n") == "ok"
    said = here.until(command, b"-end-2")
    assert b"20 70" in said
    child = int(said.rpartition(b"own-")[2].partition(b"-")[0])
    assert not gone_now(child)
    command.close()
    assert gone(child), "also what runs in the background"


def test_what_a_command_leaves_running_on_purpose_does_not_keep_it(here: Here) -> None:
    held = here.start("sh", "-c", "setsid sleep 4003 & echo $!; exit 3")
    out, _, code = all_of(held)
    held.close()
    os.kill(int(out), signal.SIGTERM)
    assert code == 3
    script = "(setsid sleep 4004 & echo $!; exit 5) 9>&-; echo $? >&9; sleep 1"
    stays = here.start("sh", "-c", script, status=True)  # as proot stays, which leads what is left
    out, _, code = all_of(stays)
    stays.close()
    assert code == 5 and Path(f"/proc/{int(out)}").exists()
    os.kill(int(out), signal.SIGTERM)


def test_a_process_that_is_killed_leaves_no_command(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from vetro.clouds.interface import Command\n"
        "from vetro.clouds.guest.running_command import *\n"
        "words = ('sh', '-c', 'echo $$; sleep 4006')\n"
        "held = GuestCommand(CommandEntry(words), Command(words=words, socket=Path(sys.argv[1], 'a.sock')))\n"
        "print(held.read(30).data.decode(), flush=True); time.sleep(60)\n"
    )
    server = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server.stdout:
        pid = int(server.stdout.readline())
        assert not gone_now(pid)
        server.kill()
        server.wait()
    assert gone(pid)
    end = time.monotonic() + PATIENCE
    while os.listdir(tmp_path):
        assert time.monotonic() < end
        time.sleep(0.02)


def gone_now(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_whoever_reads_slowly_lets_the_command_wait(here: Here) -> None:
    command = here.start("sh", "-c", "while :; do echo 0123456789012345678901234567890123456789; done")
    assert command.read(PATIENCE) is not None
    begun, other = time.process_time(), Path(f"/proc/{command.process.pid}/stat")
    time.sleep(0.3)
    used = [int(word) for word in other.read_text().rpartition(")")[2].split()[11:13]]
    time.sleep(0.3)
    again = [int(word) for word in other.read_text().rpartition(")")[2].split()[11:13]]
    assert sum(again) - sum(used) <= 5 and time.process_time() - begun < 0.2, "nobody is busy meanwhile"
    assert int(Path(f"/proc/{command.process.pid}/statm").read_text().split()[1]) * 4 < 40_000


def test_words_are_as_long_as_they_may_be_whatever_they_are(here: Here) -> None:
    for word in ("\x01" * 60_000, "\N{GRINNING FACE}" * 15_000, "\udcff"):
        assert all_of(here.start("printf", "%s", word)) == (os.fsencode(word), b"", 0)


@pytest.mark.parametrize("kind", ["file", "fifo", "link", "nothing", "device"])
def test_a_guest_that_has_something_else_for_terminals_gets_none(tmp_path: Path, kind: str) -> None:
    (tmp_path / "dev/pts").mkdir(parents=True)
    place = tmp_path / "dev/pts/ptmx"
    if kind == "file":
        place.write_text("")
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("/dev/ptmx")  # as if the guest's root were this machine's
    elif kind == "device":
        if os.geteuid() != 0:
            pytest.skip("only root makes devices")
        os.mknod(place, 0o666 | 0o020000, os.makedev(1, 3))
    with pytest.raises(GuestCommandFailed, match="gives no terminal"):
        open_terminal(str(tmp_path), 0)
