"""Presets on the page of a form: a choice of a few, and below it what they set, for those who want to adjust it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from vetro.server.forms.views import FormView
from vetro.server.language import translated
from vetro.server.web.views.wizard.control import Control, Group, every


def around(shown: FormView, groups: Sequence[Group]) -> dict[str, Any]:
    """What the page of a form shows: ``groups`` without what the presets set, which is in ``adjusted``."""
    form = shown.form
    if not form.presets:
        return {"groups": groups, "presets": ()}
    names = {name for preset in form.presets for name in preset.values}
    adjusted = Group("", "", [])
    rest = []
    for group in groups:
        mine, advanced = _without(group.controls, names, adjusted), _without(group.advanced, names, adjusted)
        if mine or advanced:
            rest.append(Group(group.title, group.description, mine, advanced))
    return {
        "groups": rest,
        "presets": form.presets,
        "bar": bar(shown),
        "adjusted": adjusted if adjusted.controls else None,
        "adjust_open": not form.preset or any(_wanting(control) for control in every(adjusted.controls)),
    }


def bar(shown: FormView) -> SafeString:
    """The choice itself, as HTML with the id ``presets``."""
    offered = [
        {
            "title": translated(preset.title),
            "description": translated(preset.description),
            "do": json.dumps({"do": "preset", "name": preset.name}),
            "chosen": preset.name == shown.form.preset,
        }
        for preset in shown.form.presets
    ]
    template = get_template("web/wizard/presets.html")
    return mark_safe(template.render({"presets": offered, "own": not shown.form.preset}))


def _without(controls: Sequence[Control], names: set[str], adjusted: Group) -> list[Control]:
    adjusted.controls.extend(control for control in controls if control.field.name in names)
    return [control for control in controls if control.field.name not in names]


def _wanting(control: Control) -> bool:
    """Whether somebody has to look at it: something is wrong, or missing."""
    item = control.field
    value = item.value if item.answered else item.initial
    return bool(item.problems) or (item.required and item.visible and control.single and value in (None, ""))
