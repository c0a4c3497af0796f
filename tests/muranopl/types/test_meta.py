"""Meta objects: what may be attached where, who inherits what, one object for each attachment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.muranopl.errors import ContractViolation
from vetro.muranopl.types.meta import InvalidMeta, MetaConflict, meta_of, meta_values
from vetro.muranopl.types.reflection import ArgumentInfo

TEXT = "Properties:\n  text: {Contract: $.string(), Default: dflt}\n"
META = {
    "M": f"Usage: Meta\n{TEXT}",
    "Many": f"Usage: Meta\nCardinality: Many\n{TEXT}",
    "Inh": f"Usage: Meta\nInherited: true\n{TEXT}",
    "InhMany": f"Usage: Meta\nCardinality: Many\nInherited: true\n{TEXT}",
    "OnMethods": f"Usage: Meta\nApplies: Method\n{TEXT}",
    "Plain": "Methods: {}\n",
}


def load(body: str, **more: Any) -> Host:
    host = Host()
    host.load(body, classes={**META, **more.pop("classes", {})}, **more)
    return host


def texts(host: Host, thing: Any) -> list[str]:
    return sorted(values["text"] for _, values in meta_values(host.session, thing))


def main(host: Host) -> Any:
    return host.session.types.find("t.Main")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Meta: Plain", "is no meta-class"),
        ("Meta: [M, M]", "attached twice"),
        ("Meta: OnMethods", "cannot be attached to a type"),
        ("Properties: {p: {Contract: $, Meta: OnMethods}}", "cannot be attached to a property"),
        ("Methods: {f: {Meta: [M: {text: a}, M: {text: b}], Body: }}", "attached twice"),
        (
            "Methods: {f: {Arguments: [{a: {Contract: $, Meta: OnMethods}}], Body: }}",
            "cannot be attached to an argument",
        ),
    ],
)
def test_refused_on_load(body: str, text: str) -> None:
    with pytest.raises(InvalidMeta, match=text) as caught:
        load(body)
    assert caught.value.kind == "value-error" and caught.value.position is not None


def test_every_place_can_carry_meta() -> None:
    host = load(
        "Meta: {M: {text: type}}\n"
        "Properties: {p: {Contract: $, Meta: {M: {text: property}}}}\n"
        "Methods:\n  f:\n    Meta: {M: {text: method}}\n"
        "    Arguments: [{a: {Contract: $, Meta: {M: {text: argument}}}}]\n    Body:\n",
        meta={"t.M": {"text": "package"}},
    )
    kind = main(host)
    method = kind.methods["f"]
    assert texts(host, kind) == ["type"]
    assert texts(host, kind.properties["p"]) == ["property"]
    assert texts(host, method) == ["method"]
    assert texts(host, kind.package) == ["package"]
    assert texts(host, ArgumentInfo(method, method.arguments[0])) == ["argument"]


def test_package_meta_is_checked_when_read() -> None:
    host = load("Methods: {}", meta={"t.OnMethods": None})
    with pytest.raises(InvalidMeta, match="cannot be attached to a package"):
        meta_of(host.session, main(host).package)


def test_values_are_checked_when_read_and_objects_made_once() -> None:
    host = load("Meta: [M, Bad: {n: abc}]", classes={"Bad": "Usage: Meta\nProperties: {n: {Contract: $.int()}}\n"})
    with pytest.raises(ContractViolation) as caught:
        meta_of(host.session, main(host))
    assert caught.value.location == "t.Bad.n"
    good = load("Meta: M")
    assert meta_of(good.session, main(good))[0] is meta_of(good.session, main(good))[0]
    assert texts(good, main(good)) == ["dflt"]


def test_expressions_in_values() -> None:
    host = load('Meta: {M: {text: !yaql "concat(a, b)"}}')
    assert texts(host, main(host)) == ["ab"]


def test_only_inherited_meta_is_handed_down() -> None:
    base = "Meta: [M: {text: own}, Inh: {text: handed}]\n"
    host = load("Extends: Base", classes={"Base": base})
    assert texts(host, main(host)) == ["handed"]


def test_the_nearest_one_replaces() -> None:
    host = load(
        "Extends: Mid", classes={"Base": "Meta: {Inh: {text: base}}", "Mid": "Extends: Base\nMeta: {Inh: {text: mid}}"}
    )
    assert texts(host, main(host)) == ["mid"]
    own = load("Extends: Base\nMeta: {Inh: {text: own}}", classes={"Base": "Meta: {Inh: {text: base}}"})
    assert texts(own, main(own)) == ["own"]


def test_many_accumulate() -> None:
    host = load(
        "Extends: [A, B]\nMeta: {InhMany: {text: main}}",
        classes={
            "Base": "Meta: {InhMany: {text: base}}",
            "A": "Extends: Base\nMeta: {InhMany: {text: a}}",
            "B": "Extends: Base\nMeta: {InhMany: {text: b}}",
        },
    )
    assert texts(host, main(host)) == ["a", "b", "base", "main"]


def test_different_ones_from_unrelated_parents_clash_when_read() -> None:
    host = load("Extends: [A, B]", classes={"A": "Meta: {Inh: {text: a}}", "B": "Meta: {Inh: {text: b}}"})
    with pytest.raises(MetaConflict, match=r"from t\.A, t\.B") as caught:
        meta_of(host.session, main(host))
    assert caught.value.kind == "value-error"


@pytest.mark.parametrize(("branch", "wanted"), [("Methods: {}", "base"), ("Meta: {Inh: {text: a}}", "a")])
def test_diamonds(branch: str, wanted: str) -> None:
    host = load(
        "Extends: [A, B]",
        classes={"Base": "Meta: {Inh: {text: base}}", "A": f"Extends: Base\n{branch}", "B": "Extends: Base\n"},
    )
    assert texts(host, main(host)) == [wanted]


def test_members_inherit_from_what_they_override_but_arguments_do_not() -> None:
    members = (
        "Properties: {p: {Contract: $, Meta: {Inh: {text: p}}}}\n"
        "Methods: {f: {Meta: {Inh: {text: f}}, Arguments: [{a: {Contract: $, Meta: {Inh: {text: a}}}}], Body: }}\n"
    )
    host = load(
        "Extends: Base\nProperties: {p: {Contract: $}}\nMethods: {f: {Arguments: [{a: {Contract: $}}], Body: }}",
        classes={"Base": members},
    )
    kind = main(host)
    method = kind.methods["f"]
    assert texts(host, kind.properties["p"]) == ["p"]
    assert texts(host, method) == ["f"]
    assert texts(host, ArgumentInfo(method, method.arguments[0])) == []


def test_position_has_a_second_name() -> None:
    host = load("Properties: {p: {Contract: $, Meta: {m:Position: {index: 2}}}}")
    (found,) = meta_of(host.session, main(host).properties["p"])
    assert found._type.name == "io.murano.metadata.forms.Position"
    assert host.session.types.find("io.murano.metadata.Position") is found._type
