"""HAProxy on a real server in front of two sites: spread, drained, changed under load, killed, upgraded, gone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.catalog.life import action, destroy, hosts, kill
from tests.catalog.web_client import seen, stream
from tests.cli.deploykit import Place

CATALOG = Path(__file__).parents[2] / "catalog"


def texts(url: str, count: int = 8) -> set[str]:
    """What several questions in a row are answered."""
    return {seen(url)[1] for _ in range(count)}


def deploy(place: Place, version: str) -> tuple[str, str, str]:
    """Two sites and who spreads requests over them: its address, and both targets."""
    site = ["deploy", str(CATALOG / "StaticSite" / "1.1.0"), "--env", "front", "--set", "server.flavor=m1.tiny"]
    for name, text in (("a", "one"), ("b", "two")):
        chosen = ["--app", name, "--set", f"name={name}", "--set", f"page={text}", "--set", f"server.name={name}-1"]
        place.ok(*site, *chosen, *(["--driver", "nspawn"] if name == "a" else []))
    first, second = (f"{hosts(place, 'front')[name]}:80" for name in ("a-1", "b-1"))
    place.ok(
        *("deploy", str(CATALOG / "HAProxy" / version), "--env", "front", "--app", "lb", "--set", "name=lb"),
        *("--set", "server.name=lb-1", "--set", "server.flavor=m1.tiny"),
        *("--set", f'{"addresses" if version == "1.0.0" else "targets"}=["{first}", "{second}"]'),
    )
    url = f"http://{hosts(place, 'front')['lb-1']}/"
    await_texts(url, "one", "two")
    return url, first, second


def await_texts(url: str, *wanted: str) -> None:
    """Waits until answers are these, and only these."""
    end = time.monotonic() + 60
    while (found := texts(url)) != {*wanted}:
        assert time.monotonic() < end, found
        time.sleep(0.5)


@pytest.mark.campaign
@pytest.mark.timeout(3000)  # three servers, two dozen commands, on a machine that does other things
def test_changes_interrupt_nobody(place: Place) -> None:
    url, first, second = deploy(place, "1.0.0")
    assert "requests go to" not in place.ok("env", "deploy", "front").output, "a second deployment changes nothing"

    # A newer version, taken back, and taken again.
    upgrade = ["upgrade", "front", "--to", str(CATALOG / "HAProxy" / "1.1.0")]
    place.ok(*upgrade, "--hold", "1h", "--settle", "0")
    assert action(place, "front", "lb", "status")[-1]["state"] == "up"
    place.ok("env", "undo", "front", "--yes")
    place.refused("env", "action", "front", "drain", "--app", "lb", "--arg", f"server={first}")
    assert texts(url) == {"one", "two"}
    place.ok(*upgrade, "--no-guard")

    # It reads its file anew three times under 200 questions a second: none fails.
    with stream(url, 200) as readers:
        place.ok("env", "action", "front", "drain", "--app", "lb", "--arg", f"server={first}")
        place.ok("env", "action", "front", "resume", "--app", "lb", "--arg", f"server={first}")
        place.ok("env", "action", "front", "drain", "--app", "lb", "--arg", f"server={second}")
    assert readers.failures == [], readers.failures[:5]
    print(f"{len(readers.texts)} questions while it read its file anew three times, 0 failed")
    assert {*readers.texts} == {"one", "two"} and texts(url) == {"one"}
    place.ok("env", "action", "front", "resume", "--app", "lb", "--arg", f"server={second}")
    assert texts(url) == {"one", "two"}
    destroy(place, "front")


@pytest.mark.campaign
@pytest.mark.timeout(3000)
def test_servers_that_die(place: Place) -> None:
    url, first, second = deploy(place, "1.1.0")

    # Who does not answer gets no requests, and gets them again when it does.
    kill(place, "a-1")
    await_texts(url, "two")
    rows = {row["server"]: row["state"] for row in action(place, "front", "lb", "status")}
    assert rows[first] == "down" and rows[second] == "up"
    place.ok("env", "deploy", "front")
    await_texts(url, "one", "two")

    kill(place, "lb-1")
    assert "has ended by itself" in place.ok("env", "health", "front").stdout
    place.ok("env", "deploy", "front")
    await_texts(url, "one", "two")

    # All of it is in the model: who is made anew with TLS has both.
    place.ok("deploy", str(CATALOG / "HAProxy" / "1.1.0"), "--env", "front", "--app", "lb", "--set", "tls=own")
    assert texts(url.replace("http:", "https:")) == {"one", "two"} == texts(url), "port 80 leads there"
    again = place.ok("env", "deploy", "front").output
    assert "requests go to" not in again, "the certificate stays"
    destroy(place, "front")
