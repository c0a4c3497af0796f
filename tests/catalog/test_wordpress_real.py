"""WordPress, MariaDB and HAProxy of one form on real servers: read, written, killed, restored, upgraded, gone."""

from __future__ import annotations

import hashlib
import html
import json
import re
import time
from pathlib import Path

import pytest

from tests.catalog.life import action, destroy, hosts, kill
from tests.catalog.web_client import Browser, seen, stream
from tests.cli.deploykit import Place

CATALOG = Path(__file__).parents[2] / "catalog"

#: All that a person says; the rest has defaults, or is chosen.
ANSWERS = {
    "name": "blog",
    "title": "It's a \u201csite\u201d & more",
    "email": "ada@example.org",
    "adminPassword": "correct horse 'battery' \\ staple",
    "server.flavor": "m1.small",
    "database.server.flavor": "m1.small",
    "balancer.server.flavor": "m1.tiny",
    "balancer.server.name": "front",
}


def packages(version: str) -> list[str]:
    return [str(CATALOG / name / version) for name in ("WordPress", "MariaDB", "HAProxy")]


class Author(Browser):
    """Somebody who signs in and writes."""

    def __init__(self, url: str, user: str, password: str) -> None:
        super().__init__()
        self.url = url
        page = self.open(f"{url}wp-login.php")
        form = {"log": user, "pwd": password, "redirect_to": f"{url}wp-admin/", "testcookie": "1"}
        page = self.open(f"{url}wp-login.php", form)
        assert "dashboard" in page.lower(), re.sub(r"\s+", " ", page)[:2000]
        self.nonce = self.open(f"{url}wp-admin/admin-ajax.php?action=rest-nonce")

    def write(self, title: str, text: str) -> str:
        """A post; its address."""
        body = json.dumps({"title": title, "content": text, "status": "publish"}).encode()
        kind = {"Content_Type": "application/json", "X_WP_Nonce": self.nonce}
        return str(json.loads(self.open(f"{self.url}wp-json/wp/v2/posts", data=body, **kind))["link"])

    def upload(self, name: str, data: bytes) -> str:
        """A picture; its address."""
        kind = {"Content_Type": "image/png", "X_WP_Nonce": self.nonce}
        kind["Content_Disposition"] = f"attachment; filename={name}"
        return str(json.loads(self.open(f"{self.url}wp-json/wp/v2/media", data=data, **kind))["source_url"])


def checksum(*addresses: str) -> str:
    """Of pages and files; what a page says anew each time is left out."""
    texts = [seen(address) for address in addresses]
    assert [status for status, _ in texts] == [200] * len(texts), [status for status, _ in texts]
    return hashlib.sha256("".join(re.sub(r'"nonce":"\w+"', "", text) for _, text in texts).encode()).hexdigest()


