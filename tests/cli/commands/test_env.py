"""`vetro env`: what it shows and does, and tasks that are killed, cancelled and continued. All on recorded servers."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from pathlib import Path
from subprocess import Popen

import pytest

from tests.cli.deploykit import PATIENCE, Place, wait_for
from tests.support.moon import moon
from vetro.server.config import cloud_settings

FIRST = ["Install", "Configure", "Write text"]
REPORTS = ["Making the server", "The box says first"]


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


def begin(place: Place, **rule: object) -> list[str]:
    """The arguments of a deployment whose second command answers as ``rule`` says."""
    script = place.script(plans=[{"plan": "Configure", **rule}])
    return ["deploy", str(place.package), "--env", "e", "--driver", "record", "--script", script]


def in_the_middle(place: Place, process: Popen[str]) -> None:
    """Waits until the server has got the second command."""

    def there() -> bool:
        assert process.poll() is None, process.communicate()[0]
        return place.plans() == FIRST[:2]

    wait_for(there, "the second command is sent")


def nothing_runs(place: Place) -> None:
    wait_for(lambda: not place.processes(), f"all processes end, but there are {place.processes()}")


def test_there_is_nothing_at_first(place: Place) -> None:
    assert "no environments yet" in place.ok("env", "list").output
    assert place.data("env", "list") == []
    for command in ("show", "deploy", "destroy", "resume", "log"):
        assert "there is no environment 'e'" in place.refused("env", command, "e")
    assert not (place.root / "environments").exists()


def test_list_show_and_log(place: Place) -> None:
    place.deploy()
    place.deploy(env="other")
    assert place.ok("env", "list").stdout.count("ready") == 2
    first, second = place.data("env", "list")
    assert (first["name"], first["status"], first["applications"], first["driver"]) == ("e", "ready", 1, "record")
    assert second["name"] == "other" and second["id"] != first["id"]

    shown = place.data("env", "show", "e")
    assert shown["tasks"] == [{"number": 1, "kind": "deploy", "method": None, "state": "done", "waits": []}]
    assert [package["name"] for package in shown["packages"]] == ["t"]
    text = place.ok("env", "show", "e").stdout
    assert "e: ready, servers by record" in text and "t.Box" in text
    assert place.ok("env", "show", first["id"]).stdout == text
    assert place.data("env", "show", "e", "--model", "0")["Objects"]["applications"] == []
    assert "has no model 7" in place.refused("env", "show", "e", "--model", "7")
    assert "did you mean 'other'" in place.refused("env", "show", "othr")

    assert place.reports() == REPORTS
    lines = place.ok("env", "log", "e").stdout.splitlines()
    assert len(lines) == 2 and lines[0].endswith("Making the server")
    effects = [line["text"] for line in place.data("env", "log", "e", "--effects")]
    for kind in ("stack.push", "agent.call"):
        assert any(kind in text for text in effects), effects
    assert place.data("env", "log", "e", "--task", "9") == []


def test_an_action_changes_the_model_and_prints_its_result(place: Place) -> None:
    place.deploy()
    assert place.ok("env", "action", "e", "open").stdout == "opened: 1\ntext: first\n"
    assert place.data("env", "action", "e", "open", "--arg", "times=4") == {"opened": 5, "text": "first"}
    assert place.plans() == [*FIRST, "Open", "Open"]
    assert place.data("env", "show", "e")["tasks"][1:] == [
        {"number": number, "kind": "action", "method": "open", "state": "done", "waits": []} for number in (2, 3)
    ]
    place.ok("env", "deploy", "e")
    assert place.data("env", "action", "e", "open") == {"opened": 6, "text": "first"}


def test_a_wrong_action_is_refused_and_changes_nothing(place: Place) -> None:
    place.deploy()
    for arguments, said in (
        (["opne"], "did you mean 'open'"),
        (["open", "--arg", "times=many"], "expected an integer, got 'many'"),
        (["open", "--arg", "count=1"], "count"),
        (["open", "--app", "bag"], "has no application 'bag'"),
    ):
        assert said in place.refused("env", "action", "e", *arguments)
        assert place.plans() == FIRST
    assert place.data("env", "action", "e", "open") == {"opened": 1, "text": "first"}


def test_a_failed_action_leaves_the_environment_what_it_was(place: Place) -> None:
    place.deploy("--script", place.script(plans=[{"script": "*box --text bad*", "exitCode": 3}]))
    said = place.refused("env", "action", "e", "open", "--arg", "times=many")
    assert "the action 'open' failed; the state of environment 'e' stays what it was" in said
    assert "again" not in said and "destroy" not in said
    assert place.data("env", "show", "e")["status"] == "ready"
    assert [row["status"] for row in place.data("env", "list")] == ["ready"]
    place.refused("deploy", str(place.package), "--env", "e", "--set", "text=bad")
    place.refused("env", "action", "e", "open", "--arg", "times=many")
    assert place.data("env", "show", "e")["status"] == "failed"


def test_which_application_is_meant(place: Place) -> None:
    place.deploy("--app", "one")
    place.deploy("--app", "two")
    assert "say which with --app: one (t.Box), two (t.Box)" in place.refused("env", "action", "e", "open")
    place.ok("env", "action", "e", "open", "--app", "two")
    assert place.recorded()[-1].server == "e-2"


def test_an_application_without_a_name_is_meant_by_what_tables_call_it(place: Place) -> None:
    path = place.folder / "box" / "Classes" / "Box.yaml"
    path.write_text(path.read_text("utf-8").replace("$.string().notNull()}", "$.string()}", 1), encoding="utf-8")
    place.deploy()
    assert [line.split()[:2] for line in place.ok("env", "show", "e").stdout.splitlines() if "t.Box " in line]
    place.ok("env", "action", "e", "open", "--app", "Box")
    assert place.recorded()[-1].server == "e-1"


def test_destroy_keeps_nothing_or_the_history(place: Place) -> None:
    place.deploy()
    said = place.ok("env", "destroy", "e", "--keep", "--yes").output
    assert "The box is thrown away" in said
    assert place.servers() == [] and place.status() == "destroyed"
    assert place.data("cloud", "status")["stacks"] == []
    assert "is empty" in place.refused("env", "deploy", "e")
    place.deploy()
    assert place.servers() == ["e-1"]
    place.ok("env", "destroy", "e", "--yes")
    assert place.servers() == [] and place.data("env", "list") == []
    assert "there is no environment 'e'" in place.refused("env", "destroy", "e", "--yes")


def test_what_goes_is_named_before_anything_is_destroyed(place: Place) -> None:
    place.deploy()
    asked = place.run("env", "destroy", "e", input="n\n")
    assert asked.exit_code == 0 and asked.stdout == ""
    application, server = asked.stderr.splitlines()[:2]
    assert application == "- box  (t.Box)"
    assert server.startswith("    server e-1  10.0.") and server.endswith(" (simulated)")
    assert "destroy environment 'e'? [y/N]" in asked.stderr and "nothing was changed" in asked.stderr
    for words in (["destroy", "e"], ["destroy", "e", "--keep"], ["destroy", "e", "--abandon"], ["remove", "e", "box"]):
        said = place.refused("env", *words)  # a script that says nothing
        assert "hint: --yes answers it" in said
    assert place.servers() == ["e-1"]
    assert (
        "application 'box' of environment 'e' is removed" in place.run("env", "remove", "e", "box", input="y\n").stderr
    )
    assert place.servers() == []


def test_an_expression_picks_what_scripts_want(place: Place) -> None:
    place.deploy()
    place.deploy(env="other")
    assert place.ok("env", "list", "-o", "jmespath=[].name").stdout == "e\nother\n"
    assert place.ok("env", "show", "e", "-o", "jmespath=components[0].server").stdout == "e-1\n"
    assert place.ok("env", "list", "-o", "jmespath=[].[name, status]").stdout == "e\tready\nother\tready\n"
    assert place.ok("env", "list", "-o", "jmespath=[?name=='none']").stdout == ""
    assert json.loads(place.ok("env", "list", "-o", "jmespath=[0].{called: name}").stdout) == {"called": "e"}
    assert "is no JMESPath expression" in place.run("env", "list", "-o", "jmespath=[").stderr
    assert "the expression fails" in place.refused("env", "list", "-o", "jmespath=length([0].applications)")
    assert "is not one of table, wide, json, yaml" in place.run("env", "list", "-o", "xml").stderr


def test_ids_are_for_those_who_ask(place: Place) -> None:
    place.deploy()
    (row,) = place.data("env", "list")
    assert row["id"] not in place.ok("env", "list").stdout
    wide = place.ok("env", "list", "-o", "wide").stdout.splitlines()
    assert wide[0].split()[-1] == "id" and wide[1].split()[-1] == row["id"]


@pytest.mark.campaign
def test_watching_shows_what_changed_until_it_is_interrupted(place: Place) -> None:
    place.deploy()
    with place.start("env", "list", "--watch") as process:
        assert process.stdout is not None
        assert process.stdout.readline().split()[0] == "name"
        assert process.stdout.readline().split()[0] == "e"
        place.ok("env", "create", "second")
        assert [process.stdout.readline().split()[0] for _ in range(3)] == ["name", "e", "second"]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130


@pytest.mark.campaign
def test_abandoned_servers_stay_unless_they_were_only_written_down(
    here: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud_settings, "_chosen", {})
    with moon(here) as image:
        image.touch()
        place.ok("deploy", str(place.package), "--env", "real", "--driver", "moon")
        place.deploy()
        for name in ("e", "real"):
            place.ok("env", "destroy", name, "--abandon", "--yes")
    assert place.data("env", "list") == []
    assert [name.rpartition("-")[0] for name in place.servers()] == ["real"]
    place.ok("cloud", "clean", "--yes")
    assert place.servers() == []


@pytest.mark.campaign
def test_killed_in_the_middle_and_continued(place: Place) -> None:
    with place.start(*begin(place, delay=3)) as process:
        in_the_middle(place, process)
        assert place.status() == "deploying"
        process.kill()
        process.wait(PATIENCE)
        nothing_runs(place)
    assert place.status() == "interrupted"
    assert place.plans() == FIRST[:2]
    for command in (
        ["deploy", str(place.package), "--env", "e"],
        ["env", "deploy", "e"],
        ["env", "destroy", "e", "--yes"],
    ):
        assert "vetro env resume e" in place.refused(*command)

    said = place.ok("env", "resume", "e").output
    assert "environment 'e' is deployed" in said
    assert place.plans() == FIRST  # each once
    assert place.reports() == REPORTS
    assert place.servers() == ["e-1"] and place.status() == "ready"
    assert "no interrupted task" in place.ok("env", "resume", "e").output
    place.ok("env", "deploy", "e")
    assert place.plans() == FIRST


@pytest.mark.campaign
def test_killed_again_and_again(place: Place) -> None:
    """Wherever it is killed: the end is the same."""
    command = begin(place, delay=0.3)
    for count in (1, 2, 3):
        with place.start(*(command if count == 1 else ["env", "resume", "e"])) as process:

            def there(process: Popen[str] = process, count: int = count) -> bool:
                return len(place.plans()) >= count or process.poll() is not None

            wait_for(there, f"{count} plans are sent")
            process.kill()
            process.wait(PATIENCE)
            nothing_runs(place)
    place.ok("env", "resume", "e")
    assert place.plans() == FIRST
    assert place.reports() == REPORTS
    assert place.status() == "ready"


@pytest.mark.campaign
def test_an_interrupted_task_can_be_ended_instead(place: Place) -> None:
    with place.start(*begin(place, never=True, times=1)) as process:
        in_the_middle(place, process)
        process.kill()
        process.wait(PATIENCE)
        nothing_runs(place)
    assert "cancelled" in place.refused("env", "resume", "e", "--cancel")
    assert place.status() == "cancelled"
    place.ok("env", "deploy", "e")
    assert place.status() == "ready" and place.servers() == ["e-1"]
    place.ok("env", "destroy", "e", "--yes")
    assert place.servers() == []


@pytest.mark.campaign  # beside it: Ctrl-C of a run, tests/cli/test_main.py
def test_ctrl_c_cancels_and_the_environment_can_be_repaired(place: Place) -> None:
    with place.start(*begin(place, never=True, times=1)) as process:
        in_the_middle(place, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, said
        assert "cancelling" in said and "cancelled by Ctrl-C" in said
        nothing_runs(place)
    assert place.status() == "cancelled"
    place.ok("env", "deploy", "e")
    assert place.status() == "ready"
    assert place.servers() == ["e-1"]


@pytest.mark.campaign
def test_one_task_at_a_time(place: Place) -> None:
    place.deploy(env="other")
    with place.start(*begin(place, never=True)) as process:
        wait_for(lambda: len(place.plans()) == 5, "the second command is sent")
        for command in (
            ["deploy", str(place.package), "--env", "e", "--set", "text=x"],
            ["env", "deploy", "e"],
            ["env", "action", "e", "open"],
            ["env", "resume", "e"],
            ["env", "destroy", "e", "--yes"],
            ["env", "destroy", "e", "--abandon", "--yes"],
            ["cloud", "clean", "--yes"],
        ):
            assert "environment 'e' is" in place.refused(*command)
        # Looking is allowed, and so is work on another environment.
        assert [(e["name"], e["status"]) for e in place.data("env", "list")] == [
            ("e", "deploying"),
            ("other", "ready"),
        ]
        assert place.ok("env", "action", "other", "open").exit_code == 0
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert place.plans() == [*FIRST, *FIRST[:2], "Open"]


def test_nothing_to_decide(place: Place) -> None:
    place.deploy()
    assert "no interrupted task" in place.refused("env", "resolve", "e", "x", "--done")
    assert place.run("env", "resolve", "e", "x").exit_code == 2


@pytest.mark.campaign  # test_going_back_is_planned_shown_and_asked
def test_an_earlier_state_is_a_draft_and_then_deployed(place: Place) -> None:
    place.deploy()
    place.deploy("--set", "text=second")
    place.ok("env", "restore", "e", "1", "--draft")
    assert '    text: "second" -> "first"' in place.ok("session", "changes", "e").stdout.splitlines()
    assert "on e-1: Write text" in place.ok("plan", "e").stdout
    assert place.plans() == [*FIRST, "Write text"]
    place.ok("env", "deploy", "e")
    assert place.reports()[-1] == "The box says first"
    assert "you have no draft" in place.refused("session", "changes", "e")


def test_what_an_archive_says_is_asked_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.deploy()

    def examined(*args: object, **options: object) -> None:
        raise AssertionError("it is examined again")

    monkeypatch.setattr("vetro.server.catalog.inspection.client.read_archive", examined)
    place.deploy("--set", "text=second")
    assert place.plans() == [*FIRST, "Write text"]


@pytest.mark.campaign  # tests/server/environments/test_power.py has the service's part
def test_servers_are_stopped_and_started(place: Place) -> None:
    place.deploy()
    assert "Server e-1 runs already" in place.ok("env", "start", "e").output
    for action, done in (("stop", "stopped"), ("start", "started"), ("restart", "restarted")):
        told = place.ok("env", action, "e").output
        assert f"environment 'e' is {done}" in told and f"Server e-1 was {done}" in told
    server = "e-1"
    assert f"'{server}' of environment 'e' is stopped" in place.ok("env", "stop", "e", server).output
    # An action on it ends with the reason, a deployment starts it.
    assert f"server '{server}' is switched off; start it first" in place.refused("env", "action", "e", "open")
    assert f"Server {server} was started" in place.ok("env", "deploy", "e").output
    assert "opened: 1" in place.ok("env", "action", "e", "open").output
    assert "no server, 'nothing'" in place.refused("env", "stop", "e", "nothing")
    assert place.data("env", "show", "e")["status"] == "ready"
    kinds = [(task["kind"], task["state"]) for task in place.data("env", "show", "e")["tasks"]]
    assert kinds.count(("power", "done")) == 5


def test_going_back_is_planned_shown_and_asked(place: Place) -> None:
    place.deploy()
    place.deploy("--set", "text=second")
    planned = place.ok("env", "restore", "e", "1", "--plan").stdout
    assert "on e-1: Write text" in planned and '"second" -> "first"' in planned
    assert "you have no draft" in place.refused("session", "changes", "e")
    declined = place.run("env", "restore", "e", "1", input="n\n")
    assert (
        "deploy state 1 of environment 'e' again?" in declined.stderr and place.reports()[-1] == "The box says second"
    )
    assert "you have no draft" in place.refused("session", "changes", "e")
    done = place.ok("env", "restore", "e", "1", "--yes")
    assert place.reports()[-1] == "The box says first"
    assert "what scripts did in servers since is not undone" in done.stderr
    assert place.run("env", "restore", "e", "1", "--yes", "--plan").exit_code == 2


def test_the_lock_of_an_environment_and_why(place: Place) -> None:
    place.deploy()
    told = json.loads(place.ok("env", "lock", "e", "-o", "json").stdout)
    assert [package["name"] for package in told["lock"]["packages"]] == ["t"]
    text = json.dumps(told["lock"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == told["digest"]
    assert told["digest"] in place.ok("env", "lock", "e").stdout
    assert json.loads(place.ok("env", "lock", "e", "--state", "1", "-o", "json").stdout) == told
    shown = place.ok("env", "why", "e").stdout
    assert "-> t " in shown and "class " in shown
    shown = place.ok("env", "why", "e", "t/9.0.0").stdout
    assert "not t 9.0.0: the catalog does not have it; there is" in shown
