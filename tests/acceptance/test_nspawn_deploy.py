"""Deployments through the command line on real servers: answers on the network, cut-offs, and nothing left behind.

Needs root and systemd-nspawn. One workspace; every test ends with no trace of its own on this machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.acceptance.kit_nspawn import EXAMPLES, TWINS, answer, cloud_of, used
from tests.acceptance.kit_nspawn import place as place  # a fixture
from tests.cli.conftest import write_package
from tests.cli.deploykit import Place, wait_for
from tests.support.servers import traces

#: One server installs a package of the mirror and serves what its program says; the other one fetches that.
PAIR = """\
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Pair
Extends: std:Application
Properties:
  speaker: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  listener: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  word: {Contract: $.string().notNull(), Default: one}
  heard: {Contract: $.string(), Usage: Out}
Methods:
  .init:
    Body:
      - $._linux: new(conf:Linux)
  deploy:
    Body:
      - Parallel:
          - $.speaker.deploy()
          - $.listener.deploy()
      - If: not $.getAttr(installed, false)
        Then:
          - $._linux.runCommand($.speaker.agent,
              'apt-get -q update && apt-get -q -y install --no-install-recommends hello', 'Install hello')
          - $._linux.runCommand($.speaker.agent, 'mkdir -p /srv/say && hello > /srv/say/hello &&
              systemd-run --unit=say python3 -m http.server 8080 --directory /srv/say', 'Serve')
          - $.setAttr(installed, true)
      - $._linux.runCommand($.speaker.agent, format('echo {0} > /srv/say/word', $.word), 'Say')
      - $.heard: $.listen()
  listen:
    Usage: Action
    Body:
      - $address: $.speaker.ipAddresses.first()
      - $fetch: format('for f in hello word; do curl -sS --retry 20 --retry-connrefused --retry-delay 1 http://{0}:8080/$f; done', $address)
      - $result: $._linux.runCommand($.listener.agent, $fetch, 'Listen')
      - Return: $result.stdout
  boots:
    Usage: Action
    Body:
      - $command: cat /proc/1/stat | cut -d' ' -f22
      - Return:
          - $._linux.runCommand($.speaker.agent, $command).stdout
          - $._linux.runCommand($.listener.agent, $command).stdout
"""  # noqa: E501

#: A server on which things go wrong.
VICTIM = """\
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Victim
Extends: std:Application
Properties:
  instance: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - conf:Linux.runCommand($.instance.agent, 'mkdir -p /srv', 'Prepare')
  run:
    Usage: Action
    Arguments:
      - command: {Contract: $.string().notNull()}
      - timeout: {Contract: $.int(), Default: null}
    Body:
      - Return: conf:Linux.runCommand($.instance.agent, $command, 'Work', true, true, false, $timeout).stdout
"""


#: A server whose agent is not begun.
MUTE = """\
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Mute
Extends: std:Application
Properties:
  instance: {Contract: $.class(MuteServer).notNull()}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - conf:Linux.runCommand($.instance.agent, 'true', 'Work', true, true, false, 90)
"""
MUTE_SERVER = """\
Namespaces: {=: t, res: io.murano.resources}
Name: MuteServer
Extends: res:LinuxMuranoInstance
Methods:
  generateUserData:
    Body:
      - $begin: !yaql "'#!/bin/sh\\necho nobody begins the agent > /dev/console\\nexit 0\\n'"
      - Return: $begin + super($, $.generateUserData()).first()
"""


@pytest.mark.campaign
def test_a_shop_with_a_database_answers_changes_and_goes(place: Place) -> None:
    command = ["deploy", str(EXAMPLES), "--class", "com.example.vetro.WebShop", "--env", "shop"]
    place.ok(*command, "--driver", "nspawn", "--app", "shop", "--set", "greeting=Good morning")
    shown = place.data("env", "show", "shop")
    address = next(row["addresses"] for row in shown["components"] if row["class"].endswith("WebShop"))
    page = answer(f"http://{address}:8080/")
    assert "<h1>Good morning</h1>" in page and "Visitor number <strong>1<" in page
    running = used(place)
    assert all(running[what] for what in ("loops", "links", "groups", "rules", "processes")), running

    place.ok(*command, "--set", "greeting=Good night")
    page = answer(f"http://{address}:8080/")
    assert "<h1>Good night</h1>" in page and "Visitor number <strong>2<" in page
    assert used(place) == running

    figures = place.data("env", "action", "shop", "report", "--app", "com.example.vetro.WebShop")
    assert (figures["greeting"], figures["visits"]) == ("Good night", 2)
    assert "CREATE TABLE" in place.ok(
        *("env", "action", "shop", "backup", "--app", "com.example.vetro.WebShop", "-o", "json")
    ).stdout.replace("\\n", "\n")

    place.ok("env", "destroy", "shop", "--yes")
    left = traces(cloud_of(place), place.root)
    left.pop("notes")  # where the workspace's cloud is; `vetro cloud clean` forgets it
    assert not any(left.values()), left
    assert place.servers() == [] and place.data("cloud", "status")["networks"] == []


@pytest.mark.campaign
def test_a_dead_server_is_named_planned_and_comes_back_with_its_data(place: Place) -> None:
    """By every command that a person asks; an action that fails because of it says why, and advises no deployment."""
    command = ["deploy", str(EXAMPLES), "--class", "com.example.vetro.WebShop", "--env", "shop"]
    place.ok(*command, "--driver", "nspawn", "--app", "shop")
    shown = place.data("env", "show", "shop")
    assert sorted(row["class"].rpartition(".")[2] for row in shown["components"]) == ["Database", "WebShop"]
    address = next(row["addresses"] for row in shown["components"] if row["class"].endswith("WebShop"))
    assert "Visitor number <strong>1<" in answer(f"http://{address}:8080/")
    assert place.ok("env", "plan", "shop").output == "nothing would change\n"

    name = next(row["server"] for row in shown["components"] if row["class"].endswith("WebShop"))
    (dead,) = [
        folder for folder in (place.root / "cloud" / "nspawn" / "servers").iterdir()
        if json.loads((folder / "server.json").read_text())["name"] == name
    ]  # fmt: skip
    for pid, *_ in json.loads((dead / "running.json").read_text()).values():
        os.kill(pid, signal.SIGKILL)
    said = f"server '{name}' has ended by itself"
    assert said in place.ok("env", "show", "shop").stdout and said in place.ok("env", "health", "shop").stdout
    refused = place.refused("env", "action", "shop", "report", "--app", "shop")
    assert said in refused and "deploy" not in refused.partition("hint:")[2], refused
    assert place.data("env", "show", "shop")["status"] == "ready"
    # This package does nothing again that it has done: its servers are started all the same, as the plans say.
    for plan in (["deploy", *command[1:], "--plan"], ["env", "repair", "shop", "--plan"]):
        assert f"{name} is started: it has ended by itself" in place.ok(*plan).output
        assert said in place.ok("env", "show", "shop").stdout, "a plan changes nothing"
    assert f"Server {name} was started" in place.ok(*command).output
    assert "Visitor number <strong>2<" in answer(f"http://{address}:8080/")
    assert said not in place.ok("env", "show", "shop").stdout
    place.ok("env", "destroy", "shop", "--yes")


@pytest.mark.campaign
def test_a_second_shop_uses_the_database_that_is_there_and_the_first_goes_alone(place: Place) -> None:
    """With data in it; nothing is made that nobody wanted, nothing goes that others use."""

    def deploy(of: str, app: str, *more: str) -> str:
        kind = f"com.example.vetro.{of}"
        return place.ok("deploy", str(EXAMPLES), "--class", kind, "--env", "shop", "--app", app, *more).stderr

    def visit(app: str) -> str:
        rows = place.data("env", "show", "shop")["components"]
        return answer(f"http://{next(row['addresses'] for row in rows if row['component'] == app)}:8080/")

    assert "chosen: token = •••••• (made at random)" in deploy("Database", "main", "--driver", "nspawn")
    deploy("WebShop", "first", "--set", "database=main")
    assert "Visitor number <strong>1<" in visit("first") and "Visitor number <strong>2<" in visit("first")
    assert "chosen: database = main (which is there)" in deploy("WebShop", "second")
    assert "Visitor number <strong>1<" in visit("second") and "Visitor number <strong>3<" in visit("first")
    assert len(place.servers()) == 3

    place.refused("env", "action", "shop", "report", "--app", "first", "--arg", "nothing=1")
    assert place.data("env", "show", "shop")["status"] == "ready"
    backup = ("env", "action", "shop", "backup", "--app", "main", "--save")
    place.ok(*backup, "before.json")
    assert len(json.loads((place.folder / "before.json").read_text("utf-8"))) == 2
    assert "application 'main' is used by" in place.refused("env", "remove", "shop", "main", "--yes")

    place.ok("env", "remove", "shop", "first", "--yes")
    assert len(place.servers()) == 2
    assert "Visitor number <strong>2<" in visit("second")
    place.ok(*backup, "after.json")
    assert len(json.loads((place.folder / "after.json").read_text("utf-8"))) == 1
    place.ok("env", "destroy", "shop", "--yes")
    assert place.servers() == []


@pytest.mark.campaign
def test_two_servers_install_a_package_and_talk(place: Place) -> None:
    package = write_package(place.folder / "pair", {"t.Pair": PAIR})
    command = ["deploy", str(package), "--env", "pair", "--driver", "nspawn"]
    place.ok(*command)
    assert place.data("env", "action", "pair", "listen") == "Hello, world!\none"
    boots = place.data("env", "action", "pair", "boots")
    place.ok(*command, "--set", "word=two")
    (app,) = place.data("env", "show", "pair", "--model", "-1")["Objects"]["applications"]
    assert app["heard"] == "Hello, world!\ntwo"
    assert place.data("env", "action", "pair", "boots") == boots
    place.ok("env", "destroy", "pair", "--yes")


def guest_processes(place: Place) -> dict[int, str]:
    """Processes inside of the workspace's servers: id on this machine, and command line."""
    cloud = f"vetro-{cloud_of(place)}"
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if cloud in (entry / "cgroup").read_text():
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    found[int(entry.name)] = line.strip()
    return found


@pytest.mark.campaign
@pytest.mark.timeout(900)  # two dozen commands, each a process with its workers, on a machine that does other things
def test_cut_off(place: Place) -> None:
    """A plan that takes too long, a full disk, an agent and a server that are killed: clear words, no leaks."""
    package = write_package(place.folder / "victim", {"t.Victim": VICTIM})
    place.ok("deploy", str(package), "--env", "v", "--driver", "nspawn", "--set", "instance.flavor=m1.tiny")
    running = used(place)

    def run(command: str, *more: str) -> list[str]:
        return ["env", "action", "v", "run", "--arg", f"command={command}", *more]

    said = place.refused(*run("exec sleep 4320", "--arg", "timeout=2"))
    assert "the agent did not respond within 2 seconds" in said, said
    # The agent ends it, too; otherwise the next plan would wait behind it.
    assert place.data(*run("pgrep -f 'sleep 432[0]' || echo none", "--arg", "timeout=30")) == "none"

    said = place.refused(*run("dd if=/dev/zero of=/srv/fill bs=1M"))
    error = place.data("env", "show", "v")["tasks"][-1]
    assert error["state"] == "failed"
    assert "No space left on device" in said + place.ok("env", "log", "v").output, said
    # Its agent has room of its own, also after others took what a plan left of that.
    for _ in range(2):
        assert place.data(*run("echo still here")) == "still here"
        wait_for(
            lambda: place.run("exec", "v", "--", "ls", "/var/murano/plans/reserve/room").exit_code == 0, "it is kept"
        )
        place.run("exec", "v", "--", "dd", "if=/dev/zero", "of=/srv/more", "bs=64k")
    place.data(*run("rm /srv/fill /srv/more; echo kept > /srv/kept; sync"))
    assert place.data(*run("echo again")) == "again"

    def cut(number: str, victims: str) -> str:
        """What a command says whose plan's processes with ``victims`` in their command lines are killed."""
        with place.start(*run(f"exec sleep {number}")) as process:
            wait_for(lambda: any(number in line for line in guest_processes(place).values()), "the plan runs")
            for pid in [pid for pid, line in guest_processes(place).items() if line.startswith(victims)]:
                with contextlib.suppress(ProcessLookupError):  # it ended with one that was killed before it
                    os.kill(pid, signal.SIGKILL)
            said, _ = process.communicate(timeout=60)
            assert process.returncode == 1, said
            return said

    assert "agent restarted during execution" in cut("4322", "python3 /usr/local/bin/muranoagent")
    assert place.data(*run("pkill -f 'sleep 432[2]' || echo gone")) == "gone"
    assert used(place)["links"] == running["links"]

    assert "server 'v-1' has ended by itself" in cut("4323", "/usr/lib/systemd/systemd")
    assert place.data("cloud", "status")["servers"][0]["status"] == "ERROR"
    place.ok("deploy", str(package), "--env", "v")  # it is started again, with its disk
    assert place.data("cloud", "status")["servers"][0]["status"] == "ACTIVE"
    assert place.data(*run("cat /srv/kept")) == "kept"
    assert "server 'v-1' has ended by itself" in cut("4324", "/usr/lib/systemd/systemd")
    assert "server v-1 is started" in place.ok("cloud", "start").output
    assert place.data(*run("cat /srv/kept")) == "kept"
    assert "all servers that should run do so" in place.run("cloud", "start").output
    assert used(place)["links"] == running["links"]
    place.ok("env", "destroy", "v", "--yes")
    assert place.servers() == []


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_two_regions_have_servers_of_their_own(place: Place) -> None:
    """An environment with servers in two regions of one machine: and each answers."""
    place.root.mkdir(parents=True, exist_ok=True)
    settings = '[engine]\nhome_region = "RegionOne"\n[cloud.settings]\nregions = ["RegionTwo"]\n'
    (place.root / "vetro.toml").write_text(settings)
    folder = write_package(place.folder / "twins", {"t.Twins": TWINS})
    servers = ["--set", "here.name=here", "--set", "there.name=there", "--set", "there.regionName=RegionTwo"]
    place.ok("deploy", str(folder), "--env", "regions", "--driver", "nspawn", *servers, "-q")
    stacks, names = {stack["name"] for stack in place.data("cloud", "status")["stacks"]}, servers_of(place)
    assert names == {"here", "there"} and len(stacks) >= 2, (names, stacks)
    model = place.data("env", "show", "regions", "--model", "-1")["Objects"]
    (app,) = model["applications"]
    assert app["there"]["regionName"] == "RegionTwo" and [text.strip() for text in app["heard"]] == ["here", "there"]
    place.ok("env", "destroy", "regions", "--yes")
    assert servers_of(place) == set()


def servers_of(place: Place) -> set[str]:
    return {server["name"] for server in place.data("cloud", "status")["servers"]}


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_a_server_that_boots_and_stays_silent_is_told_within_a_minute(place: Place) -> None:
    folder = write_package(place.folder / "mute", {"t.Mute": MUTE, "t.MuteServer": MUTE_SERVER})
    began = time.monotonic()
    done = place.run("deploy", str(folder), "--env", "mute", "--class", "t.Mute", "--driver", "nspawn")
    assert done.exit_code == 1, done.output
    said = " ".join(done.output.split())
    assert "agent" in said and "nobody begins the agent" in said, done.output
    assert time.monotonic() - began < 400


CHATTER = """\
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration, f: io.murano.metadata.forms}
Name: Chatter
Extends: std:Application
Properties:
  instance: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  word: {Contract: $.string().notNull(), Meta: [{f:Secret: {}}]}
  fails: {Contract: $.bool().notNull(), Default: false}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).require().reporter.report($this, 'Talking')
      - $.instance.deploy()
      - $talk: format('logger from-the-journal; echo begun; sleep 1; printf "half {0}"; sleep 1; echo', $.word)
      - conf:Linux.runCommand($.instance.agent, $talk, 'Talk')
      - If: $.fails
        Then:
          - conf:Linux.runCommand($.instance.agent, format('echo {0} is wrong >&2; exit 3', $.word), 'Fail')
"""


@pytest.mark.campaign
def test_what_servers_and_scripts_say(place: Place) -> None:
    """While they run and afterwards, without the secret; a script that fails says why."""
    word = "correct-horse-battery"
    package = write_package(place.folder / "chatter", {"t.Chatter": CHATTER})
    with place.start(
        "deploy", str(package), "--env", "e", "--set", f"word={word}", "--driver", "nspawn", "--verbose"
    ) as process:
        shown = process.communicate(timeout=240)[0]
    assert process.returncode == 0, shown
    assert "begun" in shown and word not in shown
    lines = place.data("env", "log", "e")
    said = [line["text"] for line in lines if line["kind"] == "output"]
    assert any("begun" in text for text in said) and any("half \u2022" in text for text in said), lines
    assert place.refused(
        "deploy", str(package), "--env", "x", "--driver", "nspawn", "--set", f"word={word}", "--set", "fails=true"
    ).count("\u2022 is wrong")
    assert word not in place.ok("logs", "e").stdout and "from-the-journal" in place.ok("logs", "e", "--journal").stdout
    place.ok("env", "destroy", "e", "--yes")
    place.ok("env", "destroy", "x", "--yes")
