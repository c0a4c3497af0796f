"""`vetro deploy` on recorded servers: what is made, what is refused, and what is left after a failure."""

from __future__ import annotations

import contextlib
import re
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import write_package
from tests.cli.deploykit import BOX, Place
from vetro.cli.live_view import Watch
from vetro.clouds import kinds
from vetro.server.config import cloud_settings

FIRST = ["Install", "Configure", "Write text"]
EXAMPLES = Path(__file__).parents[3] / "examples" / "deploy"


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


def test_a_new_environment_then_only_what_differs(place: Place) -> None:
    said = place.deploy().output
    assert "chosen: instance.name = e-1" in said
    assert "environment 'e' is deployed" in said
    assert place.plans() == FIRST
    assert place.servers() == ["e-1"]

    place.deploy()
    assert place.plans() == FIRST  # nothing differs, nothing is sent
    place.deploy("--set", "text=second")
    assert place.plans() == [*FIRST, "Write text"]
    assert "box --text second" in str(place.recorded()[-1].body)
    assert place.servers() == ["e-1"]
    assert place.reports() == ["Making the server", *["The box says " + text for text in ("first", "first", "second")]]
    assert [task["state"] for task in place.data("env", "show", "e")["tasks"]] == ["done"] * 3


@pytest.mark.campaign
def test_the_cloud_is_told_before_anything_is_done(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which one, what it does, and why: of a new environment, and of one that is there, whatever is wanted now."""
    recorded = "cloud: record - nothing is executed, everything is written down "
    assert place.deploy().output.splitlines()[0] == f"{recorded}(--driver)"
    for command in (["deploy", str(place.package), "--env", "e"], ["env", "deploy", "e"]):
        assert place.ok(*command).output.splitlines()[0] == f"{recorded}(of this environment)"
    monkeypatch.setenv("VETRO_IMAGES", str(place.folder / "no images"))
    monkeypatch.setattr(cloud_settings, "_chosen", {})  # a command chooses once
    said = place.ok("deploy", str(place.package), "--env", "other").output.splitlines()[0]
    assert said.startswith(f"{recorded}(no nspawn: ") and "; no proot: " in said
    # Its name follows from the class, so that it is there is known later.
    monkeypatch.setattr(kinds, "choose", lambda place: kinds.ChosenKind(kinds.find("nspawn"), "tried"))
    monkeypatch.setattr(cloud_settings, "_chosen", {})
    place.ok("deploy", str(place.package), "--driver", "record")
    said = place.ok("deploy", str(place.package)).output
    assert said.splitlines()[0].startswith("cloud: nspawn - ") and f"{recorded}(of this environment)" in said


def test_the_summary_names_server_and_address(place: Place) -> None:
    said = place.deploy().stdout
    assert said.splitlines()[0].split() == ["application", "class", "server", "addresses"]
    (shown,) = place.data("env", "show", "e")["components"]
    (server,) = place.data("cloud", "status")["servers"]
    assert shown["server"] == server["name"] == "e-1"
    assert shown["addresses"] in server["addresses"]
    assert shown["addresses"] in said


def test_the_name_of_the_environment_follows_from_the_class(place: Place) -> None:
    place.ok("deploy", str(place.package), "--driver", "record", "-q")
    assert [env["name"] for env in place.data("env", "list")] == ["box"]


def test_answers_from_a_file_and_set_reaches_inside(place: Place) -> None:
    answers = place.folder / "answers.yaml"
    answers.write_text("text: from the file\nsize: 4\noptions: {colour: blue, tags: [a]}\n", encoding="utf-8")
    place.deploy(
        *("--answers", str(answers), "--set", "size=5", "--set", "options.colour=green"),
        *("--set", "options.tags=[x, y]", "--set", "instance.flavor=m1.large"),
    )
    (app,) = place.data("env", "show", "e", "--model", "-1")["Objects"]["applications"]
    assert (app["text"], app["size"]) == ("from the file", 5)
    assert app["options"] == {"colour": "green", "tags": ["x", "y"]}
    assert app["instance"]["flavor"] == "m1.large"


def test_answers_from_standard_input(place: Place) -> None:
    command = ("deploy", str(place.package), "--env", "e", "--driver", "record", "--answers", "-")
    place.ok(*command, input='{"text": "piped"}')
    assert place.reports()[-1] == "The box says piped"


@pytest.mark.parametrize(
    ("options", "said", "status"),
    [
        (["--set", "txet=1"], "did you mean 'text'", 1),
        (["--set", "instance.flavour=x"], "did you mean 'flavor'", 1),
        (["--set", "text"], "is not of the form NAME=VALUE", 2),
        (["--set", "size=[1"], "expected an integer, got '[1'", 1),
        (["--set", "size=12"], "12", 1),
        (["--class", "t.Bax"], "there are t.Box", 1),
        (["--answers", "missing.yaml"], "missing.yaml", 1),
        (["--driver", "cloud9"], "nspawn", 2),
        (["--script", "missing.yaml"], "missing.yaml", 2),
        (["--env", "../up"], "cannot be the name of an environment", 1),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_left(place: Place, options: list[str], said: str, status: int) -> None:
    command = ["deploy", str(place.package), "--driver", "record"]
    done = place.run(*command, *options)
    assert (done.exit_code, said in done.output) == (status, True), done.output
    assert place.data("env", "list") == []
    assert place.plans() == []


def test_a_broken_contract_names_its_line_and_loses_nothing(place: Place) -> None:
    line = BOX.splitlines().index("    Contract: $.int().notNull().check($ > 0 and $ < 10)") + 1
    said = place.refused("deploy", str(place.package), "--env", "e", "--driver", "record", "--set", "size=12")
    assert "t.Box.size" in said
    assert f"Box.yaml:{line}" in said
    assert place.data("env", "list") == []

    place.deploy("--set", "size=4")
    before = place.data("env", "show", "e", "--model", "-1")
    for wrong in (("--set", "size=12"), ("--set", "options.colour=null"), ("--set", "txet=x")):
        place.refused("deploy", str(place.package), "--env", "e", *wrong)
        assert place.status() == "ready"
        assert place.data("env", "show", "e", "--model", "-1") == before
    assert place.plans() == FIRST


def test_several_applications_are_told_apart_by_class(place: Place) -> None:
    other = BOX.replace("Name: Box", "Name: Bag").replace("{=: t,", "{=: u,")
    write_package(place.folder / "bag", {"u.Bag": other}, name="u")
    both = [str(place.package), str(place.folder / "bag")]
    said = place.refused("deploy", *both, "--driver", "record")
    assert "--class: t, u" in said
    place.ok("deploy", *both, "--env", "e", "--driver", "record", "--class", "u.Bag")
    assert place.data("env", "show", "e")["components"][0]["class"] == "u.Bag"


@pytest.mark.campaign
def test_a_second_application_of_the_class_and_a_choice_between_them(place: Place) -> None:
    place.deploy("--app", "one")
    place.deploy("--app", "two")
    assert place.plans() == FIRST * 2
    assert place.servers() == ["e-1", "e-2"]
    said = place.refused("deploy", str(place.package), "--env", "e", "--set", "text=x")
    assert "2 applications of class t.Box" in said and "--app: one, two" in said
    place.deploy("--app", "two", "--set", "text=x")
    assert place.recorded()[-1].server == "e-2"
    assert len(place.plans()) == 7


def test_dry_run_prints_the_model_and_does_nothing(place: Place) -> None:
    model = yaml.safe_load(place.ok("deploy", str(place.package), "--dry-run", "--set", "size=7").stdout)
    (app,) = model["Objects"]["applications"]
    assert app["size"] == 7 and app["?"]["type"].startswith("t.Box")
    assert not place.root.exists()


def test_a_changed_package_replaces_its_copy(place: Place) -> None:
    place.deploy()
    file = place.package / "Classes" / "Box.yaml"
    file.write_text(BOX.replace("The box says {0}", "The new box says {0}"), encoding="utf-8")
    assert "changed t 1.0.0" in place.deploy().output
    assert place.reports()[-1] == "The new box says first"


def test_an_exit_code_fails_the_deployment_and_deploying_again_repairs_it(place: Place) -> None:
    rule = {"script": "*box --configure*", "exitCode": 3, "stderr": "no such box", "times": 1}
    command = ["deploy", str(place.package), "--env", "e", "--driver", "record"]
    said = place.refused(*command, "--script", place.script(plans=[rule]))
    assert "failed[LIB211]: Script runCommand returned error code" in said
    assert "exit code 3" in said and "stderr: no such box" in said
    line = (
        BOX.splitlines().index("          - conf:Linux.runCommand($.instance.agent, 'box --configure', 'Configure')")
        + 1
    )
    assert f"Classes/Box.yaml:{line} in t.Box::deploy" in said
    assert "change it and deploy again" in said
    error = place.task(1)["error"]
    assert error["output"] == {"exitCode": 3, "stderr": "no such box"}
    assert ("t.Box", "deploy") in [(frame["class"], frame["method"]) for frame in error["frames"]]
    assert place.status() == "failed"
    assert place.servers() == ["e-1"]
    place.ok("env", "deploy", "e")
    assert place.status() == "ready"
    assert place.plans() == ["Install", "Configure", *FIRST]
    assert place.servers() == ["e-1"]


def test_an_agent_that_fails_is_quoted(place: Place) -> None:
    rule = {"plan": "Install", "failure": {"message": "the disk is full", "code": 28}, "times": 1}
    command = ["deploy", str(place.package), "--env", "e", "--driver", "record"]
    assert "the disk is full" in place.refused(*command, "--script", place.script(plans=[rule]))
    place.deploy("--set", "text=better")
    assert place.plans() == ["Install", *FIRST]


def test_a_server_that_does_not_come_up_is_named_and_made_at_the_second_try(place: Place) -> None:
    rule = {"server": "e-*", "failure": "no host has room for it", "times": 1}
    command = ["deploy", str(place.package), "--env", "e", "--driver", "record"]
    said = place.refused(*command, "--script", place.script(servers=[rule]))
    assert "e-1" in said and "no host has room for it" in said
    place.ok("env", "deploy", "e")
    assert place.plans() == FIRST
    place.ok("env", "destroy", "e", "--yes")
    assert place.servers() == []


def test_a_table_of_answers_that_is_none_is_refused(place: Place) -> None:
    script = place.script(plans=[{"plan": "*", "exitcode": 1}])
    command = ["deploy", str(place.package), "--env", "e", "--driver", "record", "--script", script]
    said = place.refused(*command)
    assert "did you mean 'exitCode'" in said
    assert place.plans() == []


def test_a_delay_takes_its_time_and_a_timeout_cancels(place: Place) -> None:
    script = place.script(plans=[{"plan": "Install", "never": True, "times": 1}])
    command = ["deploy", str(place.package), "--env", "e", "--driver", "record", "--script", script]
    said = place.refused(*command, "--timeout", "2.5")
    assert "cancelled" in said
    assert place.status() == "cancelled"
    place.ok("env", "deploy", "e")
    assert place.status() == "ready"


def test_a_silent_agent_is_named_within_some_seconds(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = Watch._wait

    def waited(watch: Watch, waits: Any) -> None:
        wait(watch, waits)
        signal.raise_signal(signal.SIGINT)  # the person has seen enough

    monkeypatch.setattr(Watch, "_wait", waited)
    script = place.script(plans=[{"plan": "Install", "never": True, "times": 1}])
    command = ["deploy", str(place.package), "--env", "e", "--driver", "record", "--script", script]
    said = place.refused(*command, "--timeout", "60")
    found = re.findall(r"waits for the agent of server 'e-1', which was asked to run 'Install', for (\d+) s", said)
    assert len(found) == 1 and int(found[0]) <= 15, said  # five, where the machine has time
    assert place.status() == "cancelled"


@pytest.mark.campaign
def test_the_example_with_a_database(place: Place) -> None:
    name = "com.example.vetro.WebShop"
    place.ok("deploy", str(EXAMPLES), "--class", name, "--env", "shop", "--driver", "record")
    assert place.servers() == ["shop-2", "shop-1"]
    count = len(place.plans())
    place.ok("deploy", str(EXAMPLES), "--class", name, "--env", "shop", "--set", "greeting=Hi")
    assert place.plans()[count:] == ["Change the greeting"]
    # Answers for what it refers to change that, and leave the rest of it alone.
    place.ok("deploy", str(EXAMPLES), "--class", name, "--env", "shop", "--set", "database.name=books")
    assert place.servers() == ["shop-2", "shop-1"] and len(place.plans()) == count + 1
    assert "books" in place.ok("env", "show", "shop").stdout
    place.ok("env", "destroy", "shop", "--yes")
    assert place.servers() == [] and place.data("env", "list") == []


def test_applications_that_come_with_vetro_have_names(place: Place) -> None:
    """By name, in any case, with a version if wanted; what one requires comes along. What is here comes before."""
    done = place.ok("deploy", "wordpress", "--driver", "record", "--dry-run")
    assert "WordPress 1.1.0, as it comes with Vetro" in done.stderr
    assert "MariaDB 1.1.0, which is required" in done.stderr and "HAProxy 1.1.0" in done.stderr
    assert "type: io.vetro.catalog.WordPress/1.1.0@io.vetro.catalog.WordPress" in done.stdout
    older = place.ok("deploy", "io.vetro.catalog.Memcached/1.0.0", "--driver", "record", "--dry-run")
    assert "Memcached 1.0.0" in older.stderr and "/1.0.0@io.vetro.catalog.Memcached" in older.stdout
    assert "no such file or folder" in place.refused("deploy", "Memcached/7.0.0", "--driver", "record")
    assert "no such file or folder" in place.refused("deploy", "nothing.of.the.kind", "--driver", "record")
    write_package(place.folder / "memcached", {"t.Box": BOX})
    assert "comes with Vetro" not in place.ok("deploy", "memcached", "--driver", "record", "--dry-run").stderr


def test_an_environment_is_not_gone_while_its_servers_are_not(place: Place) -> None:
    """Errors of a ``.destroy`` stop nothing, yet what the cloud refuses there must not be forgotten."""
    place.deploy()
    (database,) = place.folder.rglob("cloud.db")
    with contextlib.closing(sqlite3.connect(database)) as cloud:
        cloud.execute("CREATE TRIGGER held BEFORE DELETE ON resources BEGIN SELECT RAISE(ABORT, 'it is held'); END")
        cloud.commit()
    said = place.refused("env", "destroy", "e", "--yes")
    assert "is gone" not in said and "held" in said
    assert [env["name"] for env in place.data("env", "list")] == ["e"]
    with contextlib.closing(sqlite3.connect(database)) as cloud:
        cloud.execute("DROP TRIGGER held")
        cloud.commit()
    assert "environment 'e' is gone" in place.ok("env", "destroy", "e", "--yes").output
    assert place.servers() == [] and place.data("env", "list") == []


def test_a_name_is_the_copy_that_the_environment_uses(place: Place) -> None:
    """The folder that it came from may have changed, or be gone."""
    place.deploy()
    package = place.folder / "box"
    assert package.is_dir()
    package.rename(place.folder / "gone")
    done = place.ok("deploy", "t", "--env", "e", "--app", "other", "-q")
    assert "t 1.0.0, as environment 'e' uses it" in done.stderr
    assert place.servers() == ["e-1", "e-2"]
    assert "no such file or folder" in place.refused("deploy", "t", "--env", "nowhere")
    assert "no such file or folder" in place.refused("deploy", "t.other", "--env", "e")


def test_what_only_the_form_would_set_is_named(place: Place) -> None:
    """Contracts leave it optional, without a default; the UI definition of the package always sets it."""
    text = """\
Namespaces: {=: p, std: io.murano}
Name: p.Site
Extends: std:Application
Properties:
  domain: {Contract: $.string()}
  port: {Contract: $.int(), Default: 80}
Methods: {deploy: {Body: [$.domain]}}
"""
    form = """\
Version: 2.2
Application:
  ?: {type: p.Site}
  domain: $.main.domain
  port: 8080
Forms:
  - main: {fields: [{name: domain, type: string, initial: example.org}]}
"""
    package = write_package(place.folder / "site", {"p.Site": text}, name="p.Site")
    (package / "UI").mkdir()
    (package / "UI" / "ui.yaml").write_text(form, encoding="utf-8")
    said = place.ok("deploy", str(package), "--driver", "record", "-q").output
    assert "left out, though the form of p.Site sets it: domain (--set NAME=VALUE gives it)" in said
    said = place.ok("deploy", str(package), "--driver", "record", "-q", "--env", "other", "--set", "domain=mine").output
    assert "left out" not in said
