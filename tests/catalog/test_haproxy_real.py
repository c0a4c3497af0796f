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


@pytest.mark.campaign
@pytest.mark.timeout(3000)  # three servers, two dozen commands, on a machine that does other things
def test_a_life(warm_place: Place) -> None:
    place = warm_place
    site = ["deploy", str(CATALOG / "StaticSite" / "1.1.0"), "--env", "front", "--set", "server.flavor=m1.tiny"]
    place.ok(*site, "--app", "a", "--set", "name=a", "--set", "page=one", "--driver", "nspawn")
    place.ok(*site, "--app", "b", "--set", "name=b", "--set", "page=two")
    first, second = (f"{address}:80" for address in hosts(place, "front").values())
    command = ["deploy", str(CATALOG / "HAProxy" / "1.0.0"), "--env", "front", "--app", "lb"]
    place.ok(
        *command,
        *("--set", "name=lb", "--set", "server.name=lb-1", "--set", "server.flavor=m1.tiny"),
        *("--set", f'addresses=["{first}", "{second}"]'),
    )
    host = hosts(place, "front")["lb-1"]
    url = f"http://{host}/"
    assert texts(url) == {"one", "two"}
    assert "get requests" not in place.ok("env", "deploy", "front").output, "a second deployment changes nothing"

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

    # Who does not answer gets no requests, and gets them again when it does.
    kill(place, "a-1")
    time.sleep(6)  # two checks, two seconds apart
    assert texts(url) == {"two"}
    rows = {row["server"]: row["state"] for row in action(place, "front", "lb", "status")}
    assert rows[first] == "down" and rows[second] == "up"
    place.ok("env", "deploy", "front")
    end = time.monotonic() + 30
    while texts(url) != {"one", "two"}:
        assert time.monotonic() < end

    kill(place, "lb-1")
    assert "has ended by itself" in place.ok("env", "health", "front").stdout
    place.ok("env", "deploy", "front")
    assert texts(url) == {"one", "two"}

    place.ok("deploy", str(CATALOG / "HAProxy" / "1.1.0"), "--env", "front", "--app", "lb", "--set", "tls=own")
    assert texts(f"https://{host}/") == {"one", "two"} and texts(url) == {"one", "two"}, "port 80 leads there"
    destroy(place, "front")
