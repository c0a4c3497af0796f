"""Heat.HOT/1.0: the generated class and its schema, and templates that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.packages.hot.hotkit import MANIFEST, NAME, TEMPLATE, generated, package, parameter
from tests.support.host import Host
from vetro.muranopl.package_resolver import ResourceNotFound
from vetro.muranopl.schemas import class_schemas
from vetro.packages.archive import ArchiveTree, archive_tree
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.package import check_tree
from vetro.packages.files import MemoryTree
from vetro.packages.formats import FormatRegistry
from vetro.packages.hot.package import HotPackage
from vetro.packages.hot.values import TemplateError


def test_a_template_becomes_an_application_class() -> None:
    loaded = package()
    assert (loaded.name, str(loaded.version), loaded.type, loaded.format) == (NAME, "1.2.0", "Application", (1, 0))
    assert loaded.requirements == {} and list(loaded.classes) == [NAME]
    assert loaded.resource(NAME).decode() == TEMPLATE
    with pytest.raises(ResourceNotFound):
        loaded.resource("other")


def test_properties_come_from_parameters_and_outputs() -> None:
    made = generated(package())
    assert (made["Name"], made["Extends"], sorted(made["Methods"])) == (
        NAME,
        "io.murano.Application",
        ["_json", "deploy", "destroy"],
    )
    assert made["Properties"] == {
        "generatedHeatStackName": {"Usage": "Out", "Contract": "yaql: $.string()"},
        "hotEnvironment": {"Usage": "In", "Contract": "yaql: $.string()"},
        "name": {"Usage": "In", "Contract": "yaql: $.string().notNull()"},
        "templateParameters": {
            "Usage": "In",
            "Default": {},
            "Contract": {
                "db_name": "yaql: $.string().check($ = null or (len($) >= 1 and len($) <= 16))"
                ".check($ = null or ($ =~ '^(?:[a-zA-Z][a-zA-Z0-9]*)$'), 'must begin with a letter')",
                "count": "yaql: $.int().check($ = null or ($ >= 1 and $ <= 4), '1 to 4')",
                "size": "yaql: $.string().check($ = null or ($ in list('s', 'l')))",
            },
        },
        "templateOutputs": {"Usage": "Out", "Default": {}, "Contract": {"secret": "yaql: $.string()"}},
    }


def test_declarations_stand_on_the_lines_of_the_template() -> None:
    text, file, _ = package().read_class(NAME)
    assert file == "/packages/hot/template.yaml"
    lines, template = text.split("\n"), TEMPLATE.split("\n")
    for name in ("db_name", "count", "size", "secret"):
        assert f'"{name}"' in lines[template.index(next(t for t in template if t.strip().startswith(name + ":")))]


def test_sections_in_any_order_keep_their_lines() -> None:
    template = "outputs:\n  b: {value: 1}\n  a: {value: 1}\nresources:\n  r: {}\nparameters:\n  p: {type: string}\n"
    lines = package(template).read_class(NAME).text.split("\n")
    assert '"b"' in lines[1] and '"a"' in lines[2] and '"p"' in lines[6]
    first = "resources: {}\nparameters:\n\n  p: {type: string}\noutputs: {o: {value: 1}}\n"
    lines = package(first).read_class(NAME).text.split("\n")
    assert '"deploy"' in lines[0] and '"p"' in lines[3] and '"o"' in lines[4]


def test_with_environment_files_any_parameter_is_accepted() -> None:
    made = generated(package(**{"Resources/HotEnvironments/prod.yaml": "parameters: {}\n"}))
    assert made["Properties"]["templateParameters"]["Contract"] == {"yaql: $.string()": "yaql: $"}


def test_the_generated_code_is_clean() -> None:
    loaded = package(
        "resources: {}\nparameters: {'odd name''\\\"': {type: json, label: ä}}\noutputs: {'x y': {value: 1}}\n",
        **{"Resources/HotFiles/a 'b'/ü.txt": "x"},
    )
    assert check_classes(loaded) == []
    assert check_classes(package()) == []
    assert check_classes(package("resources: {}")) == []


def test_archives_are_read_in_place() -> None:
    tree = MemoryTree({"manifest.yaml": MANIFEST, "template.yaml": TEMPLATE}, "x")
    loaded = FormatRegistry(discover=False).load(ArchiveTree(archive_tree(tree), location="a.zip"))
    assert loaded.read_class(NAME).file_id == "a.zip/template.yaml"
    assert loaded.resource(NAME).decode() == TEMPLATE


def test_the_schema_knows_the_constraints() -> None:
    host = Host()
    host.packages = [package()]
    session = host.engine().session()
    schema = class_schemas(session, session.type_by_name(NAME, "1"))[""]
    assert schema["properties"]["templateParameters"]["properties"] == {
        "db_name": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": 16,
            "pattern": "^(?:[a-zA-Z][a-zA-Z0-9]*)$",
        },
        "count": {
            "type": ["integer", "null"],
            "minimum": 1,
            "exclusiveMinimum": False,
            "maximum": 4,
            "exclusiveMaximum": False,
        },
        "size": {"type": ["string", "null"], "enum": ["s", "l", None]},
    }


REFUSED = [
    (None, 1, "there is no template.yaml"),
    ("", 1, "the template is no mapping"),
    ("a: [", 2, "not valid YAML"),
    ("Resources: {}\n", 1, "has no 'resources'"),
    ("resources: {}\nparameters: [a]\n", 2, "'parameters' is a list"),
    ("resources: {}\nparameters:\n  a: x\n", 3, "parameter 'a' is 'x'"),
    ("resources: {}\nparameters:\n  a: {label: x}\n", 3, "parameter 'a' has no type"),
    ("resources: {}\nparameters:\n  a:\n    type: Number\n", 4, "has the type 'Number', which is not supported"),
    (parameter("type: number, default: x"), 3, "the default of parameter 'p' is 'x'"),
    (parameter("type: boolean, default: maybe"), 3, "the default of parameter 'p' is 'maybe'"),
    (parameter("type: string, constraints: {length: {max: 1}}"), 3, "'constraints' of parameter 'p' is a mapping"),
    (parameter("type: string, constraints: [{lenght: {max: 1}}]"), 3, "unknown constraint 'lenght'"),
    (parameter("type: string, constraints: [{description: x}]"), 3, "a constraint of parameter 'p' says nothing"),
    (parameter("type: string, constraints: [{range: {min: 1}}]"), 3, "to which 'range' does not apply"),
    (parameter("type: string, constraints: [{length: {min: -1}}]"), 3, "min of 'length' of parameter 'p' is '-1'"),
    (parameter("type: string, constraints: [{length: 5}]"), 3, "has to have min, max or both"),
    (parameter("type: number, constraints: [{range: {min: 3, max: 1}}]"), 3, "has min 3 above max 1"),
    (parameter("type: number, constraints: [{range: {min: .inf}}]"), 3, "is '.inf'"),
    (parameter("type: number, constraints: [{modulo: {step: 0, offset: 1}}]"), 3, "step of 'modulo'"),
    (parameter("type: string, constraints: [{allowed_values: []}]"), 3, "'allowed_values' of parameter 'p' is a list"),
    (parameter("type: string, constraints: [{allowed_pattern: '('}]"), 3, "is no regular expression"),
    ("resources: {}\nparameter_groups:\n  - parameters: [x]\n", 3, "a group names 'x', which is no parameter"),
    ("resources: {}\nparameter_groups:\n  - label: x\n", 3, "lists no parameters"),
]


@pytest.mark.parametrize(("template", "line", "message"), REFUSED)
def test_templates_that_cannot_be_offered_are_refused_with_the_line(
    template: str | None, line: int, message: str
) -> None:
    with pytest.raises(TemplateError) as caught:
        package(template)
    error = caught.value
    assert message in error.message
    assert error.message.startswith(f"/packages/hot/template.yaml:{line}:")
    assert (error.position.file, error.position.line) == ("/packages/hot/template.yaml", line)


def test_a_check_finds_the_place_in_the_template() -> None:
    tree = MemoryTree({"manifest.yaml": MANIFEST, "template.yaml": parameter("type: Number")}, "/packages/hot")
    problems = check_tree(tree, registry=FormatRegistry(discover=False))
    assert [(str(p.place), p.code) for p in problems] == [("/packages/hot/template.yaml:3:13", "PKG170")]
    assert problems[0].message.startswith("parameter 'p' has the type 'Number'")
    assert problems[0].hint == "did you mean 'number'?"


def test_files_have_to_be_texts() -> None:
    loaded = package(**{"Resources/HotFiles/a.bin": b"\xff\xfe"})
    problems = check_classes(loaded)
    assert ["HotFiles/a.bin:1: not valid UTF-8" in p.message for p in problems] == [True]


def test_the_plugin_can_be_used_directly_on_a_folder(tmp_path: Any) -> None:
    from vetro.muranopl.declarations.versions import Version

    (tmp_path / "template.yaml").write_text(TEMPLATE)
    made = HotPackage("Heat.HOT", Version("1.0.0"), str(tmp_path), {"FullName": "a.B", "Type": "Application"})
    assert made.get_resource("a.B") == str(tmp_path / "template.yaml")
    assert [p.name for p in made.template.parameters] == ["db_name", "count", "size"]
