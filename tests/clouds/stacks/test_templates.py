"""Templates as a whole: versions, parameters and constraints, conditions, environments, files as types, limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.clouds.stacks.resources import attr, ref, server
from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.interface import StackFailed, TemplateInvalid
from vetro.clouds.stacks.convergence import change_validation
from vetro.clouds.stacks.templates.limits import TemplateTooLarge
from vetro.clouds.stacks.templates.parameters import ParameterInvalid

RANDOM = {"type": "OS::Heat::RandomString"}
VALUE: dict[str, Any] = {"v": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "p"}}}}


def value(world: World, definition: Any, given: Any = None, **more: Any) -> Any:
    template = hot(VALUE, parameters={"p": definition}, outputs={"o": {"value": attr("v", "value")}})
    values = {} if given is None else {"p": given}
    return world.push(template, values, **more).outputs["o"]


TOPS: list[tuple[dict[str, Any], str | None]] = [
    ({"heat_template_version": "2013-05-23"}, None),
    ({"heat_template_version": "2018-08-31"}, None),
    ({"heat_template_version": "wallaby", "description": "x", "parameter_groups": [{"parameters": []}]}, None),
    ({"heat_template_version": "2013-05-23", "resources": None, "outputs": None}, None),
    ({}, "no heat_template_version"),
    ({"heat_template_version": "1999-01-01"}, "'1999-01-01' is not known; known are 2013-05-23"),
    ({"heat_template_version": "2013-05-23", "resource": {"a": {}}}, "no section 'resource', did you mean 'resources'"),
    ({"heat_template_version": "2013-05-23", "outputs": [1]}, "'outputs' must be a mapping"),
    ({"heat_template_version": "2013-05-23", "resources": {"a": []}}, "resources.a must be a mapping"),
    ({"heat_template_version": "2013-05-23", "resources": {"a": {}}}, "resources.a has no type"),
    ({"heat_template_version": "2013-05-23", "resources": {"a/b": RANDOM}}, "cannot have the name 'a/b'"),
    (
        {"heat_template_version": "2013-05-23", "resources": {"a": {**RANDOM, "propertis": {}}}},
        "did you mean 'properties'",
    ),
    ({"heat_template_version": "2013-05-23", "resources": {"a": {**RANDOM, "deletion_policy": "x"}}}, "must be one of"),
    ({"heat_template_version": "2013-05-23", "resources": {"a": {**RANDOM, "depends_on": {}}}}, None),
    ({"heat_template_version": "2013-05-23", "resources": {"a": {**RANDOM, "depends_on": "b"}}}, "no resource 'b'"),
    ({"heat_template_version": "2013-05-23", "outputs": {"a": {"vlaue": 1}}}, "outputs.a has no value"),
    (
        {"heat_template_version": "2013-05-23", "parameters": {"a": {"type": "text"}}},
        "parameters.a.type must be one of",
    ),
]


@pytest.mark.parametrize(("template", "text"), TOPS, ids=[str(text) + str(n) for n, (_, text) in enumerate(TOPS)])
def test_top_of_a_template(world: World, template: dict[str, Any], text: str | None) -> None:
    if text is None:
        assert world.push(template).status == "CREATE_COMPLETE"
    else:
        with pytest.raises(TemplateInvalid, match=text):
            world.push(template)


def test_template_of_the_older_language(world: World) -> None:
    template = {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Parameters": {"size": {"Type": "Number", "Default": "6", "MinValue": 1}},
        "Mappings": {"m": {"k": {"x": "found"}}},
        "Conditions": {"yes": {"Fn::Equals": [{"Ref": "size"}, 6]}},
        "Resources": {
            "r": {"Type": "OS::Heat::RandomString", "Properties": {"length": {"Ref": "size"}}, "Condition": "yes"},
            "v": {
                "Type": "OS::Heat::Value",
                "DependsOn": "r",
                "Properties": {
                    "value": {
                        "Fn::Join": [
                            "-",
                            [
                                {"Fn::GetAtt": ["r", "value"]},
                                {"Fn::FindInMap": ["m", "k", "x"]},
                                {"Fn::Select": ["1", ["a", "b"]]},
                                {"Fn::Replace": [{"$x": "y"}, "$x"]},
                                {"Ref": "AWS::StackName"},
                                {"Fn::Base64": "plain"},
                                {"Fn::If": ["yes", "t", "f"]},
                            ],
                        ]
                    }
                },
            },
        },
        "Outputs": {"o": {"Value": {"Fn::GetAtt": ["v", "value"]}}, "same": {"Value": {"Ref": "r"}}},
    }
    outputs = world.push(template).outputs
    assert outputs["o"] == f"{outputs['same']}-found-b-y-stack-plain-t" and len(outputs["same"]) == 6


GOOD: list[tuple[Any, Any, Any]] = [
    ({"type": "string", "default": "d"}, None, "d"),
    ({"type": "string"}, 5, "5"),
    ({"type": "string"}, True, "true"),
    ({"type": "string", "default": ""}, None, ""),
    ({"type": "number"}, "5", 5),
    ({"type": "number"}, "5.5", 5.5),
    ({"type": "boolean"}, "Yes", True),
    ({"type": "boolean"}, 0, False),
    ({"type": "json"}, '{"a": [1]}', {"a": [1]}),
    ({"type": "json"}, {"a": 1}, {"a": 1}),
    ({"type": "comma_delimited_list"}, "a, b", ["a", "b"]),
    ({"type": "comma_delimited_list"}, ["a", "b"], ["a", "b"]),
    ({"type": "string", "constraints": [{"length": {"min": 2, "max": 3}}]}, "abc", "abc"),
    ({"type": "number", "constraints": [{"range": {"min": 1}}]}, 1, 1),
    ({"type": "number", "constraints": [{"modulo": {"step": 3, "offset": 1}}]}, 7, 7),
    ({"type": "string", "constraints": [{"allowed_values": ["a", "b"]}]}, "b", "b"),
    ({"type": "string", "constraints": [{"allowed_pattern": "[a-z]+[0-9]?"}]}, "abc1", "abc1"),
    ({"type": "string", "constraints": [{"allowed_pattern": "(?=.*[A-Z])(?=.*[0-9]).{4,}"}]}, "Pass1", "Pass1"),
    ({"type": "string", "constraints": [{"custom_constraint": "nova.flavor"}]}, "m1.tiny", "m1.tiny"),
    (
        {"type": "string", "constraints": [{"custom_constraint": "glance.image"}]},
        "debian-12-murano",
        "debian-12-murano",
    ),
    ({"type": "string", "constraints": [{"custom_constraint": "neutron.network"}]}, "ext-net", "ext-net"),
    ({"type": "string", "constraints": [{"custom_constraint": "nova.keypair"}]}, "default", "default"),
    ({"type": "string", "constraints": [{"custom_constraint": "who.knows"}]}, "x", "x"),
    ({"type": "comma_delimited_list", "constraints": [{"allowed_values": ["a", "b"]}]}, "a,b", ["a", "b"]),
]


@pytest.mark.parametrize(("definition", "given", "expected"), GOOD, ids=[str(case)[:80] for case in GOOD])
def test_parameter(world: World, definition: Any, given: Any, expected: Any) -> None:
    assert value(world, definition, given) == expected


BAD: list[tuple[Any, Any, str]] = [
    ({"type": "string"}, None, "the parameter 'p' has no value and no default"),
    ({"type": "string"}, {"a": 1}, 'is of the type string; the value {"a": 1} is not'),
    ({"type": "number"}, "x", "is of the type number"),
    ({"type": "boolean"}, "perhaps", "is of the type boolean"),
    ({"type": "json"}, "{", "must be JSON"),
    ({"type": "number", "hidden": True}, "secret", "its value is not"),
    ({"type": "string", "constraints": [{"length": {"min": 2, "max": 3}}]}, "a", '"a" must have a length from 2 to 3'),
    ({"type": "number", "constraints": [{"range": {"max": 3}}]}, 4, "a value of at most 3"),
    ({"type": "number", "constraints": [{"modulo": {"step": 3}}]}, 4, "must be a multiple of 3"),
    ({"type": "string", "constraints": [{"allowed_values": ["a"]}]}, "b", r'"b" must be one of \["a"\]'),
    ({"type": "string", "constraints": [{"allowed_pattern": "[a-z]+"}]}, "abc1", r"must match \[a-z\]\+"),
    ({"type": "string", "constraints": [{"allowed_pattern": "(a"}]}, "a", "the pattern .* cannot be used"),
    (
        {"type": "string", "constraints": [{"allowed_pattern": "(?=(a+)+$)b"}]},
        "a" * 5000 + "!",
        "cannot be used|must match",
    ),
    ({"type": "string", "constraints": [{"custom_constraint": "nova.flavor"}]}, "m9", "there is no flavor 'm9'"),
    (
        {"type": "string", "constraints": [{"allowed_values": ["a"], "description": "only a"}]},
        "b",
        "is not allowed: only a",
    ),
    ({"type": "string", "constraints": [{"lenght": {}}]}, "b", "did you mean 'length'"),
    ({"type": "string", "constraints": [{"length": {"min": "2"}}]}, "b", "must be a number"),
    ({"type": "string", "defualt": 1}, "b", "did you mean 'default'"),
]


@pytest.mark.parametrize(("definition", "given", "text"), BAD, ids=[text for _, _, text in BAD])
def test_parameter_is_refused(world: World, definition: Any, given: Any, text: str) -> None:
    with pytest.raises(TemplateInvalid, match=text) as caught:
        value(world, definition, given)
    if isinstance(definition, dict) and definition.get("hidden"):
        assert "secret" not in str(caught.value)
    assert world.count("stacks") == 0


def test_a_parameter_that_the_template_does_not_have_is_refused(world: World) -> None:
    with pytest.raises(ParameterInvalid, match="no parameter 'nmae', did you mean 'name'"):
        world.push(hot({}, parameters={"name": {"type": "string"}}), {"name": "a", "nmae": "b"})


def test_a_parameter_that_changes_touches_only_who_uses_it(world: World) -> None:
    resources = {**VALUE, "other": RANDOM, "vm": server(name={"get_param": "p"})}
    template = hot(resources, parameters={"p": {"type": "string"}}, outputs={"o": {"value": {"get_param": "p"}}})
    world.push(template, {"p": "one"})
    ids = world.ids()
    assert world.push(template, {"p": "two"}).outputs["o"] == "two"
    assert world.ids() == ids
    assert world.states() == {"v": "UPDATE_COMPLETE", "other": "CREATE_COMPLETE", "vm": "UPDATE_COMPLETE"}


# -- conditions --

CONDITIONAL = hot(
    {
        "big": {**RANDOM, "condition": "is_big"},
        "small": {**RANDOM, "condition": {"not": "is_big"}},
        "v": {
            "type": "OS::Heat::Value",
            "depends_on": "big",
            "properties": {"value": {"if": ["is_big", attr("big", "value"), attr("small", "value")]}},
        },
    },
    parameters={"size": {"type": "number"}, "kind": {"type": "string", "default": "x"}},
    conditions={
        "is_big": {"and": ["not_small", {"equals": [{"get_param": "kind"}, "x"]}]},
        "not_small": {"not": {"equals": [{"get_param": "size"}, 1]}},
    },
    outputs={
        "o": {"value": attr("v", "value")},
        "only_big": {"value": attr("big", "value"), "condition": "is_big"},
    },
)


def test_conditions_decide_which_resources_and_outputs_there_are(world: World) -> None:
    one = world.push(CONDITIONAL, {"size": 1})
    assert set(world.states()) == {"small", "v"} and set(one.outputs) == {"o"}
    two = world.push(CONDITIONAL, {"size": 2})
    assert set(world.states()) == {"big", "v"} and two.outputs["o"] == two.outputs["only_big"] != one.outputs["o"]
    world.reopen()
    three = world.push(CONDITIONAL, {"size": 1})
    assert set(world.states()) == {"small", "v"} and set(three.outputs) == {"o"}


BAD_CONDITIONS: list[tuple[dict[str, Any], str]] = [
    ({"a": {"not": "b"}, "b": {"not": "a"}}, "conditions depend on each other in a circle: a -> b -> a"),
    ({"a": {"not": "nobody"}}, "conditions.a: the template has no condition 'nobody'"),
    ({"a": {"equals": [{"get_resource": "x"}, 1]}}, "conditions.a cannot use resource 'x'"),
    ({"a": {"equals": [1]}}, "conditions.a: equals is written as"),
    ({"a": "maybe"}, "no condition 'maybe'"),
    ({"a": {"get_param": "text"}}, "must be a condition"),
]


@pytest.mark.parametrize(("conditions", "text"), BAD_CONDITIONS, ids=[text for _, text in BAD_CONDITIONS])
def test_bad_conditions(world: World, conditions: dict[str, Any], text: str) -> None:
    parameters = {"text": {"type": "string", "default": "x"}}
    with pytest.raises(TemplateInvalid, match=text):
        world.push(hot({"x": RANDOM}, conditions=conditions, parameters=parameters))


def test_what_a_condition_leaves_out_cannot_be_referred_to(world: World) -> None:
    resources = {
        "a": {**RANDOM, "condition": "no"},
        "b": {"type": "OS::Heat::Value", "properties": {"value": ref("a")}},
    }
    with pytest.raises(TemplateInvalid, match=r"resources\.b: the resource 'a' is left out by its condition"):
        world.push(hot(resources, conditions={"no": {"equals": [1, 2]}}))


# -- environments and files --


def test_parameters_of_the_environment_come_before_its_defaults_and_after_given_ones(world: World) -> None:
    definition = {"type": "string", "default": "template"}
    defaults = "parameter_defaults: {p: defaults, unknown: x}\n"
    assert value(world, definition) == "template"
    assert value(world, definition, environment=defaults) == "defaults"
    assert value(world, definition, environment=defaults + "parameters: {p: environment}") == "environment"
    assert value(world, definition, "given", environment=defaults + "parameters: {p: environment}") == "given"


BAD_ENVIRONMENTS: list[tuple[str, str]] = [
    ("a: [", "(?s)the environment is not YAML: .*line 1"),
    ("[]\n", "CREATE"),
    ("- 1", "the environment must be a mapping"),
    ("paramaters: {}", "did you mean 'parameters'"),
    ("parameters: {nobody: 1}", "no parameter 'nobody'"),
    ("parameters: 3", "must be a mapping"),
    ("resource_registry: {A: 1}", "must be the name of a type"),
    ("resource_registry: {'OS::Heat::Value': B, B: 'OS::Heat::Value'}", "circle: OS::Heat::Value -> B"),
    ("a: &a [1]\nb: *a", "aliases are not allowed"),
    ("parameters: {p: !!python/name:os.system x}", "is not YAML"),
]


@pytest.mark.parametrize(("text", "error"), BAD_ENVIRONMENTS)
def test_bad_environment(world: World, text: str, error: str) -> None:
    if error == "CREATE":
        assert value(world, {"type": "string", "default": "d"}, environment=text) == "d"
        return
    with pytest.raises(TemplateInvalid, match=error):
        value(world, {"type": "string", "default": "d"}, environment=text)


def test_registry_gives_types_for_all_one_resource_or_a_family(world: World) -> None:
    environment = """
    resource_registry:
      My::Type: OS::Heat::RandomString
      "Old::*": "OS::Heat::*"
      resources:
        special:
          My::Type: OS::Heat::Value
    """
    resources = {
        "one": {"type": "My::Type"},
        "special": {"type": "My::Type", "properties": {"value": 7}},
        "family": {"type": "Old::Value", "properties": {"value": 8}},
    }
    template = hot(
        resources, outputs={"s": {"value": attr("special", "value")}, "f": {"value": attr("family", "value")}}
    )
    assert world.push(template, environment=environment).outputs == {"s": 7, "f": 8}


INNER = """
heat_template_version: 2016-10-14
parameters:
  size: {type: number, default: 4}
