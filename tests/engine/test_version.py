"""The version of a task's program tells apart what shares a version number."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import vetro
from vetro.engine.version import digest, engine_version

ROOT = Path(vetro.__file__).parent


def test_it_is_the_version_and_a_digest_of_the_text() -> None:
    assert re.fullmatch(re.escape(vetro.__version__) + r"\+[0-9a-f]{8}", engine_version())
    assert engine_version().endswith(digest(ROOT))


def test_other_text_is_another_program_and_the_same_text_the_same(tmp_path: Path) -> None:
    copy = tmp_path / "vetro"
    shutil.copytree(ROOT / "yaql", copy / "yaql", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "cli").mkdir()
    first = digest(copy)
    (copy / "cli" / "new.py").write_text("# no part of what runs packages\n")
    (copy / "yaql" / "notes.txt").write_text("no text of the program\n")
    assert digest(copy) == first
    lexer = copy / "yaql" / "lexer.py"
    lexer.write_bytes(lexer.read_bytes().replace(b"\n", b"\r\n"))
    assert digest(copy) == first
    lexer.write_text(lexer.read_text() + "\n# changed\n")
    second = digest(copy)
    assert second != first
    lexer.rename(lexer.with_name("lexing.py"))
    assert digest(copy) not in (first, second)
