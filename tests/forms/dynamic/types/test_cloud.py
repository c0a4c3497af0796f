from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dynamic_ui.fakes import CLOUD, FakeCatalog, FakeCloud
from tests.forms.dynamic.making import PACKAGE, Session, cleaned, definition
from vetro.forms.dynamic import BadAttribute, ChoicesUnavailable, Surroundings, Wizard, load


def offered(field: str, **changes: Any) -> list[Any]:
    found = Session(definition(f"name: a, {field}"), **changes).field("a")
    return [[c.value, c.label] if not c.disabled else [c.value, c.label, "disabled"] for c in found.choices]


def image(ident: str, **marks: Any) -> dict[str, Any]:
    return {"id": ident, "name": f"name-{ident}", "status": "active", "murano": json.dumps(marks)}


def test_flavor_initial_may_be_a_name() -> None:
    assert Session(definition("name: a, type: flavor, initial: m1.small")).field("a").initial == "2"
    assert Session(definition("name: a, type: flavor, initial: gone")).field("a").initial == "3"


def test_flavor_limits() -> None:
    assert offered("type: flavor, requirements: {max_disk: 1, maxVcpus: '1'}") == [["1", "m1.tiny"]]
    text = definition("name: a, type: flavor, requirements: {min_vcpus: $n}", sections="Parameters: {n: 16}")
    assert [c.label for c in Session(text).field("a").choices] == ["c1.huge"]
    with pytest.raises(BadAttribute, match="requirements must be a whole number"):
        load(definition("name: a, type: flavor, requirements: {min_vcpus: many}"))


def test_flavor_that_is_switched_off_keeps_its_name() -> None:
    assert cleaned("type: flavor, enabled: false", "2") == "m1.small"
    assert cleaned("type: flavor, enabled: false", "nonsense") == "nonsense"


def test_image_without_type_never_matches_one() -> None:
    cloud = {"images": [image("i1", title="A"), image("i2", title="B", type="linux.x"), image("i3", title="C", type=5)]}
    assert offered("type: image, imageType: linux", cloud=cloud) == [["i2", "B"]]
    assert offered("type: image", cloud=cloud)[1:] == [["i1", "A"], ["i2", "B"], ["i3", "C"]]


@pytest.mark.parametrize("marks", ["{oops", "[1]", "5", "[" * 5000])
def test_images_with_broken_marks_are_skipped_with_a_notice(marks: str) -> None:
    cloud = {"images": [{"id": "i", "name": "n", "status": "active", "murano": marks}]}
    session = Session(definition("name: a, type: image"), cloud=cloud)
    assert [(p.code, p.message) for p in session.page().problems] == [("notice", "Invalid murano image metadata")]
    assert session.field("a").choices[0].label == "No images available"


def test_zones_and_volumes() -> None:
    assert offered("type: zone") == [
        ["", "No DNS zone"],
        ["corp.example.", "corp.example."],
        ["example.org.", "example.org."],
    ]
    assert offered("type: volume, includeVolumes: false") == [["", "Select volume"], ["snap-1", "data-snap"]]


def test_region_of_a_form() -> None:
    asked: list[str | None] = []

    class Cloud(FakeCloud):
        def keypairs(self, region: str | None) -> list[str]:
            asked.append(region)
            return [f"key-{region}"]

    text = definition("name: a, type: keypair", "name: b, type: keypair", sections="Parameters: {r: Two}")
    text = text.replace("  - main:\n", "  - main:\n      region: $r\n")
    wizard = Wizard(load(text), Surroundings(PACKAGE, Cloud(CLOUD), FakeCatalog(CLOUD)))
    page = wizard.page(wizard.start())
    assert [f.initial for f in page.fields()] == ["key-Two", "key-Two"]
    assert asked == ["Two"]


class Broken(FakeCloud):
    def keypairs(self, region: str | None) -> list[str]:
        raise ChoicesUnavailable("no connection to 10.0.0.1")

    networks = keypairs  # type: ignore[assignment]


@pytest.mark.parametrize("kind", ["keypair", "network"])
def test_a_cloud_that_does_not_answer_breaks_one_field_only(kind: str) -> None:
    text = definition(f"name: a, type: {kind}", "name: b, type: string")
    wizard = Wizard(load(text), Surroundings(PACKAGE, Broken(CLOUD), FakeCatalog(CLOUD)))
    state = wizard.start()
    first, second = wizard.page(state).fields()
    assert [p.code for p in first.problems] == ["unavailable"] and not second.problems
    assert "10.0.0.1" not in first.problems[0].message
    outcome = wizard.submit(state, {"a": "ops-key" if kind == "keypair" else ["net-a", None], "b": "x"})
    assert outcome.errors == {"a": [ChoicesUnavailable.civil]}
    assert wizard.submit(state, {"b": "x"}).errors.keys() == {"a"}
