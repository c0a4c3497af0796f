"""The published API test suite of application catalogs against `vetro serve`, with people of a real Keystone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.openstack.place import OpenStack, send
from tests.server.servekit import Service

pytestmark = pytest.mark.timeout(2400)

ROOT = Path(__file__).parents[3]
#: Parts of the suite that need what Vetro does not stand beside: Glare, and a broker of services.
ELSEWHERE = ("artifacts", "service_broker")

CONFIGURATION = """\
[DEFAULT]
log_file = {folder}/tempest.log
[oslo_concurrency]
lock_path = {folder}/locks
[auth]
use_dynamic_credentials = true
admin_username = admin
admin_password = {password}
admin_project_name = admin
admin_domain_name = Default
tempest_roles = member
create_isolated_networks = false
[identity]
uri_v3 = {keystone}
auth_version = v3
region = RegionOne
v3_endpoint_type = public
admin_role = admin
[identity-feature-enabled]
api_v2 = false
api_v3 = true
[service_available]
nova = false
glance = false
neutron = false
cinder = false
swift = false
murano = true
[application_catalog]
region = RegionOne
endpoint_type = publicURL
"""


@pytest.fixture
def listed(openstack: OpenStack, tmp_path: Path) -> Iterator[str]:
    """A service that records its servers, and that Keystone names as the application catalog."""
    own = {"username": "catalog", "password": openstack.password, "project_name": "service", "cache_seconds": 0.2}
    folder = tmp_path / "service"
    folder.mkdir()
    service = Service(
        folder,
        VETRO_CLOUD__DRIVER="record",
        VETRO_KEYSTONE__URL=openstack.keystone,
        VETRO_KEYSTONE__OPTIONS=json.dumps(own),
        VETRO_OBSERVE__LOG_LEVEL="warning",
        NO_PROXY="127.0.0.1",
        no_proxy="127.0.0.1",
    )
    admin, endpoints, entry = openstack.tokens["admin"], [], None
    try:
        url = service.await_ready(150)["url"]
        made = {"service": {"type": "application-catalog", "name": "murano"}}
        entry = send("POST", f"{openstack.keystone}/services", admin, made).json()["service"]["id"]
        for interface in ("public", "internal", "admin"):
            made = {"endpoint": {"service_id": entry, "interface": interface, "region_id": "RegionOne", "url": url}}
            answer = send("POST", f"{openstack.keystone}/endpoints", admin, made)
            endpoints.append(answer.json()["endpoint"]["id"])
        yield url
    finally:
        for endpoint in endpoints:
            send("DELETE", f"{openstack.keystone}/endpoints/{endpoint}", admin)
        if entry is not None:
            send("DELETE", f"{openstack.keystone}/services/{entry}", admin)
        service.end()


def test_the_published_suite_passes(openstack: OpenStack, listed: str, tmp_path: Path) -> None:
    made = subprocess.run([ROOT / "script/openstack/tempest"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    tempest, place = Path(made.stdout.strip()) / "bin/tempest", tmp_path / "suite"
    # Its list of suites is in the home folder by default, where it outlives this one.
    begin = [tempest, "init", "--workspace-path", tmp_path / "suites.yaml", place]
    begun = subprocess.run(begin, capture_output=True, text=True, check=False)
    assert begun.returncode == 0, begun.stdout + begun.stderr
    text = CONFIGURATION.format(folder=tmp_path, password=openstack.password, keystone=openstack.keystone)
    (place / "etc/tempest.conf").write_text(text, encoding="utf-8")
    command = [tempest, "run", "--regex", r"murano_tempest_tests\.tests\.api", "--concurrency", "1"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=2300)
    counts = {name: int(count) for name, count in re.findall(r"^ - (\w+): (\d+)$", done.stdout, re.MULTILINE)}
    assert counts.get("Failed") == 0 and counts["Passed"] >= 109, done.stdout[-20_000:]
    skipped = re.findall(r"^.*?(murano_tempest_tests\S+?)\)? \.\.\. SKIPPED", done.stdout, re.MULTILINE)
    assert len(skipped) == counts["Skipped"], done.stdout[-20_000:]
    assert [name for name in skipped if not any(part in name for part in ELSEWHERE)] == []
    shutil.rmtree(place)
