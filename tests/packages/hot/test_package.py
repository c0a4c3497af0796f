"""Heat.HOT/1.0: the generated class, its contracts and schema, deployment on scripted effects, and the form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.support.host import Host
from vetro.muranopl.catalog import ResourceNotFound
from vetro.muranopl.errors import ContractViolation
from vetro.muranopl.schemas import class_schemas
from vetro.packages.archive import ArchiveTree, archive_tree
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.package import check_tree
from vetro.packages.files import MemoryTree
from vetro.packages.formats import FormatRegistry
from vetro.packages.hot.package import HotPackage
from vetro.packages.hot.values import TemplateError
from vetro.packages.package import LoadedPackage

NAME = "com.example.HotApp"
MANIFEST = f"Format: Heat.HOT/1.0\nType: Application\nFullName: {NAME}\nVersion: 1.2\nDescription: A stack\n"
TEMPLATE = """\
heat_template_version: 2013-05-23
parameter_groups:
  - label: Database
    parameters: [db_name, count]
parameters:
  db_name:
    type: string
    default: wordpress
    constraints:
      - length: {min: 1, max: 16}
      - allowed_pattern: "[a-zA-Z][a-zA-Z0-9]*"
        description: must begin with a letter
  count:
    type: number
    description: How many
    constraints:
      - range: {min: 1, max: 4}
        description: 1 to 4
  size:
    type: string
    label: The size
    constraints:
      - allowed_values: [s, l]
resources:
  r: {type: "OS::Heat::RandomString", properties: {length: {get_param: count}}}
outputs:
  secret: {value: {get_attr: [r, value]}}
