"""pdb, coverage and cProfile show MuranoPL lines, also of packages loaded from archives (DESIGN, promise 2)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
MANIFEST = """
Format: 1.4
Type: Application
FullName: d.app
Name: Debug
Version: 1.0.0
Classes: {d.Main: Main.yaml}
"""
CLASS = dedent("""\
    Namespaces:
      =: d
    Name: Main

    Methods:
      run:
        Arguments:
        - n: {Contract: $.int()}
        Body:
        - $total: 0
        - For: i
          In: range($n)
          Do:
          - $total: $total + $.square($i)
        - If: $total > 1000
          Then:
          - $total: 0
        - Parallel:
          - $a: $.square(1)
          - $b: list(2).select($ * 2)
        - Return: $total

      square:
        Arguments:
        - x: {Contract: $.int()}
        Body:
        - $y: $x * $x
        - Return: $y
""")
PROGRAM = """
import sys
from vetro.muranopl import Engine
from vetro.packages import load_path
session = Engine(packages=load_path(sys.argv[1])).session()
session.load({"Objects": {"?": {"type": "d.Main", "id": "m"}}})
print("result", session.call("run", [4], public_only=False))
"""
ENABLE = "import vetro.muranopl.tools.debugger as m; m.enable()"


@pytest.fixture(params=["directory", pytest.param("archive", marks=pytest.mark.campaign)])
def package(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The package, and `prog.py` beside it."""
    (tmp_path / "prog.py").write_text(PROGRAM.lstrip())
    files = {"manifest.yaml": MANIFEST, "Classes/Main.yaml": CLASS}
    if request.param == "archive":
        with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return tmp_path / "app.zip"
    for name, text in files.items():
        path = tmp_path / "app" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "app"


def python(package: Path, *arguments: str, typed: str = "") -> str:
    """Standard output of a Python that runs beside the package."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("COV_", "COVERAGE_"))}
    environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [sys.executable, *arguments],
        input=typed,
        env=environment,
        cwd=package.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def line_of(text: str) -> int:
    """Number of the line of the class that contains ``text``."""
    return next(number for number, line in enumerate(CLASS.split("\n"), 1) if text in line)


def test_pdb_stops_at_a_line_and_shows_everything(package: Path) -> None:
    file, line = f"{package}/Classes/Main.yaml", line_of("$.square($i)")
    commands = [f"b {file}:{line}", "c", "w", "l", "p ('vars', v_i, v_total)", "c", "p ('vars', v_i, v_total)", "q"]
    shown = python(package, "-m", "pdb", "-c", ENABLE, "prog.py", str(package), typed="\n".join(commands) + "\n")
    assert f"Breakpoint 1 at {file}:{line}" in shown
    assert f"> {file}({line})run()\n-> - $total: $total + $.square($i)" in shown
    assert "prog.py(6)<module>()" in shown  # `where`
    assert " 14 B->\t      - $total: $total + $.square($i)\n 15  \t    - If: $total > 1000" in shown  # `list`
    assert "('vars', 0, 0)" in shown and "('vars', 1, 0)" in shown


def test_pdb_steps_into_a_method(package: Path) -> None:
    file = f"{package}/Classes/Main.yaml"
    commands = [f"b {file}:{line_of('$.square($i)')}", "c", "s", "p ('x', v_x)", f"unt {line_of('$y: $x')}", "r", "q"]
    shown = python(package, "-m", "pdb", "-c", ENABLE, "prog.py", str(package), typed="\n".join(commands) + "\n")
    assert f"--Call--\n> {file}({line_of('square:')})square()" in shown
    assert f"> {file}({line_of('$y: $x * $x')})square()\n-> - $y: $x * $x" in shown
    assert "('x', 0)" in shown
    assert f"--Return--\n> {file}({line_of('Return: $y')})square()->0" in shown


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="pdb takes names of other files for names of modules")
def test_pdb_needs_no_help_once_the_class_was_used(package: Path) -> None:
    file, line = f"{package}/Classes/Main.yaml", line_of("Return: $y")
    commands = ["b prog.py:6", "c", f"b {file}:{line}", "c", "p ('y', v_y)", "q"]
    shown = python(package, "-m", "pdb", "prog.py", str(package), typed="\n".join(commands) + "\n")
    assert f"Breakpoint 2 at {file}:{line}" in shown
    assert f"> {file}({line})square()\n-> - Return: $y" in shown
    assert "('y', 0)" in shown


def test_enabling_needs_a_debugger() -> None:
    from vetro.muranopl.tools import debugger

    before = sys.gettrace()
    sys.settrace(None)
    try:
        with pytest.raises(RuntimeError, match="no debugger is running"):
            debugger.enable()
    finally:
        sys.settrace(before)


def test_names_that_are_no_files_of_archives(tmp_path: Path) -> None:
    from vetro.muranopl.tools.debugger import archived

    (tmp_path / "text.zip").write_text("no archive")
    assert archived(str(tmp_path / "text.zip" / "a.yaml")) is None
    assert archived(str(tmp_path / "none" / "a.yaml")) is None
    assert archived(__file__) is None


def test_cprofile_has_rows_for_methods(package: Path) -> None:
    file = f"{package}/Classes/Main.yaml"
    python(package, "-m", "cProfile", "-o", "out.prof", "prog.py", str(package))
    rows = json.loads(
        python(
            package,
            "-c",
            "import json, pstats; "
            "print(json.dumps([[*k, v[1]] for k, v in pstats.Stats('out.prof').stats.items() if 'Main.yaml' in k[0]]))",
        )
    )
    calls = {(name, line): count for found, line, name, count in rows if found == file}
    assert calls["run", line_of("run:")] == 1
    assert calls["square", line_of("square:")] == 5


def test_coverage_reports_lines(package: Path) -> None:
    branch = package.suffix == ".zip"
    (package.parent / ".coveragerc").write_text(
        f"[run]\nplugins = vetro.muranopl.tools.coverage\nbranch = {branch}\n[report]\ninclude = *.yaml\n"
    )
    python(package, "-m", "coverage", "run", "prog.py", str(package))
    report = python(package, "-m", "coverage", "report", "-m")
    row = next(line for line in report.split("\n") if line.startswith(f"{package.name}/Classes/Main.yaml"))
    never = len(CLASS[: CLASS.rindex("- $total: 0")].split("\n"))
    assert row.split()[-1] == str(never)
    python(package, "-m", "coverage", "json", "-q", "-o", "out.json")
    (found,) = json.loads((package.parent / "out.json").read_text())["files"].values()
    assert {line_of("$.square($i)"), line_of("$a: $.square(1)"), line_of("$y: $x * $x")} <= set(found["executed_lines"])
    assert found["missing_lines"] == [never]
    python(package, "-m", "coverage", "html", "-q", "-d", "html")
    pages = [p.read_text() for p in (package.parent / "html").glob("*Main_yaml.html")]
    assert len(pages) == 1 and "$total" in pages[0]
