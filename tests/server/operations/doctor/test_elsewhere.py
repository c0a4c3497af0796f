"""What `vetro doctor` asks others: cloud, broker, Keystone, a server by its address; it does not wait for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.agent.broker import start_broker
from tests.plugins.openstack.fake import Fake
from tests.server.accounts.test_keystone import OPTIONS, Keystone
from tests.server.operations.doctor.test_here import problems
from vetro.diagnostics import Diagnostic
from vetro.server import setup
from vetro.server.config.config import Config
from vetro.server.operations.doctor import broker, checks, cloud, keystone, remote
from vetro_openstack import link

Make = Callable[..., Config]


def nobody() -> int:
    """A port on which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def openstack(url: str, **more: Any) -> dict[str, Any]:
    auth = {"auth_url": url, "username": "vetro", "password": "secret", "project_name": "service", "region": "One"}
    return {"cloud_kind": "openstack", "cloud_openstack": {**auth, **more}}


def test_the_local_cloud(settings: Make, monkeypatch: Any) -> None:
    (found,) = cloud.examine(settings(cloud_driver="record"))
    assert found.severity == "ok"
    monkeypatch.setattr("vetro.clouds.nspawn.kind.NspawnKind.missing", lambda *_: "it needs root")
    monkeypatch.setattr("vetro.clouds.proot.kind.ProotKind.missing", lambda *_: "proot is not installed")
    ((level, text),) = problems(cloud.examine(settings(cloud_driver="nspawn")))
    assert level == "error" and "it needs root" in text
    ((level, text),) = problems(cloud.examine(settings()))
    assert level == "warning" and "nothing is executed" in text and "it needs root" in text


def test_an_openstack(settings: Make) -> None:
    with Fake("compute") as fake:
        fake.lists = {"nova": {"/limits": {"limits": {"absolute": {"totalCoresUsed": 19, "maxTotalCores": 20}}}}}
        found = list(cloud.examine(settings(**openstack(f"{fake.url}/v3"))))
        assert [(f.severity, f.message.split(":")[0]) for f in found] == [
            ("ok", "signed in at http"),
            ("ok", "it offers Heat, Nova; not Neutron, Glance, Cinder"),
            ("ok", "the project uses 19 of 20 cores"),
            ("warning", "Nova has 19 of 20 cores in use"),
            ("warning", "no broker"),
        ]
        assert "'openstack quota set --cores NUMBER p1'" in found[3].hint and "nearly" in found[3].hint
        fake.services = ("compute",)
        assert ("error", "Keystone's catalog lists no Heat for region One") in problems(
            cloud.examine(settings(**openstack(f"{fake.url}/v3")))
        )


#: What each service answers: quotas that are plentiful, nearly used up, used up, none, and not limited (-1).
LIMITS = {
    "nova": {
        "/limits": {
            "limits": {
                "rate": [],
                "absolute": {
                    "totalInstancesUsed": 9, "maxTotalInstances": 10, "totalCoresUsed": 17, "maxTotalCores": 20,
                    "totalRAMUsed": 4096, "maxTotalRAMSize": -1,
                },
            }
        }
    },
    "cinder": {
        "/limits": {
            "limits": {
                "absolute": {
                    "totalVolumesUsed": 10, "maxTotalVolumes": 10, "totalGigabytesUsed": 899,
                    "maxTotalVolumeGigabytes": 1000, "totalSnapshotsUsed": 0, "maxTotalSnapshots": 0,
                }
            }
        }
    },
    "neutron": {
        "/quotas/p1/details.json": {
            "quota": {
                "floatingip": {"limit": 50, "used": 43, "reserved": 2},
                "network": {"limit": 100, "used": 12, "reserved": 0},
                "security_group": {"limit": 10, "used": 3, "reserved": 0},
                "rbac_policy": {"limit": 10, "used": 10, "reserved": 0},
                "router": {"limit": -1, "used": 7, "reserved": 0},
            }
        }
    },
}  # fmt: skip


def test_quotas_of_an_openstack(settings: Make) -> None:
    with Fake("compute", "block-storage", "network") as fake:
        fake.lists = LIMITS
        found = list(cloud.examine(settings(**openstack(f"{fake.url}/v3"), engine_broker={"host": "mq"})))
        assert [f.message for f in found if f.severity == "ok"][2] == (
            "the project uses 9 of 10 instances, 17 of 20 cores, 10 of 10 volumes, 899 of 1000 GiB of volumes, "
            "45 of 50 floating IPs, 12 of 100 networks, 3 of 10 security groups"
        )
        assert [(f.message, f.hint.split(":")[0]) for f in found if f.severity != "ok"] == [
            ("Nova has 9 of 10 instances in use", "it is nearly used up"),
            ("Cinder has 10 of 10 volumes in use", "what needs one more fails"),
            ("Neutron has 45 of 50 floating IPs in use", "it is nearly used up"),
            ("Neutron has 10 of 10 quota 'rbac_policy' in use", "what needs one more fails"),
        ]


def test_quotas_of_regions_and_of_projects_of_environments(settings: Make) -> None:
    with Fake("network") as fake:
        fake.regions = ["One", "Two"]
        fake.lists = {"neutron": LIMITS["neutron"]}
        config = settings(**openstack(f"{fake.url}/v3", regions=["Two"], projects="environment"))
        said = [f.message for f in cloud.examine(config)]
        for region in fake.regions:
            assert f"in region {region}, Neutron has 45 of 50 floating IPs in use" in said
        assert any("stacks are made in those of the environments" in text for text in said)
        assert {path for _, path in fake.asked if "quotas" in path} == {"/neutron/v2.0/quotas/p1/details.json"}


