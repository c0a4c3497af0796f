"""Object model -> form -> object model: the same, to the last key; one changed answer changes one value."""

from __future__ import annotations

import copy
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forms.world import describer
from tests.support.fuzzing import examples
from vetro.forms.answers import Merger, SecretNotKept, answers_of, object_answers
from vetro.forms.fill import ENTRIES, Filler
from vetro.forms.objects import Objects
from vetro.model.paths import at, steps_of

DESCRIBER = describer()
SHOP = DESCRIBER.of("t.Shop")
assert SHOP is not None

TEXT = st.text(max_size=4)
IDS = count()
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.one_of(st.none(), TEXT),
        "_24x": st.dictionaries(TEXT, st.integers(), max_size=2),
        "metadata": st.dictionaries(TEXT, TEXT, max_size=1),
        "later": st.booleans(),
    },
)


def of_class(name: str, fields: dict[str, Any], typed: bool = True) -> st.SearchStrategy[Any]:
    written = st.sampled_from([f"t.{name}", f"t.{name}/1.2.0", f"t.{name}/1.2.0@t"])

    def build(header: dict[str, Any], type_: str, values: dict[str, Any], order: int) -> dict[str, Any]:
        head = {"?": {"type": type_, "id": f"o{next(IDS)}", **header}}
        items = list(values.items())
        items = items[order % (len(items) + 1) :] + items[: order % (len(items) + 1)]
        return {**head, **dict(items)}

    return st.builds(
        build, HEADERS, written, st.fixed_dictionaries({}, optional={**fields, "unknown": TEXT}), st.integers(0, 9)
    )


HOST = {"name": TEXT, "size": st.integers(1, 9), "password": st.one_of(st.none(), TEXT), "address": TEXT}
DISK = st.fixed_dictionaries({"size": st.integers()}, optional={"label": st.one_of(st.none(), TEXT), "junk": TEXT})
UNTYPED = st.fixed_dictionaries({"name": TEXT}, optional={"size": st.integers(1, 9), "password": TEXT})
PLAIN_HOST = of_class("Host", HOST)
BIG = of_class("BigHost", {**HOST, "disks": st.lists(DISK, max_size=2), "peers": st.lists(PLAIN_HOST, max_size=2)})
LOST = of_class("Gone", {"what": st.integers()})
HOSTS = st.one_of(PLAIN_HOST, BIG, UNTYPED, LOST, st.just("some-id"))
MAYBE = st.one_of(st.none(), HOSTS)
SHOPS = of_class(
    "Shop",
    {
        "name": TEXT,
        "kind": st.sampled_from(["small", "large", None]),
        "host": HOSTS,
        "spare": MAYBE,
        "hosts": st.lists(HOSTS, max_size=3),
        "friend": st.one_of(st.none(), st.just("other-shop")),
        "byName": st.dictionaries(TEXT, MAYBE, max_size=2),
        "settings": st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.integers(), max_size=4),
        "pair": st.lists(st.integers(), max_size=3),
        "tags": st.lists(TEXT, max_size=2),
        "zone": TEXT,
        "label": TEXT,
        "hidden": st.integers(),
        "token": st.one_of(st.none(), st.dictionaries(st.sampled_from(["user", "key"]), TEXT)),
        "pattern": st.one_of(st.none(), of_class("Host", HOST)),
        "free": st.recursive(
            st.integers() | TEXT, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner)
        ),
    },
)


def ordered(value: Any) -> Any:
    """Equality that sees the order of keys, too."""
    if isinstance(value, dict):
        return [(key, ordered(part)) for key, part in value.items()]
    return [ordered(part) for part in value] if isinstance(value, list) else value


def merger() -> Merger:
    made = count()
    return Merger(DESCRIBER, lambda: f"new{next(made)}")


def opened(stored: dict[str, Any]) -> dict[str, Any]:
    assert SHOP is not None
    return object_answers(Filler(DESCRIBER).form(SHOP, stored), stored)


def saved(stored: dict[str, Any] | None, answers: dict[str, Any]) -> dict[str, Any]:
    assert SHOP is not None
    return merger().merge(SHOP, stored, answers)


