"""Hostile templates get an error that names resource and property, or reach nothing but texts meant for people."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clouds.stacks.hostile_templates import CORPUS, MARK, marked, places, prop_at, template
from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.interface import CloudError, TemplateInvalid
from vetro.clouds.stacks.types.base import PropertyInvalid, converted
from vetro.clouds.stacks.types.registry import TYPES

#: What a driver may find the texts of a template in: names for people, and what only a guest ever reads.
FREE = {
    ("name",), ("stack",), ("user_data",), ("metadata", "key"), ("metadata", "(key)"), ("key",), ("volumes", "name"),
}  # fmt: skip
SMALL = ("nft", "path", "option", "digit", "turned")


def _specs(world: World) -> list[Any]:
    """All that a driver was given so far."""
    servers = world.driver.store.rows("SELECT spec FROM servers WHERE status != 'DELETED'")
    import json

    found = [json.loads(spec) for (spec,) in servers]
    return found + [item for kind in ("network", "group", "volume") for item in world.driver.things(kind).values()]


def _refused(place: tuple[str, tuple[str, ...]], text: str) -> bool:
    """Whether the value's own type refuses it."""
    try:
        prop = prop_at(place)
        value = [text] if prop.kind == "list" else {"key": text} if prop.kind == "map" else text
        converted("x", prop, value)
    except PropertyInvalid:
        return True
    return False


@pytest.mark.attack("templates", "C1")
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize(
    "corpus", [SMALL, pytest.param(tuple(CORPUS), marks=pytest.mark.campaign)], ids=["some", "all"]
)
def test_no_property_of_any_type_brings_text_to_a_driver(world: World, type_name: str, corpus: tuple[str, ...]) -> None:
    tried = 0
    for place in places():
        if place[0] != type_name:
            continue
        for kind in corpus:
            key, resources = template(place, CORPUS[kind])
            before = world.count("records")
            try:
                world.push(hot(resources), whole=True)
            except CloudError as error:
                message = str(error)
                assert len(message) < 1000 and "\x1b" not in message and "\u202e" not in message, (place, kind)
                if isinstance(error, TemplateInvalid):
                    assert f"resources.{key}" in message, (place, kind, message)
                    assert world.count("records") == before, (place, kind)
                    if _refused(place, CORPUS[kind]):
                        assert place[1][0] in message, (place, kind, message)
            else:
                assert not _refused(place, CORPUS[kind]), (place, kind)
            for spec in _specs(world):
                reached = {path for path in marked(spec) if path not in FREE and path[0] != "image"}
                assert not reached, (place, kind, reached)
            tried += 1
            world.cloud.delete_stack(OWNER, "", "stack")
    assert tried == sum(len(corpus) for place in places() if place[0] == type_name)


@pytest.mark.attack("templates", "C1")
def test_the_attack_on_the_packet_filter_is_refused_with_its_place(world: World) -> None:
    text = "10.9.9.9 } drop\n}\n}\nflush ruleset\ntable inet x {\nchain y {\n"
    port = {"network": "private", "allowed_address_pairs": [{"ip_address": text}]}
    with pytest.raises(TemplateInvalid) as caught:
        world.push(hot({"first": {"type": "OS::Neutron::Net"}, "p": {"type": "OS::Neutron::Port", "properties": port}}))
    assert str(caught.value).startswith("resources.p: allowed_address_pairs[0].ip_address: '10.9.9.9 }")
    assert "is no network as 10.0.0.0/24" in str(caught.value) and "\n" not in str(caught.value)
    assert not world.states()


