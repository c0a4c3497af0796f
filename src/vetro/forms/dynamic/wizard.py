"""The wizard of a definition: steps, answers, object model (DYNAMIC_UI 7).

A `Wizard` itself remembers nothing. All it knows of a person's way through the steps is the *state*, plain JSON data
that each call takes and gives back; the caller keeps it (and keeps it secret: it holds what was typed, passwords
included).

    wizard = Wizard(load(text, origin), surroundings)
    state = wizard.start()                       # evaluates the parameters, calls the static action
    page = wizard.page(state)                    # a vetro.forms.model.Page
    outcome = wizard.submit(state, {"flavor": "2", …})
    state = outcome.state
    …
    if outcome.kind == "done":
        model = wizard.model(state)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.forms.dynamic.attributes import text
from vetro.forms.dynamic.definition import BUILT_IN_FORM, Definition, FormDefinition
from vetro.forms.dynamic.environment import Surroundings
from vetro.forms.dynamic.errors import WizardStateError
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import evaluate
from vetro.forms.dynamic.last_step import NAME, STAY, asks_to_stay, built_in_form
from vetro.forms.dynamic.model import build_model, resource_usage, with_ids_of
from vetro.forms.dynamic.pages import build_page
from vetro.forms.dynamic.parameters import begin_parameters
from vetro.forms.dynamic.plaindata import recall
from vetro.forms.dynamic.resolve import Look, resolve
from vetro.forms.dynamic.types.base import Resolved
from vetro.forms.dynamic.types.passwords import SUFFIX, confirmation
from vetro.forms.dynamic.validation import Checked, check_step
from vetro.forms.model import Form, Page
from vetro.model.secrets import is_mark
from vetro.yaql.values import FDict, freeze

State = dict[str, Any]

_FORMAT = 1
_QUICK = re.compile(r"quick-env-(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an answer to one step.

    ``kind``: ``next``, another step is to be shown; ``invalid``, something is wrong; ``done``, `Wizard.model` may be
    called. ``step`` is the step to be shown now. ``errors`` are texts by field, ``form_errors`` those of the step as a
    whole, both of step ``step`` where ``kind`` is ``invalid``. ``cleaned`` are the values of the step that was sent.
    """

    kind: Literal["next", "invalid", "done"]
    state: State
    step: int
    cleaned: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    form_errors: Sequence[str] = ()