@pytest.mark.campaign
@pytest.mark.timeout(3300)  # three servers, two dozen commands, on a machine that does other things
def test_a_life(warm_place: Place) -> None:
    place, picture = warm_place, (CATALOG / "WordPress" / "1.1.0" / "logo.png").read_bytes()
    assert len(ANSWERS) <= 12
    command = ["deploy", *packages("1.0.0"), "--class", "io.vetro.catalog.WordPress", "--env", "blog", "--app", "blog"]
    chosen = [word for name, value in ANSWERS.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    begun = time.monotonic()
    place.ok(*command, *chosen, "--driver", "nspawn")
    url = f"http://{hosts(place, 'blog')['blog-3']}/"
    status, page = seen(url)
    print(f"open {time.monotonic() - begun:.0f} s after the command began")
    assert status == 200 and f"<title>{ANSWERS['title']}" in html.unescape(page), page[:3000]

    author = Author(url, "admin", ANSWERS["adminPassword"])
    post = author.write("On engines", "It weaves \u00fc algebraical patterns.")
    image = author.upload("logo.png", picture)
    assert seen(post)[0] == seen(image)[0] == 200 and image.startswith(url)
    before = checksum(post, image)
    assert "algebraical" in seen(url)[1]

    # Nothing to do.
    again = place.ok("env", "deploy", "blog").output
    assert "serves the site" not in again and "the primary" not in again and "get requests" not in again, again
    assert checksum(post, image) == before

    # Newer versions of all three, taken back, and taken again.
    upgrade = ["upgrade", "blog", *(word for path in packages("1.1.0") for word in ("--to", path))]
    place.ok(*upgrade, "--hold", "1h", "--settle", "0")
    assert checksum(post, image) == before
    assert action(place, "blog", "blog", "listUsers") == [
        {"user": "admin", "email": "ada@example.org", "role": "administrator"}
    ]
    place.ok("env", "undo", "blog", "--yes")
    assert checksum(post, image) == before
    place.refused("env", "action", "blog", "backup", "--app", "blog")
    place.ok(*upgrade, "--no-guard")
    assert checksum(post, image) == before

    made = action(place, "blog", "blog", "backup")
    place.ok("env", "action", "blog", "downloadBackup", "--app", "blog", "--save", "site.tar.gz")
    assert hashlib.sha256((place.folder / "site.tar.gz").read_bytes()).hexdigest() == made["sha256"]

    # People.
    bob = action(place, "blog", "blog", "addUser", "--arg", "user=bob", "--arg", "email=bob@example.org")
    later = Author(url, "bob", bob["password"]).write("Later", "Written after the backup.")
    assert seen(later)[0] == 200
    fresh = action(place, "blog", "blog", "changePassword", "--arg", "user=bob")
    with pytest.raises(AssertionError):
        Author(url, "bob", bob["password"])
    Author(url, "bob", fresh["password"])

    # The database's logins change, and no reader notices: 50 questions a second.
    with stream(post, 50) as readers:
        assert action(place, "blog", "mariadb", "rotateLogins")
    assert len(readers.texts) > 10 and readers.failures == [], readers.failures
    assert all("algebraical" in text for text in readers.texts)
    print(f"{len(readers.texts)} questions during the rotation, 0 failed")

    # A second server takes readers; who writes through it writes on the first one.
    place.ok("env", "action", "blog", "scaleOut", "--app", "blog")
    rows = action(place, "blog", "haproxy", "status")
    assert [row["server"] for row in rows if row["application"] != "nobody"] == ["blog-1", "blog-2"], rows
    second = f"http://{hosts(place, 'blog')['blog-2']}/"
    assert seen(second + image.removeprefix(url))[0] == 200, "uploads are seen through each server"
    kill(place, "blog-1")
    end = time.monotonic() + 60
    while (found := seen(post))[0] != 200 or "algebraical" not in found[1]:
        assert time.monotonic() < end, "the second server serves the site"
        time.sleep(1)
    assert "has ended by itself" in place.ok("env", "health", "blog").stdout
    kill(place, "mariadb-1", "front")
    place.ok("env", "deploy", "blog")
    assert checksum(post, image) == before and seen(later)[0] == 200
    place.ok("env", "action", "blog", "scaleIn", "--app", "blog")
    assert "blog-2" not in hosts(place, "blog") and checksum(post, image) == before

    # What is destroyed comes back from a backup, and from nothing else.
    script = "rm -rf /var/lib/wordpress/wp-content/uploads/20*"
    place.ok("exec", "blog", "blog-1", "--", "sh", "-c", script)
    author = Author(url, "admin", ANSWERS["adminPassword"])
    number = json.loads(author.open(f"{url}wp-json/wp/v2/posts?slug=on-engines"))[0]["id"]
    author.open(f"{url}wp-json/wp/v2/posts/{number}?force=true&_method=DELETE", data=b"", X_WP_Nonce=author.nonce)
    assert seen(image)[0] == seen(post)[0] == 404
    assert action(place, "blog", "blog", "restoreBackup")["name"] == made["name"]
    assert checksum(post, image) == before and seen(later)[0] == 404

    log = place.ok("env", "log", "blog").output + place.ok("env", "show", "blog").output
    assert ANSWERS["adminPassword"] not in log and fresh["password"] not in log
    destroy(place, "blog")
