"""`vetro repl`: its state, its use in a pipe, and in a real terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest
from click.testing import Result

from vetro.cli.commands.repl import CommandError, Leave, Repl
from vetro.yaql.errors import NoFunctionRegistered


def test_lines_are_evaluated_and_results_kept() -> None:
    repl = Repl("standard", [1, 2, 3])
    assert repl.execute("$.len()") == "3"
    assert repl.execute("$_ + 1") == "4"
    assert repl.execute(" $big = $.where($ > 2)") == "[\n  3\n]"
    assert repl.execute("$big.len() = 1") == "true"
    assert repl.execute("") == repl.execute("# a remark") == ""
    assert repl.execute(":vars") == "$_ = true\n$big = [\n  3\n]"
    with pytest.raises(NoFunctionRegistered):
        repl.execute("nope()")


def test_comparisons_are_no_assignments() -> None:
    repl = Repl("standard", None)
    repl.variables["x"] = "abc"
    assert repl.execute("$x =~ 'b'") == "true"
    assert repl.variables["x"] == "abc"


def test_commands(tmp_path: Path) -> None:
    repl = Repl("standard", None)
    (tmp_path / "d.yaml").write_text("a: 1")
    assert repl.execute(f":load {tmp_path}/d.yaml") == f"loaded {tmp_path}/d.yaml"
    assert repl.execute("$.a") == "1"
    assert repl.execute(":ast 1 + 2") == "#operator_+(1, 2)"
    assert repl.execute(":dialect") == "dialect: standard"
    assert repl.execute(":dialect legacy") == "dialect: legacy"
    assert ":load FILE" in repl.execute(":help")
    with pytest.raises(Leave):
        repl.execute(":quit")
    for line, message in [
        (":load", "name a file"),
        (":load nope", "cannot read nope"),
        (":dialect latin", "there is no dialect 'latin'"),
        (":hlep", "there is no command ':hlep'"),
    ]:
        with pytest.raises(CommandError, match=message):
            repl.execute(line)


def test_completion() -> None:
    repl = Repl("standard", None)
    repl.execute("$servers = 1")
    assert repl.complete("$s") == ["$servers"]
    assert repl.complete(":d") == [":dialect"]
    assert "orderBy" in repl.complete("order")
    assert all(name.isidentifier() for name in repl.complete(""))


def test_in_a_pipe_every_line_is_evaluated(vetro: Callable[..., Result]) -> None:
    result = vetro("repl", input="1 + 1\n1 +\n:nope\n1 / 0\n'last'\n")
    assert result.stdout == '2\n"last"\n'
    assert result.stderr.splitlines()[0].startswith("error[YAQ102]")
    assert "error: there is no command ':nope'" in result.stderr
    assert "error[zero-division]" in result.stderr
    assert result.exit_code == 1
    assert vetro("repl", input="1\n:quit\nnope()\n").exit_code == 0


def test_in_a_terminal(here: Path) -> None:
    (here / "d.json").write_text("[1, 2]")
    child = pexpect.spawn(
        sys.executable,
        ["-m", "vetro", "repl", "--data", "d.json"],
        timeout=30,
        encoding="utf-8",
        env={"PATH": "/usr/bin:/bin", "TERM": "xterm", "INPUTRC": "/dev/null"},
    )
    child.expect_exact("Vetro YAQL. :help explains, :quit leaves.")
    child.expect_exact("yaql> ")
    child.sendline("$.sum() + 40")
    child.expect_exact("43")
    child.expect_exact("yaql> ")
    child.sendline("1 +")
    child.expect_exact("\x1b[1;31merror[YAQ102]")
    child.expect_exact("yaql> ")
    child.sendline("sequence().select($ + 1).sum()")
    child.expect_exact("sum()")
    child.sendintr()
    child.expect_exact("yaql> ")
    child.send("orderByDesc\t")
    child.expect_exact("orderByDescending")
    child.sendcontrol("u")
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
