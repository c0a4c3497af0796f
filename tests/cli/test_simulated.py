"""Every command about an environment whose cloud executes nothing says so, and marks what it shows as an address.

The commands are those that complete names of environments: a new one is in this walk at once, or says here why not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from tests.cli.deploykit import Place
from vetro.cli.main import main
from vetro.cli.name_completion import environments

#: Words for required arguments, by their names; the one that names an environment is known.
WORDS = {"method": ["open"], "file": ["out.zip"], "number": ["1"], "words": ["80"]}
#: More words that a command needs to have something to tell.
MORE = {
    "exec": ["--", "true"],
    "deploy": ["--set", "text=walk"],
    "env destroy": ["--keep", "--yes"],
    "env remove": ["--yes"],
    "env resolve": ["--redo"],
}
#: The same in a workspace: whatever this machine could run, nothing is.
HERE = {"env realize": ["--driver", "record"]}
#: Commands that are not in the walk, and why.
OTHERS = {
    "form": "fills in a form: nothing that is in the environment is told",
    "ssh": "needs a terminal, and is refused as exec is",
}


@pytest.fixture
def place(here: Path) -> Place:
    place = Place(here)
    place.deploy()
    return place


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """All commands by their words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        elif command is not None:
            yield " ".join((*words, name)), command


def about_environments() -> dict[str, list[str]]:
    """Command -> what follows it."""
    found = {}
    for name, command in commands(main):
        named = [one for one in command.params if getattr(one, "_custom_shell_complete", None) is environments]
        if named and name not in OTHERS:
            (environment,) = named
            words = [] if isinstance(environment, click.Argument) else [environment.opts[0], "ENVIRONMENT"]
            for one in command.params:
                if isinstance(one, click.Argument) and (one.required or one is environment):
                    words += ["ENVIRONMENT"] if one is environment else WORDS.get(str(one.name), ["PACKAGE"])
            found[name] = [*words, *MORE.get(name, ())]
    return found


def walk(run: Callable[..., Result], name: str, package: str, more: Mapping[str, list[str]]) -> list[str]:
    """The commands that ended well; all said what the environment is, whether or not they did."""
    ended = []
    for command, words in sorted(about_environments().items(), key=lambda item: item[0] == "env destroy"):
        given = [{"ENVIRONMENT": name, "PACKAGE": package}.get(word, word) for word in words]
        given += more.get(command, ())
        done = run(*command.split(), *given)
        if "error[CLI135]" in done.output:  # those of servers, which have a walk of their own
            continue
        assert "simulated" in done.output, (command, done.output)
        if done.exit_code == 0:
            ended.append(command)
    return ended


@pytest.mark.campaign
def test_every_command_of_a_workspace_says_so(place: Place) -> None:
    ended = walk(place.run, "e", str(place.package), HERE)
    assert {"deploy", "env action", "env show", "env plan", "env log", "env export", "env destroy"} <= set(ended), ended
    names = dict(commands(main))
    assert [name for name in OTHERS if name not in names] == [], "these are no more"


@pytest.mark.campaign
def test_every_command_of_a_server_says_so(remote: Any) -> None:
    """Its answers say it (`Vetro-Simulated`). By default those of one package do, in the last test here."""
    remote.deploy("walked")
    said = remote.ok("deploy", remote.box(), "--env", "walked", "--set", "text=two").output
    assert said.startswith(
        "cloud: record - nothing is executed, everything is written down (cloud.kind in the settings)"
    )
    ended = walk(remote.run, "walked", remote.box(), {})
    assert {"deploy", "env action", "env show", "env watch", "session open", "session list"} <= set(ended), ended
    task = next(row["task_id"] for row in remote.data("env", "history", "walked") if row["task_id"])
    assert "simulated" in remote.ok("env", "watch", task).output  # no environment is named


def test_lists_and_addresses_are_marked(place: Place) -> None:
    assert "simulated" in place.ok("env", "list").output
    (row,) = place.data("env", "list")
    assert row["simulated"] is True
    (address,) = [server["addresses"] for server in place.data("env", "show", "e")["components"]]
    assert f"{address} (simulated)" in place.ok("env", "show", "e").output
    said = place.ok("deploy", str(place.package), "--env", "e", "--set", "text=two").output
    assert f"{address} (simulated)" in said and "(simulated: nothing was executed)" in said
    place.ok("env", "restart", "e")  # a task without a number
    assert "simulated" in place.ok("env", "log", "e").output
    # Before anything is deployed, too.
    place.ok("env", "create", "empty", "--driver", "record")
    assert "simulated" in next(line for line in place.ok("env", "list").output.splitlines() if "empty" in line)


@pytest.mark.campaign
@pytest.mark.slow
def test_who_uses_a_package_is_marked_on_a_server(remote: Any) -> None:
    """A list of packages' users names environments, too; their table could not be printed at all."""
    remote.deploy("used")
    show = ("package", "show", "t/1.0.0", "--usage")  # others may have published a newer one
    assert "used (simulated)" in remote.ok(*show).stdout
    assert ("used", True) in [(row["environment"], row["simulated"]) for row in remote.data(*show)["environments"]]