@settings(max_examples=examples(100), deadline=None)
@given(SHOPS)
def test_opening_and_saving_changes_nothing(stored: dict[str, Any]) -> None:
    before = copy.deepcopy(stored)
    assert ordered(saved(stored, opened(stored))) == ordered(before)
    assert stored == before


@settings(max_examples=examples(100), deadline=None)
@given(SHOPS, st.data())
def test_changing_one_answer_changes_that_value_only(stored: dict[str, Any], data: st.DataObject) -> None:
    answers = opened(stored)
    leaves = [path for path in leaf_paths(answers) if "?" not in steps_of(path)]
    if not leaves:
        return
    path = data.draw(st.sampled_from(leaves))
    changed = copy.deepcopy(answers)
    put(changed, path, "changed!")
    expected = copy.deepcopy(stored)
    put(expected, path, "changed!")
    assert saved(stored, changed) == expected


def leaf_paths(value: Any, path: str = "") -> list[str]:
    if isinstance(value, dict) and value.keys() != {"secret", "at"}:
        return [p for key, part in value.items() for p in leaf_paths(part, f"{path}/{escaped(key)}")]
    if isinstance(value, list):
        return [p for i, part in enumerate(value) for p in leaf_paths(part, f"{path}/{i}")]
    return [path]


def escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def put(value: Any, path: str, leaf: Any) -> None:
    *way, last = steps_of(path)
    for step in way:
        value = value[int(step)] if isinstance(value, list) else value[step]
    value[int(last) if isinstance(value, list) else last] = leaf


@settings(max_examples=examples(60), deadline=None)
@given(SHOPS)
def test_no_secret_is_in_a_form(stored: dict[str, Any]) -> None:
    assert SHOP is not None
    marked = mark_secrets(copy.deepcopy(stored))
    objects = Objects({"?": {"type": "io.murano.Environment", "id": "env"}, "applications": [marked]}, DESCRIBER)
    form = Filler(DESCRIBER, objects).form(SHOP, marked)
    assert "CANARY" not in repr(form.as_json())
    assert "CANARY" not in repr(answers_of(form))


