"""The stack of a HOT application, on scripted effects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.packages.hot.hotkit import NAME, TEMPLATE, package
from tests.support.host import Host
from vetro.muranopl.package_resolver import ResourceNotFound
from vetro.packages.package import LoadedPackage


class Deployed:
    """An environment with one HOT application, deployed on a cloud that answers ``outputs``."""

    def __init__(self, loaded: LoadedPackage, outputs: Any = None, **properties: Any) -> None:
        self.host = Host()
        self.host.packages = [loaded]
        self.fails: Exception | None = None
        self.outputs = outputs or {}
        self.host.inner.register("stack.push", self._push)
        application = {"?": {"type": NAME, "id": "app"}, "name": "n", **properties}
        self.model: dict[str, Any] = {
            "Objects": {
                "?": {"type": "io.murano.Environment", "id": "env"},
                "name": "e",
                "applications": [application],
            }
        }

    def _push(self, args: dict[str, Any]) -> Any:
        if self.fails is not None:
            raise self.fails
        return {"outputs": self.outputs, "gone": [], "whole": True}

    def deploy(self) -> Any:
        session = self.host.engine().session()
        session.load(self.model)
        session.cleanup()
        if self.model["Objects"]["applications"]:
            session.call("deploy", public_only=False)
        self.model = session.finalize()
        session.close()
        applications = self.model["Objects"]["applications"]
        return applications[0] if applications else None

    @property
    def pushed(self) -> dict[tuple[str, str], Any]:
        """The parts of the latest push, whichever of its forms was used."""
        from vetro.library.stackdata import parts_of

        args = self.host.performed("stack.push")[-1]
        if "put" in args:
            return {(section, key): value for section, key, value in args["put"]}
        return parts_of(args["template"], args["parameters"], args["files"], args["environment"])

    @property
    def reports(self) -> list[tuple[str, str]]:
        return [(r["level"], r["text"]) for r in self.host.performed("report")]


def of(parts: dict[tuple[str, str], Any], section: str) -> dict[str, Any]:
    return {key: value for (found, key), value in parts.items() if found == section}


@pytest.fixture
def full() -> Iterator[LoadedPackage]:
    yield package(
        **{
            "Resources/HotFiles/sub/a.txt": "hello\r\n",
            "Resources/HotFiles/b.yaml": "x: 1\n",
            "Resources/HotEnvironments/prod.yaml": "parameters: {size: l}\n",
        }
    )


def test_a_deployment_pushes_template_parameters_files_and_environment(full: LoadedPackage) -> None:
    from vetro.library.stackdata import ENVIRONMENT, FILES, VALUES

    run = Deployed(full, hotEnvironment="prod.yaml", templateParameters={"count": 2, "db_name": None, "own": [1]})
    done = run.deploy()
    parts = run.pushed
    assert of(parts, "resources") == yaml.safe_load(TEMPLATE)["resources"]
    assert set(of(parts, "parameters")) == {"db_name", "count", "size"}
    assert of(parts, VALUES) == {"count": 2, "own": [1]}
    assert of(parts, FILES) == {"sub/a.txt": "hello\n", "b.yaml": "x: 1\n"}
    assert of(parts, ENVIRONMENT) == {"": "parameters: {size: l}\n"}
    name = run.host.performed("stack.push")[0]["name"]
    assert name.endswith("_env") and done["generatedHeatStackName"] == name
    assert [level for level, _ in run.reports] == ["info"] * 4


def test_outputs_become_texts() -> None:
    names = ["t", "i", "f", "b", "n", "l", "m"]
    template = "resources: {r: {}}\noutputs: {" + ", ".join(f"{n}: {{value: 1}}" for n in names) + "}\n"
    listed = ["a", 1, None, True, {"k": 'q"\\\n'}, 1.5]
    run = Deployed(package(template), {"t": "x", "i": 3, "f": 1.5, "b": True, "n": None, "l": listed, "m": {"a": []}})
    outputs = run.deploy()["templateOutputs"]
    assert {k: v for k, v in outputs.items() if k not in "lm"} == {
        "t": "x",
        "i": "3",
        "f": "1.5",
        "b": "True",
        "n": None,
    }
    assert json.loads(outputs["l"]) == listed and json.loads(outputs["m"]) == {"a": []}


def test_the_stack_keeps_its_name_and_goes_with_the_application() -> None:
    run = Deployed(package(), {"secret": "1"}, templateParameters={"count": 1})
    first = run.deploy()
    assert first["templateOutputs"] == {"secret": "1"}
    run.outputs = {"secret": "2"}
    second = run.deploy()
    assert second["generatedHeatStackName"] == first["generatedHeatStackName"]
    assert second["templateOutputs"] == {"secret": "2"}
    assert run.host.performed("stack.delete") == []
    run.model["ObjectsCopy"] = run.model["Objects"]
    run.model["Objects"] = {**run.model["Objects"], "applications": []}
    assert run.deploy() is None
    assert [args["name"] for args in run.host.performed("stack.delete")] == [first["generatedHeatStackName"]]


def test_an_application_that_was_never_deployed_has_no_stack_to_delete() -> None:
    run = Deployed(package())
    run.model = {"Objects": {**run.model["Objects"], "applications": []}, "ObjectsCopy": run.model["Objects"]}
    run.deploy()
    assert run.host.performed("stack.delete") == []


def test_a_failing_stack_is_reported_and_fails_the_deployment() -> None:
    run = Deployed(package())
    run.fails = RuntimeError("CREATE_FAILED: no quota")
    with pytest.raises(Exception, match="no quota"):
        run.deploy()
    assert run.reports[-1] == ("error", "The stack cannot be deployed: CREATE_FAILED: no quota")
    assert len(run.reports) == 3


def test_a_missing_environment_file_is_named() -> None:
    run = Deployed(package(), hotEnvironment="../../etc/passwd")
    with pytest.raises(ResourceNotFound, match=r"HotEnvironments/\.\./\.\./etc/passwd"):
        run.deploy()
    assert run.host.performed("stack.push") == []
