"""``python -m tests.support.compile_tests`` compiles all tests as pytest does, and what they import as Python does.

In a fresh clone each process of a run would do it for itself, at the same time as the others.
"""

from __future__ import annotations

import os
import py_compile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc_fp, get_cache_dir

ROOT = Path(__file__).parents[2]


def files() -> Iterator[Path]:
    """All modules of tests."""
    for folder in (ROOT / "tests", *ROOT.glob("plugins/*/tests")):
        yield from folder.rglob("*.py")


def compiled_by_pytest(path: Path) -> Path:
    """Where pytest keeps what it makes of a file, whose assertions it writes anew."""
    return get_cache_dir(path) / f"{path.stem}{PYC_TAIL}"


def compile_file(path: Path) -> None:
    """Writes what is missing, or of another state of the file; one that is no Python is left to pytest to tell."""
    if not (path.name.startswith("test_") or path.name == "conftest.py"):
        py_compile.compile(str(path), quiet=2)
        return
    kept = compiled_by_pytest(path)
    if _read_pyc(path, kept) is not None:
        return
    try:
        state, code = _rewrite_test(path, None)  # type: ignore[arg-type]  # only a hook that nobody has here asks for settings
    except SyntaxError:
        return
    kept.parent.mkdir(exist_ok=True)
    draft = kept.with_name(f"{kept.name}.{os.getpid()}")
    with open(draft, "wb") as out:
        _write_pyc_fp(out, state, code)
    draft.replace(kept)


def main() -> None:
    """Compiles everything, in as many processes as there are processors."""
    with ProcessPoolExecutor() as pool:
        for _ in pool.map(compile_file, files(), chunksize=20):
            pass


if __name__ == "__main__":
    main()