"""


def package(template: str | None = TEMPLATE, manifest: str = MANIFEST, **files: str | bytes) -> LoadedPackage:
    contents: dict[str, str | bytes] = {"manifest.yaml": manifest, **files}
    if template is not None:
        contents["template.yaml"] = template
    return FormatRegistry(discover=False).load(MemoryTree(contents, "/packages/hot"))


class Tagged(yaml.SafeLoader):
    """Reads expressions as ``yaql: text``."""


Tagged.add_constructor("!yaql", lambda loader, node: f"yaql: {node.value}")


def generated(loaded: LoadedPackage) -> dict[str, Any]:
    return yaml.load(loaded.read_class(NAME).text, Tagged)  # type: ignore[no-any-return]


# -- the class --------------------------------------------------------------------------------------------------------


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


# -- contracts --------------------------------------------------------------------------------------------------------


def parameter(text: str) -> str:
    return f"resources: {{}}\nparameters:\n  p: {{{text}}}\n"


def loaded_value(template: str, value: Any) -> Any:
    host = Host()
    host.packages = [package(template)]
    session = host.engine().session()
    session.load({"Objects": {"?": {"type": NAME, "id": "a"}, "name": "n", "templateParameters": {"p": value}}})
    return session.finalize()["Objects"]["templateParameters"]["p"]


CONSTRAINTS = [
    ("type: string, constraints: [{allowed_values: [a, 10, 'it''s']}]", ["a", "10", "it's"], ["b", "", "A"]),
    ("type: number, constraints: [{allowed_values: [1, '2']}]", [1, 2, "2"], [3]),
    ("type: boolean, constraints: [{allowed_values: [yes]}]", [True], [False]),
    ("type: string, constraints: [{length: {min: 2}}]", ["ab"], ["a"]),
    ("type: string, constraints: [{length: {max: 2}}]", ["", "ab"], ["abc"]),
    ("type: string, constraints: [{length: {min: 1, max: 2}}]", ["a"], ["", "abc"]),
    ("type: number, constraints: [{range: {min: 2}}]", [2], [1]),
    ("type: number, constraints: [{range: {min: -1.5, max: 2}}]", [-1, 2], [-2, 3]),
    ("type: number, constraints: [{modulo: {step: 3, offset: 1}}]", [1, 4], [3]),
    ("type: string, constraints: [{allowed_pattern: 'a\\d+'}]", ["a1"], ["a", "xa1", "a1x"]),
    ("type: comma_delimited_list, constraints: [{allowed_values: [a, b]}]", ["a", "a, b"], ["c", "a,c"]),
    ("type: comma_delimited_list, constraints: [{allowed_pattern: '[a-z]'}]", ["a,b"], ["a,1"]),
    ("type: comma_delimited_list, constraints: [{length: {max: 2}}]", ["a,b"], ["a,b,c"]),
    ("type: json, constraints: [{length: {max: 1}}]", ['{"a": 1}', "whatever"], []),
    ("type: string, constraints: [{custom_constraint: nova.flavor}]", ["anything"], []),
    ("type: string, constraints: [{length: {max: 3}}, {allowed_pattern: a+}]", ["aa"], ["aaaa", "b"]),
]


@pytest.mark.parametrize(("text", "good", "bad"), CONSTRAINTS)
def test_constraints_are_checked_and_null_passes(text: str, good: list[Any], bad: list[Any]) -> None:
    template = parameter(text)
    assert loaded_value(template, None) is None
    for value in good:
        assert loaded_value(template, value) in (
            value,
            int(value) if isinstance(value, str) and value == "2" else value,
        )
    for value in bad:
        with pytest.raises(ContractViolation, match=r"templateParameters\['p'\]"):
            loaded_value(template, value)


@pytest.mark.parametrize(
    ("type_", "given", "kept"),
    [
        ("string", 5, "5"),
        ("number", "7", 7),
        ("number", 1.9, 1),
        ("boolean", 1, True),
        ("json", "{}", "{}"),
        ("comma_delimited_list", "a,b", "a,b"),
    ],
)
def test_types_convert(type_: str, given: Any, kept: Any) -> None:
    assert loaded_value(parameter(f"type: {type_}"), given) == kept


def test_a_description_is_the_message() -> None:
    template = parameter("type: number, constraints: [{range: {max: 4}, description: 'don''t'}]")
    with pytest.raises(ContractViolation, match="don't"):
        loaded_value(template, 5)


# -- what is refused --------------------------------------------------------------------------------------------------

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


# -- deployment -------------------------------------------------------------------------------------------------------


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


# -- the form ---------------------------------------------------------------------------------------------------------


def form(loaded: LoadedPackage) -> Any:
    assert loaded.ui is not None
    return yaml.load(loaded.ui, Tagged)


def test_the_form_asks_for_the_parameters_by_group() -> None:
    help_text = "Enter a desired name for the application. Just A-Z, a-z, 0-9, and dash are allowed"
    assert form(package()) == {
        "Version": 2,
        "Application": {
            "?": {"type": NAME, "package": NAME, "classVersion": "1.2.0"},
            "name": "yaql: $.group0.name",
            "templateParameters": {
                "db_name": "yaql: $.group1.db_name",
                "count": "yaql: $.group1.count",
                "size": "yaql: $.group2.size",
            },
        },
        "Forms": [
            {
                "group0": {
                    "fields": [
                        {
                            "name": "title",
                            "type": "string",
                            "required": False,
                            "hidden": True,
                            "description": "A stack",
                        },
                        {
                            "name": "name",
                            "type": "string",
                            "label": "Application Name",
                            "required": True,
                            "description": help_text,
                        },
                    ]
                }
            },
            {
                "group1": {
                    "fields": [
                        {
                            "name": "db_name",
                            "label": "Db Name",
                            "type": "string",
                            "initial": "wordpress",
                            "required": False,
                            "minLength": 1,
                            "maxLength": 16,
                            "validators": [
                                {
                                    "expr": {"regexpValidator": "[a-zA-Z][a-zA-Z0-9]*"},
                                    "message": "must begin with a letter",
                                }
                            ],
                        },
                        {
                            "name": "count",
                            "label": "Count",
                            "type": "integer",
                            "description": "How many",
                            "required": True,
                            "validators": [{"expr": "yaql: $ >= 1 and $ <= 4", "message": "1 to 4"}],
                        },
                    ]
                }
            },
            {
                "group2": {
                    "fields": [
                        {
                            "name": "size",
                            "label": "The size",
                            "type": "string",
                            "required": True,
                            "validators": [{"expr": "yaql: $ in list('s', 'l')"}],
                        }
                    ]
                }
            },
        ],
    }


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("type: number, default: '5'", {"type": "integer", "initial": 5, "required": False}),
        ("type: boolean, default: off", {"type": "boolean", "initial": False, "required": False}),
        ("type: string, default: 010", {"type": "string", "initial": "010", "required": False}),
        ("type: comma_delimited_list, default: [a, 1]", {"type": "string", "initial": "a,1", "required": False}),
        ("type: json, default: {a: [1]}", {"type": "string", "initial": '{"a": [1]}', "required": False}),
        ("type: string, default: null", {"type": "string", "required": True}),
        ("type: string, default: ''", {"type": "string", "initial": "", "required": False}),
    ],
)
def test_defaults_are_offered(text: str, field: dict[str, Any]) -> None:
    made = form(package(parameter(text)))["Forms"][1]["group1"]["fields"]
    assert made == [{"name": "p", "label": "P", **field}]


def test_parameters_with_odd_names_are_reached() -> None:
    made = form(
        package("resources: {}\nparameters: {a-b: {type: string}, in: {type: string}, 'x''y': {type: string}}\n")
    )
    assert made["Application"]["templateParameters"] == {
        "a-b": "yaql: $.group1.get('a-b')",
        "in": "yaql: $.group1.get('in')",
        "x'y": "yaql: $.group1.get('x\\'y')",
    }


def test_without_parameters_only_the_name_is_asked_for() -> None:
    made = form(package("resources: {}", "Format: Heat.HOT/1.0\nType: Application\nFullName: a.B\n"))
    assert [list(f) for f in made["Forms"]] == [["group0"]]
    assert "description" not in made["Forms"][0]["group0"]["fields"][0]


def test_the_plugin_can_be_used_directly_on_a_folder(tmp_path: Any) -> None:
    from vetro.muranopl.declarations.versions import Version

    (tmp_path / "template.yaml").write_text(TEMPLATE)
    made = HotPackage("Heat.HOT", Version("1.0.0"), str(tmp_path), {"FullName": "a.B", "Type": "Application"})
    assert made.get_resource("a.B") == str(tmp_path / "template.yaml")
    assert [p.name for p in made.template.parameters] == ["db_name", "count", "size"]