class Wizard:
    """A definition in its surroundings. Cheap to make; may be made anew for each call.

    All methods raise `ExpressionFailed` (and other `DynamicFormError`) where the definition turns out to be wrong, and
    `WizardStateError` for states that belong to another definition.
    """

    def __init__(self, definition: Definition, surroundings: Surroundings) -> None:
        self.definition = definition
        self.surroundings = surroundings
        last = built_in_form(definition, surroundings)
        self.steps: tuple[FormDefinition, ...] = (*definition.forms, last) if last is not None else (*definition.forms,)
        if not self.steps:
            self.steps = (FormDefinition(BUILT_IN_FORM, {}, (), definition.application_position),)

    # -- beginning ----------------------------------------------------------------------------------------------------

    def start(self) -> State:
        """The state of a wizard that was just opened. Raises `StaticActionFailed`, too."""
        return {
            "format": _FORMAT,
            "parameters": begin_parameters(self.definition, self.surroundings),
            "steps": [{"form": form.name, "raw": None, "cleaned": None, "invalid": False} for form in self.steps],
            "step": 0,
        }

    def reopen(self, state: State) -> State:
        """A new beginning with the answers of ``state``, which a wizard of this package left behind.

        Answers of steps and fields that there are no more are dropped. What is left is checked with the last step.
        """
        fresh = self.start()
        before = {entry["form"]: entry["raw"] for entry in state.get("steps", ())}
        for form, entry in zip(self.steps, fresh["steps"], strict=True):
            raw = before.get(form.name)
            if isinstance(raw, Mapping):
                entry["raw"] = {name: raw[name] for name in _inputs(form) if name in raw}
        return fresh

    # -- showing ------------------------------------------------------------------------------------------------------

    def page(
        self, state: State, step: int | None = None, *, tentative: Mapping[str, Any] | None = None, reveal: bool = False
    ) -> Page:
        """The page of ``step`` (default: the one that is due), with what was answered there.

        ``tentative``: what stands in the inputs now, unsent; everything that depends on it is computed anew, nothing is
        complained about. ``reveal`` puts secrets into the page, which then must not leave the server.
        """
        step = self._step(state, step)
        form, entry = self.steps[step], state["steps"][step]
        raw = entry["raw"]
        look = self._look(state, step)
        others = self._data(state, without=form.name)
        errors: Mapping[str, Sequence[str]] = {}
        form_errors: Sequence[str] = ()
        if tentative is not None:
            kept = raw or {}
            raw = {**kept, **tentative}
            own = check_step(form, raw, kept, others, look).cleaned
        elif entry["invalid"] and raw is not None:
            checked = check_step(form, raw, raw, others, look)
            own, errors, form_errors = checked.cleaned, checked.errors, checked.form_errors
        else:
            own = entry["cleaned"] or {}
        fields = self._resolved(form, FDict({**others, form.name: freeze(own)}), look)
        if raw is None and not own and any(form.name in reads for one in fields for reads in one.definition.reads):
            # Nobody answered yet: what the controls show at first is what fields of this page see of each other.
            plain = (one for one in fields if one.initial is not None and not one.definition.type.secret)
            own = {one.name: one.initial for one in plain}
            fields = self._resolved(form, FDict({**others, form.name: freeze(own)}), look)
        return build_page(form, step, fields, raw, errors, form_errors, self.surroundings, reveal=reveal)

    def form(self, state: State, *, reveal: bool = False) -> Form:
        """The whole wizard: the page that is due, and the names and titles of the others."""
        due = self._step(state, None)
        pages = [Page(form.name, f"Step {number + 1}") for number, form in enumerate(self.steps)]
        pages[due] = self.page(state, due, reveal=reveal)
        return Form(self.surroundings.package.name, "definition", pages)

    def _resolved(self, form: FormDefinition, data: FDict, look: Look) -> list[Resolved]:
        look.see(data)
        found = []
        for definition in form.fields.values():
            resolved = resolve(definition, look)
            found.append(resolved)
            if resolved.confirm:
                found.append(confirmation(resolved))
        return found

    # -- answering ----------------------------------------------------------------------------------------------------

    def submit(self, state: State, raw: Mapping[str, Any], step: int | None = None) -> Outcome:
        """Takes what was sent for ``step`` (default: the one that is due).

        ``raw`` holds what the controls hold, by field: text, true for a ticked box (an unticked one is left out), a
        pair for a network; JSON clients may send numbers and booleans as such. ``{"secret": "kept"}`` leaves a secret
        as it was. Unknown names are dropped. With the last step all others are checked once more.
        """
        step = self._step(state, step)
        form, entry = self.steps[step], state["steps"][step]
        kept = entry["raw"] or {}
        known = {name: raw[name] for name in _inputs(form) if name in raw}
        checked = self._check(state, step, known)
        # A secret that nobody typed yet is the one that the definition supplies: then the mark itself is what was sent.
        stored = {name: kept.get(name) or value if is_mark(value) else value for name, value in known.items()}
        state = self._with(state, step, stored, checked)
        if not checked.valid:
            return Outcome("invalid", state, step, checked.cleaned, checked.errors, checked.form_errors)
        if step + 1 < len(self.steps):
            return Outcome("next", {**state, "step": step + 1}, step + 1, checked.cleaned)
        return self._finish(state, checked.cleaned)

    def _finish(self, state: State, cleaned: Mapping[str, Any]) -> Outcome:
        for step, entry in enumerate(state["steps"]):
            if entry["raw"] is None:
                return Outcome("next", {**state, "step": step}, step, cleaned)
            checked = self._check(state, step, entry["raw"])
            state = self._with(state, step, entry["raw"], checked)
            if not checked.valid:
                return Outcome("invalid", state, step, cleaned, checked.errors, checked.form_errors)
        return Outcome("done", state, len(self.steps) - 1, cleaned)

    def validate(
        self, state: State, raw: Mapping[str, Any], step: int | None = None
    ) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
        """What `submit` would complain about: texts by field, and those of the step as a whole. Nothing is kept."""
        checked = self._check(state, self._step(state, step), raw)
        return checked.errors, checked.form_errors

    def back(self, state: State, step: int) -> State:
        """The state in which ``step`` is due; everything that was answered stays."""
        return {**state, "step": self._step(state, step)}

    def _check(self, state: State, step: int, raw: Mapping[str, Any]) -> Checked:
        form, entry = self.steps[step], state["steps"][step]
        others = self._data(state, without=form.name)
        return check_step(form, raw, entry["raw"] or {}, others, self._look(state, step))

    def _with(self, state: State, step: int, raw: Mapping[str, Any], checked: Checked) -> State:
        entries = list(state["steps"])
        entry = {**entries[step], "raw": dict(raw), "invalid": not checked.valid}
        if checked.valid:
            entry["cleaned"] = checked.cleaned
        entries[step] = entry
        return {**state, "steps": entries, "step": step}

    # -- the end ------------------------------------------------------------------------------------------------------

    def model(self, state: State, stored: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The object model that the answers make, ids given. Raises `WizardStateError` when steps are missing.

        ``stored``: the object that is to be replaced; objects at the same places keep their ids.
        """
        self._step(state, None)
        if any(entry["cleaned"] is None or entry["invalid"] for entry in state["steps"]):
            raise WizardStateError(Text("not all steps are answered"), hint=Text("submit the last step first"))
        evaluation = self._evaluation(state, may_encrypt=True)
        model = build_model(self.definition, evaluation, FDict(self._data(state)))
        if stored is not None:
            model = with_ids_of(model, stored)
        cleaned = [entry["cleaned"] for entry in state["steps"]]
        usage = resource_usage(self.steps, cleaned, self._look(state, 0))
        if usage is not None:
            model["?"]["resourceUsages"] = {self.surroundings.region: usage}
        return model

    def stays(self, state: State) -> bool:
        """Whether the person wants to go on adding applications (and not to see the environment)."""
        if asks_to_stay(self.surroundings):
            return bool((state["steps"][-1]["cleaned"] or {}).get(STAY))
        return self.surroundings.referred

    def answers(self, state: State) -> dict[str, dict[str, Any]]:
        """The cleaned values by form: what is kept beside the object. Secrets are among them."""
        return {form: dict(values) for form, values in self._cleaned(state)}

    # -- what expressions see -----------------------------------------------------------------------------------------

    def _cleaned(self, state: State) -> Iterable[tuple[str, Mapping[str, Any]]]:
        for form, entry in zip(self.steps, state["steps"], strict=True):
            if entry["cleaned"]:
                yield form.name, entry["cleaned"]

    def _data(self, state: State, without: str | None = None) -> dict[str, Any]:
        return {form: freeze(values) for form, values in self._cleaned(state) if form != without}

    def _evaluation(self, state: State, *, may_encrypt: bool = False) -> Evaluation:
        name = (state["steps"][-1]["cleaned"] or {}).get(NAME) if self.definition.names_application else None
        return Evaluation(
            self.surroundings,
            {key: recall(value) for key, value in state["parameters"].items()},
            self.definition.templates,
            name,
            may_encrypt=may_encrypt,
        )

    def _look(self, state: State, step: int) -> Look:
        look = Look(self._evaluation(state))
        region = self.steps[step].region
        if region is not None:
            look.see(FDict(self._data(state)))
            look.region = text(evaluate(region, look.env)) or None
        return look

    def _step(self, state: State, step: int | None) -> int:
        try:
            known = state["format"] == _FORMAT and isinstance(state["parameters"], dict)
            same = [entry["form"] for entry in state["steps"]] == [form.name for form in self.steps]
            found: int = state["step"] if step is None else step
        except (KeyError, TypeError):
            raise WizardStateError() from None
        if not (known and same and isinstance(found, int)):
            raise WizardStateError()
        if not 0 <= found < len(self.steps):
            raise WizardStateError(
                Text("there is no step {found}, only {steps}", found=found + 1, steps=len(self.steps))
            )
        return found


def _inputs(form: FormDefinition) -> Iterable[str]:
    for name, definition in form.fields.items():
        yield name
        if definition.type.secret:
            yield name + SUFFIX


def quick_environment_name(existing: Iterable[str]) -> str:
    """The name of the environment that a quick deployment makes: one more than the highest there is."""
    numbers = [int(match[1]) for name in existing if (match := _QUICK.fullmatch(name))]
    return f"quick-env-{max(numbers, default=0) + 1}"
