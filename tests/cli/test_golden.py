"""Every kind of failing run as a person sees it. A file of `golden/` holds arguments, the class file and the rendering.

``VETRO_UPDATE_GOLDEN=1`` writes the renderings anew; the diff is what is to be reviewed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import write_package

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(GOLDEN.glob("*.txt"))
BAR = "~~~~\n"
#: How deep calls may nest depends on the stack.
DEPTH = re.compile(r"… \d{3,} calls")
MODEL = "'?': {type: t.Main, id: main}\n"


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_rendering(path: Path, here: Path, vetro: Callable[..., Result]) -> None:
    arguments, source, expected = path.read_text(encoding="utf-8").split(BAR)
    write_package(here / "app", {"t.Main": source})
    (here / "model.yaml").write_text(MODEL, encoding="utf-8")
    result = vetro(*shlex.split(arguments))
    rendered = DEPTH.sub("… N calls", result.stdout + result.stderr)
    assert str(here) not in rendered
    if os.environ.get("VETRO_UPDATE_GOLDEN"):
        path.write_text(arguments + BAR + source + BAR + rendered, encoding="utf-8")
        return
    assert rendered == expected
    assert result.exit_code == 1
    assert "defect" not in rendered
