"""The forms of the applications: each has presets, whose values it takes as they are."""

from __future__ import annotations

from itertools import count

import pytest

from tests.catalog.test_applications import NAMES, others, versions
from tests.forms.world import describer
from vetro.forms.objects import Objects
from vetro.forms.sessions import ClassFormSession
from vetro.library import core_packages
from vetro.packages import load_path


@pytest.mark.parametrize("name", NAMES)
def test_a_form_takes_what_its_presets_say(name: str) -> None:
    packages = [one for path in (name, *others(name)) for one in load_path(versions(path)[-1])]
    known = describer(*packages, *core_packages())
    described = known.of(f"io.vetro.catalog.{name}")
    assert described is not None and described.form.presets, "for who does not want to think about each value"
    numbers = count()
    form_session = ClassFormSession(known, described, Objects([], known), new_id=lambda: f"n{next(numbers)}")
    for preset in described.form.presets:
        work = form_session.preset(form_session.begin(), preset.name)
        assert form_session.form(work).preset == preset.name
        answers = {key: work["value"][key] for key in preset.values}
        problems = form_session.submit(work, answers, partial=True).problems
        # What is left is what nobody can know beforehand: passwords, an address.
        assert [(one.code, one.place) for one in problems if str(one.place).split("/")[1] in preset.values] == []
        assert {one.code for one in problems} <= {"required"}, problems
