"""Beside Docker, which drops what a machine forwards, links of a cloud pass: in a namespace instead of a machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.needs import need
from vetro.clouds.drivers.tools import which

#: What Docker does to a machine, a server's link and a place outside; then a connection from one to the other, or not.
MACHINE = """\
mount -t tmpfs none /run && mkdir /run/netns
for name in inside outside; do ip netns add $name; ip -n $name link set lo up; done
ip link add vtabcde12345 type veth peer name uplink netns inside
ip link add eth0 type veth peer name eth0 netns outside
ip addr add 10.1.0.1/30 dev vtabcde12345; ip link set vtabcde12345 up
ip addr add 10.2.0.1/30 dev eth0; ip link set eth0 up
ip -n inside addr add 10.1.0.2/30 dev uplink; ip -n inside link set uplink up
ip -n inside route add default via 10.1.0.1
ip -n outside addr add 10.2.0.2/30 dev eth0; ip -n outside link set eth0 up
echo 1 > /proc/sys/net/ipv4/ip_forward
iptables -N DOCKER-USER; iptables -A DOCKER-USER -j RETURN
iptables -A FORWARD -j DOCKER-USER; iptables -P FORWARD DROP
nsenter --net=/run/netns/outside "$0" -c '
import socket
with socket.create_server(("10.2.0.2", 80)) as server:
    print("listens", flush=True)
    server.accept()' > /run/said &
until grep -q listens /run/said; do sleep 0.01; done
connect() { nsenter --net=/run/netns/inside "$0" -c '
import socket, sys
socket.create_connection(("10.2.0.2", 80), timeout=float(sys.argv[1]))' "$1" 2>/dev/null; }
if connect 0.3; then echo "nothing is dropped"; exit 1; fi
"$0" -c 'from vetro.clouds.nspawn import border
for _ in range(2): border.apply("abcde", [], True)'
connect 30 || { echo "it does not pass"; exit 1; }
iptables -S DOCKER-USER
"$0" -c 'from vetro.clouds.nspawn import border; border.remove("abcde")'
echo removed; iptables -S DOCKER-USER
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_servers_reach_the_outside_beside_docker() -> None:
    need(None if which("iptables") and which("nft") else "no iptables or nft")
    argv = ["unshare", "--net", "--mount", "sh", "-ec", MACHINE, sys.executable]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    there, _, left = done.stdout.partition("removed\n")
    assert there.count("vtabcde+ -j ACCEPT") == 2, "one rule for each direction, however often it is asked for"
    assert left.split("\n")[1:] == ["-A DOCKER-USER -j RETURN", ""]
