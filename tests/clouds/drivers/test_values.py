"""The types of what reaches this machine: what they take, what they refuse, and that no specification holds else."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from vetro.clouds.drivers import spec_files, values
from vetro.clouds.drivers.specs import GroupSpec, NetworkSpec, NicSpec, SecurityRule, ServerSpec, SubnetSpec
from vetro.clouds.drivers.values import ValueInvalid
from vetro.clouds.interface import Owner
from vetro.clouds.stacks.key_pairs import make_key

KEY = make_key("somebody")[0]
HOSTILE = [
    "10.9.9.9 } drop\n}\n}\nflush ruleset\n", "", " ", "\n", "\0", "²", "\u0661", "../../etc/passwd", "-x", "--help",
    "$(id)", "`id`", "a;b", "a|b", "'", '"', "{", "}", "#", "\u202e", "\ud800", "9" * 5000, "x" * 65536, "1e9", "0x10",
    "tcp ", " 22", "22\n", "10.0.0.0/255.0.0.0", "10.0.0.0/99", "fe80::1%eth0", "::ffff:1.2.3.4/200", "010.0.0.1",
    None, True, 1.5, -2, 10**5000, [], {}, ["a"], b"10.0.0.1", object(),
]  # fmt: skip
GOOD: dict[Callable[[Any], Any], list[Any]] = {
    values.address: ["10.0.0.1", "fd00::1"],
    values.network: ["10.0.0.0/8", "10.0.0.7/24", "10.0.0.1", "fd00::/64"],
    values.interface: ["10.0.0.1/24", "10.0.0.1", "fd00::1/64"],
    values.protocol: ["tcp", "UDP", "icmp", "47", 47, "sctp", "ipv6-icmp"],
    values.port: [0, 22, 65535],
    values.Mac: ["fa:16:3e:00:00:01", "FA-16-3E-00-00-01"],
    values.Id: ["3c1d7be0-6f0a-5d0e-9f6e-7665746f0001", "net"],
    values.HostName: ["web1", "a-b"],
    values.DeviceName: ["vdb", "/dev/vdb", "/dev/xvda1"],
    values.QueueName: ["eabc-h0123", "a.b:c"],
    values.PublicKey: [KEY, KEY.rsplit(" ", 1)[0], f"{KEY} and more\n"],
    values.gib: [1, 1 << 20],
    values.seconds: [0, 1.5, 3600],
}


WORDS: tuple[Any, ...] = (values.Id, values.HostName, values.QueueName)


@pytest.mark.attack("templates", "C1")
@pytest.mark.parametrize("parse", GOOD, ids=lambda parse: parse.__name__)
def test_a_type_takes_its_values_and_nothing_hostile(parse: Callable[[Any], Any]) -> None:
    for value in GOOD[parse]:
        made = parse(value)
        assert parse(made) == made and json.loads(json.dumps(made, default=str)) is not None
        assert str(made).isascii() and str(made).isprintable()
    for value in HOSTILE:
        if parse is values.protocol and value in ("", None):
            continue  # any
        if (parse is values.seconds and value == 1.5) or (parse in WORDS and value in ("1e9", "0x10")):
            continue
        if parse is values.QueueName and value == "010.0.0.1":
            continue
        with pytest.raises(ValueInvalid) as caught:
            parse(value)
        assert len(str(caught.value)) < 200 and str(caught.value).isprintable(), value


@pytest.mark.parametrize("word", ["", "any", "-1", "0", 0, -1, None, "ANY"])
def test_any_protocol(word: Any) -> None:
    assert values.protocol(word) is None


@pytest.mark.parametrize("mac", ["00:00:00:00:00:00", "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "fa:16:3e:00:00"])
def test_group_addresses_are_no_addresses_of_interfaces(mac: str) -> None:
    with pytest.raises(ValueInvalid, match="hardware address"):
        values.Mac(mac)


@pytest.mark.parametrize("name", ["a\nb", "a\0b", "\u202ecba", "\x1b[2J", "x" * 256, "\ud800", 5, None])
def test_names_are_one_line_that_terminals_show_as_it_is(name: Any) -> None:
    with pytest.raises(ValueInvalid) as caught:
        values.Name(name)
    assert str(caught.value).isprintable()
    assert values.Name("Größe 1 '$(x)'") == "Größe 1 '$(x)'"


def test_keys_are_one_line_whose_data_are_of_the_type() -> None:
    kind, data, _ = KEY.split(" ")
    for line in (
        f"ssh-rsa {data}",
        f"{kind} {data[:-4]}AA",
        f"{KEY}\nssh-rsa AAAA",
        f'command="x" {KEY}',
        f"{kind} AAAA",
    ):
        with pytest.raises(ValueInvalid, match="public key"):
            values.PublicKey(line)
    with pytest.raises(ValueInvalid, match="at most"):
        values.PublicKey(f"{KEY} {'x' * 20_000}")


def _server(**more: Any) -> ServerSpec:
    facts: dict[str, Any] = {
        "id": "s", "name": "web", "hostname": "web", "owner": Owner("p", "e"), "region": "", "stack": "st",
        "image": {"name": "i"}, "flavor": {"ram": 512}, "key": ("k", KEY), "queue": "ee-h1", "metadata": {"a": "b"},
        "volumes": [{"id": "v", "name": "v", "size_gib": 1, "device": "/dev/vdb"}],
        "nics": [{
            "port_id": "p", "network_id": "n", "mac": "02:00:00:00:00:01", "ip": "10.0.0.5", "prefix": 24,
            "gateway": "10.0.0.1", "extra": ["172.24.4.7/32"], "allowed": ["10.0.0.9"], "groups": ["g"],
        }],
    }  # fmt: skip
    return ServerSpec(**{**facts, **more})


@pytest.mark.attack("templates", "C1")
@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda v: SubnetSpec("s", v), "cidr"),
        (lambda v: SubnetSpec("s", "10.0.0.0/24", v), "gateway"),  # type: ignore[arg-type]
        (lambda v: SubnetSpec("s", "10.0.0.0/24", None, [v]), "dns"),  # type: ignore[arg-type]
        (lambda v: NetworkSpec(v, "n"), "id"),  # type: ignore[arg-type]
        (lambda v: NetworkSpec("n", "n", [], v), "router"),  # type: ignore[arg-type]
        (lambda v: SecurityRule(protocol=v), "protocol"),
        (lambda v: SecurityRule(protocol=6, port_min=v), "port_min"),
        (lambda v: SecurityRule(remote_ip_prefix=v), "remote_ip_prefix"),
        (lambda v: SecurityRule(remote_group=v), "remote_group"),
        (lambda v: SecurityRule(direction=v), "direction"),
        (lambda v: _server(nics=[NicSpec("p", "n", v, None, 0)]), "mac"),  # type: ignore[arg-type]
        (lambda v: _server(nics=[NicSpec("p", "n", "02:00:00:00:00:01", v, 0)]), "ip"),  # type: ignore[arg-type]
        (lambda v: _server(nics=[{"port_id": "p", "nonsense": v}]), "nics"),
        (lambda v: _server(hostname=v), "hostname"),
        (lambda v: _server(key=("k", v)), "key"),
        (lambda v: _server(queue=v), "queue"),
        (lambda v: _server(user_data_format=v), "user_data_format"),
    ],
)
def test_no_specification_holds_what_it_should_not(make: Callable[[Any], Any], field: str) -> None:
    for value in ("10.9.9.9 } drop\n}\nflush ruleset", "²", "-x", "../x", {}, True):
        with pytest.raises(ValueInvalid, match=f"^{field}: "):
            make(value)


def test_ports_are_in_order_and_types_of_icmp_are_bytes() -> None:
    with pytest.raises(ValueInvalid, match="first port 9 is greater"):
        SecurityRule(protocol=6, port_min=9, port_max=8)
    with pytest.raises(ValueInvalid, match="256 is no type or code"):
        SecurityRule(protocol=1, port_min=256)
    assert SecurityRule(protocol=1, port_min=8, port_max=0).port_max == 0


def test_specifications_are_kept_and_read_again(tmp_path: Path) -> None:
    path, spec = tmp_path / "server.json", _server()
    spec_files.save_server(path, spec)
    assert spec_files.load_server(path) == spec and spec.nics[0].allowed == (IPv4Network("10.0.0.9/32"),)
    table = spec_files.Table(tmp_path / "networks")
    net = NetworkSpec("n", "net", [SubnetSpec("s", "10.0.0.0/24", "10.0.0.1", ["10.0.0.2"])], project="p")  # type: ignore[arg-type]
    table.put("n", net)
    assert spec_files.networks(table) == [net]


def test_records_of_older_versions_are_read_and_hostile_ones_hold_nobody_up(tmp_path: Path) -> None:
    rule = {
        "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_min": 22, "port_max": 22,
        "remote_ip_prefix": "0.0.0.0/0", "remote_group": None,
    }  # fmt: skip
    table = spec_files.Table(tmp_path / "groups")
    for id, protocol in (("old", "tcp"), ("bad", "tcp; flush ruleset")):
        path = tmp_path / "groups" / f"{id}.json"
        path.write_text(json.dumps({"id": id, "name": id, "rules": [{**rule, "protocol": protocol}]}))
    assert spec_files.groups(table) == {"old": GroupSpec("old", "old", [SecurityRule(**{**rule, "protocol": 6})])}  # type: ignore[arg-type]
    old = json.loads(json.dumps(_record(), default=str))
    old["nics"][0]["ip"] = ""
    (tmp_path / "server.json").write_text(json.dumps(old))
    found = spec_files.load_server(tmp_path / "server.json")
    assert found is not None and found.nics[0].ip is None
    old["hostname"] = "web\n[Service]"
    (tmp_path / "server.json").write_text(json.dumps(old))
    assert spec_files.load_server(tmp_path / "server.json") is None


def _record() -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(_server())
