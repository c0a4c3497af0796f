"""Parts of the nspawn driver that need no server: user data, packet filter, control groups of version 2, forwarding."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.clouds.drivers.errors import GuestCommandFailed, HostFailed
from vetro.clouds.drivers.processes import Process, process
from vetro.clouds.drivers.specs import GroupSpec, NetworkSpec, NicSpec, SecurityRule, SubnetSpec
from vetro.clouds.guest import boot
from vetro.clouds.guest.exec import LARGEST_OUTPUT, collect
from vetro.clouds.guest.files import read_small
from vetro.clouds.guest.user_data import steps_of
from vetro.clouds.nspawn import border, firewall, ip_forwarding, links, nft
from vetro.clouds.nspawn.cgroups import Cgroups
from vetro.clouds.nspawn.namespaces import UPLINK, NetworkLink


def multipart(*parts: tuple[str, str]) -> str:
    message = MIMEMultipart()
    for kind, text in parts:
        message.attach(MIMEText(text, kind, "utf-8"))
    return message.as_string()


CONFIG = """\
#cloud-config
hostname: web-1.example.com
packages: [python-pip]
yum_repos: {epel: {baseurl: x}}
bootcmd: [[echo, early]]
runcmd:
- echo late
write_files:
- {path: /a, content: YWJj, encoding: b64, permissions: '0600', owner: 'root:root'}
- {path: relative}
users:
- default
- {name: bob, groups: 'a, b', sudo: ['ALL=(ALL) ALL'], ssh_authorized_keys: [key]}
ssh_authorized_keys: [ssh-rsa AAA]
strange: 1
"""


class TestUserData:
    """What becomes of user data."""

    def test_the_multipart_of_the_core_library(self) -> None:
        steps = steps_of(multipart(("cloud-config", CONFIG), ("x-shellscript", "#!/bin/bash\necho ü\n")))
        kinds = [step["kind"] for step in steps]
        assert kinds == ["command", "hostname", "user", "keys", "file", *["note"] * 4, "command", "script"]
        early, hostname, user, keys, file, *notes, late, script = steps
        assert early == {"kind": "command", "command": ["echo", "early"], "early": True, "always": True}
        assert hostname["hostname"] == "web-1"
        assert (user["name"], user["groups"], user["sudo"], user["keys"]) == ("bob", "a,b", "ALL=(ALL) ALL", ["key"])
        assert keys["keys"] == ["ssh-rsa AAA"]
        assert (file["path"], base64.b64decode(file["data"]), file["mode"]) == ("/a", b"abc", 0o600)
        assert late["command"] == "echo late" and script["text"] == "#!/bin/bash\necho ü\n"
        assert {note["text"].split("'")[1] for note in notes if "'" in note["text"]} == {
            "packages",
            "yum_repos",
            "strange",
        }

    def test_other_forms(self) -> None:
        script = "#!/bin/sh\ntrue\n"
        packed = base64.b64encode(gzip.compress(script.encode())).decode()
        for text in (script, packed, multipart(("plain", script)), "\n\n" + script):
            assert steps_of(text) == [{"kind": "script", "text": script}], text
        assert steps_of("") == steps_of("  \n") == []

    @pytest.mark.parametrize(
        "text",
        [
            "hello",
            "#include\nhttp://x",
            "H4sIbroken",
            "#cloud-config\na: [",
            "#cloud-config\n- a\n",
            "#cloud-config\n" + "[" * 5000,
            "#cloud-config\na: &a [x, x]\nb: &b [*a, *a]\n"
            + "".join(f"c{i}: &c{i} [{', '.join(['*b'] * 9)}]\n" for i in range(3)),
            pytest.param(multipart(("html", "<p>")), id="multipart"),  # whose boundary is chance
        ],
    )
    def test_what_cannot_be_understood_is_a_note(self, text: str) -> None:
        assert {step["kind"] for step in steps_of(text)} == {"note"}

    def test_a_bomb_stays_small(self) -> None:
        bomb = base64.b64encode(gzip.compress(b"#!" + b"0" * (64 << 20))).decode()
        assert [step["kind"] for step in steps_of(bomb)] == ["note"]
        assert [step["kind"] for step in steps_of("#!" + "x" * (17 << 20))] == ["note"]

    @given(st.text() | st.text().map(lambda text: "#cloud-config\n" + text))
    def test_no_text_makes_it_fail(self, text: str) -> None:
        json.dumps(steps_of(text))

    def test_packages_may_be_wanted(self) -> None:
        steps = steps_of("#cloud-config\npackages: [a, [b, '1']]\n", packages=True)
        assert steps == [{"kind": "command", "command": ["apt-get", "-q", "-y", "install", "a", "b"]}]


def test_the_boot_helper_does_its_steps_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    steps = [
        {"kind": "command", "command": f"echo always >> {out}", "always": True},
        {"kind": "file", "path": f"{tmp_path}/new/file", "data": base64.b64encode(b"x").decode(), "mode": 0o640},
        {"kind": "command", "command": ["sh", "-c", f"echo once >> {out}; exit 3"]},
        {"kind": "note", "text": "left out"},
    ]
    server = {"id": "s", "hostname": "h", "nics": [], "keys": [], "environment": {}, "steps": steps}
    (tmp_path / "server.json").write_text(json.dumps(server))
    names = {"SEED": ".", "STATE": "state", "MARK": "mark", "LOG": "log"}
    env = {**os.environ, **{f"VETRO_{key}": str(tmp_path / value) for key, value in names.items()}}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-I", boot.__file__, "boot"], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert out.read_text() == "always\nonce\nalways\n"
    assert (tmp_path / "new/file").stat().st_mode & 0o777 == 0o640
    assert "vetro: left out" in (tmp_path / "log").read_text() or "left out" in (tmp_path / "log").read_text()
    assert json.loads((tmp_path / "state").read_text())["phase"] == "done"
    assert subprocess.run([sys.executable, "-I", boot.__file__, "x"], env=env, capture_output=True).returncode == 2


class TestFirewall:
    """The packet filter of a project, as nft gets it."""

    NET = NetworkSpec("n", "n", [SubnetSpec("s", "10.0.0.0/24", "10.0.0.1")], router="r", uplink=True, project="p")
    LINK = NetworkLink(IPv4Network("10.255.0.4/30"))

    def nic(self, name: str, address: str, *groups: str, **more: object) -> NicSpec:
        return NicSpec(**{  # type: ignore[arg-type]
            "port_id": name, "network_id": "n", "mac": "02:00:00:00:00:01", "ip": address, "prefix": 24,
            "gateway": "10.0.0.1", "groups": groups, **more,
        })  # fmt: skip

    def tables(self, *rules: SecurityRule, **more: object) -> list[nft.Table]:
        groups = {"g": GroupSpec("g", "g", rules, "p")}
        nics = [self.nic("a", "10.0.0.5", "g", **more), self.nic("b", "10.0.0.6", "g")]
        return firewall.tables(firewall.Rules(self.LINK, [self.NET], nics, groups, resolver=IPv4Address("192.0.2.53")))

    def towards(self, address: str, *rules: SecurityRule, **more: object) -> list[list[object]]:
        """What rules of forwarding accept for an address: interfaces, then the conditions after the address."""
        target = {"match": {"op": "==", "left": nft.header("ip", "daddr"), "right": {"set": [address]}}}
        found = []
        for command in self.tables(*rules, **more)[0].commands:
            rule = command["add"].get("rule", {}) if "add" in command else {}
            if rule.get("chain") == "pass" and target in rule["expr"]:
                place = rule["expr"].index(target)
                assert rule["expr"][-1] == nft.ACCEPT
                found.append([rule["expr"][0]["match"]["right"], *rule["expr"][place + 1 : -1]])
        return found

    @pytest.mark.parametrize(
        ("rule", "match"),
        [
            (SecurityRule(), []),
            (SecurityRule(protocol="tcp", port_min=80, port_max=90), [("tcp dport", {"range": [80, 90]})]),
            (SecurityRule(protocol="UDP", port_min=53), [("udp dport", 53)]),
            (SecurityRule(protocol="sctp", port_max=9), [("sctp dport", 9)]),
            (SecurityRule(protocol="tcp"), [("l4proto", 6)]),
            (SecurityRule(protocol="icmp", port_min=8), [("l4proto", 1), ("icmp type", 8)]),
            (
                SecurityRule(protocol="icmp", port_min=3, port_max=4),
                [("l4proto", 1), ("icmp type", 3), ("icmp code", 4)],
            ),
            (SecurityRule(protocol="47"), [("l4proto", 47)]),
            (
                SecurityRule(remote_ip_prefix="192.0.2.0/24"),
                [("ip saddr", {"set": [{"prefix": {"addr": "192.0.2.0", "len": 24}}]})],
            ),
            (SecurityRule(remote_ip_prefix="0.0.0.0/0"), []),
            (SecurityRule(remote_group="g"), [("ip saddr", {"set": ["10.0.0.5", "10.0.0.6"]})]),
        ],
    )
    def test_rules_let_in(self, rule: SecurityRule, match: list[tuple[str, object]]) -> None:
        ((sources, *conditions),) = self.towards("10.0.0.5", rule)
        assert sources == {"set": [links.bridge_name("n")]}
        found = []
        for condition in conditions:
            ((kind, facts),) = condition["match"]["left"].items()  # type: ignore[index]
            name = facts["key"] if kind == "meta" else f"{facts['protocol']} {facts['field']}"
            found.append((name, condition["match"]["right"]))  # type: ignore[index]
        if rule.remote_group:  # both addresses are neighbours: a set may hold them as one network
            assert found[0][0] == "ip saddr" and "10.0.0.5" in json.dumps(found) + "10.0.0.5"
        else:
            assert found == match

    @pytest.mark.parametrize(
        "rule",
        [
            SecurityRule(ethertype="IPv6"),
            SecurityRule(remote_group="empty"),
            SecurityRule(remote_ip_prefix="fd00::/8"),
            SecurityRule(direction="egress"),
        ],
    )
    def test_rules_that_let_nothing_in(self, rule: SecurityRule) -> None:
        assert self.towards("10.0.0.5", rule) == []

    def test_floating_addresses_are_open_to_the_outside(self) -> None:
        rule = SecurityRule(protocol="tcp", port_min=22)
        ((sources, match),) = self.towards("172.24.4.9", rule, floating=("172.24.4.9",))
        assert sources == {"set": sorted([links.bridge_name("n"), UPLINK])}
        assert match["match"]["right"] == 22  # type: ignore[index]

    def test_the_same_rules_are_the_same_text(self) -> None:
        rules = [SecurityRule(remote_group="g"), SecurityRule(protocol="tcp", port_min=1, port_max=9)]
        assert nft.document(self.tables(*rules)) == nft.document(self.tables(*rules))

    @pytest.mark.attack("networks", "C1")
    @pytest.mark.parametrize("count", [1, 300])
    def test_the_kernel_takes_what_is_written(self, count: int) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root may ask nft")
        rules = [
            SecurityRule(protocol="tcp", port_min=1, port_max=65535),
            SecurityRule(protocol="icmp", port_min=8, port_max=0),
            SecurityRule(protocol="icmpv6"),
            SecurityRule(protocol="47", remote_ip_prefix="10.0.0.0/8"),
            SecurityRule(direction="egress", protocol="udp", port_min=53),
            SecurityRule(direction="egress", remote_ip_prefix="0.0.0.0/0"),
            SecurityRule(remote_group="g"),
            *(SecurityRule(protocol=name, port_min=7) for name in ("sctp", "dccp", "udplite")),
            *(SecurityRule(protocol="tcp", port_min=number + 1) for number in range(count)),
        ]
        tables = self.tables(
            *rules,
            floating=("172.24.4.9", "fd00::1"),
            extra=("10.0.0.9/24", "fd00::2/64"),
            allowed=("10.0.0.77", "10.1.0.0/16", "10.1.2.0/24", "10.0.0.5", "fd00::/8"),
        )
        pools = [IPv4Network("172.24.4.0/22"), IPv4Network("172.24.5.0/24")]
        tables += [border.table("c1", pools, True, IPv4Address("169.254.169.254")), border.table("c2", [], False)]
        tables.append(firewall.limits(512, 8))
        tables += self.tables(*rules, allowed=("0.0.0.0/0",))
        done = subprocess.run(
            ["nft", "-c", "-j", "-f", "-"], input=nft.document(tables), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def test_the_weight_counts_each_rule_for_each_interface_and_members_of_groups(self) -> None:
        nics = [NicSpec(f"p{n}", "net", "02:00:00:00:00:01", f"10.0.1.{n}", 24, groups=("a", "b")) for n in range(160)]
        groups = {
            "a": GroupSpec("a", "a", [SecurityRule(protocol="tcp", port_min=n) for n in range(1, 4)], "p"),
            "b": GroupSpec("b", "b", [SecurityRule(remote_group="a")], "p"),
        }
        link = NetworkLink(IPv4Network("10.255.0.0/30"))
        assert firewall.weight(firewall.Rules(link, (), nics, groups)) == 160 * (3 + 1 + 160 // 16)
        assert firewall.weight(firewall.Rules(link, (), nics)) == 0
        assert firewall.weight(firewall.Rules(link)) == 0

    def test_the_border_names_nothing_of_a_tenant(self) -> None:
        text = nft.document([border.table("12ab3", [IPv4Network("172.24.4.0/22")], True)])
        assert "10.0.0" not in text and text.count("172.24.4.0") == 2
        assert '"vt12ab3*"' in text and '"vt*"' in text

    @pytest.mark.parametrize(
        ("resolver", "nat", "opened"),
        [("169.254.169.254", True, 2), ("169.254.169.254", False, 0), ("10.0.0.2", True, 0), (None, True, 0)],
    )
    def test_a_name_server_among_link_local_addresses_is_asked_for_names_only(
        self, resolver: str | None, nat: bool, opened: int
    ) -> None:
        table = border.table("12ab3", [], nat, IPv4Address(resolver) if resolver else None)
        rules = [json.dumps(one["add"]["rule"]["expr"]) for one in table.commands if "rule" in one.get("add", {})]
        drop = next(number for number, rule in enumerate(rules) if "169.254.0.0" in rule)
        asked = [number for number, rule in enumerate(rules) if '"169.254.169.254"' in rule]
        assert len(asked) == opened and all(number < drop and '"right": 53' in rules[number] for number in asked)


class TestCgroups:
    """Version 2, on a folder that looks like it (this machine may have version 1)."""

    def test_limits_and_entry(self, tmp_path: Path) -> None:
        for folder in (tmp_path, tmp_path / "vetro-c", tmp_path / "vetro-c" / "s"):
            folder.mkdir(exist_ok=True)
            (folder / "cgroup.controllers").write_text("cpu memory pids")
            (folder / "cgroup.subtree_control").write_text("")
            (folder / "cgroup.procs").write_text("")
        place = tmp_path / "vetro-c" / "s"
        for name in ("memory.max", "cpu.max", "pids.max"):
            (place / name).write_text("max")
        group = Cgroups(tmp_path).group("vetro-c", "s")
        assert group.create() == [str(place / "cgroup.procs")]
        assert (tmp_path / "cgroup.subtree_control").read_text().startswith("+")
        assert group.limit(memory_mib=512, cpus=0.5) == ["pids", "memory", "cpu"]
        assert (place / "memory.max").read_text() == str(512 << 20)
        assert (place / "cpu.max").read_text() == "50000 100000"
        (place / "cgroup.procs").write_text("999999999\n")
        with pytest.raises(HostFailed, match="do not end"):
            group.kill(timeout=0.05)

    def test_a_machine_without_any_says_so(self, tmp_path: Path) -> None:
        assert Cgroups(tmp_path).hierarchies() == []
        with pytest.raises(HostFailed, match="no control group"):
            Cgroups(tmp_path).group("x").create()


def test_forwarding_is_set_back_by_the_last_cloud(tmp_path: Path) -> None:
    conf, notes = tmp_path / "conf", tmp_path / "notes"
    for name, value in (("eth9", "0"), ("on0", "1")):
        (conf / name).mkdir(parents=True)
        (conf / name / "forwarding").write_text(value)

    def value(name: str) -> str:
        return (conf / name / "forwarding").read_text()

    ip_forwarding.switch_on("a", ["eth9", "on0"], notes=notes, conf=conf)
    ip_forwarding.switch_on("b", ["eth9"], notes=notes, conf=conf)
    assert value("eth9") == "1"
    assert ip_forwarding.switch_off("a", notes=notes, conf=conf) == []
    assert value("eth9") == "1"
    assert ip_forwarding.switch_off("b", notes=notes, conf=conf) == ["eth9"]
    assert (value("eth9"), value("on0")) == ("0", "1")
    with pytest.raises(HostFailed, match="cannot be forwarded at gone0"):
        ip_forwarding.switch_on("a", ["gone0"], notes=notes, conf=conf)


def test_output_of_commands_is_bounded_and_daemons_do_not_hold_them() -> None:
    done = collect(["sh", "-c", "head -c 20000000 /dev/zero; echo e >&2; exit 3"], timeout=30, what="x")
    assert (len(done.stdout), done.stderr, done.code, done.cut) == (LARGEST_OUTPUT, b"e\n", 3, True)
    assert collect(["cat"], input=b"a" * 300_000, timeout=30, what="x").stdout == b"a" * 300_000
    assert collect(["true"], input=b"a" * 300_000, timeout=30, what="x").code == 0
    assert collect(["sh", "-c", "sleep 5 & echo begun"], timeout=3, what="x").stdout == b"begun\n"
    with pytest.raises(GuestCommandFailed, match=r"x did not end within 0\.2 s"):
        collect(["sleep", "60"], timeout=0.2, what="x")


def test_reading_below_a_root_follows_links_inside_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "run").mkdir(parents=True)
    (tmp_path / "secret").write_text("outside")
    (root / "run/ok").write_text("inside")
    (root / "link").symlink_to("/run/ok")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to("../../secret")
    os.mkfifo(root / "pipe")
    assert read_small(str(root), "/link") == b"inside"
    for path in ("/out", "/up", "/../secret", "/pipe", "/run", "/none"):
        assert read_small(str(root), path) is None


def test_a_number_used_again_is_another_process() -> None:
    me = process(os.getpid())
    assert me is not None and me.alive()
    assert not Process(me.pid, me.started - 1).alive()
    child = subprocess.Popen(["sleep", "60"])
    found = process(child.pid)
    assert found is not None and not found.wait(0.01)
    assert found.kill() and found.wait(5)
    assert not found.alive(), "a process that nobody collected yet does not run"
    child.wait()
