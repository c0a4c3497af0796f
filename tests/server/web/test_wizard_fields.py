"""Names and texts of inputs become answers; fields of the form model become inputs whose texts read back the same."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.http import QueryDict

from tests.server.web.pagekit import Page
from vetro.forms.model import Choice, Field, Picker, Section
from vetro.forms.model import Page as FormPage
from vetro.forms.vocabulary import patterns_of
from vetro.server.errors import Invalid
from vetro.server.web.views.wizard.attributes import attributes_of
from vetro.server.web.views.wizard.control import top
from vetro.server.web.views.wizard.controls import groups_of
from vetro.server.web.views.wizard.defaults import with_default
from vetro.server.web.views.wizard.input import changed, read
from vetro.server.web.views.wizard.names import element_id


def sent(**pairs: Any) -> QueryDict:
    """What a browser posts; names with ``__`` for dots."""
    made = QueryDict(mutable=True)
    for name, value in pairs.items():
        made.setlist(name.replace("__", "."), value if isinstance(value, list) else [value])
    return made


@pytest.mark.parametrize(
    ("name", "text", "answer"),
    [
        ("s.a", "x", {"a": "x"}),
        ("s.a", "", {"a": ""}),
        ("s?.a", "", {"a": None}),
        ("s!.a", "", {}),
        ("s.a", "two\r\nlines", {"a": "two\nlines"}),
        ("i.a", " 7 ", {"a": 7}),
        ("i!.a", "7x", {"a": "7x"}),
        ("i?.a", "", {"a": None}),
        ("n.a", "1.5", {"a": 1.5}),
        ("b.a", "true", {"a": True}),
        ("b?.a", "", {"a": None}),
        ("c.a", '"5"', {"a": "5"}),
        ("c.a", "5", {"a": 5}),
        ("c?.a", "", {"a": None}),
        ("j.a", '{"b": [1]}', {"a": {"b": [1]}}),
        ("j.a", "{broken", {"a": "{broken"}),
        ("r?.a", "=1a", {"a": "1a"}),
        ("r?.a", "", {"a": None}),
        ("r!.a", "", {}),
        ("r.a", "+C/1.0.0@p", {"a": {"?": {"type": "C/1.0.0@p"}}}),
        ("t.a", "007", {"a": "007"}),
        ("l.a", "set", {"a": []}),
        ("l.a", "null", {"a": None}),
        ("l.a", "", {}),
        ("m.a", "set", {"a": {}}),
        ("s.a~1b", "x", {"a/b": "x"}),
        ("unknown", "x", {}),
        ("csrfmiddlewaretoken", "x", {}),
        ("s<.a", "x", {}),
    ],
)
def test_one_input(name: str, text: str, answer: dict[str, Any]) -> None:
    assert read(sent(**{name: text})).answers == answer


def test_nested_inputs() -> None:
    told = read(
        sent(
            **{
                "l.hosts": ["set", "1", "0"],
                "o.hosts/0": '{"type": "H", "id": "a"}',
                "r.hosts/0": ".",
                "s.hosts/0/name": "zero",
                "r.hosts/1": "=b",
                "m.map": ["set", "+0", "+1", "+2"],
                "x.map/+0": "k",
                "i.map/+0": "1",
                "x.map/+1": "k",
                "i.map/+1": "2",
                "x.map/+2": "",
                "i?.map/+2": "",
                "s.map/own": "fixed",
            }
        ),
        final=True,
    )
    assert told.answers == {
        "hosts": ["b", {"?": {"type": "H", "id": "a"}, "name": "zero"}],
        "map": {"own": "fixed", "k": 1, "k 2": 2},
    }
    assert [(p.place, p.code) for p in told.problems] == [("/map", "unique")] and not told.picked
    # Buttons name items as the page did, in whatever order they came.
    assert changed(told, "remove", "hosts/1", None)["hosts"][0]["name"] == "zero"
    assert changed(told, "remove", "map/+0", None)["map"] == {"own": "fixed", "k 2": 2}
    assert changed(told, "add", "map", {"key": ""})["map"][""] == ""
    for place in ("hosts/7", "nothing/0", "hosts/0/name/0"):
        with pytest.raises(Invalid, match="not there any more"):
            changed(told, "remove", place, None)
    with pytest.raises(Invalid, match="nested too deeply"):
        read(sent(**{"s." + "a/" * 200: "x"}))


@pytest.mark.parametrize(
    ("more", "answer"),
    [
        ({"s?.pin": ""}, {"pin": {"secret": "kept", "at": "/pin"}}),
        ({"s?.pin": "new"}, {"pin": "new"}),
        ({"s?.pin": "", "z.pin": "1"}, {"pin": None}),
        ({"t.pin": "", "z.pin": "1"}, {"pin": ""}),
        ({"s?.pin": "", "k.pin": '{"secret": "other"}'}, {}),
    ],
)
def test_secrets_stay_until_something_is_typed(more: dict[str, str], answer: dict[str, Any]) -> None:
    assert read(sent(**{"k.pin": '{"secret": "kept", "at": "/pin"}', **more})).answers == answer


def rendered(*fields: Field, plain: bool = False) -> Page:
    """A page with the fields."""
    from django.http import HttpResponse
    from django.template.loader import get_template

    groups = groups_of(FormPage("p", "", (Section(fields=fields),)), plain=plain)
    template = get_template("web/fields/group.html")
    text = "".join(template.render({"group": group}) for group in groups)
    return Page(None, HttpResponse(f'<form id="form">{text}</form>'), "")  # type: ignore[arg-type]


FIELDS = (
    Field("text", "string", "T", value='<&"\n', answered=True),
    Field("long", "text", "L", value="\na\n", answered=True),
    Field("number", "number", "N", value=0.5, answered=True),
    Field("yes", "boolean", "Y", value=True, answered=True),
    Field("maybe", "boolean", "M", nullable=True, value=None, answered=True),
    Field("five", "choice", "F", value=5, answered=True, choices=(Choice("5", "text"), Choice(5, "number"))),
    Field("gone", "choice", "G", value="old", answered=True, choices=(Choice("new", "New"),)),
    Field("any", "json", "A", value={"a": ["</textarea>"]}, answered=True),
    Field("list", "list", "I", initial=[1, 2], items=Field("", "integer", "")),
    Field("map", "map", "M", initial={"a": {"b": "c"}}, items=Field("", "map", "", items=Field("", "string", ""))),
    Field(
        "host",
        "reference",
        "H",
        picker=Picker("H", existing=(Choice("1", "One"),), types=(Choice("H", "Host"),)),
        value={"?": {"type": "H", "id": "2"}, "name": "x"},
        answered=True,
        sections=(Section(fields=(Field("name", "string", "N", value="x", answered=True),)),),
    ),
    Field("pin", "string", "P", secret=True, value={"secret": "kept", "at": "/pin"}, answered=True),
)


def test_what_is_shown_reads_back_the_same() -> None:
    page = rendered(*FIELDS)
    data = QueryDict(mutable=True)
    for name, values in page.inputs().items():
        data.setlist(name, values)
    wanted = {f.name: f.value if f.answered else f.initial for f in FIELDS}
    assert read(data).answers == {**wanted, "text": '<&"\n'}
    assert "</textarea></textarea>" not in page.text and "&lt;/textarea&gt;" in page.text


def test_definitions_take_texts() -> None:
    page = rendered(
        *FIELDS[:2], FIELDS[3], Field("off", "integer", "O", value=3, answered=True, enabled=False), plain=True
    )
    assert page.inputs() == {
        "t.text": ['<&"\n'],
        "t.long": ["\na\n"],
        "b.yes": ["false", "true"],
        "t.off": ["3"],
    }
    assert " readonly" in page.text


def test_marks_change_with_what_is_shown_and_not_with_what_is_typed() -> None:
    def mark(**more: Any) -> str:
        item = Field(**{"name": "a", "kind": "choice", "label": "A", "choices": (Choice("x", "X"),), **more})
        (control,) = top(groups_of(FormPage("p", "", (Section(fields=(item,)),)), plain=True))
        return control.mark

    assert mark() == mark(value="x", answered=True)
    assert len({mark(), mark(label="B"), mark(choices=(Choice("x", "Y"),)), mark(enabled=False), mark(help="h")}) == 5


def test_attributes_of_authors_do_no_harm() -> None:
    wild = {
        "onclick": "x", "style": "x", "id": "x", "name": "x", "form": "x", "formaction": "x", "data-hx-get": "/",
        "title": 'a"b',
        "data-v-open": "x",
        "data-own": "1", "data-confirm": "x",
    }  # fmt: skip
    limits = {"minLength": 2, "maxLength": 5, **patterns_of([("^a", "m"), (r"(a)\1", "only the server")])}
    made = str(attributes_of(Field("a", "string", "A", attributes=wild, constraints=limits, required=True), "f-a"))
    assert set(re.findall(r"([a-z-]+)=", made)) == {
        "title", "data-own", "required", "data-v-schema",
    }  # fmt: skip
    assert "a&quot;b" in made and json.dumps({"pattern": "m"}).replace('"', "&quot;") in made
    assert "only the server" in made and "regex" not in made


def test_ids_tell_all_paths_apart() -> None:
    paths = ["/a/b", "/a~1b", "/a-b", "/a_b", "/a b", "/a.b", "/ä", "/a/", "/_2d_"]
    assert len({element_id(path) for path in paths}) == len(paths)
    assert all(re.fullmatch(r"f-[A-Za-z0-9_-]*", element_id(path)) for path in paths)


def test_defaults_of_scalars_are_left_to_the_input() -> None:
    item = Field("a", "integer", "A", initial=3)
    assert with_default(item) is item
    tuple_ = Field(
        "t", "tuple", "T", initial=["x", 1], leading=(Field("", "string", "First"),), items=Field("", "integer", "")
    )
    (section,) = with_default(tuple_).sections
    assert [(f.name, f.label, f.value) for f in section.fields] == [("0", "First", "x"), ("1", "2", 1)]


def test_choices_stand_by_rank_with_what_is_said_beside_them() -> None:
    """Flavors of an author's form: by name in the definition's own order, by size for people."""
    offered = (
        Choice("4", "large", note="4 processors", rank=2),
        Choice("3", "medium", note="2 processors", rank=1),
        Choice("1", "tiny", rank=0),
    )
    field = Field("size", "choice", "Size", value="3", answered=True, choices=offered)
    (control,) = top(groups_of(FormPage("p", "", (Section(fields=(field,)),)), plain=True))
    options = [(o.value, o.label, o.selected) for _, rows in control.options for o in rows]
    assert options == [("1", "tiny", False), ("3", "medium: 2 processors", True), ("4", "large: 4 processors", False)]
