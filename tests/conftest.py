"""Settings of all tests: the same examples in every run, and no time limit on a single example on a busy machine.

Tests of real servers need root. Without it they are left out, and the last lines of script/test list them as not run.
Campaigns (tests marked so) take minutes each and run with VETRO_TEST_ALL=1 only, which `script/test --all` sets.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("vetro", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("vetro")

os.environ.setdefault("VETRO_CACHE", "off")
# Shells start what runs in the background, and nohup, with Ctrl-C ignored; programs inherit that. Tests of Ctrl-C and
# what they start would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
#: Files and folders whose tests all start real servers.
ROOT_ONLY = (
    TESTS / "acceptance",
    *(TESTS / "clouds/nspawn" / f"test_{part}.py" for part in ("servers", "isolation", "projects", "id_ranges")),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what only root can run, and campaigns unless everything is asked for; says what runs with what."""
    left_out: list[pytest.Item] = []
    if os.geteuid() != 0:
        left_out += [item for item in items if any(item.path.is_relative_to(place) for place in ROOT_ONLY)]
    if os.environ.get("VETRO_TEST_ALL") != "1":
        left_out += [item for item in items if item.get_closest_marker("campaign")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
