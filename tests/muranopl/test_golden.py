"""Every error of the reader as a person sees it. A file of `golden/` holds options, the class file and the rendering.

``VETRO_UPDATE_GOLDEN=1`` writes the renderings anew; the diff is what is to be reviewed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vetro.muranopl.errors import MuranoError
from vetro.muranopl.reader.files import read_file
from vetro.muranopl.tools.render import render

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(GOLDEN.glob("*.txt"))
BAR = "~~~~\n"


def read(path: Path) -> tuple[str, str, str | None, str, str]:
    with path.open(encoding="utf-8", newline="") as stream:
        options, source, expected = stream.read().split(BAR)
    version, default = options.strip().removeprefix("format ").split(", default name ")
    return options, version, None if default == "none" else default, source, expected


def place(problem: MuranoError) -> tuple[int, int]:
    assert problem.position is not None
    return problem.position.line, problem.position.column


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_rendering(path: Path) -> None:
    options, version, default, source, expected = read(path)
    major, minor = version.split(".")
    arguments = {"format_version": (int(major), int(minor)), "default_name": default}
    problems: list[MuranoError] = []
    read_file(source, "Main.yaml", **arguments, problems=problems)  # type: ignore[arg-type]
    assert all(problem.position is not None and problem.hint for problem in problems)
    rendered = "\n\n".join(render(problem, source, package="t") for problem in sorted(problems, key=place)) + "\n"
    if os.environ.get("VETRO_UPDATE_GOLDEN"):
        with path.open("w", encoding="utf-8", newline="") as stream:
            stream.write(options + BAR + source + BAR + rendered)
        return
    assert rendered == expected
    errors = [problem for problem in problems if problem.severity == "error"]
    if not errors:
        read_file(source, "Main.yaml", **arguments)  # type: ignore[arg-type]
        return
    if "match-branch" in path.stem:  # read when first executed
        read_file(source, "Main.yaml", **arguments)  # type: ignore[arg-type]
        return
    with pytest.raises(MuranoError) as caught:
        read_file(source, "Main.yaml", **arguments)  # type: ignore[arg-type]
    assert render(caught.value, source) in [render(problem, source) for problem in errors]
