"""Runs one case: opens the wizard, does what the person does, compares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.dynamic_ui.compare import Comparison
from tests.dynamic_ui.fakes import CLOUD, FakeCatalog, FakeCloud
from tests.dynamic_ui.shown import as_sent, describe_page
from vetro.forms.dynamic import (
    DynamicFormError,
    Package,
    StaticCall,
    Surroundings,
    Wizard,
    load,
    quick_environment_name,
)
from vetro.forms.model import Page


class CaseError(Exception):
    """A case file that cannot be read."""


@dataclass
class Case:
    """One case, as its file says."""

    file: Path
    data: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.data["id"])


def read_case(file: Path) -> Case:
    """Raises `CaseError`."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise CaseError(f"{file}: {error}") from None
    if not isinstance(data, dict) or not {"id", "ui", "expect"} <= data.keys():
        raise CaseError(f"{file}: not a case, it lacks id, ui or expect")
    return Case(file, data)


@dataclass
class Run:
    """What happened."""

    load: str = "ok"
    why: str = ""
    first: dict[str, Any] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    model: dict[str, Any] | None = None
    static_call: dict[str, Any] | None = None
    target: str | None = None
    then: str | None = None
    messages: list[str] = field(default_factory=list)


class _Runner:
    def __init__(self, data: Mapping[str, Any], base: Mapping[str, Any]) -> None:
        self.data = data
        self.run = Run()
        mode = data.get("mode") or {}
        cloud = {**base, **(data.get("cloud") or {})}
        self.cloud = cloud
        self.quick = bool(mode.get("quick"))
        self.environment = None if self.quick else mode.get("environment", "env-1")
        fqn = data.get("fqn", "com.example.TestApp")
        name = data.get("package_name", "Test App")
        self.surroundings = Surroundings(
            Package(fqn, name, str(data.get("package_version", "1.0.0"))),
            FakeCloud(cloud),
            FakeCatalog(cloud, self.environment, [{"fqn": fqn, "name": name}]),
            quick=self.quick,
            referred=bool(mode.get("hide_stay")),
            region=cloud["user"]["region"],
            call_static=self.call_static,
        )

    def call_static(self, call: StaticCall) -> Any:
        self.run.static_call = {
            "className": call.class_name,
            "methodName": call.method_name,
            "packageName": call.package_name,
            "classVersion": call.class_version,
            "parameters": {},
        }
        if self.data.get("static_result") == "!raise":
            raise RuntimeError("the action failed")
        return self.data.get("static_result")

    def go(self) -> Run:
        run = self.run
        try:
            self.wizard = Wizard(load(self.data["ui"], "ui.yaml"), self.surroundings)
            self.state = _stored(self.wizard.start())
            page = self.show()
        except DynamicFormError as error:
            run.load, run.why = "error", str(error)
            return run
        run.first = describe_page(self.wizard, page, 0)
        for step in self.data.get("steps") or ():
            try:
                done = self.step(step)
            except DynamicFormError as error:
                run.steps.append({"outcome": "error", "why": str(error)})
                break
            run.steps.append(done)
            if done["outcome"] == "done":
                break
        return run

    def show(self) -> Page:
        page = self.wizard.page(self.state, reveal=True)
        json.dumps(self.wizard.form(self.state).as_json())
        self.run.messages += [p.message for p in page.problems if p.code == "notice"]
        return page

    def step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        wizard, due = self.wizard, self.state["step"]
        if "back_to" in step:
            titles = [f"Step {number + 1}" for number in range(len(wizard.steps))]
            self.state = _stored(wizard.back(self.state, titles.index(step["back_to"])))
            return {"outcome": "back", "shows": describe_page(wizard, self.show(), self.state["step"])}
        raw = {} if "send" in step else as_sent(self.show())
        for name, value in (step.get("send") or step.get("fill") or {}).items():
            if value is None or value is False:
                raw.pop(name, None)
            else:
                raw[name] = "true" if value is True else value if isinstance(value, list) else str(value)
        outcome = wizard.submit(self.state, raw)
        self.state = _stored(outcome.state)
        entry = self.state["steps"][due]
        found: dict[str, Any] = {"outcome": outcome.kind, "cleaned": entry["cleaned"] or None}
        if outcome.kind == "done":
            self.run.model = _stored(wizard.model(self.state))
            self.run.target = self.environment or (
                "new environment " + quick_environment_name(row["name"] for row in self.cloud["environments"])
            )
            self.run.then = "stay in catalog" if wizard.stays(self.state) else "environment page"
            self.run.messages.append(
                f"The '{self.surroundings.package.name}' application successfully added to environment."
            )
            return found
        found["shows"] = describe_page(wizard, self.show(), outcome.step)
        if outcome.kind == "invalid":
            found["errors"] = {name: list(texts) for name, texts in outcome.errors.items()}
            if outcome.form_errors:
                found["errors"]["<form>"] = list(outcome.form_errors)
        return found


def _stored(state: Any) -> Any:
    """The same after it was kept as JSON for a while."""
    return json.loads(json.dumps(state))


def _cloud_of(file: Path) -> Mapping[str, Any]:
    """The cloud that stands beside the case or its folder; else our own."""
    for folder in (file.parent, file.parent.parent):
        if (folder / "cloud.yaml").is_file():
            found = yaml.safe_load((folder / "cloud.yaml").read_text(encoding="utf-8"))
            return {**CLOUD, **found}
    return CLOUD


def run_case(case: Case) -> list[str]:
    """What is wrong, in words; nothing when the case passes."""
    expect = case.data["expect"]
    run = _Runner(case.data, _cloud_of(case.file)).go()
    if run.load != expect.get("load", "ok"):
        return [f"load: expected {expect.get('load', 'ok')}, found {run.load} {run.why}"]
    comparison = Comparison()
    wrong: list[str] = []
    if expect.get("first") is not None:
        wrong += comparison.differences(expect["first"], run.first, "first")
    wanted = expect.get("steps")
    if wanted is not None:
        outcomes = [step["outcome"] for step in run.steps]
        if [step["outcome"] for step in wanted] != outcomes:
            reasons = [why for step in run.steps for why in (step.get("why"), step.get("errors")) if why]
            wrong.append(f"steps: expected {[step['outcome'] for step in wanted]}, found {outcomes} {reasons}")
        for number, (one, other) in enumerate(zip(wanted, run.steps, strict=False)):
            wrong += _step(comparison, one, other, f"steps[{number}]")
    for part in ("model", "static_call", "target", "then"):
        if expect.get(part) is not None:
            wrong += comparison.differences(expect[part], getattr(run, part), part)
    missing = [text for text in expect.get("messages") or () if text not in run.messages]
    return wrong + [f"messages: {text!r} is missing in {run.messages}" for text in missing]


def _step(comparison: Comparison, expected: dict[str, Any], found: dict[str, Any], path: str) -> list[str]:
    wanted = {key: value for key, value in expected.items() if key not in ("errors", "upstream_exception")}
    wrong = comparison.differences(wanted, found, path)
    if "errors" in expected:
        errors = found.get("errors", {})
        if set(expected["errors"]) != set(errors):
            return [*wrong, f"{path}.errors: expected {expected['errors']}, found {errors}"]
        for name, texts in expected["errors"].items():
            for one, other in zip(texts, errors[name], strict=False):
                if "is not one of the available choices" in one and "is not one of the available choices" in other:
                    continue  # the value echoed is free
                wrong += comparison.differences(one, other, f"{path}.errors.{name}")
            if len(texts) != len(errors[name]):
                wrong.append(f"{path}.errors.{name}: expected {texts}, found {errors[name]}")
    return wrong
