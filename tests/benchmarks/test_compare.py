"""Two checkouts in turns: here this one with itself."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from benchmarks import compare, measure
from benchmarks.measure import Compared


def test_a_row_has_the_median_and_the_bounds_of_its_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([str(measure.ROOT), "--only", "a2", "--largest", "--pairs", "2", "--seconds", "0"]) == 0
    _, _, row, last = capsys.readouterr().out.splitlines()
    found = re.fullmatch(r"\| a2_for \| 30000 \| [\d.]+ ms \| [\d.]+ ms \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", row)
    assert found is not None, row
    median, least, largest = map(float, found.groups())
    assert 0 < least <= median <= largest
    assert last.startswith("slower than 1.05 times: ")


def test_what_is_slower_or_wrong_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = iter([Compared("a2_for", 1000, 2.0, 1.0, [2.0]), Compared("a2_for", 10000, wrong="the checksums differ")])
    last = Compared("a2_for", 30000, 1.0, 1.0, [1.0])
    monkeypatch.setattr(compare, "measure_checkouts", lambda *given, **named: next(rows, last))
    assert compare.main([str(measure.ROOT), "--only", "a2"]) == 1
    printed = capsys.readouterr().out
    assert "| a2_for | 10000 | the checksums differ |" in printed
    assert printed.endswith("slower than 1.05 times: a2_for 1000\n")


def test_a_folder_without_an_environment_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([str(tmp_path)], [str(measure.ROOT), "--only", "zz"]):
        with pytest.raises(SystemExit):
            compare.main(arguments)
    said = capsys.readouterr().err
    assert "run script/setup there" in said and "no workload's key starts with 'zz'" in said
    assert os.listdir(tmp_path) == []
