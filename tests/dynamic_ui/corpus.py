"""Drives the UI definitions of real packages with automatic answers to an object model."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.dynamic_ui.fakes import CLOUD, FakeCatalog, FakeCloud
from tests.dynamic_ui.shown import current, sent, widget_of
from vetro.forms.dynamic import Definition, DynamicFormError, Package, Surroundings, Wizard, check, load
from vetro.forms.dynamic.types.apps import Application
from vetro.forms.model import Field, Page

#: Texts that most rules of real forms take; tried in this order.
PLAUSIBLE = (
    "test",
    "Passw0rd!",
    "Passw0rd",
    "password1",
    "app-1",
    "app1",
    "a",
    "1",
    "10",
    "80",
    "8080",
    "100",
    "example.com",
    "host.example.com",
    "dc.example.com",
    "10.0.0.10",
    "10.0.0.0/24",
    "2001:db8::1",
    "user@example.com",
    "http://example.com",
    "https://example.com/repo.git",
    "git@example.com:repo/repo.git",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7 user@host",
    "/var/lib/data",
    "node#",
    "host-#",
    "Test",
    "TEST",
    "test_db",
    "testname1",
    "latest",
    "1.0",
    "1G",
    "true",
    "{}",
    "[]",
    "abcdefgh",
    "Abcdefgh12345678!",
    "12345678",
    "00:11:22:33:44:55",
    "2024-01-01",
    "12:00",
    "key=value",
    "key:value",
    "a,b",
    "0",
    "2",
    "3",
    "5",
    "22",
    "443",
    "3306",
    "admin",
    "root",
    "Abcdefg1!",
    "aA1!aA1!aA1!",
    "abc123",
    "ABCD",
    "t",
    "example.local",
    "10.0.0.1-10.0.0.9",
    "10.0.0.1,10.0.0.2",
    "10.0.0.10:8080",
    "test.tar.gz",
    "test:latest",
    "test/test",
    "/test",
    "en_US.UTF-8",
    "3fa85f64-5717-4562-b3fc-2c963f66afa6",
)
_UI_SUFFIXES = (".yaml", ".yml")


def drive_all(paths: Sequence[Path]) -> Iterator[tuple[str, str | None]]:
    """(name, what went wrong or None) for every definition below ``paths``."""
    for path in paths:
        for file in _packages(path):
            yield from _archive(file) if file.suffix == ".zip" else _folder(file)


def _packages(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*")):
        package = file.name == "manifest.yaml" and (file.parent / "UI").is_dir()
        if package or (file.suffix == ".zip" and file.is_file()):
            yield file


def _folder(manifest: Path) -> Iterator[tuple[str, str | None]]:
    for file in sorted((manifest.parent / "UI").iterdir()):
        if file.suffix in _UI_SUFFIXES:
            yield str(file), drive(file.read_bytes(), str(file), manifest.read_bytes())


def _archive(file: Path) -> Iterator[tuple[str, str | None]]:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            for name in sorted(names):
                folder, found, last = name.rpartition("UI/")
                manifest = folder + "manifest.yaml"
                if found and "/" not in last and last.endswith(_UI_SUFFIXES) and manifest in names:
                    yield f"{file}!{name}", drive(archive.read(name), name, archive.read(manifest))
    except (zipfile.BadZipFile, OSError) as error:
        yield str(file), f"cannot be read: {error}"


def _package(manifest: bytes) -> Package:
    try:
        data = yaml.safe_load(manifest)
    except (yaml.YAMLError, ValueError):
        data = None
    data = data if isinstance(data, dict) else {}
    fqn = str(data.get("FullName") or "com.example.Unknown")
    return Package(fqn, str(data.get("Name") or fqn), str(data.get("Version") or "0.0.0"))


class _AnyCatalog(FakeCatalog):
    """Every class that the definition asks for has a package, and an application in the environment."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(CLOUD)
        types = [field.type for form in definition.forms for field in form.fields.values()]
        self._classes = sorted({name for kind in types if isinstance(kind, Application) for name in kind.classes})

    def packages(self, class_name: str) -> Sequence[Any]:
        return [{"fqn": class_name, "name": class_name.rpartition(".")[2]}]

    def services(self) -> Sequence[Any]:
        return [{"id": f"app-{name}", "type": name, "name": name} for name in self._classes]


