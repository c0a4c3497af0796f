"""Settings of all tests: the same examples in every run, and no time limit on a single example on a busy machine.

Tests of real servers need root. Without it they are left out, and the last lines of script/test list them as not run.
What else a machine lacks is asked for by `tests.support.needs`.
Campaigns (tests marked so) take minutes each and run with VETRO_TEST_ALL=1 only, which `script/test --all` sets.
VETRO_TEST_PART=2/6 keeps to every sixth file, the second one first: parts run on several machines, or one a night.
A run on PostgreSQL (`script/with-postgresql`) keeps to tests that are marked ``database``, unless VETRO_TEST_ALL=1.
Several processes share the tests by groups (see `group_of`).
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.support.fuzzing import examples

settings.register_profile(
    "vetro", max_examples=examples(100), derandomize=True, deadline=None, database=None, print_blob=True
)
settings.load_profile("vetro")
# Constants of all modules that a process happens to have loaded are no examples: each run would have others, and each
# process would look through a thousand files for them.
providers.is_local_module_file = lambda path: False

# A process that holds ten thousand tests has much to look through: by default a fifth of its time went there.
gc.set_threshold(50_000, 20, 50)
# What is collected stays (see `pytest_collection_finish`).
gc.disable()

if "TESTS_FOLDER" not in os.environ:
    # What processes of this run share, and those that it starts: an installation to copy, compiled packages.
    _shared = tempfile.mkdtemp(prefix="vetro-shared-")
    _maker = os.getpid()

    def _remove() -> None:
        if os.getpid() == _maker:
            shutil.rmtree(_shared, ignore_errors=True)

    atexit.register(_remove)
    os.environ["TESTS_FOLDER"] = _shared
    if "VETRO_CACHE" not in os.environ:
        os.environ["VETRO_CACHE"] = os.path.join(_shared, "compiled")
        os.mkdir(os.environ["VETRO_CACHE"], 0o700)
# Shells start what runs in the background, and nohup, with Ctrl-C ignored; programs inherit that. Tests of Ctrl-C and
# what they start would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
#: Files and folders whose tests all start real servers.
ROOT_ONLY = (
    TESTS / "acceptance",
    *(
        TESTS / "clouds/nspawn" / f"test_{part}.py"
        for part in ("servers", "isolation", "projects", "id_ranges", "conformance")
    ),
    *sorted((TESTS / "catalog").glob("test_*_real.py")),
)


#: Fixtures of a whole run that take seconds to make, by folder: tests that use one stay in one process.
SHARED = {
    "acceptance": "site",
    "agent": "broker",
    "browser": "service",
    "cli": "installation",
    "plugins": "install",
    "server": "used",
}
#: Where tests take longest. They begin first, so that no process is left alone with one of them at the end.
LONG = (
    "faults",
    "clouds",
    "acceptance",
    "catalog",
    "browser",
    "cli",
    "agent",
    "hostile",
    "engine",
    "operations",
    "docs",
    "plugins",
)


#: What pytest-django begins each test with, for marks and settings that no test here has: half of what pytest
#: itself takes for a test.
IDLE = frozenset(
    {
        "_dj_autoclear_mailbox",
        "_django_clear_site_cache",
        "_django_isolate_apps",
        "_django_set_urlconf",
        "_fail_for_invalid_template_variable",
        "_live_server_helper",
        "_template_string_if_invalid_marker",
    }
)


@pytest.hookimpl(wrapper=True)  # around that of pytest-xdist, which reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Leaves out what does not run here, says what stays together, and puts long tests first."""
    everything = os.environ.get("VETRO_TEST_ALL") == "1"
    left_out: list[pytest.Item] = []
    if os.geteuid() != 0:
        left_out += [item for item in items if any(item.path.is_relative_to(place) for place in ROOT_ONLY)]
    if not everything:
        left_out += [item for item in items if item.get_closest_marker("campaign")]
    if on_postgresql():
        left_out += [item for item in items if not item.get_closest_marker("database")]
    left_out += of_other_parts(items)
    if left_out:
        refuse_unknown_fixtures(left_out)
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    for names in {id(names): names for item in items if (names := getattr(item, "fixturenames", None))}.values():
        names[:] = [name for name in names if name not in IDLE]
    if hasattr(config, "workerinput"):  # one of several processes
        for item in items:
            if item.get_closest_marker("xdist_group") is None:
                item.add_marker(pytest.mark.xdist_group(group_of(item)))
    yield
    items.sort(key=lambda item: (empties_the_database(item), rank_of(item)))
    if getattr(config.option, "loadgroup", False) and items and "@" not in items[0].nodeid:
        raise pytest.UsageError("pytest-xdist ignores groups of tests with this version of pytest")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A run on PostgreSQL does not even read files without a test for it."""
    if not on_postgresql() or not collection_path.name.startswith("test_"):
        return None
    return "mark.database" not in collection_path.read_text() or None


def pytest_collection_finish() -> None:
    """What was collected stays to the end of the run: no collection of garbage has to look through it."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module")
