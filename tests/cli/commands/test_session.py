"""`vetro session`, `vetro category` and `vetro image` against a running service."""

from __future__ import annotations

import yaml

from tests.cli.remotekit import Remote


def test_drafts(remote: Remote) -> None:
    remote.ok("env", "create", "drafted", "--description", "for drafts")
    assert "for drafts" in remote.ok("env", "show", "drafted").stdout
    assert "no sessions" in remote.ok("session", "list", "drafted").stderr
    assert "you have no draft of environment 'drafted'" in remote.refused("session", "show", "drafted")
    made = remote.data("session", "open", "drafted")
    assert remote.data("session", "show", "drafted")["id"] == made["id"]
    assert "+ drafted" in remote.ok("session", "changes", made["id"]).stdout
    assert yaml.safe_load(remote.ok("session", "show", "drafted", "--model").stdout)["?"]["id"]
    remote.ok("session", "undo", "drafted")
    assert [s["own"] for s in remote.data("session", "list", "drafted")] == [True]
    remote.ok("session", "close", "drafted")
    assert remote.data("session", "list", "drafted") == []
    assert f"'{made['id']}'" in remote.refused("session", "changes", made["id"])
    # Drafts of another project are unknown.
    other = remote.data("session", "open", "drafted")["id"]
    eve = Remote(remote.installation, remote.folder, "eve")
    for words in (("show",), ("changes",), ("undo",), ("close",)):
        assert f"'{other}'" in eve.refused("session", *words, other)


def test_categories(remote: Remote) -> None:
    names = [c["name"] for c in remote.data("category", "list")]
    assert "Databases" in names
    # What everybody's catalog is sorted by is for administrators.
    said = remote.refused("category", "create", "Mine")
    assert "error[CLI134]" in said
    root = Remote(remote.installation, remote.folder, "admin")
    assert root.data("category", "create", "Games")["name"] == "Games"
    assert "is called 'Fun' now" in root.ok("category", "rename", "Games", "Fun").stderr
    assert "did you mean 'Fun'" in root.refused("category", "delete", "Fun!")
    root.ok("package", "publish", root.box(name="g"), "--category", "Fun")
    assert [c["package_count"] for c in root.data("category", "list") if c["name"] == "Fun"] == [1]
    assert "error[CLI134]" in root.refused("category", "delete", "Fun")
    root.ok("package", "delete", "g")
    root.ok("category", "delete", "Fun")
    assert [c["name"] for c in remote.data("category", "list")] == names


def test_marks_of_images(remote: Remote) -> None:
    before = remote.data("image", "list")
    assert {row["name"]: row["type"] for row in before}["debian-12-murano"] == "linux"
    assert "error[CLI134]" in remote.refused("image", "mark", "debian-docker-murano", "--title", "x", "--type", "y")
    root = Remote(remote.installation, remote.folder, "admin")
    said = root.ok("image", "mark", "debian-docker-murano", "--title", "Containers", "--type", "linux.docker").stderr
    assert "forms offer debian-docker-murano as 'Containers'" in said
    assert [row["title"] for row in remote.data("image", "list") if row["title"] == "Containers"]
    root.ok("image", "unmark", "debian-docker-murano")
    assert [row["marked"] for row in remote.data("image", "list")].count(False) == 1
    (old,) = [row for row in before if row["name"] == "debian-docker-murano"]
    root.ok("image", "mark", "debian-docker-murano", "--title", old["title"], "--type", old["type"])
    assert remote.data("image", "list") == before