@pytest.mark.attack("templates", "C1")
@pytest.mark.parametrize(
    ("type_name", "properties", "text"),
    [
        ("OS::Neutron::Port", {"network": "private", "mac_address": "x"}, "mac_address: 'x' is no hardware address"),
        (
            "OS::Neutron::Port",
            {"network": {"get_resource": "net"}, "fixed_ips": [{"subnet": {"get_resource": "sub"}, "ip_address": "x"}]},
            r"fixed_ips\[0\].ip_address: 'x' is no address",
        ),
        ("OS::Neutron::SecurityGroup", {"rules": [{"protocol": "²"}]}, r"rules\[0\].protocol: '²' is no protocol"),
        ("OS::Neutron::SecurityGroup", {"rules": [{"protocol": "tcp "}]}, r"rules\[0\].protocol: 'tcp ' is no"),
        (
            "OS::Neutron::SecurityGroup",
            {"rules": [{"protocol": "tcp", "port_range_min": 9, "port_range_max": 8}]},
            r"rules\[0\]: the first port 9 is greater",
        ),
        ("OS::Neutron::SecurityGroup", {"rules": [{"port_range_min": "٢٢"}]}, "must be a whole number"),
        ("OS::Neutron::SecurityGroup", {"rules": [{"port_range_min": 70000}]}, "70000 is no port"),
        (
            "AWS::EC2::SecurityGroup",
            {"GroupDescription": "d", "SecurityGroupIngress": [{"IpProtocol": "tcp", "CidrIp": "0.0.0.0/0 accept"}]},
            r"SecurityGroupIngress\[0\].CidrIp: '0.0.0.0/0 accept' ",
        ),
        ("OS::Neutron::Subnet", {"network": {"get_resource": "net"}, "cidr": "127.0.0.0/8"}, "cannot be a subnet"),
        ("OS::Neutron::Subnet", {"network": "private", "cidr": "10.0.0.0/24", "dns_nameservers": ["a\nb"]}, "dns_name"),
        ("OS::Nova::KeyPair", {"name": "k", "public_key": 'command="sh" ssh-rsa AAAA'}, "public_key: .* public key"),
        ("OS::Cinder::Volume", {"size": 10**9}, "size: 1000000000 is no size"),
        ("OS::Heat::WaitCondition", {"handle": "--help", "timeout": 5}, "handle: '--help' is no id"),
        ("OS::Heat::WaitCondition", {"handle": "x", "timeout": "nan"}, "timeout must be a number"),
        ("OS::Heat::WaitCondition", {"handle": "x", "timeout": 10**12}, "timeout: 1000000000000 is no time"),
    ],
)
def test_values_are_refused_where_they_stand(
    world: World, type_name: str, properties: dict[str, Any], text: str
) -> None:
    net = {
        "net": {"type": "OS::Neutron::Net"},
        "sub": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.1.2.0/24"},
        },
    }
    with pytest.raises(TemplateInvalid, match=f"resources.x: .*{text}"):
        world.push(hot({**net, "x": {"type": type_name, "properties": properties}}))
    assert not world.states()


@pytest.mark.attack("templates", "C1")
def test_what_is_known_only_later_is_parsed_then(world: World) -> None:
    resources = {
        "text": {"type": "OS::Heat::Value", "properties": {"value": f"10.0.0.1 }} accept {MARK}"}},
        "p": {
            "type": "OS::Neutron::Port",
            "properties": {
                "network": "private",
                "allowed_address_pairs": [{"ip_address": {"get_attr": ["text", "value"]}}],
            },
        },
    }
    with pytest.raises(CloudError, match=r"resources\.p: allowed_address_pairs\[0\]\.ip_address: .* is no network"):
        world.push(hot(resources))
    assert "p" not in world.states() or world.states()["p"] == "CREATE_FAILED"


@pytest.mark.attack("templates", "C1")
@pytest.mark.parametrize("name", ["a\nb", "\u202ea", "x" * 256, "a\0", "\x1b[2J"])
def test_names_of_resources_and_stacks_are_one_line(world: World, name: str) -> None:
    with pytest.raises(TemplateInvalid, match="a resource cannot have the name") as caught:
        world.push(hot({name: {"type": "OS::Neutron::Net"}}))
    assert str(caught.value).isprintable()
    with pytest.raises(TemplateInvalid, match="a stack cannot have the name") as caught:
        world.push(hot({"net": {"type": "OS::Neutron::Net"}}), name=name)
    assert str(caught.value).isprintable()
