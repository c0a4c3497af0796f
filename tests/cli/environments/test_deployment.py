"""`vetro deploy` and `vetro env` against a running service with a worker."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pexpect
import pytest
import yaml

from tests.cli.conftest import write_package
from tests.cli.deploykit import BOX
from tests.cli.remotekit import Remote
from tests.support.waiting import until
from vetro.cli.client.requests import Refused
from vetro.cli.environments import deployment


def test_deploy_makes_everything_that_is_missing(remote: Remote) -> None:
    done = remote.deploy("first")
    assert "environment 'first' is made" in done.stderr
    assert "chosen: instance.flavor" in done.stderr
    assert "box: The box says first" in done.stderr
    assert re.search(r"environment 'first' is deployed in \d", done.stderr)
    assert re.search(r"^box +t\.Box +first-1 +10\.0\.", done.stdout, re.MULTILINE)
    # Again: the application that is there changes, nothing is published or made.
    again = remote.deploy("first", "--set", "text=second")
    assert "published" not in again.stderr
    assert "is made" not in again.stderr
    assert "The box says second" in again.stderr
    shown = remote.data("env", "show", "first")
    assert (shown["status"], shown["version"]) == ("ready", 2)
    assert [c["component"] for c in shown["components"]] == ["box"]
    assert [t["kind"] for t in shown["tasks"]] == ["deploy", "deploy"]
    assert "box" in remote.ok("env", "show", "first").stdout
    # By the name of a package of the catalog; a new name adds an application.
    remote.ok("deploy", "t/1.0.0", "--env", "first", "--app", "other", "--set", "text=third")
    names = [c["component"] for c in remote.data("env", "show", "first")["components"]]
    assert names == ["box", "other"]
    assert [e["status"] for e in remote.data("env", "list") if e["name"] == "first"] == ["ready"]
    assert remote.ok("env", "deploy", "first").exit_code == 0
    model = yaml.safe_load(remote.ok("env", "show", "first", "--model", "1").stdout)
    assert [a["text"] for a in model["Objects"]["applications"]] == ["first"]


@pytest.mark.campaign
def test_a_name_is_the_version_that_the_environment_uses(remote: Remote, tmp_path: Path) -> None:
    """And versions side by side are told apart."""
    remote.deploy("kept")
    newer = write_package(tmp_path / "newer", {"t.Box": BOX}, name="t", version="1.1.0")
    remote.ok("package", "publish", str(newer))
    done = remote.ok("deploy", "t", "--env", "kept", "--app", "same")
    assert "t 1.0.0, as environment 'kept' uses it" in done.stderr and "t.Box 1" not in done.stdout
    done = remote.ok("deploy", "t/1.1.0", "--env", "kept", "--app", "newer")
    assert re.search(r"^same +t\.Box 1\.0\.0 ", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^newer +t\.Box 1\.1\.0 ", done.stdout, re.MULTILINE)
    assert "uses t in several versions: 1.0.0, 1.1.0" in remote.refused("deploy", "t", "--env", "kept", "--app", "x")


def test_sizes_and_image_are_those_of_the_server() -> None:
    """A server of an earlier version, or whose cloud does not answer, tells nothing: then what is usual is named."""
    asked: list[tuple[str, Any]] = []
    lists: dict[str, Any] = {
        "/flavors": [{"name": "s2", "vcpus": 2, "ram": 2048, "disk": 20}],
        "/images": [{"id": "1", "name": "d", "usual": True}, {"id": "2", "name": "d", "usual": False}],
    }

    class Server:
        local = False

        def items(self, path: str, **params: Any) -> Any:
            asked.append((path, params))
            if path not in lists:
                raise Refused(404, "there is no such address", None)
            return iter(lists[path])

    offers = deployment._offers(Server(), {"id": "7"})  # type: ignore[arg-type]
    assert offers == {"flavors": lists["/flavors"], "image": "1"}  # of two of a name the id
    assert asked[0] == ("/flavors", {"environment": "7"})
    del lists["/flavors"]
    assert deployment._offers(Server(), None) == {}  # type: ignore[arg-type]


@pytest.mark.campaign
def test_what_happened_and_what_would(remote: Remote) -> None:
    remote.deploy("told")
    planned = remote.ok("deploy", remote.box(), "--env", "told", "--set", "text=next", "--plan")
    assert '    text: "first" -> "next"' in planned.stdout
    assert "Write text" in planned.stdout
    assert "nothing was changed" in planned.stderr
    assert remote.data("plan", "told") == {"objects": [], "stacks": [], "servers": [], "scripts": [], "unknown": []}
    assert [s["number"] for s in remote.data("history", "told")] == [0, 1]
    assert remote.data("env", "show", "told")["version"] == 1
    remote.deploy("told", "--set", "text=next", "--set", "size=5")
    assert '    text: "first" -> "next"' in remote.ok("history", "told", "--diff", "1..2").stdout
    assert "- e" not in remote.ok("history", "told", "--diff", "2").stdout
    # Back to a state: a draft, which is planned and deployed.
    assert "holds state 1" in remote.ok("env", "restore", "told", "1", "--draft").stderr
    assert '    text: "next" -> "first"' in remote.ok("session", "changes", "told").stdout
    assert '    text: "next" -> "first"' in remote.ok("plan", "told").stdout
    assert "has changes that are not deployed" in remote.ok("env", "deploy", "told").stderr
    assert remote.data("action", "told", "open", "--arg", "times=2") == {"opened": 2, "text": "first"}
    lines = remote.data("log", "told")
    assert "The box says next" in [line["text"] for line in lines]
    assert lines == sorted(lines, key=lambda line: line["seq"])
    first = lines[0]["task"]
    assert {line["task"] for line in remote.data("log", "told", "--task", first[:10])} == {first}
    assert remote.data("log", "told", "--level", "error") == []
    assert "action is done" in remote.ok("env", "watch", "told").stderr
    assert "has no interrupted task" in remote.ok("env", "resume", "told").stderr


@pytest.mark.campaign
def test_a_plan_for_what_is_not_there_leaves_nothing_behind(remote: Remote) -> None:
    done = remote.ok("deploy", remote.box(), "--env", "never", "--plan", "-q")
    assert re.search(r"\+ never-1 +\(OS::Nova::Server\)", done.stdout)
    assert "never" not in remote.ok("env", "list").stdout
    assert "applications" in remote.ok("deploy", remote.box(), "--env", "never", "--dry-run").stdout
    assert "never" not in remote.ok("env", "list").stdout


def test_a_failure_says_where_and_why(remote: Remote) -> None:
    said = remote.refused("deploy", remote.box(), "--env", "bad", "--set", "text=broken")
    assert "exit code 3" in said
    assert "stderr: the box is broken" in said
    assert re.search(r"at t 1\.0\.0: Classes/Box\.yaml:\d+ in t\.Box::deploy", said), said
    assert "environment 'bad' keeps what was made" in said
    assert remote.data("env", "show", "bad")["status"] == "deploy failure"
    assert "exit code 3" in remote.refused("env", "watch", "bad")
    assert "exit code 3" in remote.refused("env", "resume", "bad")
    assert len(remote.data("env", "show", "bad")["tasks"]) == 2
    # Mended, it goes on where it was.
    assert "The box says fine" in remote.deploy("bad", "--set", "text=fine").stderr


@pytest.mark.campaign
def test_slips_cost_nothing(remote: Remote) -> None:
    remote.deploy("slips")
    sessions = remote.data("session", "list", "slips")
    box = remote.box()
    assert "size" in remote.refused("deploy", box, "--env", "unmade", "--set", "size=50")
    assert "unmade" not in remote.ok("env", "list").stdout
    assert "did you mean 'size'" in remote.refused("deploy", box, "--env", "slips", "--set", "sise=5")
    assert remote.data("session", "list", "slips") == sessions
    assert "there is no environment 'slip'" in remote.refused("env", "show", "slip")
    assert "did you mean 'slips'" in remote.refused("env", "deploy", "slip")
    assert "did you mean 'open'" in remote.refused("action", "slips", "opne")
    assert "there are box, slips" in remote.refused("action", "slips", "open", "--app", "nobody")
    assert "there is no package 'no.such'" in remote.refused("deploy", "no.such")
    for words in (("--driver", "record"), ("--detach", "--plan"), ("--workspace", "w", "--context", "s")):
        remote.refused("deploy", box, *words, status=2)
    remote.refused("env", "create", "e", "--driver", "record", status=2)
    remote.refused("env", "create", "e", "--description", "d", "--context", "local", status=2)
    assert "--region is for servers" in remote.refused(
        "env", "create", "e", "--region", "eu", "--context", "local", status=2
    )
    abroad = remote.data("env", "create", "abroad", "--region", "eu")
    assert remote.data("env", "show", "abroad", "--model", "-1")["Objects"]["region"] == "eu", abroad
    remote.refused("log", "slips", "--effects", status=2)
    assert "ended already" in remote.refused("env", "cancel", "slips")
    assert "is empty" in remote.refused("env", "deploy", remote.data("env", "create", "empty")["name"])
    assert "environment 'empty' is gone" in remote.ok("env", "destroy", "empty", "--yes").stderr


def test_another_project_sees_none_of_it(remote: Remote) -> None:
    remote.deploy("private")
    eve = Remote(remote.installation, remote.folder, "eve")
    id = remote.data("env", "show", "private")["id"]
    task = remote.data("env", "show", "private")["tasks"][0]["id"]
    for wanted in ("private", id):
        assert "there is no environment" in eve.refused("env", "show", wanted)
    assert "there is no environment" in eve.refused("env", "watch", task)
    assert eve.data("env", "list") == []


@pytest.mark.campaign
def test_destroy(remote: Remote) -> None:
    remote.deploy("gone")
    assert "The box is thrown away" in remote.ok("env", "destroy", "gone", "--keep", "--yes").stderr
    assert remote.data("env", "show", "gone")["components"] == []
    assert "'gone' is gone" in remote.ok("env", "destroy", "gone", "--yes").stderr
    assert "there is no environment" in remote.refused("env", "show", "gone")
    remote.deploy("left")
    assert "still there" in remote.ok("env", "destroy", "left", "--abandon", "--yes").stderr
    assert "there is no environment" in remote.refused("env", "show", "left")


@pytest.mark.campaign
def test_ctrl_c_leaves_the_task_and_says_how_to_come_back(remote: Remote) -> None:
    with remote.terminal("deploy", remote.box(), "--env", "long", "--set", "text=endless") as child:
        child.expect("running Write text|Making the server")
        child.sendintr()
        child.expect("you have stopped watching; the task goes on at")
        child.expect(r"vetro env watch (\w+) --context s")
        task = child.match[1]
        child.expect(rf"vetro env cancel {task} --context s")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 130
    assert remote.data("env", "show", "long")["status"] == "deploying"
    # A second deployment waits for nobody: it is refused.
    assert "error" in remote.refused("deploy", remote.box(), "--env", "long")
    with remote.terminal("log", "long", "--follow") as child:
        child.expect("Making the server")
        remote.ok("env", "cancel", "long", "--reason", "enough")
        child.expect("cancelled")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 1
    told = remote.data("env", "show", "long")
    assert told["tasks"][0]["state"] == "cancelled"
    assert told["tasks"][0]["cancel"] == "enough"


@pytest.mark.campaign
def test_detached_then_cancelled_by_timeout(remote: Remote) -> None:
    done = remote.ok("deploy", remote.box(), "--env", "later", "--detach", "--set", "text=endless")
    task = done.stdout.strip()
    assert f"vetro env watch {task} --context s" in done.stderr
    until(lambda: "Making the server" in remote.ok("log", "later").stdout)
    remote.ok("env", "cancel", task)
    remote.refused("env", "watch", task, "-q")
    said = remote.refused("env", "deploy", "later", "--timeout", "0.2")
    assert "cancelling: it takes longer than 0.2 s" in said
    assert "cancelled" in said


@pytest.mark.campaign  # in one process: tests/cli/test_env_transfer.py
def test_environments_travel(remote: Remote, tmp_path: Path) -> None:
    remote.deploy("here", "--set", "text=second")
    file = remote.ok("env", "export", "here", "--out", str(tmp_path / "here.zip")).stdout.strip()
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert "is there already" in remote.refused("env", "export", "here", "--out", file)
    # Server to workspace, and back under another name.
    local = ("--context", "local")
    assert "--fresh" in remote.refused("env", "import", file, "--name", "mine", *local)  # its resources are elsewhere
    remote.ok("env", "import", file, "--name", "mine", "--fresh", *local)
    shown = json.loads(remote.ok("env", "show", "mine", *local, "-o", "json").stdout)
    assert (shown["status"], [c["component"] for c in shown["components"]]) == ("new", ["box"])
    assert "already" in remote.refused("env", "import", file, "--name", "mine", "--fresh", *local)
    back = remote.ok("env", "export", "mine", "--out", str(tmp_path / "back.zip"), *local).stdout.strip()
    assert "--fresh imports a copy" in remote.refused("env", "import", file, "--name", "copy")
    remote.ok("env", "import", back, "--name", "copy")
    assert [c["class"] for c in remote.data("env", "show", "copy")["components"]] == ["t.Box"]
    remote.ok("env", "import", file, "--name", "fresh", "--fresh")
    assert "+ box" in remote.ok("session", "changes", "fresh").stdout
    assert "The box says second" in remote.ok("env", "deploy", "fresh").stderr
    (tmp_path / "no.zip").write_bytes(b"nothing")
    for words in ((), local):
        remote.refused("env", "import", str(tmp_path / "no.zip"), "--name", "broken", *words)


@pytest.mark.campaign
def test_secrets_of_a_server_survive_a_redeployment(remote: Remote, tmp_path: Path) -> None:
    text = """\
Namespaces: {=: s, std: io.murano, forms: io.murano.metadata.forms}
Name: Safe
Extends: std:Application
Properties:
  password: {Contract: $.string().notNull(), Meta: [{forms:Secret: {}}]}
  colour: {Contract: $.string().notNull(), Default: red}
Methods:
  deploy:
    Body: {Return: null}
  reveal:
    Usage: Action
    Body: {Return: $.password}
"""
    from tests.cli.conftest import write_package

    folder = str(write_package(tmp_path / "safe", {"s.Safe": text}, name="s"))
    remote.ok("deploy", folder, "--env", "safe", "--set", "password=hunter2")
    assert "hunter2" not in remote.ok("env", "show", "safe", "--model", "1").stdout
    done: Any = remote.ok("deploy", folder, "--env", "safe", "--set", "colour=blue")
    assert "hunter2" not in done.output
    model = remote.ok("env", "show", "safe", "--model", "-1").stdout
    assert "colour: blue" in model
    assert remote.data("action", "safe", "reveal") == "hunter2"
