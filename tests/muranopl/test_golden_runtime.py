"""Every error that a package's author can cause while code runs, as a person sees it.

A file of `golden_runtime/` is a YAML description of the run, a line of tildes, and the rendering. The description has
``mistake`` (what the author did wrong), ``code`` (of the error), ``classes`` (class -> text of its file, package t).
Optional are ``format`` (1.4), ``requires`` and ``packages`` (more packages, as `memory_package` takes them),
``resources``, ``model`` (properties of the root, an object of t.Main), ``objects`` (a whole model instead), ``call``
(run), ``limits``, ``configs``, ``cancel``, ``clock: real``.

``VETRO_UPDATE_GOLDEN=1 pytest tests/muranopl/test_golden_runtime.py`` writes the renderings anew; the diff is what is
to be reviewed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.errors import error_classes
from vetro.cli.package_paths import source_finder
from vetro.cli.problems import render_error
from vetro.muranopl import Engine, Limits, VirtualClock
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.muranopl.tools.render import code_of
from vetro.packages import memory_package
from vetro.yaql.errors import Stop

GOLDEN = Path(__file__).parent / "golden_runtime"
CASES = sorted(GOLDEN.glob("*.txt"))
BAR = "~~~~\n"

#: Layers that a package reaches only through effects; what their errors say is pinned in tests/agent, tests/clouds,
#: tests/engine and tests/cli.
BEYOND = (
    "vetro.agent.",
    "vetro.clouds.",
    "vetro.engine.",
    "vetro.forms.",
    "vetro.frames",
    "vetro.server.",
    "vetro.cli.",
    "vetro_openstack.",
)

#: Classes without a case here, and where their messages are pinned instead.
ELSEWHERE = {
    "roots, never raised themselves": {"VET000", "MPL000", "YAQ000", "YAQ100", "YAQ200", "LIM200"},
    "errors of reading a class file, with files in golden/": {"MPL103"},
    "errors of expressions alone (in class files they are MPL100): tests/yaql/test_parser.py": {"YAQ101", "YAQ102"},
    "no method of the libraries is ambiguous; host functions can be: tests/yaql/resolve/test_overloads.py": {"YAQ206"},
    "a name for catalogs to raise; packages here choose by version": {"MPL303"},
    "errors of packages before any code is read: tests/packages": {
        "PKG100", "PKG110", "PKG120", "PKG130", "PKG140", "PKG150", "PKG160", "PKG170", "PKG180",
    },
    "errors of the host, not of a package: tests/muranopl/runtime/test_effects.py": {
        *("EFF101", "EFF102", "EFF103", "EFF104"),
    },
    "errors of several components together: tests/library/test_server_names.py": {"LIB202", "LIB203"},
    "errors of agents, networks and services, which need a cloud: tests/library/natives": {
        "LIB210", "LIB211", "LIB212", "LIB213", "LIB220", "LIB230", "LIB240",
    },
}  # fmt: skip


def run_case(case: dict[str, Any]) -> tuple[BaseException, str]:
    """What the run raised, and how it is drawn."""
    data = {"name": "t", "version": "1.0.0", "format": case.get("format", "1.4"), "classes": case["classes"]}
    data |= {key: case[new] for key, new in (("require", "requires"), ("resources", "resources")) if new in case}
    packages = [memory_package(data), *(memory_package(more) for more in case.get("packages", ()))]
    engine = Engine(
        packages,
        limits=Limits(**case.get("limits", {})),
        clock=None if case.get("clock") == "real" else VirtualClock(),
        effects=InProcessEffects(),
        configs=case.get("configs"),
        seed="golden",
    )
    session = engine.session()
    root = {"?": {"type": "t.Main", "id": "root"}, **case.get("model", {})}
    try:
        session.load({"Objects": case.get("objects", root)})
        if case.get("cancel"):
            session.rt.cancel()
        session.call(case.get("call", "run"))
    except (Exception, Stop) as error:
        return error, render_error(error, source_finder(packages), color=False) + "\n"
    finally:
        session.close()
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_rendering(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    description, _, expected = text.partition(BAR)
    case = yaml.safe_load(description)
    error, rendered = run_case(case)
    assert code_of(error) == case["code"], rendered
    if os.environ.get("VETRO_UPDATE_GOLDEN"):
        path.write_text(description + BAR + rendered, encoding="utf-8")
        return
    # A text of so many characters, and the 49 bytes that Python 3.11 needs besides; later ones need fewer.
    expected = expected.replace("4000000049", str(4_000_000_000 + sys.getsizeof("")))
    assert rendered == expected


def test_every_error_that_code_can_cause_has_a_case() -> None:
    codes = {yaml.safe_load(path.read_text(encoding="utf-8").partition(BAR)[0])["code"] for path in CASES}
    known = {cls.code for cls in error_classes() if not cls.__module__.startswith(BEYOND)}
    elsewhere = set().union(*ELSEWHERE.values())
    assert not elsewhere - known
    assert sorted(known - elsewhere - codes) == []
