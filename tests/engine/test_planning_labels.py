"""What resources and scripts of a plan are called for people."""

from __future__ import annotations

from vetro.engine.planning.labels import Labels

NET, OTHER, SHOP = "a" * 32, "b" * 32, "c" * 32
ROOT = {
    "?": {"id": "root", "type": "io.murano.Environment"},
    "network": {"?": {"id": NET, "type": "io.murano.resources.NeutronNetwork"}, "name": "street"},
    "second": {"?": {"id": OTHER, "type": "io.murano.resources.NeutronNetwork"}, "name": "street"},
    "applications": [{"?": {"id": SHOP, "type": "test.Shop"}}],
}


def resource(name: str, type: str = "OS::Neutron::Net") -> dict[str, str]:
    return {"name": name, "type": type}


def test_ids_of_objects_are_their_names_else_their_classes() -> None:
    labels = Labels(ROOT)
    told = labels.resources([resource(f"net-{NET}-0"), resource(SHOP, "OS::Neutron::SecurityGroup"), resource("web")])
    assert [item.get("label") for item in told] == ["net-street-0", "Shop", None]
    assert [item["name"] for item in told] == [f"net-{NET}-0", SHOP, "web"]
    assert labels.script({"plan": f"Drop shop_{SHOP}"})["label"] == "Drop shop_Shop"
    assert "label" not in labels.script({"plan": "Drop it"})


def test_what_would_be_called_alike_keeps_its_name_and_other_digits_stay() -> None:
    labels = Labels(None, ROOT)
    told = labels.resources(
        [resource(f"net-{NET}"), resource(f"net-{OTHER}"), resource(f"net-{NET}", "OS::Neutron::X")]
    )
    assert [item.get("label") for item in told] == [None, None, "net-street"]
    for text in ("f" * 32, NET + "0", "x" + NET[:31]):
        assert labels.text(text) == text


def test_a_name_that_fills_a_model_does_not_fill_the_plan() -> None:
    labels = Labels({"?": {"id": NET, "type": "test.Shop"}, "name": "n" * 1_000_000})
    told = labels.resources([resource(f"{NET}-{number}") for number in range(100)])
    assert sum(len(item["label"]) for item in told) < 20_000 and told[7]["label"].endswith("…-7")
    assert len(labels.script({"plan": f"Drop {NET}"})["label"]) < 200
