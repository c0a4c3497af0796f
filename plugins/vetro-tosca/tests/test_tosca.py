"""The tests of the plug-in. Install it beside Vetro first: ``pip install -e .``"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import pytest
import sample
import yaml

from vetro.library.stackdata import FILES, VALUES
from vetro.muranopl import Engine
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.packages.conformance import PackageFormatConformance
from vetro.packages.errors import PackageError
from vetro.packages.files import MemoryTree
from vetro.packages.formats import FormatRegistry
from vetro.packages.package import LoadedPackage
from vetro_tosca.package import CsarPackage
from vetro_tosca.translate import translate


def loaded(**changes: str | bytes | None) -> LoadedPackage:
    """The sample package as the catalog sees it; the format is found among the installed ones."""
    return FormatRegistry().load(MemoryTree(sample.package(**changes), "/web"))


class TestCsar(PackageFormatConformance):
    format = "TOSCA.CSAR/1.1.0"
    factory = CsarPackage
    distribution = "vetro-tosca"

    def files(self) -> Mapping[str, str | bytes]:
        return sample.package()


def test_the_topology_becomes_a_heat_template() -> None:
    made = translate(sample.csar(), "csar.zip")
    template = yaml.safe_load(made.template)
    assert template["parameters"]["cpus"] == {"type": "number", "constraints": [{"allowed_values": [1, 2, 4]}]}
    assert template["parameters"]["greeting"] == {"type": "string"}
    assert template["parameters"]["names"] == {"type": "comma_delimited_list", "default": ["a", "b"]}
    assert template["resources"]["server"]["type"] == "OS::Nova::Server"
    assert made.files["../Scripts/create.sh"] == sample.CREATE
    assert "../Definitions/types.yaml" in made.files


def test_inputs_and_outputs_become_properties() -> None:
    package = loaded()
    assert (package.name, package.format_text, package.format) == ("com.example.Web", "TOSCA.CSAR/1.1.0", (1, 1))
    text = package.read_class("com.example.Web").text
    assert '"cpus": !yaql "$.int().check($ = null or ($ in list(1, 2, 4)))"' in text
    assert '"address": {"Usage": "Out", "Contract": !yaql "$.string()"}' in text
    assert package.ui is not None and "$.group1.greeting" in package.ui


def test_it_deploys() -> None:
    pushed: list[dict[str, Any]] = []

    def push(args: dict[str, Any]) -> Any:
        pushed.append(args)
        return {"outputs": {"address": "10.0.0.5"}, "gone": [], "whole": True}

    application = {
        "?": {"type": "com.example.Web", "id": "app"},
        "name": "web",
        "templateParameters": {"cpus": 2, "greeting": "hi"},
    }
    environment = {"?": {"type": "io.murano.Environment", "id": "env"}, "name": "e", "applications": [application]}
    session = Engine([loaded()], effects=InProcessEffects({"stack.push": push})).session()
    session.load({"Objects": environment})
    session.call("deploy", public_only=False)
    done = session.finalize()["Objects"]["applications"][0]
    assert done["templateOutputs"] == {"address": "10.0.0.5"} and done["address"] == "10.0.0.5"
    parts = {(section, key): value for section, key, value in pushed[0]["put"]}
    assert parts[FILES, "../Scripts/configure.sh"] == sample.CONFIGURE
    assert {key: value for (section, key), value in parts.items() if section == VALUES} == {"cpus": 2, "greeting": "hi"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Definitions/app.yaml": None}, "names no file as Entry-Definitions"),
        ({"TOSCA-Metadata/TOSCA.meta": None}, "it is unclear where the topology begins: no definitions"),
        ({"Definitions/app.yaml": "a: ["}, "Definitions/app.yaml: not valid YAML"),
        ({"Definitions/app.yaml": "a: 1\n"}, "the topology cannot be translated"),
        ({"Scripts/create.sh": None}, "refers to '../Scripts/create.sh', which is not in the archive"),
        ({"Scripts/create.sh": b"\xff\xfe\0"}, "this is no UTF-8"),
        ({"Definitions/types.yaml": None}, "imports 'types.yaml', which is not in the archive"),
    ],
)
def test_what_cannot_be_translated_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PackageError, match=message) as caught:
        loaded(**changes)
    assert "vetro-tosca" in caught.value.message and "/tmp" not in caught.value.message


@pytest.mark.parametrize(
    "imports",
    [
        "[http://127.0.0.1:9/types.yaml]",
        "[/etc/hostname]",
        "[../../../../../../etc/hostname]",
        "[{a: {file: /etc/hostname}}]",
        "[{file: x.yaml, repository: r}]",
        "[{a: http://127.0.0.1:9/x}]",
    ],
)
def test_imports_reach_nothing_outside(imports: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*args: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", connect)
    app = sample.APP.replace("imports: [types.yaml]", f"imports: {imports}")
    with pytest.raises(PackageError, match="which is not in the archive"):
        loaded(**{"Definitions/app.yaml": app})


def test_a_package_without_archive_is_refused() -> None:
    with pytest.raises(PackageError, match=r"csar\.zip cannot be read"):
        FormatRegistry().load(MemoryTree({"manifest.yaml": sample.MANIFEST}, "/web"))
