"""Every function of templates, by the value that an output shows, and its errors by their text."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.interface import TemplateInvalid
from vetro.clouds.stacks.templates.functions import resolve
from vetro.clouds.stacks.templates.functions_table import HOT
from vetro.clouds.stacks.templates.limits import MOST_PRODUCED, Meter, TemplateTooLarge

PARAMETERS = {
    "text": {"type": "string", "default": "abc"},
    "list": {"type": "comma_delimited_list", "default": "a,b,c"},
    "data": {"type": "json", "default": {"x": {"y": [1, 2]}}},
    "yes": {"type": "boolean", "default": True},
}

VALUES: list[tuple[Any, Any]] = [
    ({"get_param": "text"}, "abc"),
    ({"get_param": ["data", "x", "y", 1]}, 2),
    ({"get_param": ["data", "x", "y", "0"]}, 1),
    ({"get_param": ["data", "nothing", "y"]}, None),
    ({"get_param": "OS::stack_name"}, "stack"),
    ({"get_param": "OS::project_id"}, "project"),
    ({"get_file": "a.txt"}, "content"),
    ({"str_replace": {"template": "$a and $ab", "params": {"$a": "1", "$ab": "2"}}}, "1 and 2"),
    ({"str_replace": {"template": "x y", "params": {"x": "y", "y": "x"}}}, "y x"),
    ({"str_replace": {"template": "n=N m=M", "params": {"N": 3, "M": {"k": [1]}}}}, 'n=3 m={"k": [1]}'),
    ({"str_replace": {"template": "a%b", "params": {"%": None}}}, "ab"),
    ({"str_replace_strict": {"template": "x", "params": {"x": "1"}}}, "1"),
    ({"list_join": [", ", ["a", "b"], ["c"]]}, "a, b, c"),
    ({"list_join": ["-", {"get_param": "list"}]}, "a-b-c"),
    ({"list_join": ["", ["a", 1, {"k": 2}, None]]}, 'a1{"k": 2}'),
    ({"str_split": [",", "a,b"]}, ["a", "b"]),
    ({"str_split": [",", "a,b", 1]}, "b"),
    ({"repeat": {"for_each": {"%i%": ["1", "2"]}, "template": {"k%i%": "v%i%"}}}, [{"k1": "v1"}, {"k2": "v2"}]),
    (
        {"repeat": {"for_each": {"%a%": ["1", "2"], "%b%": ["x", "y"]}, "template": "%a%%b%"}},
        ["1x", "1y", "2x", "2y"],
    ),
    (
        {"repeat": {"for_each": {"%a%": ["1", "2"], "%b%": ["x", "y"]}, "template": "%a%%b%", "permutations": False}},
        ["1x", "2y"],
    ),
    ({"repeat": {"for_each": {"%i%": [{"get_param": "x"}]}, "template": "%i%"}}, TemplateInvalid),
    (
        {"repeat": {"for_each": {"%i%": [[1], {"get_file": 1, "b": 2}]}, "template": "%i%"}},
        [[1], {"get_file": 1, "b": 2}],
    ),
    (
        {"repeat": {"for_each": {"%i%": {"get_param": "list"}}, "template": {"str_split": ["_", "%i%_z"]}}},
        [["a", "z"], ["b", "z"], ["c", "z"]],
    ),
    ({"digest": ["sha512", "x"]}, hashlib.sha512(b"x").hexdigest()),
    ({"digest": ["md5", "x"]}, hashlib.md5(b"x").hexdigest()),
    ({"map_merge": [{"a": 1, "b": 1}, None, {"b": 2}]}, {"a": 1, "b": 2}),
    ({"map_replace": [{"a": "x", "b": "y"}, {"keys": {"a": "A"}, "values": {"y": "Y"}}]}, {"A": "x", "b": "Y"}),
    ({"list_concat": [["a"], None, ["a", "b"]]}, ["a", "a", "b"]),
    ({"list_concat_unique": [["a", 1], ["1", "a", True]]}, ["a", 1, "1", True]),
    ({"contains": ["b", {"get_param": "list"}]}, True),
    ({"filter": [["a"], {"get_param": "list"}]}, ["b", "c"]),
    (
        {
            "make_url": {
                "scheme": "http",
                "host": "::1",
                "port": 80,
                "path": "a b",
                "query": {"q": "x&y"},
                "fragment": "f",
            }
        },
        "http://[::1]:80/a%20b?q=x%26y#f",
    ),
    ({"if": ["big", "yes", {"get_param": "nobody"}]}, "yes"),
    ({"if": ["small", 1, 2]}, 2),
    ({"if": [{"equals": [{"get_param": "text"}, "abc"]}, 1, 2]}, 1),
    ({"if": [{"and": ["big", {"not": "small"}]}, 1, 2]}, 1),
    ({"if": [{"or": ["small", {"equals": [1, 2]}]}, 1, 2]}, 2),
    ({"Fn::Select": [1, ["a", "b"]]}, "b"),
    ({"get_param": "text", "and": "more"}, {"get_param": "text", "and": "more"}),
    ({"plain": {"deep": [{"get_param": "yes"}]}}, {"plain": {"deep": [True]}}),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=[str(value)[:60] for value, _ in VALUES])
def test_value(world: World, value: Any, expected: Any) -> None:
    conditions = {"big": {"equals": [{"get_param": "yes"}, True]}, "small": {"not": "big"}}
    template = hot(
        {"value": {"type": "OS::Heat::Value", "properties": {"value": value}}},
        parameters=PARAMETERS,
        conditions=conditions,
        outputs={"out": {"value": {"get_attr": ["value", "value"]}}},
    )
    if isinstance(expected, type):
        with pytest.raises(expected):
            world.push(template, files={"a.txt": "content"})
        return
    if value == {"if": ["big", "yes", {"get_param": "nobody"}]}:
        with pytest.raises(TemplateInvalid, match="no parameter 'nobody'"):
            world.push(template)
        return
    assert world.push(template, files={"a.txt": "content"}).outputs["out"] == expected


ERRORS: list[tuple[Any, str]] = [
    ({"get_param": "txet"}, "no parameter 'txet', did you mean 'text'"),
    ({"get_param": []}, "get_param is written as"),
    ({"get_resource": "nobody"}, "no resource 'nobody'"),
    ({"get_resource": 3}, "get_resource is written as"),
    ({"get_attr": ["nobody", "x"]}, "no resource 'nobody'"),
    ({"get_attr": ["net", "nmae"]}, "no attribute 'nmae', did you mean 'name'"),
    ({"get_attr": "net"}, "get_attr is written as"),
    ({"get_file": "/etc/passwd"}, "no file '/etc/passwd' among the files sent"),
    ({"get_file": "../../etc/shadow"}, "among the files sent"),
    ({"get_file": "file:///etc/hostname"}, "among the files sent"),
    ({"resource_facade": "metadata"}, "resource_facade is not supported"),
    ({"str_replace": {"template": "x"}}, "str_replace is written as"),
    ({"str_replace": {"template": 3, "params": {}}}, "template of str_replace must be text"),
    ({"str_replace_strict": {"template": "x", "params": {"y": "1"}}}, "does not contain y"),
    ({"str_replace_vstrict": {"template": "x", "params": {"x": ""}}}, "nothing is given for x"),
    ({"list_join": [1, []]}, "delimiter of list_join must be text"),
    ({"list_join": [",", "abc"]}, "must be a list, not text"),
    ({"str_split": ["", "x"]}, "delimiter that is not empty"),
    ({"str_split": [",", "a", 7]}, "none with the index 7"),
    ({"repeat": {"template": 1}}, "repeat is written as"),
    ({"repeat": {"for_each": {"a": [1, 2], "b": [1]}, "template": 1, "permutations": False}}, "same length"),
    ({"digest": ["crc", "x"]}, "digest knows"),
    ({"map_merge": [1]}, "map_merge needs mappings"),
    ({"map_replace": [{"a": 1, "b": 2}, {"keys": {"a": "b"}}]}, "would be there twice"),
    ({"if": ["nobody", 1, 2]}, "no condition 'nobody'"),
    ({"if": [1, 2]}, "if is written as"),
    ({"make_url": {"hots": 1}}, "make_url takes"),
    ({"contains": ["a", 3]}, "must be a list"),
]


@pytest.mark.parametrize(("value", "text"), ERRORS, ids=[str(value)[:60] for value, _ in ERRORS])
def test_error_names_the_place_and_nothing_is_done(world: World, value: Any, text: str) -> None:
    template = hot(
        {"net": {"type": "OS::Neutron::Net"}, "bad": {"type": "OS::Heat::Value", "properties": {"value": value}}},
        parameters=PARAMETERS,
    )
    with pytest.raises(TemplateInvalid, match=text) as caught:
        world.push(template)
    assert "resources.bad" in str(caught.value)
    assert world.cloud.read_stack(OWNER, "", "stack") is None
    assert not world.driver.calls()


HOSTILE: list[Any] = [
    {"str_replace": {"template": "a" * 4000, "params": {"a": "b" * 100_000}}},
    {"repeat": {"for_each": {f"%{i}%": list(range(60)) for i in range(5)}, "template": "x"}},
    {"list_join": ["x" * 1_000_000, list(range(100))]},
    {"str_replace": {"template": "a" * 300_000, "params": {"a" * n + "b": "" for n in range(1, 300)}}},
    {
        "repeat": {
            "for_each": {"%i%": list(range(2000))},
            "template": {"repeat": {"for_each": {"%j%": list(range(2000))}, "template": "x"}},
        }
    },
]


@pytest.mark.parametrize("value", HOSTILE, ids=["replace", "permutations", "join", "search", "nested"])
def test_what_would_fill_the_memory_ends_with_its_name(world: World, value: Any) -> None:
    with pytest.raises(TemplateTooLarge, match="too much"):
        world.push(hot({"bomb": {"type": "OS::Heat::Value", "properties": {"value": value}}}))


class _Names:
    """A scope without names."""

    functions = HOT

    def __init__(self) -> None:
        self.meter = Meter()


@given(st.text(), st.dictionaries(st.text(min_size=1), st.text(), max_size=4))
def test_str_replace_without_its_keys_changes_nothing_and_counts_what_it_makes(
    text: str, params: dict[str, str]
) -> None:
    scope = _Names()
    result = resolve({"str_replace": {"template": text, "params": params}}, scope)  # type: ignore[arg-type]
    if not any(key in text for key in params):
        assert result == text
    assert len(result) <= len(text) + MOST_PRODUCED - scope.meter.left


@given(st.lists(st.text(alphabet="abc")), st.sampled_from([",", "--"]))
def test_splitting_what_was_joined_gives_the_list(items: list[str], delimiter: str) -> None:
    scope = _Names()
    joined = resolve({"list_join": [delimiter, items]}, scope)  # type: ignore[arg-type]
    assert resolve({"str_split": [delimiter, joined]}, scope) == (items or [""])  # type: ignore[arg-type]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet="xyz"), inner),
        max_leaves=20,
    )
)
def test_plain_values_stay_as_they_are(value: Any) -> None:
    assert resolve(value, _Names()) == value  # type: ignore[arg-type]
