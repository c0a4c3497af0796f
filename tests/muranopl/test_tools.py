"""pdb, cProfile and coverage.py show MuranoPL: its files, lines and variables; also of packages in archives."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from vetro.packages import build_tree

MANIFEST = """\
Format: 1.4
Type: Library
FullName: t
Description: For tools.
Classes: {t.Main: Main.yaml}
"""
CLASS = """\
Name: t.Main
Methods:
  run:
    Scope: Public
    Body:
      - $sum: 0
      - For: n
        In: [1, 2, 3]
        Do:
          - If: $n > 5
            Then:
              - $sum: never
          - $sum: $.add($sum, $n)
      - Return: $sum
  add:
    Arguments:
      - a: {Contract: $.int()}
      - b: {Contract: $.int()}
    Body:
      - Return: $a + $b
"""
SCRIPT = """\
import sys
from vetro.muranopl import Engine
from vetro.packages import load_path
session = Engine(load_path(sys.argv[1])).session()
session.load({"Objects": {"?": {"type": "t.Main"}}})
print("result", session.call("run"))
"""
LINES = dict(enumerate(CLASS.splitlines(), 1))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "t" / "Classes").mkdir(parents=True)
    (tmp_path / "t" / "manifest.yaml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "t" / "Classes" / "Main.yaml").write_text(CLASS, encoding="utf-8")
    (tmp_path / "run.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / ".coveragerc").write_text(
        "[run]\nplugins = vetro.muranopl.tools.coverage\nsource = .\n", encoding="utf-8"
    )
    return tmp_path


def python(here: Path, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("COV_", "COVERAGE_"))}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=here,
        env=environment,
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def line_of(text: str) -> int:
    return next(line for line, known in LINES.items() if text in known)


def test_pdb_stops_on_lines_and_shows_variables(here: Path) -> None:
    place = f"t/Classes/Main.yaml:{line_of('$.add')}"
    enable = ["-c", "import vetro.muranopl.tools.debugger as m; m.enable()"] if sys.version_info >= (3, 13) else []
    steps = [*enable, "-c", f"b {place}", "-c", "c", "-c", "p v_n, v_sum", "-c", "c", "-c", "p v_n, v_sum", "-c", "w"]
    output = python(here, "-m", "pdb", *steps, "-c", "cl 1", "-c", "c", "run.py", "t")
    assert f"Breakpoint 1 at {here / 't/Classes/Main.yaml'}" in output
    assert "(1, 0)\n" in output and "(2, 1)\n" in output
    assert f"Main.yaml({line_of('$.add')})run()" in output
    assert "-> - $sum: $.add($sum, $n)" in output  # the line of YAML itself
    assert "result 6" in output


def test_cprofile_names_methods_files_and_lines(here: Path) -> None:
    output = python(here, "-m", "cProfile", "run.py", "t")
    assert re.search(r"^ +3 .* Main\.yaml:\d+\(add\)$", output, re.MULTILINE)
    assert re.search(r"^ +1 .* Main\.yaml:\d+\(run\)$", output, re.MULTILINE)


@pytest.mark.parametrize("archive", [False, True], ids=["folder", "archive"])
def test_coverage_counts_lines(here: Path, archive: bool) -> None:
    path = build_tree([here / "t"], here / "dist")[0].path if archive else "t"
    python(here, "-m", "coverage", "run", "run.py", path)
    rows = python(here, "-m", "coverage", "report", "-m")  # a process that never loaded the package
    row = next(line.split() for line in rows.splitlines() if "Main.yaml" in line)
    assert row[0].endswith("t.0.0.0.zip/Classes/Main.yaml" if archive else "t/Classes/Main.yaml")
    assert row[1:] == ["7", "1", "86%", str(line_of("never"))]


def test_coverage_says_which_text_is_gone(here: Path) -> None:
    source = "from vetro.packages import memory_package\nload_path = lambda path: [memory_package(eval(path))]\n"
    script = SCRIPT.replace("from vetro.packages import load_path\n", source)
    (here / "run.py").write_text(script, encoding="utf-8")
    python(here, "-m", "coverage", "run", "run.py", repr({"name": "t", "classes": {"t.Main": CLASS}}))
    with pytest.raises(AssertionError, match=r"Main\.yaml exists only in the process that ran it"):
        python(here, "-m", "coverage", "report")
    assert "run.py" in python(here, "-m", "coverage", "report", "-i")
