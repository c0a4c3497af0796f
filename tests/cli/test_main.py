"""The command as a whole: start, help, suggestions, colours, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tests.cli.conftest import write_package
from vetro import __version__
from vetro.cli import main as cli
from vetro.cli import output as out
from vetro.cli.groups import Commands

VETRO = [sys.executable, "-m", "vetro"]


def start(*args: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.run([*VETRO, *args], cwd=cwd, env=clean | env, capture_output=True, text=True, timeout=60)


def test_version() -> None:
    done = start("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"vetro {__version__}\n", "")


def test_start_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from vetro.cli.main import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "heavy = ('rich', 'yaml', 'vetro.yaql', 'vetro.muranopl', 'vetro.packages', 'semantic_version', 're2')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["", *cli.COMMANDS, "package new", "package build"])
def test_help_teaches_with_examples(vetro: Callable[..., Result], name: str) -> None:
    result = vetro(*name.split(), "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"  vetro {name}".rstrip() in result.stdout


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("rnu", "Did you mean 'run'?"),
        ("Check", "Did you mean 'check'?"),
        ("frobnicate", "'vetro --help' lists the commands."),
    ],
)
def test_unknown_commands_get_a_suggestion(vetro: Callable[..., Result], given: str, hint: str) -> None:
    result = vetro(given)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"Error: There is no command '{given}'. {hint}\n")
    assert result.stdout == ""


def test_completion_knows_commands_without_loading_them(vetro: Callable[..., Result]) -> None:
    done = start(_VETRO_COMPLETE="bash_complete", COMP_WORDS="vetro ", COMP_CWORD="1")
    names = [line.split(",")[1] for line in done.stdout.splitlines()]
    assert names == list(cli.COMMANDS)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("vetro deploy pack --class t.", ["t.Main", "t.Other"]),
        ("vetro deploy pack --class t.Other --set ", ["count=", "text="]),
        ("vetro deploy pack --set te", ["text="]),
        ("vetro deploy pack --set ", ["count=", "text="]),
        ("vetro deploy pack --set text=a", []),
        ("vetro schema pack t.O", ["t.Other"]),
        ("vetro deploy nothing --class t", []),
    ],
)
def test_classes_and_their_properties_are_completed(
    here: Path, monkeypatch: pytest.MonkeyPatch, line: str, found: list[str]
) -> None:
    base = "Namespaces: {=: t, std: io.murano}\nExtends: std:Application\nName: "
    main = "Main\nProperties: {text: {Contract: $.string()}, shown: {Contract: $.string(), Usage: Out}}\n"
    other = main.replace("Main", "Other").replace("{text", "{count: {Contract: $.int()}, text", 1)
    write_package(here / "pack", {"t.Main": base + main})
    (here / "pack" / "Classes" / "Other.yaml").write_text(base + other, encoding="utf-8")
    manifest = here / "pack" / "manifest.yaml"
    manifest.write_text(manifest.read_text("utf-8") + "  t.Other: Other.yaml\n", encoding="utf-8")
    words = line.split(" ")
    for name, value in (
        ("COMP_WORDS", line),
        ("COMP_CWORD", str(len(words) - 1)),
        ("_VETRO_COMPLETE", "bash_complete"),
    ):
        monkeypatch.setenv(name, value)
    said = CliRunner().invoke(cli.main, [], prog_name="vetro", complete_var="_VETRO_COMPLETE").stdout
    assert [text.partition(",")[2] for text in said.splitlines() if text.startswith("plain,")] == found


def test_colours_only_where_wanted(here: Path) -> None:
    assert "\x1b[" not in start("eval", "1 +").stderr
    assert "\x1b[1;31merror" in start("eval", "1 +", FORCE_COLOR="1").stderr
    assert "\x1b[" not in start("eval", "1 +", FORCE_COLOR="1", NO_COLOR="1").stderr


def test_ctrl_c_ends_a_run_with_one_line(here: Path) -> None:
    body = "Name: t.Main\nMethods:\n  deploy:\n    Body:\n      - While: !yaql 'true'\n        Do: {$x: 1}\n"
    write_package(here / "app", {"t.Main": body})
    (here / "model.yaml").write_text("'?': {type: t.Main, id: a}\nname: x\n")
    running = subprocess.Popen(
        [*VETRO, "run", "app", "-m", "model.yaml", "--max-steps", "1000000000000"], stderr=subprocess.PIPE, text=True
    )
    time.sleep(1.5)
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=30)
    assert (running.returncode, stderr) == (130, "error: interrupted\n")


def test_a_defect_is_one_line_and_the_traceback_is_kept_for_those_who_ask(
    vetro: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("oh\nno")

    monkeypatch.setattr(out, "print_data", broken)
    result = vetro("eval", "1")
    assert result.exit_code == out.DEFECT
    assert result.stderr.startswith("error: a defect in Vetro: RuntimeError: oh no\nhint: please report it")
    monkeypatch.setenv("VETRO_TRACEBACK", "1")
    assert isinstance(vetro("eval", "1").exception, RuntimeError)


def test_paths_below_the_current_folder_are_shortened(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert out.shown(f"{here}/a.yaml:1 and {here}x/b") == f"a.yaml:1 and {here}x/b"
    monkeypatch.chdir("/")
    assert out.shown("/a/b") == "/a/b"


def test_tables_are_not_cut(vetro: Callable[..., Result], capsys: pytest.CaptureFixture[str]) -> None:
    out.print_table(("a", "long"), [(1, "x" * 300), (None, "two\nlines")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["a  long", f"1  {'x' * 300}", "   two lines"]


def test_text_that_the_stream_cannot_write_becomes_escapes(here: Path) -> None:
    done = start("eval", "-r", r"'\u20ac'", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, "\\u20ac\n")


def test_a_closed_pipe_is_no_defect(here: Path) -> None:
    command = f"{sys.executable} -m vetro eval 'range(200000)' | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[\n", "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_is_no_defect(here: Path, unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*VETRO, "eval", "1"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=environment
        )
    assert "Exception ignored" not in done.stderr
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1, "error: what was printed could not be written: No space left on device"
    )  # fmt: skip


@pytest.mark.parametrize("name", ["env", "package", "admin", "db"])
def test_lists_of_commands_say_whole_sentences(vetro: Callable[..., Result], name: str) -> None:
    listed = vetro(name, "--help").stdout.partition("--help ")[2]
    assert len(listed.splitlines()) > 4 and "..." not in listed


@pytest.mark.parametrize("name", ["env", "package", "image", "config", "db"])
def test_tables_say_what_their_commands_say(name: str) -> None:
    group = cli.main.get_command(click.Context(cli.main), name)
    assert isinstance(group, Commands) and group.table
    for word, (_, text) in group.table.items():
        one = group.get_command(click.Context(group), word)
        assert one is not None and (one.name, one.get_short_help_str(limit=1000)) == (word, text)


def test_fail_ends_the_command() -> None:
    with pytest.raises(SystemExit) as caught:
        out.fail("no")
    assert caught.value.code == out.FAILED
    with pytest.raises(click.UsageError), out.guarded():
        raise click.UsageError("seen by click")
