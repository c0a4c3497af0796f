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
        return str(json.loads(self.open(f"{self.url}wp-json/wp/v2/posts", None, body, **kind))["link"])

    def upload(self, name: str, data: bytes) -> str:
        """A picture; its address."""
        kind = {"Content_Type": "image/png", "X_WP_Nonce": self.nonce}
        kind["Content_Disposition"] = f"attachment; filename={name}"
        return str(json.loads(self.open(f"{self.url}wp-json/wp/v2/media", None, data, **kind))["source_url"])


def checksum(*addresses: str) -> str:
    """Of pages and files; what a page says anew each time is left out."""
    texts = [seen(address) for address in addresses]
    assert [status for status, _ in texts] == [200] * len(texts), [status for status, _ in texts]
    return hashlib.sha256("".join(re.sub(r'"nonce":"\w+"', "", text) for _, text in texts).encode()).hexdigest()


def deploy(place: Place, version: str, **other: str) -> str:
    """The site from its form's answers; where it is."""
    command = ["deploy", *packages(version), "--class", "io.vetro.catalog.WordPress", "--env", "blog", "--app", "blog"]
    answers = {**ANSWERS, **other}
    if version != "1.0.0":
        answers["adminEmail"] = answers.pop("email")
    assert len(answers) <= 12
    chosen = [word for name, value in answers.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    place.ok(*command, *chosen, "--driver", "nspawn")
    url = f"http://{hosts(place, 'blog')['front']}/"
    status, page = seen(url)
    assert status == 200 and f"<title>{ANSWERS['title']}" in html.unescape(page), page[:3000]
    return url


@pytest.mark.campaign
@pytest.mark.timeout(3300)  # three servers, two dozen commands, on a machine that does other things
def test_a_life(place: Place) -> None:
    picture = (CATALOG / "WordPress" / "1.1.0" / "logo.png").read_bytes()
    url = deploy(place, "1.0.0")
    author = Author(url, "admin", ANSWERS["adminPassword"])
    post = author.write("On engines", "It weaves \u00fc algebraical patterns.")
    image = author.upload("logo.png", picture)
    assert seen(post)[0] == seen(image)[0] == 200 and image.startswith(url)
    before = checksum(post, image)
    assert "algebraical" in seen(url)[1]

    # Nothing to do.
    again = place.ok("env", "deploy", "blog").output
    assert "serves the site" not in again and "the primary" not in again and "requests go to" not in again, again
    assert checksum(post, image) == before

    # Newer versions of all three, taken back, and taken again.
    upgrade = ["upgrade", "blog", *(word for path in packages("1.1.0") for word in ("--to", path))]
    place.ok(*upgrade, "--hold", "1h", "--settle", "0")
    assert checksum(post, image) == before
    place.ok("env", "undo", "blog", "--yes")
    assert checksum(post, image) == before
    place.refused("env", "action", "blog", "backup", "--app", "blog")
    place.ok(*upgrade, "--no-guard")
    assert checksum(post, image) == before
    first = hosts(place, "blog")["blog-1"]
    assert 'nginx_up{serves="wordpress"} 1' in seen(f"http://{first}:9113/metrics")[1]
    assert "phpfpm_up 1" in seen(f"http://{first}:9253/metrics")[1]
    assert seen(f"http://{first}:9253/")[0] == 404
    # Nobody asks it otherwise: of each request under way PHP would tell address and script, too.
    told = seen(f"http://{first}:9253/metrics?full&json")[1].replace("_", " ")
    assert told.startswith("# ") and "request uri" not in told and "script" not in told

    made = action(place, "blog", "blog", "backup")
    place.ok("env", "action", "blog", "downloadBackup", "--app", "blog", "--save", "site.tar.gz")
    assert hashlib.sha256((place.folder / "site.tar.gz").read_bytes()).hexdigest() == made["sha256"]

    # All three are killed, and come back with what they had.
    kill(place, "blog-1", "mariadb-1", "front")
    assert "has ended by itself" in place.ok("env", "health", "blog").stdout
    place.ok("env", "deploy", "blog")
    assert checksum(post, image) == before

    # What is destroyed comes back from a backup, and from nothing else.
    author = Author(url, "admin", ANSWERS["adminPassword"])
    later = author.write("Later", "Written after the backup.")
    assert seen(later)[0] == 200
    place.ok("exec", "blog", "blog-1", "--", "sh", "-c", "rm -rf /var/lib/wordpress/wp-content/uploads/20*")
    number = json.loads(author.open(f"{url}wp-json/wp/v2/posts?slug=on-engines"))[0]["id"]
    author.open(f"{url}wp-json/wp/v2/posts/{number}?force=true&_method=DELETE", data=b"", X_WP_Nonce=author.nonce)
    assert seen(image)[0] == seen(post)[0] == 404
    assert action(place, "blog", "blog", "restoreBackup")["name"] == made["name"]
    assert checksum(post, image) == before and seen(later)[0] == 404

    log = place.ok("env", "log", "blog").output + place.ok("env", "show", "blog").output
    assert ANSWERS["adminPassword"] not in log
    destroy(place, "blog")


@pytest.mark.campaign
@pytest.mark.timeout(3300)
def test_readers_notice_nothing(place: Place) -> None:
    picture = (CATALOG / "WordPress" / "1.1.0" / "logo.png").read_bytes()
    url = deploy(place, "1.1.0")
    author = Author(url, "admin", ANSWERS["adminPassword"])
    post = author.write("On engines", "It weaves \u00fc algebraical patterns.")
    image = author.upload("logo.png", picture)
    before = checksum(post, image)

    # People.
    bob = action(place, "blog", "blog", "addUser", "--arg", "user=bob", "--arg", "email=bob@example.org")
    assert [row["user"] for row in action(place, "blog", "blog", "listUsers")] == ["admin", "bob"]
    later = Author(url, "bob", bob["password"]).write("Later", "Somebody else.")
    fresh = action(place, "blog", "blog", "changePassword", "--arg", "user=bob")
    with pytest.raises(AssertionError):
        Author(url, "bob", bob["password"])
    Author(url, "bob", fresh["password"])
    place.ok("env", "action", "blog", "removeUser", "--app", "blog", "--arg", "user=bob", "--arg", "heir=admin")
    assert seen(later)[0] == 200
    assert "last administrator" in place.refused(
        "env", "action", "blog", "removeUser", "--app", "blog", "--arg", "user=admin"
    )

    # The database's logins change, a server more, a server less: 50 questions a second, none fails.
    with stream(post, 50) as readers:
        assert action(place, "blog", "mariadb", "rotateLogins")
        place.ok("env", "action", "blog", "scaleOut", "--app", "blog")
        second = f"http://{hosts(place, 'blog')['blog-2']}/"
        assert seen(second + image.removeprefix(url))[0] == 200, "uploads are seen through each server"
    assert len(readers.texts) > 10 and readers.failures == [], readers.failures
    assert all("algebraical" in text for text in readers.texts)
    print(f"{len(readers.texts)} questions during rotation and scaling, 0 failed")
    rows = action(place, "blog", "haproxy", "status")
    assert [row["server"] for row in rows] == ["blog-1", "blog-2"], rows

    # Without the first server the second one shows pages.
    kill(place, "blog-1")
    end = time.monotonic() + 120
    while (found := seen(post))[0] != 200 or "algebraical" not in found[1]:
        assert time.monotonic() < end, "the second server serves the site"
        time.sleep(1)
    place.ok("env", "deploy", "blog")
    assert checksum(post, image) == before
    with stream(post, 50) as readers:
        place.ok("env", "action", "blog", "scaleIn", "--app", "blog")
    assert readers.failures == [], readers.failures
    assert "blog-2" not in hosts(place, "blog") and checksum(post, image) == before
    log = place.ok("env", "log", "blog").output + place.ok("env", "show", "blog").output
    assert fresh["password"] not in log
    destroy(place, "blog")
