"""Every example package is sound, tested, has schemas, and deploys, redeploys and goes without a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from vetro.muranopl import Engine, Session, VirtualClock
from vetro.muranopl.errors import ContractViolation
from vetro.muranopl.objects.results import plain_result
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.muranopl.tools.fixtures import FIXTURE, find_tests, run_tests, test_engine
from vetro.muranopl.tools.linetrace import LineTracer, executable_lines
from vetro.packages import load_path
from vetro.packages.build import build_archive
from vetro.packages.checks.paths import check_paths

EXAMPLES = Path(__file__).parents[2] / "examples"
# Those below deploy/ make servers; test_deploy_examples.py is about them.
PACKAGES = [p for p in load_path(EXAMPLES) if not Path(p.location).is_relative_to(EXAMPLES / "deploy")]
NAMES = [f"{p.name}-{p.version}" for p in PACKAGES]
MODELS = sorted((EXAMPLES / "models").glob("*.yaml"))

each_package = pytest.mark.parametrize("package", PACKAGES, ids=NAMES)
each_model = pytest.mark.parametrize("path", MODELS, ids=[path.stem for path in MODELS])


def test_check_finds_nothing() -> None:
    assert [str(problem) for _, problem in check_paths([str(EXAMPLES)])] == []


def test_together_they_show_what_they_promise() -> None:
    formats = {package.format for package in PACKAGES}
    assert formats == {(1, 2), (1, 3), (1, 4)}
    text = "\n".join(path.read_text(encoding="utf-8") for path in EXAMPLES.rglob("Classes/*.yaml"))
    for feature in (
        ".owned()", ".notOwned()", "m:ModelBuilder", "forms:Section", "m:HelpText", "Parallel:", "pselect(",
        "Throw:", "Catch:", "Rethrow:", "Usage: Static", "Usage: Extension", "Usage: Const", "Usage: Runtime",
        "Import:", "subscribeDestruction", ".destroy:", ".init:", "Match:", "Switch:", "inject(",
    ):  # fmt: skip
        assert feature in text, feature


@each_package
def test_it_explains_itself(package: Any) -> None:
    folder = Path(package.location)
    assert any((f / "README.md").is_file() for f in (folder, folder.parent))
    assert package.description and package.author and package.tags


@each_package
def test_its_tests_pass_and_cover_its_code(package: Any) -> None:
    engine = test_engine(PACKAGES)
    tracer = LineTracer()
    with tracer.active():
        results = run_tests(engine, find_tests(engine, [package]))
    assert results
    assert {str(r.test): str(r.error) for r in results if not r.passed} == {}
    session = engine.session()
    base = session.types.core(FIXTURE)
    known, ran = 0, 0
    for name in package.classes:
        kind = session.types.in_package(package, name)
        if not kind.derives_from(base):
            for file, lines in executable_lines(kind).items():
                known += len(lines)
                ran += len(lines & tracer.executed.get(file, set()))
    assert ran / known > 0.8


@each_package
def test_its_schemas_are_schemas(package: Any) -> None:
    session = Engine(PACKAGES).session()
    for name in package.classes:
        for schema in session.schema(name, f"={package.version}", package.name).values():
            # Objects of classes have a type of their own, which only forms and catalogs know.
            plain = json.loads(json.dumps(schema).replace('"muranoObject"', '"object"'))
            jsonschema.Draft4Validator.check_schema(plain)
            assert schema["type"] == "object"


def test_the_model_builder_makes_what_the_class_accepts() -> None:
    session = Engine(PACKAGES, seed=1).session()
    made = session.call("nightly", ({}, "Photos"), {"days": 3}, on_class={"name": "com.example.Backup", "version": "1"})
    root = session.load({"Objects": plain_result(session, made)})
    assert root is not None
    assert session.call("estimate", (1,)) == {"needed": 0, "fits": True}
    schema = session.schema("com.example.Backup", "1")
    assert set(schema) == {"", "nightly"}
    assert set(schema["nightly"]["properties"]) == {"bucket", "days"}
    assert [s["title"] for s in schema[""]["formSections"].values()] == ["What to save", "When", "Where to"]


@each_package
def test_an_archive_of_it_loads(package: Any, tmp_path: Path) -> None:
    path = tmp_path / "package.zip"
    path.write_bytes(build_archive(package.location))
    archived = load_path(path)
    assert [(p.name, p.version, set(p.classes)) for p in archived] == [
        (package.name, package.version, set(package.classes))
    ]


def start(model: dict[str, Any], reports: list[str]) -> Session:
    effects = InProcessEffects(on_report=lambda report: reports.append(report["text"]))
    session = Engine(PACKAGES, effects=effects, clock=VirtualClock(), seed=1).session()
    session.load(model)
    session.cleanup()
    return session


def finish(session: Session) -> dict[str, Any]:
    session.finalize()
    result = session.serialize(copy=True)
    session.close()
    return result


@each_model
def test_deploy_redeploy_remove(path: Path) -> None:
    model = yaml.safe_load(path.read_text(encoding="utf-8"))
    first: list[str] = []
    session = start(model, first)
    session.call("deploy")
    deployed = finish(session)
    assert first or path.stem == "balancer"  # nobody hears the reports of a balancer without an environment

    again: list[str] = []
    session = start(deployed, again)
    session.call("deploy")
    redeployed = finish(session)
    assert path.stem == "environment" or redeployed == deployed
    assert set(again) ^ set(first) <= {"Good morning", "Good night"}  # messages of the day take turns

    ids = {i["?"]["id"] for i in objects(redeployed["Objects"])}
    session = start({**redeployed, "Objects": None}, [])
    assert session.alive(ids) == []
    assert finish(session)["Objects"] is None


def objects(tree: Any) -> list[dict[str, Any]]:
    """Every object definition in a model."""
    if isinstance(tree, list):
        return [found for item in tree for found in objects(item)]
    if not isinstance(tree, dict):
        return []
    own = [tree] if "?" in tree else []
    return own + [found for value in tree.values() for found in objects(value)]


def test_two_versions_of_the_database_are_used_at_once() -> None:
    session = start(yaml.safe_load((EXAMPLES / "models" / "environment.yaml").read_text(encoding="utf-8")), [])
    session.call("deploy")
    result = finish(session)
    assert sorted(result["SystemData"]["Packages"]["com.example.Database"]) == ["1.0.0", "1.1.0"]


def test_an_older_package_refuses_the_newer_database() -> None:
    model = yaml.safe_load((EXAMPLES / "models" / "environment.yaml").read_text(encoding="utf-8"))
    motd = next(a for a in model["Objects"]["applications"] if a["?"]["id"] == "motd")
    motd["database"] = "main-db"
    with pytest.raises(ContractViolation, match=r"com\.example\.Motd\.database"):
        start(model, [])