resources:
  random: {type: OS::Heat::RandomString, properties: {length: {get_param: size}}}
  deep: {type: deep.yaml}
outputs:
  value: {value: {get_attr: [random, value]}}
  text: {value: {get_attr: [deep, text]}}
"""
DEEP = """
heat_template_version: 2016-10-14
resources:
  v: {type: OS::Heat::Value, properties: {value: {get_file: note.txt}}}
outputs:
  text: {value: {get_attr: [v, value]}}
"""
FILES = {"inner.yaml": INNER, "deep.yaml": DEEP, "note.txt": "hello"}
OUTER = {"x": {"type": "inner.yaml", "properties": {"size": 6}}}
OUTER_OUTPUTS = {"v": attr("x", "value"), "t": attr("x", "text"), "id": attr("x", "resource.random")}


def test_a_template_of_the_files_is_a_type(world: World) -> None:
    one = world.outputs(OUTER, OUTER_OUTPUTS, files=FILES)
    assert len(one["v"]) == 6 and one["t"] == "hello" and one["id"] == one["v"]
    assert len(world.cloud.stacks(OWNER)) == 1
    world.reopen()
    two = world.outputs(OUTER, OUTER_OUTPUTS, files={**FILES, "note.txt": "bye"}, whole=True)
    assert two["v"] == one["v"]
    three = world.outputs({"x": {"type": "inner.yaml", "properties": {"size": 9}}}, OUTER_OUTPUTS, files=FILES)
    assert len(three["v"]) == 9
    world.cloud.delete_stack(OWNER, "", "stack")
    assert world.count("stacks") == world.count("resources") == world.count("parts") == 0


def test_a_file_that_changes_changes_what_is_made_of_it(world: World) -> None:
    files = {"a.yaml": DEEP, "note.txt": "one"}
    outputs = {"t": attr("x", "text")}
    assert world.outputs({"x": {"type": "a.yaml"}}, outputs, files=files)["t"] == "one"
    changed = {**files, "a.yaml": DEEP.replace("{get_file: note.txt}", "two")}
    assert world.outputs({"x": {"type": "a.yaml"}}, outputs, files=changed)["t"] == "two"


BAD_FILES: list[tuple[dict[str, str], dict[str, Any], str]] = [
    ({}, {}, "no file 'inner.yaml'"),
    ({"inner.yaml": "a: ["}, {}, "inner.yaml is not YAML"),
    ({"inner.yaml": "- 1"}, {}, "is no template"),
    ({"inner.yaml": "resources: {}"}, {}, "no heat_template_version"),
    ({"inner.yaml": INNER, "deep.yaml": DEEP}, {}, r"resources\.x \(inner.yaml\): .*deep.yaml.*no file 'note.txt'"),
    ({**FILES, "deep.yaml": INNER.replace("deep.yaml", "inner.yaml")}, {}, "nested deeper than 5"),
    (FILES, {"sizes": 3}, r"inner.yaml\): the template has no parameter 'sizes'"),
    (FILES, {"size": "big"}, "is of the type number"),
    (FILES, {"sizes": ref("other")}, "the template inner.yaml has no parameter 'sizes'"),
]


@pytest.mark.parametrize(("files", "properties", "text"), BAD_FILES, ids=[text for *_, text in BAD_FILES])
def test_bad_files_are_refused_before_anything_is_done(
    world: World, files: dict[str, str], properties: dict[str, Any], text: str
) -> None:
    resources = {"first": RANDOM, "other": RANDOM, "x": {"type": "inner.yaml", "properties": properties}}
    with pytest.raises(TemplateInvalid, match=text):
        world.push(hot(resources), files=files)
    assert world.count("stacks") == 0


def test_a_failure_inside_names_the_whole_way_and_goes_on_later(make_world: Callable[..., World]) -> None:
    world = make_world(table={"servers": [{"server": "bad-1", "times": 1, "failure": "no room"}]})
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 3, "resource_def": server(name="bad-%index%")},
    }
    with pytest.raises(StackFailed, match=r"resources\.group: .*resources\.1: server 'bad-1' failed to boot: no room"):
        world.push(hot({"group": group}))
    state = world.push(hot({"group": group}, outputs={"n": {"value": attr("group", "name")}}))
    assert state.outputs["n"] == ["bad-0", "bad-1", "bad-2"]
    made = [name for what, name in world.driver.calls() if what == "create server"]
    assert sorted(made) == ["bad-0", "bad-1", "bad-1", "bad-2"]


def test_a_group_grows_shrinks_and_gives_up_named_members(world: World) -> None:
    def push(count: int, *gone: str) -> Any:
        properties: dict[str, Any] = {"count": count, "resource_def": RANDOM}
        if gone:
            properties["removal_policies"] = [{"resource_list": list(gone)}]
        group = {"type": "OS::Heat::ResourceGroup", "properties": properties}
        return world.outputs({"g": group}, {"refs": attr("g", "refs_map")})["refs"]

    three = push(3)
    five = push(5)
    assert {name: five[name] for name in "012"} == three
    assert push(4, "1") == {"0": five["0"], "2": five["2"], "3": five["3"], "4": five["4"]}
    assert list(push(1)) == ["0"]


# -- limits --


def test_a_template_with_too_many_resources_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_validation, "MOST_RESOURCES", 10)
    with pytest.raises(TemplateTooLarge, match="11 resources, more than 10"):
        world.push(hot({f"r{n}": RANDOM for n in range(11)}))


def test_a_part_that_is_too_large_or_too_deep_is_refused(world: World) -> None:
    with pytest.raises(TemplateTooLarge, match="more than 8,388,608"):
        world.push(hot({"x": {"type": "OS::Heat::Value", "properties": {"value": "x" * (9 << 20)}}}))
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(TemplateTooLarge, match="deeper than 100"):
        world.push(hot({"x": {"type": "OS::Heat::Value", "properties": {"value": deep}}}))
