"""The benchmark of forms measures what it says."""

from __future__ import annotations

import pytest

from benchmarks import forms
from vetro.forms.dynamic import load


def test_definition_is_as_large_as_it_says() -> None:
    (form,) = load(forms.definition()).forms
    assert len(form.fields) == 300
    assert sum(len(field.moving) for field in form.fields.values()) == 50


def test_all_figures_are_measured() -> None:
    figures = forms.measure(1, fields=12, expressions=20)
    assert [figure.name.partition(":")[2].strip() or figure.name for figure in figures] == [
        "loaded",
        "described, warm",
        "described as JSON, warm",
        "answered, described",
        "step checked",
        "20 new expressions",
    ]
    assert all(figure.seconds >= 0 for figure in figures)


def test_missed_goals_are_named() -> None:
    assert forms.Figure("x", 2.0, 1.0).line().endswith("missed")
    assert not forms.Figure("x", 1.0, 2.0).line().endswith("missed")


def test_wrong_results_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(forms, "answers", lambda fields=300: {})
    assert forms.main(["--runs", "1"]) == 1
    assert "wrong result" in capsys.readouterr().err