def _cloud(text: str) -> FakeCloud:
    """The invented cloud with an image of every type that the definition names, and a flavor for every wish."""
    types = {word.strip("'\", ") for line in text.splitlines() if "imageType" in line for word in [_after(line)]}
    images = [
        {"id": f"img-{kind}", "name": kind, "status": "active", "murano": json.dumps({"title": kind, "type": kind})}
        for kind in sorted(types - {""})
    ]
    flavors = [*CLOUD["flavors"], {"id": "9", "name": "x1.giant", "ram": 1 << 20, "vcpus": 64, "disk": 4000}]
    return FakeCloud({**CLOUD, "images": [*CLOUD["images"], *images], "flavors": flavors})


def _after(line: str) -> str:
    return line.partition("imageType")[2].lstrip("'\": ").partition("}")[0].partition(",")[0].strip()


def drive(text: bytes, origin: str, manifest: bytes) -> str | None:
    """What went wrong between the definition and its object model, None for nothing."""
    check(text, origin)
    try:
        definition = load(text, origin)
        surroundings = Surroundings(
            _package(manifest),
            _cloud(text.decode("utf-8", "replace")),
            _AnyCatalog(definition),
            call_static=lambda call: {},
            encrypt=lambda value: "secret-1",
            rng=random.Random(1),
        )
        wizard = Wizard(definition, surroundings)
        state = wizard.start()
        for _ in range(len(wizard.steps) * (len(PLAUSIBLE) + 2)):
            page = wizard.page(state, reveal=True)
            outcome, problem = _answer(wizard, state, page)
            if problem is not None:
                return problem
            state = outcome.state
            if outcome.kind == "done":
                json.dumps(wizard.model(state))
                return None
        return "the wizard does not come to an end"
    except DynamicFormError as error:
        return f"{error} [{error.code}]"


def _answer(wizard: Wizard, state: Any, page: Page) -> tuple[Any, str | None]:
    """Sends the page with automatic answers; fields that are refused get the next plausible one."""
    fields = {field.name: field for field in page.fields()}
    raw = {name: value for name, field in fields.items() if (value := _first(field)) is not None}
    tried = dict.fromkeys(fields, -1)
    while True:
        outcome = wizard.submit(state, _confirmed(raw, fields))
        if outcome.kind != "invalid" or outcome.step != state["step"]:
            return outcome, None
        moved = False
        for name in outcome.errors:
            if not fields[name].confirms:
                tried[name] += 1
                value = _next(fields[name], tried[name])
                moved = moved or value is not None
                raw[name] = raw.get(name) if value is None else value
        if not outcome.errors:
            passed = _vary(wizard, state, raw, fields)
            if passed is not None:
                return passed, None
        if not moved:
            shown = {**outcome.errors, **({"<form>": outcome.form_errors} if outcome.form_errors else {})}
            return outcome, f"no plausible answer passes: {json.dumps(shown, default=list)[:500]}"


def _vary(wizard: Wizard, state: Any, raw: dict[str, Any], fields: dict[str, Field]) -> Any:
    """What comes of the first answers that differ in one field and satisfy the rules of the form; None for nothing."""
    for name, field in fields.items():
        number = 0
        while not field.confirms and (value := _next(field, number)) is not None:
            outcome = wizard.submit(state, _confirmed({**raw, name: value}, fields))
            if outcome.kind != "invalid" or outcome.step != state["step"]:
                return outcome
            number += 1
    return None


def _confirmed(raw: dict[str, Any], fields: dict[str, Field]) -> dict[str, Any]:
    """The answers with every password typed again."""
    again = {name: raw[field.confirms] for name, field in fields.items() if field.confirms in raw}
    return {**raw, **again}


def _first(field: Field) -> Any:
    """The initial value, else the first choice; an empty one only where nothing else is offered."""
    value = sent(field)
    if widget_of(field) in ("select", "app-select") and value in ("", None) and field.required:
        return next((c.value for c in field.choices if not c.disabled and c.value != ""), value)
    if value == "" and field.required and current(field) is None:
        return PLAUSIBLE[0]
    return value


def _next(field: Field, number: int) -> Any:
    widget = widget_of(field)
    if widget in ("select", "app-select"):
        offered = [c.value for c in field.choices if not c.disabled and c.value != ""]
        return offered[number] if number < len(offered) else None
    if widget == "checkbox":
        return "true" if number == 0 else None
    limit = field.constraints.get("minimum")
    texts = (*PLAUSIBLE, *([str(limit)] if limit is not None else []))
    return texts[number] if number < len(texts) else None
