"""`vetro plan` and `vetro deploy --plan` on this machine: what would be done is said, and nothing of it is done."""

from __future__ import annotations

import hashlib
import re
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import BOX, Place, wait_for

SCRIPTS = ["Install", "Configure", "Write text"]


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


def everything(folder: Path) -> dict[str, str]:
    """Names and contents of all files, but the databases' notes of who reads them."""
    found = (p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(("-shm", "-wal")))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def instead(*lines: str) -> str:
    """The box with these statements in the place of the one that deploys its server."""
    before = "          - $.instance.deploy()\n"
    assert before in BOX
    return BOX.replace(before, "".join(f"          {line}\n" for line in lines))


@pytest.mark.campaign
def test_a_first_deployment_is_planned_and_leaves_not_even_a_workspace(place: Place) -> None:
    said = place.ok("deploy", str(place.package), "--env", "e", "--set", "text=new", "--plan")
    lines = [" ".join(line.split()) for line in said.stdout.splitlines()]
    assert "+ box (t.Box)" in lines
    assert "+ e-1 (OS::Nova::Server)" in lines
    assert [line for line in lines if line.startswith("on e-1: ")] == [
        f"on e-1: {name} (scriptFile.sh)" for name in SCRIPTS
    ]
    assert any("addresses, ids and other outputs of stack" in line for line in lines)
    assert "+ port-e-network-e-1 (OS::Neutron::Port)" in lines and not re.search("[0-9a-f]{32}", said.stdout)
    assert "chosen: instance.name = e-1" in said.stderr
    assert said.stderr.rstrip().endswith("nothing was changed")
    assert not place.root.exists()


def test_a_plan_is_what_the_deployment_then_does(place: Place) -> None:
    place.deploy("--set", "options.colour=green")
    before = everything(place.root)

    assert place.data("plan", "e") == {"objects": [], "stacks": [], "servers": [], "scripts": [], "unknown": []}
    assert "nothing would change" in place.ok("env", "plan", "e").stderr

    changed = ("deploy", str(place.package), "--env", "e", "--set", "text=second")
    said = place.ok(*changed, "--plan").stdout
    assert '    text: "first" -> "second"' in said.splitlines()
    assert [line for line in said.splitlines() if " on e-1: " in line] == ["  on e-1: Write text (scriptFile.sh)"]
    assert "+ " not in said  # no object, no resource

    other = ("deploy", str(place.package), "--env", "e", "--app", "other", "--plan")
    said = place.ok(*other).stdout
    assert "on e-2: Install" in said
    # Resources have names of objects instead of ids.
    assert "port-e-network-e-2" in said and not re.search("[0-9a-f]{32}", said)

    assert everything(place.root) == before
    place.deploy("--set", "text=second")
    assert place.plans() == [*SCRIPTS, "Write text"]


def test_a_new_version_of_a_package_is_planned_before_it_is_taken(place: Place) -> None:
    place.deploy()
    newer = BOX.replace("format('box --text {0}', $.text), 'Write text'", "'box --retext', 'Rewrite'")
    package = write_package(place.folder / "newer", {"t.Box": newer})
    said = place.ok("deploy", str(package), "--env", "e", "--set", "text=x", "--plan").stdout
    assert "  on e-1: Rewrite (scriptFile.sh)" in said.splitlines()
    assert "Rewrite" not in place.ok("plan", "e").stdout


def test_values_that_the_new_version_does_not_know_are_told(place: Place) -> None:
    """A property that was renamed loses its value: the plan says so, and the task that does it."""
    place.deploy("--set", "text=canary-value")
    newer = BOX.replace("  text: {Contract", "  label: {Contract").replace("$.text", "$.label")
    package = write_package(place.folder / "newer", {"t.Box": newer})
    deploy = ("deploy", str(package), "--env", "e", "--set", "size=4")
    lines = place.ok(*deploy, "--plan").stdout.splitlines()
    (line,) = [line for line in lines if "so its value is not used, and not kept" in line]
    assert "'box': the class t.Box has no property 'text'" in line and "canary-value" not in line
    assert lines[lines.index(line) - 1].strip() == "not used"
    done = place.ok(*deploy)
    assert "the class t.Box has no property 'text'" in done.stdout + done.stderr
    assert "so its value" not in place.ok("deploy", str(package), "--env", "e", "--set", "size=5").stdout