def small_heap() -> None:
    """What there is until now is not looked through again: for tests that collect garbage many times.

    One takes most of a second in a process that has run thousands of tests, and a hundredth of one in that of a task.
    """
    gc.collect()
    gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes and long texts are no names. Archives hold the time: processes that compare names would differ."""
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > 200) else None


def on_postgresql() -> bool:
    """Whether this is the run of tests that depend on the database, on the other one."""
    everything = os.environ.get("VETRO_TEST_ALL") == "1"
    return not everything and os.environ.get("VETRO_DATABASE__URL", "").startswith("postgresql")


def of_other_parts(items: list[pytest.Item]) -> list[pytest.Item]:
    """Those that are not of the part that VETRO_TEST_PART names; raises `pytest.UsageError` where that is none."""
    named = os.environ.get("VETRO_TEST_PART", "1/1")
    number, _, parts = named.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 0 < int(number) <= int(parts)):
        raise pytest.UsageError(f"VETRO_TEST_PART is to be as 2/6: the second of six parts, not {named}")
    files = sorted({item.path for item in items})
    mine = set(files[int(number) - 1 :: int(parts)])
    return [item for item in items if item.path not in mine]


def refuse_unknown_fixtures(items: list[pytest.Item]) -> None:
    """Tests that do not run now want fixtures that there are: they would fail in the next whole run, weeks later.

    Raises `pytest.UsageError`.
    """
    for item in items:
        if isinstance(item, pytest.Function):
            found = item._fixtureinfo  # what pytest found when it collected the test; it complains at the set-up only
            there = {"request", *found.name2fixturedefs, *getattr(getattr(item, "callspec", None), "params", ())}
            if missing := sorted(set(found.argnames) - there):
                raise pytest.UsageError(f"{item.nodeid} wants a fixture that there is not: {', '.join(missing)}")


def group_of(item: pytest.Item) -> str:
    """Tests of one file run in one process; so do those that share a costly fixture, and most with real servers."""
    folder, name = place_of(item.path)
    shared = SHARED.get(folder)
    if shared in getattr(item, "fixturenames", ()):
        name = f"{folder}: {shared}"
    return f"{name}, at the end" if empties_the_database(item) else name


@cache  # each process asks it of each of its ten thousand tests
def place_of(path: Path) -> tuple[str, str]:
    """The folder of ``tests`` that a file is in, and which group its tests belong to on their own."""
    relative = path.relative_to(TESTS)
    real = relative.parts[0] != "catalog" and any(path.is_relative_to(place) for place in ROOT_ONLY)
    return relative.parts[0], "real servers" if real else relative.as_posix()


def empties_the_database(item: pytest.Item) -> bool:
    """Whether a test leaves tables without what migrations put there: such tests come after all others."""
    mark = item.get_closest_marker("django_db")
    names = getattr(item, "fixturenames", ())
    transaction = mark is not None and bool(mark.kwargs.get("transaction", mark.args and mark.args[0]))
    return transaction or "transactional_db" in names or "live_server" in names


def rank_of(item: pytest.Item) -> int:
    """Where an item stands: long ones first, else as they were found."""
    folder, _ = place_of(item.path)
    return LONG.index(folder) if folder in LONG else len(LONG)
