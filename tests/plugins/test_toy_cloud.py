"""A kind of clouds of a stranger: its wheel is installed beside Vetro, and it passes what every driver has to pass."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.plugins.conftest import ROOT, Run
from vetro.clouds.drivers.conformance import DriverConformance
from vetro.clouds.drivers.conformance.core import Core

#: Tests of what toys do not have: journals, configurations, networks, volumes, addresses, agents.
NOT_CLAIMED = {
    "test_a_running_server_is_measured",
    "test_what_a_service_says_is_in_the_journal",
    "test_a_configuration_runs_once",
    "test_signals_of_a_server_come",
    "test_volumes_go_from_one_server_to_another",
    "test_a_server_joins_and_leaves_networks",
    "test_servers_of_a_network_reach_each_other",
    "test_groups_let_in_what_their_rules_say",
    "test_a_floating_address_leads_to_its_server",
    "test_queues_are_those_of_the_environment",
    "test_a_command_is_told_apart_from_its_errors_and_ends_with_its_status",
    "test_disks_come_back",
    "test_what_was_changed_stays_without_a_snapshot",
    "test_the_cloud_brings_an_environment_back",
    "test_a_process_that_is_killed_in_the_middle_leaves_what_the_next_one_finishes",
    "test_a_terminal_has_a_size_and_ends_with_who_has_it",
}


def test_the_toy_passes_the_tests_of_drivers(own: Callable[[str], Path], run: Run, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "plugins/vetro-toy/tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    words = ("-m", "pytest", "-v", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "made"), "tests")
    done = run(*words, see=[own("vetro-toy")])
    assert done.returncode == 0, done.stdout + done.stderr
    ended = dict(re.findall(r"::(test_\w+) (PASSED|SKIPPED)", done.stdout))
    core = [name for name in dir(Core) if name.startswith("test_")]
    assert len(core) == 13 and {ended[name] for name in core} == {"PASSED"}, done.stdout
    assert {name for name in ended if ended[name] == "SKIPPED"} == NOT_CLAIMED, done.stdout
    assert len(ended) == len([name for name in dir(DriverConformance) if name.startswith("test_")])


def test_its_name_is_known_only_where_it_is_installed(own: Callable[[str], Path], run: Run) -> None:
    ask = ("-c", "from vetro.clouds import kinds; print('toy' in kinds.names(), kinds.names())")
    assert run(*ask, see=[own("vetro-toy")]).stdout.startswith("True")
    assert run(*ask).stdout.startswith("False")