def test_secrets_are_not_shown(place: Place) -> None:
    secret = BOX.replace("  size:\n", "  password: {Contract: $.string(), Default: null}\n  size:\n", 1)
    package = write_package(place.folder / "secret", {"t.Box": secret})
    place.ok("deploy", str(package), "--env", "e", "--driver", "record", "--set", "password=first-canary")
    said = place.ok("deploy", str(package), "--env", "e", "--set", "password=second-canary", "--plan").output
    assert 'password: "••••••" -> "••••••"' in said
    assert "canary" not in said


def test_what_would_fail_says_so_and_where(place: Place) -> None:
    broken = instead("- $.instance.deploy()", "- int('no')")
    package = write_package(place.folder / "broken", {"t.Box": broken})
    said = place.refused("deploy", str(package), "--env", "e", "--plan")
    assert "failed" in said
    assert "t.Box::deploy" in said
    assert "nothing was changed" in said
    assert not place.root.exists()


def test_pauses_are_skipped_and_said(place: Place) -> None:
    slow = instead("- $.instance.deploy()", "- sleep(3600)")
    package = write_package(place.folder / "slow", {"t.Box": slow})
    said = place.ok("deploy", str(package), "--env", "e", "--plan").stdout
    assert "3600 seconds" in said


@pytest.mark.campaign
def test_ctrl_c_ends_a_plan_and_leaves_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = instead("- While: $.size > 0", "  Do: [sleep(1)]")
    package = write_package(place.folder / "endless", {"t.Box": endless})
    scratch = place.folder / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    with place.start("deploy", str(package), "--env", "e", "--plan") as process:
        wait_for(lambda: list(scratch.rglob("before.json")), "the plan runs")
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "cancelled" in said
    assert "nothing was changed" in said
    assert list(scratch.iterdir()) == []
    assert not place.root.exists()


def test_what_cannot_be_planned(place: Place) -> None:
    place.ok("env", "create", "empty", "--driver", "record")
    place.ok("env", "deploy", "empty", "-q")
    place.ok("env", "destroy", "empty", "--keep", "-q", "--yes")
    for command, said in (
        (("plan", "empty", "--session", "1"), "There is no session '1'"),
        (("plan", "nowhere"), "there is no environment 'nowhere'"),
        (("plan", "empty"), "hint: vetro deploy PATH --env empty --plan"),
        (("deploy", "box", "--plan", "--detach"), "use one of --detach and --plan"),
        (("deploy", "box", "--plan", "--dry-run"), "use one of --dry-run and --plan"),
        (("deploy", "box", "--detach"), "--detach is for servers"),
    ):
        done = place.run(*command)
        assert done.exit_code in (1, 2), command
        assert said in done.output


def test_a_repair_is_shown_asked_about_and_done(place: Place) -> None:
    place.deploy()
    drift = place.data("env", "drift", "e")
    assert (drift["items"], drift["looked"], drift["repair"]) == ([], None, "propose")
    assert "nothing of it exists" in drift["text"]
    assert "nothing is known of its cloud" in place.ok("env", "drift", "e").stderr
    place.ok("session", "open", "e")  # a draft is no part of it
    planned = place.ok("env", "repair", "e", "--plan").stderr
    assert "nothing would change" in planned
    assert "The box says" not in planned  # it has not happened
    assert "repair environment 'e'?" in place.ok("env", "repair", "e", input="y\n").stderr
    assert place.ok("env", "repair", "e", input="n\n").stderr.rstrip().splitlines()[-2] == "nothing was changed"
    assert "environment 'e' is repaired" in place.ok("env", "repair", "e", "--yes", "-q").stderr
    assert [state["kind"] for state in place.data("history", "e")] == ["deploy", "repair", "repair"]
    assert "--when is for servers" in place.refused("env", "repair", "e", "--when", "auto")
    assert place.plans() == SCRIPTS