def test_quotas_that_may_not_be_read(settings: Make) -> None:
    with Fake("compute", "network") as fake:
        fake.lists = {"neutron": LIMITS["neutron"]}
        fake.trouble = [("GET", "/limits", 403)]
        said = problems(cloud.examine(settings(**openstack(f"{fake.url}/v3"))))
        assert ("warning", "Nova does not tell its quotas: Nova refuses (403): in trouble") in said
        assert ("warning", "Neutron has 45 of 50 floating IPs in use") in said


def test_an_openstack_that_refuses_or_is_away(settings: Make, monkeypatch: Any) -> None:
    monkeypatch.setattr(link, "PAUSES", ())
    with Fake() as fake:
        config = settings(**openstack(f"{fake.url}/v3", password="wrong"))
        (found,) = checks._tried("cloud", cloud.examine, config)
        assert found.severity == "error" and "wrong" not in found.message
    config = settings(**openstack(f"http://127.0.0.1:{nobody()}/v3"))
    (found,) = checks._tried("cloud", cloud.examine, config)
    assert found.severity == "error" and "127.0.0.1" in found.message


@pytest.mark.campaign
@pytest.mark.slow
def test_a_broker(settings: Make, tmp_path: Path) -> None:
    assert list(broker.examine(settings())) == []
    ((level, text),) = problems(broker.examine(settings(engine_broker={"host": "127.0.0.1", "port": nobody()})))
    assert level == "error" and "does not answer to guest" in text
    with start_broker(tmp_path / "mq") as running:
        given = {"host": "127.0.0.1", "port": running.port}
        assert problems(broker.examine(settings(engine_broker=given))) == []
        wrong = settings(engine_broker={**given, "password": "hunter2"})
        ((level, text),) = problems(broker.examine(wrong))
        assert level == "error" and "hunter2" not in text
        management = {"url": f"http://127.0.0.1:{running.management_port}"}
        found = list(broker.examine(settings(engine_broker={**given, "management": management})))
        assert [f.severity for f in found] == ["ok", "ok"] and "make logins" in found[1].message
        refused = settings(engine_broker={**given, "management": {**management, "password": "hunter2"}})
        levels = [f.severity for f in checks._tried("broker", broker.examine, refused)]
        assert levels == ["ok", "error"]


def test_a_keystone(settings: Make, monkeypatch: Any) -> None:
    assert list(keystone.examine(settings())) == []
    server = Keystone()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        config = settings(keystone_url=server.url, keystone_options=OPTIONS)
        monkeypatch.setattr(setup, "_current", config)
        found = list(keystone.examine(config))
        assert [(f.severity, f.message.split(" ", 1)[1]) for f in found] == [
            ("ok", "answers to the credentials of the service"),
            ("warning", f"of users go unencrypted to {server.url}"),
        ]
        server.status = 500
        failed = checks._tried("keystone", keystone.examine, config)[0]
        assert (failed.severity, failed.message) == ("error", "Keystone answers 500.")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Site(BaseHTTPRequestHandler):
    """A server that says what the test wants."""

    answers: dict[str, tuple[int, bytes]]
    date = "Sat, 01 Jan 2000 00:00:00 GMT"

    def do_GET(self) -> None:
        status, body = self.answers.get(self.path, (404, b""))
        self.send_response_only(status)
        self.send_header("Date", self.date)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def site() -> Iterator[tuple[str, type[Site]]]:
    class Own(Site):
        answers = {
            "/health": (200, b'{"status": "ok"}'),
            "/ready": (200, b'{"status": "ok", "database": "ok", "workers": "ok"}'),
        }

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", Own
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_by_its_address(site: tuple[str, type[Site]]) -> None:
    url, answers = site
    found = list(remote.ask(url))
    assert [(f.severity, f.message.split(" ")[0]) for f in found] == [("ok", url), ("ok", "it"), ("warning", "its")]
    assert "clock" in found[2].message
    answers.answers["/ready"] = (503, b'{"status": "not ready", "database": "ok", "workers": "none"}')
    assert ("error", "it is not ready (workers: none)") in problems(remote.ask(url))
    answers.answers["/health"] = (404, b"nothing")
    ((level, text),) = problems(remote.ask(url))
    assert level == "error" and "this is no Vetro" in text


def test_a_server_that_is_none() -> None:
    ((level, text),) = problems(remote.ask(f"http://127.0.0.1:{nobody()}"))
    assert level == "error" and "does not answer" in text
    assert problems(remote.ask("ftp://x")) == [("error", "ftp://x is no address")]


def test_what_does_not_answer_is_not_waited_for(settings: Make, monkeypatch: Any) -> None:
    over = threading.Event()

    def slow(_: Config) -> list[Diagnostic]:
        over.wait(60)
        return []

    def broken(_: Config) -> list[Diagnostic]:
        raise KeyError("what")

    monkeypatch.setattr(checks, "_ELSEWHERE", (("slow", slow), ("broken", broken)))
    monkeypatch.setattr(checks, "_HERE", ())
    monkeypatch.setattr(checks.check, "examine", lambda _: [Diagnostic("connection", "error", "no", "x")])
    try:
        found = checks.examine(settings(), patience=0.3)
    finally:
        over.set()
    assert [(f.code, f.severity) for f in found] == [("connection", "error"), ("slow", "error"), ("broken", "error")]
    assert found[1].message == "no answer within 0 s" and found[2].message == "KeyError: 'what'"
