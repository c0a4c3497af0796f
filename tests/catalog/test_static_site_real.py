"""A static site on a real server: seen by a browser's eyes, changed, killed, upgraded, with TLS, and gone."""

from __future__ import annotations

import io
import ssl
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.catalog.life import destroy, hosts, kill
from tests.cli.deploykit import Place

SITE = Path(__file__).parents[2] / "catalog" / "StaticSite"
#: Text of a person that a shell would take for something else.
TEXT = "<h1>It's $(reboot) `id` \u00fc</h1>"


def seen(url: str) -> tuple[int, str]:
    """Status and text of what a URL answers, whoever vouches for its certificate."""
    end = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5, context=ssl._create_unverified_context()) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
        except OSError:
            assert time.monotonic() < end, url
            time.sleep(0.2)


def archive(place: Place, name: str, files: dict[str, str]) -> str:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for path, text in files.items():
            made.writestr(path, text)
    (place.folder / name).write_bytes(buffer.getvalue())
    return name


@pytest.mark.timeout(900)  # a dozen commands, on a machine that does other things
def test_a_life(place: Place) -> None:
    """Also by default: half a minute of processor time."""
    command = ["deploy", str(SITE / "1.0.0"), "--env", "site", "--app", "web", "--driver", "nspawn"]
    chosen = ["--set", f"html={TEXT}", "--set", "server.flavor=m1.tiny", "--set", "name=web"]
    place.ok(*command, *chosen)
    rows = place.data("env", "show", "site")["components"]
    host = next(row["addresses"] for row in rows if row["addresses"] != "-").split()[0].strip(",")
    assert seen(f"http://{host}/") == (200, TEXT)
    assert "was changed" not in place.ok(*command[:-2]).output, "a second deployment changes nothing"

    place.ok("upgrade", "site", "--to", str(SITE / "1.1.0"))
    assert seen(f"http://{host}/") == (200, TEXT)

    assert 'nginx_up{serves="files"} 1' in seen(f"http://{host}:9113/metrics")[1]
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://{host}:8080/stub_status", timeout=5)

    def publish(name: str) -> list[str]:
        return ["env", "action", "site", "publish", "--app", "web", "--file", f"archive={name}"]

    files = {"site/index.html": "from an archive", "site/a/page.html": "deep", "site/.git/config": "secret"}
    place.ok(*publish(archive(place, "site.zip", files)))
    assert seen(f"http://{host}/") == (200, "from an archive") and seen(f"http://{host}/a/page.html")[1] == "deep"
    assert seen(f"http://{host}/.git/config")[0] == 403 and seen(f"http://{host}/none")[0] == 404
    assert "would lie outside" in place.refused(*publish(archive(place, "evil.zip", {"../../etc/cron.d/x": "x"})))
    assert seen(f"http://{host}/") == (200, "from an archive")

    place.ok("deploy", str(SITE / "1.1.0"), "--env", "site", "--app", "web", "--set", "tls=own")
    assert seen(f"https://{host}/") == (200, "from an archive")
    assert seen(f"http://{host}/a/page.html") == (200, "deep"), "port 80 leads there"

    kill(place, *hosts(place, "site"))
    assert "has ended by itself" in place.ok("env", "health", "site").stdout
    place.ok("env", "deploy", "site")
    assert seen(f"https://{host}/") == (200, "from an archive")

    destroy(place, "site")
