"""Order, sections and fields of generated forms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.forms.world import WorldCatalog, describer
from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.fields import field_of
from vetro.forms.fill import Filler
from vetro.forms.generated import class_form, method_form, sections_of
from vetro.forms.keywords import flat
from vetro.forms.model import Choice, Field, Picker
from vetro.forms.objects import Objects
from vetro.muranopl.declarations.versions import allows

SHOP = describer().of("t.Shop")
assert SHOP is not None
FIELDS: dict[str, Field] = dict(SHOP.fields)


def test_sections_and_positions_order_the_form() -> None:
    assert SHOP is not None
    assert [(s.name, s.title, [f.name for f in s.fields]) for s in SHOP.sections] == [
        ("basics", "The basics", ["kind", "name"]),
        ("more", "more", ["tags"]),
        (
            "",
            "",
            ["host", "spare", "hosts", "friend", "byName", "settings", "pair", "zone", "label", "hidden", "token",
             "pattern", "free"],
        ),
    ]  # fmt: skip


def test_sections_without_index_and_undeclared_ones() -> None:
    schema = {
        "properties": {n: {"formSection": n} for n in ("zz", "late", "b", "a")}
        | {"none": {}, "null": {"formSection": None}},
        "formSections": {"late": {"title": "A late one"}, "a": {"title": "x", "index": 1}, "b": {"index": 0}},
    }
    assert [(s.name, s.title) for s in sections_of(schema)] == [
        ("b", "b"),
        ("a", "x"),
        ("late", "A late one"),
        ("zz", "zz"),
        ("", ""),
    ]


def test_kinds() -> None:
    assert {name: field.kind for name, field in FIELDS.items()} == {
        "name": "string", "kind": "choice", "host": "reference", "spare": "reference", "hosts": "list",
        "friend": "reference", "byName": "map", "settings": "map", "pair": "tuple", "tags": "list", "zone": "string",
        "label": "string", "hidden": "integer", "token": "object", "pattern": "reference", "free": "json",
    }  # fmt: skip


def test_texts_limits_and_defaults() -> None:
    name = FIELDS["name"]
    assert (name.label, name.required, name.nullable) == ("Name of the shop", True, False)
    assert name.constraints == {
        "regex": "^[A-Za-z ]+$",
        "pattern": "^[ A-Za-z]+(?=\\n?$)",
        "messages": {"pattern": "letters and blanks only"},
    }
    kind = FIELDS["kind"]
    assert (kind.initial, kind.required, kind.choices) == (
        "small",
        False,
        (Choice("small", "small"), Choice("large", "large")),
    )
    assert (FIELDS["label"].placeholder, FIELDS["label"].required, FIELDS["label"].initial) == ("$.name", False, None)
    assert FIELDS["tags"].constraints == {"minItems": 0, "maxItems": 3}
    assert FIELDS["hidden"].visible is False
    assert FIELDS["settings"].initial == {"a": 1}


def test_pickers() -> None:
    def picker(name: str) -> Picker:
        found = FIELDS[name].picker
        assert found is not None
        return found

    assert picker("host") == Picker("t.Host", "1", nullable=False)
    assert picker("friend").owned is False
    assert picker("pattern") == Picker("t.Host", "1", owned=True, excluded=("size",))
    assert picker("spare").contexts == ({"properties": {"size": {"exclusiveMinimum": 7}}},)
    items = FIELDS["hosts"].items
    assert items is not None and items.picker is not None and items.picker.owned is True


def test_a_template_does_not_ask_for_what_it_excludes() -> None:
    catalog = Describer(WorldCatalog())
    chosen = Filler(catalog).new_object(FIELDS["pattern"], "t.Host", "n")
    assert {f.name for s in chosen.sections for f in s.fields} == {"name", "password"}


def test_dotted_exclusions_reach_inner_objects() -> None:
    assert SHOP is not None
    inner = DescribedClass(SHOP.schema, excluded=("host.size", "name"))
    assert "name" not in inner.fields
    picker = inner.fields["host"].picker
    assert picker is not None and picker.excluded == ("size",)


def test_contexts_narrow_the_fields_of_a_new_object() -> None:
    catalog = Describer(WorldCatalog())
    chosen = Filler(catalog).new_object(FIELDS["spare"], "t.BigHost", "n")
    size = next(f for s in chosen.sections for f in s.fields if f.name == "size")
    assert size.constraints == {"exclusiveMinimum": 7}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer", "minimum": 1, "allOf": [{"minimum": 3, "message": "more!"}, {"maximum": 9}]},
         {"type": ["integer"], "minimum": 3, "maximum": 9, "messages": {"minimum": "more!"}}),
        ({"enum": [1, 2, 3], "allOf": [{"enum": [True, 2, 3.0]}]}, {"enum": [2, 3]}),
        ({"type": ["string", "null"], "pattern": "a", "allOf": [{"type": "string", "pattern": "b", "message": "m"}]},
         {"type": ["string"], "patterns": [("a", ""), ("b", "m")]}),
        ({"items": {"type": "integer"}, "allOf": [{"items": {"minimum": 1}}]},
         {"items": {"type": "integer", "allOf": [{"minimum": 1}]}}),
        ({"properties": {"a": {"minimum": 1}},
          "allOf": [{"properties": {"a": {"maximum": 2}, "b": {}}, "required": ["a"]}]},
         {"properties": {"a": {"minimum": 1, "allOf": [{"maximum": 2}]}, "b": {}}, "required": ["a"]}),
        ({"type": "number", "allOf": [{"type": ["integer", "null"]}]}, {"type": ["integer"]}),
    ],
)  # fmt: skip
def test_parts_are_taken_together(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert flat(schema) == expected


@pytest.mark.parametrize(
    ("schema", "initial", "required", "nullable"),
    [
        ({"type": "boolean"}, False, True, False),
        ({"type": ["boolean", "null"]}, None, False, True),
        ({"type": "string", "default": None}, None, True, False),
        ({"type": "string", "default": ""}, "", False, False),
        ({"type": ["string", "null"], "default": None}, None, False, True),
        ({"type": "array", "items": {}}, None, False, False),
        ({"type": "array", "items": {}, "minItems": 1}, None, True, False),
        ({"type": ["string", "null"], "enum": ["a"]}, None, True, False),
        ({"type": "string", "secret": True, "default": "x"}, None, False, False),
    ],
)
def test_what_must_be_answered(schema: dict[str, Any], initial: Any, required: bool, nullable: bool) -> None:
    field = field_of("a", schema)
    assert (field.initial, field.required, field.nullable) == (initial, required, nullable)


def test_choices_have_the_type_of_the_field() -> None:
    field = field_of("a", {"type": ["integer", "null"], "enum": [1, "1", 2.0, None]})
    assert [choice.value for choice in field.choices] == [1, 2.0]
    assert field.nullable


def test_the_form_of_a_method() -> None:
    form = method_form(WorldCatalog().schemas("t.Shop", ["rename"])["rename"])
    assert (form.title, form.source) == ("Rename", "method")
    assert [(f.name, f.required) for f in form.pages[0].fields()] == [("name", True), ("loudly", True)]
    assert form.schema is not None and form.schema["muranoMethod"]["name"] == "rename"


def test_a_form_is_plain_json() -> None:
    import json

    assert SHOP is not None
    form = class_form(SHOP.schema)
    assert json.loads(json.dumps(form.as_json())) == form.as_json()


def test_pickers_show_pages_of_objects_and_classes() -> None:
    world = describer()
    hosts = [{"?": {"type": "t.Host", "id": f"h{i}", "name": f"Host {i}"}} for i in range(5)]
    gone = {"?": {"type": "t.Gone", "id": "g"}}
    environment = {"?": {"type": "io.murano.Environment", "id": "e"}, "more": [*hosts, gone]}
    objects = Objects(environment, world)
    filler = Filler(world, objects, limit=2)
    picker = filler.picker(Picker("t.Host"))
    assert [c.label for c in picker.existing] == ["Host 0", "Host 1"] and picker.more_existing
    assert [c.value for c in picker.types] == ["t.BigHost/1.2.0@t", "t.Host/1.2.0@t"] and not picker.more_types
    assert [c.value for c in filler.existing(Picker("t.Host"), offset=4)[0]] == ["h4"]
    assert [c.value for c in filler.existing(Picker("t.Host"), search="host 3")[0]] == ["h3"]
    assert filler.existing(Picker("t.Host", "2"))[0] == []
    assert filler.types(Picker("t.Host"), search="big")[0] == [Choice("t.BigHost/1.2.0@t", "Big host")]
    assert filler.picker(Picker("t.Host", owned=True)).existing == ()
    assert filler.picker(Picker("t.Host", owned=False)).types == ()


@pytest.mark.parametrize(
    ("spec", "version", "expected"),
    [
        (None, "1.0.0", True),
        ("1", "1.5.0", True),
        ("1", "2.0.0", False),
        (">=1,<2", "1.2.0", True),
        ("bad spec", "1.0.0", False),
    ],
)
def test_versions(spec: str | None, version: str, expected: bool) -> None:
    assert allows(spec, version) is expected


def test_a_class_is_described_once() -> None:
    world = describer()
    assert world.of("t.Shop") is world.of("t.Shop")
    assert world.of("t.None") is None and world.of("t.None") is None
    assert world.catalog.asked == ["t.Shop", "t.None"]  # type: ignore[attr-defined]
    assert world.described("") is None


def test_the_form_of_a_server_begins_with_what_people_choose() -> None:
    server = describer().of("io.murano.resources.LinuxMuranoInstance")
    assert server is not None
    fields = [field for section in server.sections for field in section.fields]
    basic = [field.label for field in fields if field.level == "basic"]
    assert basic == ["Name of the server", "Size", "Image", "Key pair", "Reachable from outside"]
    assert {"checkApplicability", "blockDevices", "regionName"} <= {f.name for f in fields if f.level == "advanced"}
