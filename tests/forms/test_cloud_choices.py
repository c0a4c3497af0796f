"""Lists of a cloud for fields of classes: which fields, what is offered, and a cloud that does not answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.forms.world import describer, package
from vetro.clouds.errors import CloudError
from vetro.forms.cloud_choices import CloudChoices, QuotaLeft
from vetro.forms.fill import Filler
from vetro.library import core_packages

LISTS: dict[str, list[Any]] = {
    "flavors": [
        {"id": "3", "name": "m1.large", "ram": 8192, "vcpus": 4, "disk": 80},
        {"id": "1", "name": "m1.tiny", "ram": 512, "vcpus": 1, "disk": 1},
        {"id": "2", "name": "m1.small", "ram": 2048, "vcpus": 2, "disk": 20},
    ],
    "images": [
        {"id": "a", "name": "debian-12", "status": "active", "murano": '{"title": "Debian 12", "type": "linux"}'},
        {"id": "b", "name": "broken", "status": "queued", "murano": None},
        {"id": "c", "name": "twin", "status": "active", "murano": "{"},
        {"id": "d", "name": "twin", "status": "active", "murano": None},
    ],
    "keypairs": ["mine"],
    "availability_zones": [{"name": "nova", "available": True}, {"name": "down", "available": False}],
    "security_groups": ["web", "db"],
    "networks": [
        {"id": "n1", "name": "private", "subnets": [{"id": "s", "name": "inner", "cidr": "10.0.0.0/24"}]},
        {"id": "n2", "name": "outer", "external": True, "subnets": []},
    ],
    "volumes": [{"id": "v1", "name": "data", "status": "available"}, {"id": "v2", "name": "used", "status": "in-use"}],
    "regions": ["north"],
}  # fmt: skip
SHOP = """
Namespaces: {=: c, forms: io.murano.metadata.forms}
Name: Shop
Properties:
  size: {Contract: $.string().notNull(), Meta: {forms:Control: {widget: flavor}}}
  sizes: {Contract: [$.string().notNull()], Meta: {forms:Control: {widget: flavor}}}
  count: {Contract: $.int(), Meta: {forms:Control: {widget: flavor}}}
"""


def fields(name: str, value: Any = None, *, lists: dict[str, list[Any]] = LISTS, left: QuotaLeft | None = None) -> Any:
    known = describer(package({"c.Shop": SHOP}, name="c"), *core_packages())

    def read(source: str) -> list[Any]:
        if source not in lists:
            raise CloudError(f"the cloud cannot list its {source}: it does not answer")
        return lists[source]

    described = known.of(name)
    assert described is not None
    form = Filler(known, cloud=CloudChoices(read, lambda: left)).form(described, value or {})
    return {field.name: field for field in form.pages[0].fields()}


def labels(field: Any) -> list[str]:
    return [choice.label for choice in field.choices]


def test_properties_of_servers_are_chosen_from_what_the_cloud_has() -> None:
    found = fields("io.murano.resources.LinuxMuranoInstance")
    assert found["flavor"].kind == "choice" and found["flavor"].initial is None and found["flavor"].required
    assert labels(found["flavor"]) == [
        "m1.tiny: 1 processor, 0.5 GiB memory, 1 GiB disk",
        "m1.small: 2 processors, 2 GiB memory, 20 GiB disk",
        "m1.large: 4 processors, 8 GiB memory, 80 GiB disk",
    ]
    assert [choice.value for choice in found["flavor"].choices] == ["m1.tiny", "m1.small", "m1.large"]
    # What cannot be started is left out, and what is called alike is told apart by ids.
    assert [(c.value, c.label) for c in found["image"].choices] == [
        ("debian-12", "Debian 12"),
        ("c", "twin"),
        ("d", "twin"),
    ]
    assert found["image"].initial == "debian-12"
    assert (labels(found["keyname"]), found["keyname"].nullable) == (["mine"], True)
    assert labels(found["availabilityZone"]) == ["nova"] and found["availabilityZone"].initial == "nova"
    assert labels(found["securityGroupName"]) == ["db", "web"]
    assert labels(found["securityGroups"].items) == ["db", "web"] and found["securityGroups"].kind == "list"
    assert labels(found["regionName"]) == ["north"]
    assert found["name"].kind == "string"


def test_networks_and_volumes_that_are_there_are_chosen_too() -> None:
    network = fields("io.murano.resources.ExistingNeutronNetwork")
    assert labels(network["internalNetworkName"]) == ["private"]
    assert labels(network["internalSubnetworkName"]) == ["inner (10.0.0.0/24)"]
    volume = fields("io.murano.resources.ExistingCinderVolume")
    assert [(c.value, c.label) for c in volume["openstackId"].choices] == [("v1", "data")]


@pytest.mark.parametrize(
    ("images", "chosen"),
    [
        ([("arch", None)], "arch"),
        ([("cirros", None), ("ubuntu", "Ubuntu"), ("twin", "{")], "ubuntu"),
        ([("debian-12", "Debian"), ("ubuntu", "Ubuntu")], "debian-12"),
        ([("windows", "Windows"), ("bookworm", "Debian GNU/Linux 12")], "bookworm"),
        ([("cirros", None), ("Debian 12 cloud", None), ("debian-13", None)], "Debian 12 cloud"),
        ([("debian-12", None), ("debian-12-old", None)], None),
        ([("cirros", None), ("ubuntu", None)], None),
        ([], None),
    ],
)
def test_the_image_that_packages_are_made_for_is_chosen_already(
    images: list[tuple[str, str | None]], chosen: str | None
) -> None:
    """A server that a preset makes has nothing to boot from otherwise; where it is not clear which, it is asked for."""
    marks = [(name, title if title in (None, "{") else json.dumps({"title": title})) for name, title in images]
    rows = [{"id": name, "name": name, "status": "active", "murano": mark} for name, mark in marks]
    found = fields("io.murano.resources.LinuxMuranoInstance", lists={**LISTS, "images": rows})["image"]
    assert found.initial == chosen


def test_the_quota_says_what_is_too_large_and_how_much_is_left() -> None:
    server = "io.murano.resources.LinuxMuranoInstance"
    small = fields(server, left=QuotaLeft(2, 4096, 1000))["flavor"]
    assert labels(small)[1:] == [
        "m1.small: 2 processors, 2 GiB memory, 20 GiB disk",
        "m1.large: 4 processors, 8 GiB memory, 80 GiB disk (more than the quota leaves)",
    ]
    assert small.help == "The quota leaves 2 processors, 4 GiB of memory and 1000 GiB of disks."
    assert fields(server, left=QuotaLeft(500, 1 << 20, 10_000))["flavor"].help == ""
    assert "quota" not in "".join(labels(fields(server, left=QuotaLeft(None, None, None))["flavor"]))


def test_authors_name_lists_for_properties_of_their_own() -> None:
    found = fields("c.Shop", {"size": "gone", "sizes": ["m1.tiny"]})
    assert (found["size"].kind, found["size"].value) == ("choice", "gone")  # what is stored stays
    assert labels(found["sizes"].items)[0].startswith("m1.tiny")
    assert found["count"].kind == "integer"  # only texts name anything


def test_a_cloud_that_does_not_answer_leaves_a_text() -> None:
    found = fields("c.Shop", lists={})
    assert found["size"].kind == "string"
    assert "the cloud cannot list its flavors: it does not answer. Type a name." in found["size"].help
