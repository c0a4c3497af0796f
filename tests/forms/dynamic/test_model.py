from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.dynamic_ui.fakes import CLOUD, FakeCatalog, FakeCloud
from tests.forms.dynamic.making import PACKAGE, Session, definition
from vetro.forms.dynamic import ChoicesUnavailable, Surroundings, Wizard, load
from vetro.forms.dynamic.model import DISPLAY, with_ids_of


def made(application: str, sections: str = "") -> dict[str, Any]:
    session = Session(definition(application=application, sections=sections))
    session.send()
    return session.model()


def test_literal_ids_are_replaced_everywhere_but_in_headers() -> None:
    found = made("a: {'?': {type: a.A, id: mine, deep: {'?': {id: kept}}}}\nb: {'?': text}")
    assert found["a"]["?"]["id"] != "mine"
    assert found["a"]["?"]["deep"] == {"?": {"id": "kept"}}
    assert found["b"] == {"?": "text"}
    assert found["?"][DISPLAY] == {"name": "App"}
    assert found["?"]["resourceUsages"] == {"RegionOne": {"ram": 0, "vcpus": 0, "instances": 0}}


def test_values_are_json() -> None:
    found = made("a: !yaql 'set(1, 2)'\nb: {1: x, true: y, null: z}\nc: now()\nd: 2015-01-01")
    assert (found["a"], found["b"], found["d"]) == ([1, 2], {"1": "y", "null": "z"}, "2015-01-01")
    assert found["c"].startswith("2023-11-14T22:13:20")


def test_usage_is_left_out_when_the_cloud_does_not_answer() -> None:
    class Forgetful(FakeCloud):
        silent = False

        def flavors(self, region: str | None) -> Any:
            if self.silent:
                raise ChoicesUnavailable("down")
            return super().flavors(region)

    cloud = Forgetful(CLOUD)
    wizard = Wizard(load(definition("name: flavor, type: flavor")), Surroundings(PACKAGE, cloud, FakeCatalog(CLOUD)))
    state = wizard.submit(wizard.start(), {"flavor": "4"}).state
    state = wizard.submit(state, {"application_name": "app"}).state
    assert wizard.model(state)["?"]["resourceUsages"] == {"RegionOne": {"ram": 8192, "vcpus": 4, "instances": 1}}
    cloud.silent = True
    assert "resourceUsages" not in wizard.model(state)["?"]


def test_ids_follow_the_stored_object() -> None:
    old = {
        "?": {"type": "a.A/1.0@a.A", "id": "root"},
        "x": {"?": {"type": "a.X", "id": "x1"}},
        "list": [{"?": {"type": "a.Y", "id": "y1"}}, {"?": {"type": "a.Z", "id": "z1"}}],
        "gone": {"?": {"type": "a.G", "id": "g1"}},
    }
    new = {
        "?": {"type": "a.A", "id": "n0"},
        "x": {"?": {"type": "a.X", "id": "n1"}, "peer": "n2"},
        "list": [{"?": {"type": "a.Y", "id": "n2"}}, {"?": {"type": "a.Other", "id": "n3"}}, "n1"],
    }
    found = with_ids_of(new, old)
    assert found == {
        "?": {"type": "a.A", "id": "root"},
        "x": {"?": {"type": "a.X", "id": "x1"}, "peer": "y1"},
        "list": [{"?": {"type": "a.Y", "id": "y1"}}, {"?": {"type": "a.Other", "id": "n3"}}, "x1"],
    }


headers = st.fixed_dictionaries({"type": st.sampled_from(["t.A", "t.B"]), "id": st.uuids().map(str)})
trees = st.recursive(
    st.none() | st.text(max_size=3) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.fixed_dictionaries({"?": headers})
    ),
    max_leaves=12,
)


@given(trees)
def test_same_model_gets_the_same_ids(tree: Any) -> None:
    count = iter(range(10_000))

    def renumber(value: Any) -> Any:
        if isinstance(value, dict):
            found = {key: renumber(item) for key, item in value.items()}
            if isinstance(found.get("?"), dict):
                found["?"]["id"] = f"new-{next(count)}"
            return found
        return [renumber(item) for item in value] if isinstance(value, list) else value

    model = {"?": {"type": "t.Root", "id": "root"}, "v": tree}
    assert with_ids_of(renumber(model), model) == model