def mark_secrets(value: Any) -> Any:
    """Every value of a secret property made recognisable."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in ("password", "token") and part is not None:
                value[key] = "CANARY" if key == "password" else {"user": "CANARY", "key": "CANARY"}
            elif key not in ("free", "?"):
                mark_secrets(part)
    elif isinstance(value, list):
        for part in value:
            mark_secrets(part)
    return value


HOSTED = {
    "?": {"type": "t.Shop", "id": "s"},
    "name": "Shop",
    "host": {"?": {"type": "t.Host", "id": "h"}, "name": "h", "password": "pw"},
    "hosts": [
        {"?": {"type": "t.Host", "id": "h1"}, "name": "one", "password": "first"},
        {"?": {"type": "t.Host", "id": "h2"}, "name": "two", "password": "second"},
    ],
    "token": {"user": "u", "key": "k"},
}


def test_secrets_travel_with_their_object_when_a_list_is_rearranged() -> None:
    answers = opened(HOSTED)
    answers["hosts"].reverse()
    assert saved(HOSTED, answers)["hosts"] == HOSTED["hosts"][::-1]  # type: ignore[index]


def test_a_new_secret_replaces_the_stored_one_and_null_removes_it() -> None:
    answers = opened(HOSTED)
    answers["token"] = {"user": "me"}
    answers["host"]["password"] = None
    result = saved(HOSTED, answers)
    assert result["token"] == {"user": "me"}
    assert result["host"]["password"] is None


def test_a_marker_without_stored_secret_is_refused() -> None:
    with pytest.raises(SecretNotKept, match="/token"):
        saved(None, {"name": "x", "token": {"secret": "kept"}})
    answers = opened(HOSTED)
    answers["host"] = {"?": {"type": "t.Host", "id": "stranger"}, "password": {"secret": "kept", "at": "/password"}}
    with pytest.raises(SecretNotKept):
        saved(HOSTED, answers)


def test_new_objects_get_ids_and_the_class_that_was_picked() -> None:
    made = saved(
        None, {"name": "x", "host": {"?": {"type": "t.BigHost/1.2.0@t"}, "name": "h"}, "hosts": [{"name": "i"}]}
    )
    assert made == {
        "?": {"type": "t.Shop/1.2.0@t", "id": "new0"},
        "name": "x",
        "host": {"?": {"type": "t.BigHost/1.2.0@t", "id": "new1"}, "name": "h"},
        "hosts": [{"?": {"type": "t.Host/1.2.0@t", "id": "new2"}, "name": "i"}],
    }


def test_defaults_and_empty_answers_are_not_written() -> None:
    made = saved(None, {"name": "x", "kind": "small", "spare": None, "tags": [], "settings": {"a": 1}, "hidden": None})
    assert made.keys() == {"?", "name"}


def test_what_is_not_answered_stays() -> None:
    assert saved(HOSTED, {"name": "Other"}) == {**HOSTED, "name": "Other"}


def test_an_object_of_another_class_is_another_object() -> None:
    answers = opened(HOSTED)
    answers["host"] = {"?": {"type": "t.BigHost", "id": "h"}, "name": "h"}
    result = saved(HOSTED, answers)["host"]
    assert result["?"]["id"] != "h"
    assert "password" not in result


def test_another_version_of_the_class_is_the_same_object() -> None:
    answers = opened(HOSTED)
    answers["?"]["type"] = "t.Shop/1.3.0@t"
    assert saved(HOSTED, answers) == {**HOSTED, "?": {"type": "t.Shop/1.3.0@t", "id": "s"}}


def test_constants_stay_once_deployed() -> None:
    assert SHOP is not None
    stored = {**HOSTED, "zone": "a"}
    answers = {**opened(stored), "zone": "b"}
    assert saved(stored, answers)["zone"] == "b"
    assert Merger(DESCRIBER, str, fixed=lambda id: id == "s").merge(SHOP, stored, answers)["zone"] == "a"
    form = Filler(DESCRIBER, deployed=lambda id: id == "s").form(SHOP, stored)
    assert {f.name for f in form.pages[0].fields() if f.read_only} == {"zone"}


def test_items_and_entries_are_fields_at_their_pointers() -> None:
    assert SHOP is not None
    stored = {**HOSTED, "settings": {"z": 3, "a": 1}, "pair": ["x", 1, 2]}
    fields = {f.name: f for f in Filler(DESCRIBER).form(SHOP, stored).pages[0].fields()}
    assert [f.name for s in fields["hosts"].sections for f in s.fields] == ["0", "1"]
    assert [(f.name, f.kind, f.value) for s in fields["pair"].sections for f in s.fields] == [
        ("0", "string", "x"),
        ("1", "integer", 1),
        ("2", "integer", 2),
    ]
    settings_ = fields["settings"]
    assert [(s.name, [f.name for f in s.fields]) for s in settings_.sections] == [("", ["a", "b"]), (ENTRIES, ["z"])]
    assert at(settings_.value, "/z") == 3


def test_a_class_that_is_gone_is_shown_by_its_header_only() -> None:
    assert SHOP is not None
    stored = {**HOSTED, "host": {"?": {"type": "t.Gone", "id": "g", "secret": 1}, "password": "pw"}}
    field = {f.name: f for f in Filler(DESCRIBER).form(SHOP, stored).pages[0].fields()}["host"]
    assert field.value == {"?": {"type": "t.Gone", "id": "g"}}
    assert not field.sections


def test_nested_classes_are_described_when_they_are_chosen() -> None:
    fresh = describer()
    shop = fresh.of("t.Shop")
    assert shop is not None
    asked = fresh.catalog.asked  # type: ignore[attr-defined]
    filler = Filler(fresh)
    form = filler.form(shop, {})
    assert asked == ["t.Shop"]
    host = next(f for f in form.pages[0].fields() if f.name == "host")
    assert not host.sections
    chosen = filler.new_object(host, "t.BigHost/1.2.0@t", "n")
    assert asked == ["t.Shop", "t.BigHost"]
    assert {f.name for s in chosen.sections for f in s.fields} == {"name", "size", "password", "disks", "peers"}
