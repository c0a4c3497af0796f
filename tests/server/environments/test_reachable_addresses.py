"""Where what was deployed can be reached: Out properties whose values are addresses, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.tasks import shop
from tests.server.web.conftest import signed_in
from vetro.model.copies import Declared
from vetro.server import setup
from vetro.server.environments import reachable_addresses
from vetro.server.environments.models import Environment

SHOP = """\
Name: Shop
Namespaces: {=: test, std: io.murano, f: io.murano.metadata.forms}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  mirror: {Contract: $.string(), Default: 'https://typed.example/'}
  url: {Contract: $.string(), Usage: Out}
  others: {Contract: {$.string(): [$.string()]}, Usage: Out}
  note: {Contract: $.string(), Usage: Out}
  door:
    Contract: $.string()
    Usage: Out
    Meta:
      - f:Secret: {}
Methods:
  deploy:
    Body:
      - $.url: format('https://{0}.example/', $.title)
      - $.others: {db: ['192.0.2.7:5432', 'not one'], again: ['https://corner.example/']}
      - $.note: see https://corner.example/ for more
      - $.door: https://hidden.example/
"""


@pytest.mark.parametrize(
    "text",
    ["http://a/", "HTTPS://a.example:8443/x?y=1", "postgresql://db:5432/x", "192.0.2.7", "192.0.2.7:80", "2001:db8::1",
     "[2001:db8::1]:443"],
)  # fmt: skip
def test_addresses(text: str) -> None:
    assert reachable_addresses.is_address(text)


@pytest.mark.parametrize(
    "text",
    ["", "see http://a/", "http://", "://a", "http://ann:pw@a/", "http://ann@a/", "http://a:0x/", "1.2.3", "a.example",
     "192.0.2.7:", "192.0.2.7:70000", "192.0.2.7:٣", "http://a/\n", "http://a/" + "x" * 2000, "10.0.0.0/24"],
)  # fmt: skip
def test_other_texts(text: str) -> None:
    assert not reachable_addresses.is_address(text)


def test_only_what_classes_declare_as_out_is_told_pages_first() -> None:
    """Of what the component owns, too; a text once."""
    classes = {
        "t.App": {"url": Declared("Out", False), "typed": Declared("In", False), "both": Declared("InOut", False)},
        "t.Vm": {"ipAddresses": Declared("Out", False)},
    }
    app = {
        "?": {"type": "t.App", "id": "a", "note": "http://header.example/"},
        "name": "web",
        "vm": {"?": {"type": "t.Vm", "id": "v"}, "ipAddresses": ["192.0.2.7", "192.0.2.7", {"x": "192.0.2.8"}]},
        "other": {"?": {"type": "t.Unknown", "id": "u"}, "url": "http://unknown.example/"},
        "url": "http://one.example/",
        "typed": "http://two.example/",
        "both": "http://three.example/",
        "undeclared": "http://four.example/",
    }
    found = reachable_addresses.of_component(app, lambda type: classes.get(type, {}))
    assert [(one.component, one.object_id, one.property, one.text, one.url) for one in found] == [
        ("web", "a", "url", "http://one.example/", "http://one.example/"),
        ("web", "v", "ipAddresses", "192.0.2.7", ""),
        ("web", "v", "ipAddresses", "192.0.2.8", ""),
    ]


@pytest.mark.django_db
def test_the_api_and_the_pages_tell_the_same_and_link_to_nothing_that_is_simulated(
    ann: Any, eve: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.kind": "record"}))
    package = shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": SHOP}))
    environment = shop.add_environment(ann.caller)
    path, page = f"/v2/environments/{environment.id}/addresses", f"/app/environments/{environment.id}/"
    assert ann.get(path).json() == {"simulated": True, "items": []}
    shop.deploy(ann.caller, environment, package)
    drain()
    told = ann.get(path).json()
    shown = [(one["component_id"], one["object_id"], one["property"], one["text"]) for one in told["items"]]
    assert shown == [
        ("shop-1", "shop-1", "url", "https://corner.example/"),
        ("shop-1", "shop-1", "others", "192.0.2.7:5432"),
    ]
    assert told["simulated"] is True and {one["url"] for one in told["items"]} == {None}
    client = signed_in(ann)
    text = client.get(page).content.decode()
    assert ">https://corner.example/<" in text and ">192.0.2.7:5432<" in text and 'href="https://corner' not in text
    Environment.objects.filter(id=environment.id).update(cloud={"kind": "proot"})
    told = ann.get(path).json()
    assert told["simulated"] is False
    assert [one["url"] for one in told["items"]] == ["https://corner.example/", None]
    for place in (page, f"{page}components/shop-1/"):
        text = client.get(place, follow=True).content.decode()
        assert 'href="https://corner.example/"' in text and "hidden.example" not in text, place
    assert 'href="https://typed.example' not in client.get(page).content.decode()
    assert eve.get(path).status_code == 404
