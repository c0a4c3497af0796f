"""`vetro exec`, `vetro ssh`: commands in servers with the streams and the terminal of the one who runs them."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.cli.deploykit import Place
from tests.support.commands import Execution
from vetro.cli.client.contexts import Context
from vetro.cli.client.requests import Client, Refused


@pytest.fixture
def place(here: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(here)
    found.deploy()
    Execution(monkeypatch)
    return found


def test_a_command_has_its_streams_and_its_status(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    done = place.run("exec", "e", "--", "sh", "-c", 'echo "out $1"; echo err >&2; exit 5', "sh", "a b", "--", "-x")
    assert done.exit_code == 5
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("out a b\n", "err\n")
    assert "Give the command" in place.run("exec", "e").output
    assert "Give the command" in place.run("exec", "e", "box", "--").output
    assert "there is no server 'other'" in place.refused("exec", "e", "other", "--", "true")
    assert "there is no environment 'x'" in place.refused("exec", "x", "--", "true")
    place.ok("env", "create", "empty", "--driver", "record")
    assert "environment 'empty' has no servers" in place.refused("exec", "empty", "--", "true")
    assert "No such file" in place.refused("exec", "e", "--", "/no/such/program")
    assert "needs one here" in place.run("ssh", "e").output
    assert "no ssh daemon" in place.ok("ssh", "--help").stdout.lower()


def test_a_command_gets_input(
    place: Place, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "given"
    given.write_bytes(b"x" * 500_000 + b"end\n")
    capfd.readouterr()
    with given.open("rb") as file:
        monkeypatch.setattr("vetro.cli.environments.server_commands._stdin", file.fileno)
        assert place.run("exec", "e", "-i", "--", "sh", "-c", "sleep 0.1; wc -c").exit_code == 0
        assert capfd.readouterr().out.strip() == "500004"
    assert place.run("exec", "e", "--", "wc", "-c").exit_code == 0
    assert capfd.readouterr().out.strip() == "0", "without -i there is none"


def test_simulated_servers_run_none(here: Path) -> None:
    place = Place(here)
    place.deploy()
    assert "simulated" in place.refused("exec", "e", "--", "true")


SESSION = """\
import pytest
from tests.support.commands import Execution
from vetro.cli.main import main
Execution(pytest.MonkeyPatch())
main(["ssh", "e", "--", "sh", "-i"])
"""


@pytest.mark.campaign  # a program of its own; tests/clouds/guest has what is below it
def test_a_terminal_is_that_of_who_opens_it(place: Place) -> None:
    """What is typed is typed there, Ctrl-C too; afterwards this terminal is as before."""
    ours, theirs = pty.openpty()
    before = subprocess.run(["stty", "-g"], stdin=theirs, capture_output=True, text=True).stdout
    subprocess.run(["stty", "cols", "91", "rows", "33"], stdin=theirs, check=True)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PS1": "", "TERM": "xterm"}
    env |= {"COLUMNS": "", "LINES": "", "VETRO_WORKSPACE": str(place.root)}
    shell = subprocess.Popen([sys.executable, "-c", SESSION], stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    said = b""

    def until(text: bytes) -> None:
        nonlocal said
        end = time.monotonic() + 60
        while text not in said:
            assert time.monotonic() < end and shell.poll() is None, said
            if select.select([ours], [], [], 0.2)[0]:
                said += os.read(ours, 4096)
        said = said.partition(text)[2]

    try:
        os.write(ours, b"stty size; sh -c 'echo ready-$((1 + 1)); exec sleep 4100'\n")
        until(b"33 91")
        until(b"ready-2")
        os.write(ours, b"\x03")
        subprocess.run(["stty", "cols", "70", "rows", "20"], stdin=theirs, check=True)
        shell.send_signal(28)  # the window has another size: no foreground group gets it from a test
        os.write(ours, b"until [ \"$(stty size)\" = '20 70' ]; do sleep 0.05; done; echo $((40 + 2)); exit 6\n")
        until(b"42")
        assert shell.wait(60) == 6
        subprocess.run(["stty", "cols", "0", "rows", "0"], stdin=theirs, check=True)
        assert subprocess.run(["stty", "-g"], stdin=theirs, capture_output=True, text=True).stdout == before
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
        os.close(theirs)


def test_the_events_of_a_server_are_followed_and_its_refusals_said() -> None:
    parts = ('begin\ndata: {"id": "1"}', 'stdout\ndata: {"data": "aGk="}', 'exit\ndata: {"code": 3}')
    stream = ":\n\n".join(f"event: {part}\n\n" for part in parts)
    refusal = {"error": {"message": "they are simulated", "hint": "make it real", "code": "SRV409"}}
    client = Client(Context("far", "http://far", "token"))
    client.http.close()

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["X-Auth-Token"] == "token" and request.url.path == "/v2/x"
        if json.loads(request.content) == {"command": ["true"]}:
            return httpx.Response(200, text=stream)
        return httpx.Response(409, json=refusal)

    headers = {"X-Auth-Token": "token"}
    with httpx.Client(base_url="http://far", transport=httpx.MockTransport(answer), headers=headers) as client.http:
        events = list(client.events("/x", {"command": ["true"]}))
        assert events == [("begin", {"id": "1"}), ("stdout", {"data": "aGk="}), ("exit", {"code": 3})]
        with pytest.raises(Refused, match="simulated"):
            list(client.events("/x", {}))
