"""`vetro login`, `vetro context`, `vetro token`: who one is at which server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest
from click.testing import Result

from tests.cli.remotekit import PASSWORD, Remote
from tests.server.servekit import Service
from tests.support import forked
from vetro.cli.client.contexts import read_contexts


@pytest.fixture
def nobody(installation: Any, here: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    made = Remote(installation, here, None)
    monkeypatch.setenv("XDG_CONFIG_HOME", made.environment["XDG_CONFIG_HOME"])
    return made


def test_password_token_and_link_each_give_a_context(nobody: Remote) -> None:
    words = ("login", nobody.url, "--user", "ann", "--password-stdin")
    done = nobody.ok(*words, "--name", "a", "--days", "3", input=PASSWORD + "\n")
    assert "as ann, project default; context 'a' is in use" in done.stderr
    assert nobody.contexts.stat().st_mode & 0o777 == 0o600
    assert nobody.contexts.parent.stat().st_mode & 0o777 == 0o700
    token = nobody.ok("token", "create", "--name", "ci", "-o", "value").stdout.strip()
    assert "context 'b' is in use" in nobody.ok("login", nobody.url, "--token-stdin", "--name", "b", input=token).stderr
    link = nobody.service.admin("link", "create", "ann", "-o", "value")
    assert "context 'c' is in use" in nobody.ok("login", nobody.url, "--link", "--name", "c", input=link).stderr
    assert "does not sign you in" in nobody.refused("login", nobody.url, "--link", "--name", "d", input=link)
    contexts = read_contexts()
    assert (contexts.current, sorted(contexts.servers)) == ("c", ["a", "b", "c"])
    assert contexts.servers["b"].token == token
    assert {c.user for c in contexts.servers.values()} == {"ann"}
    # All three work; a token that is revoked says how to come back.
    for name in ("a", "b", "c"):
        assert nobody.run("env", "list", "--context", name).exit_code == 0
    nobody.ok("token", "revoke", "ci", "--context", "a")
    said = nobody.refused("env", "list", "--context", "b")
    assert "does not take your token" in said
    assert f"vetro login {nobody.url} --name b" in said
    # Forgetting a context ends its token.
    kept = contexts.servers["a"].token
    nobody.ok("context", "remove", "a")
    assert nobody.service.get("/v2/me", **{"X-Auth-Token": kept})[0] == 401
    assert "there is no context 'a'" in nobody.refused("context", "use", "a")


def test_wrong_ways_in_change_nothing(nobody: Remote) -> None:
    url = nobody.url
    said = nobody.refused("login", url, "--user", "nemo", "--password-stdin", input="wrong password\n")
    assert "error[CLI134]" in said
    assert "is empty" in nobody.refused("login", url, "--token-stdin", input="\n")
    assert "is no token" in nobody.refused("login", url, "--token-stdin", input="two words\n")
    assert "does not take" in nobody.refused("login", url, "--token-stdin", input="vetro_nothing\n")
    assert "is no login link" in nobody.refused("login", url, "--link", input="https://example.com\n")
    token = nobody.installation.tokens["ann"]
    said = nobody.refused("login", url, "--token-stdin", "--project", "other", input=token)
    assert "the token is for project 'default', not 'other'" in said
    said = nobody.refused("login", url, "--user", "ann", "--password-stdin", "--project", "other", input=PASSWORD)
    assert "other" in said
    for words in (
        ("--user", "ann", "--token-stdin"),
        ("--password-stdin",),
        ("--token-stdin", "--days", "3"),
    ):
        nobody.refused("login", url, *words, status=2)
    nobody.refused("login", f"{url}/app/link/vetro_secret", status=2)
    nobody.refused("login", "ftp://example.com", "--token-stdin", status=2)
    assert not nobody.contexts.exists()


@pytest.mark.campaign
def test_a_link_is_not_used_up_by_another_way_than_the_public_one(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a proxy forms are taken from the address that people use only, and that is what is said."""
    public = {"VETRO_SERVER__PUBLIC_URL": "https://vetro.example.org", "VETRO_SERVER__ALLOWED_HOSTS": '["127.0.0.1"]'}
    service = Service(tmp_path, VETRO_CLOUD__DRIVER="record", VETRO_WORKER__EMBEDDED="0", **public)
    try:
        service.await_ready()
        monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "config"))
        link = service.admin("link", "create", "admin", "-o", "value")
        for _ in range(2):
            port = json.loads(service.ready.read_text())["port"]
            words = ("login", f"http://127.0.0.1:{port}", "--link")
            done = forked.run("vetro.cli.main", *words, env=dict(os.environ), input=link, timeout=120)
            assert done.returncode == 1
            assert "the link was not used" in done.stderr and "server.public_url" in done.stderr
    finally:
        service.end()


def test_the_password_is_asked_for_without_echo(nobody: Remote) -> None:
    with nobody.terminal("login", nobody.url, "--user", "eve", "--name", "e") as child:
        child.expect("Password: ")
        child.sendline(PASSWORD)
        child.expect("signed in at .* as eve, project other")
        child.expect(pexpect.EOF)
        assert PASSWORD not in str(child.before)
    assert read_contexts().servers["e"].project == "other"


def test_a_question_that_is_not_answered_ends_the_command(nobody: Remote) -> None:
    for keys, said, status in (("\x03", "interrupted", 130), ("\x04", "the input ended before", 1)):
        with nobody.terminal("login", nobody.url) as child:
            child.expect("Name: ")
            child.send(keys)
            child.expect(f"error: .*{said}")
            child.expect(pexpect.EOF)
            child.wait()
            assert child.exitstatus == status


def test_somebody_else_at_the_same_server_is_not_replaced_silently(nobody: Remote) -> None:
    page = f"{nobody.url}/app/catalog"  # as copied from a browser
    done = nobody.ok("login", page, "--token-stdin", input=nobody.installation.tokens["ann"])
    assert f"signed in at {nobody.url} as ann" in done.stderr and "replaces" not in done.stderr
    done = nobody.ok("login", nobody.url, "--token-stdin", input=nobody.installation.tokens["eve"])
    assert "it replaces ann in project default" in done.stderr and "--name NAME" in done.stderr
    nobody.ok("login", nobody.url, "--token-stdin", "--name", "a", input=nobody.installation.tokens["ann"])
    assert {name: one.user for name, one in read_contexts().servers.items()} == {"127.0.0.1": "eve", "a": "ann"}


def test_contexts(nobody: Remote) -> None:
    said = nobody.ok("context", "list").stdout
    assert re.search(r"^\* +local", said, re.MULTILINE)
    assert "the present context is 'local'" in nobody.refused("token", "list")
    token = nobody.installation.tokens["ann"]
    nobody.ok("login", nobody.url, "--token-stdin", input=token)
    assert [(c["name"], c["used"]) for c in nobody.data("context", "list")] == [("local", False), ("127.0.0.1", True)]
    assert nobody.data("context", "show")["because_of"] == "vetro context use"
    assert token not in nobody.ok("context", "show").output
    assert nobody.run("env", "list", "--context", "local").stderr.startswith("no environments yet")
    assert nobody.run("env", "list", VETRO_CONTEXT="local").stderr.startswith("no environments yet")
    assert "there is no context 'x' (VETRO_CONTEXT)" in nobody.refused("env", "list", VETRO_CONTEXT="x")
    assert "did you mean '127.0.0.1'" in nobody.refused("env", "list", "--context", "127.0.0.2")
    nobody.ok("context", "use", "local")
    assert nobody.data("context", "show")["name"] == "local"
    assert "counts more" in nobody.ok("context", "use", "local", VETRO_CONTEXT="127.0.0.1").stderr
    nobody.ok("context", "remove", "127.0.0.1", "--keep-token")
    assert nobody.service.get("/v2/me", **{"X-Auth-Token": token})[0] == 200
    assert "always there" in nobody.refused("context", "remove", "local")


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("current = 'local'\n", 0o644, "others may read"),
        ("current = \n", 0o600, "is damaged"),
        ("[contexts.a]\ntoken = 'x'\n", 0o600, "context 'a' has no url"),
    ],
)
def test_a_file_of_contexts_that_cannot_be_trusted_is_refused(
    vetro: Callable[..., Result], here: Path, monkeypatch: pytest.MonkeyPatch, text: str, mode: int, said: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here))
    file = here / "vetro" / "contexts.toml"
    file.parent.mkdir()
    file.write_text(text)
    file.chmod(mode)
    done = vetro("env", "list")
    assert done.exit_code == 1
    assert said in done.stderr
    assert file.read_text() == text
    # Commands that name this machine do not need it.
    assert vetro("env", "list", "--context", "local", "--workspace", str(here / "w")).exit_code == 0


def test_tokens(remote: Remote) -> None:
    made = remote.data("token", "create", "--name", "backup", "--days", "9")
    assert made["token"].startswith("vetro_")
    rows = remote.data("token", "list")
    (row,) = [r for r in rows if r["name"] == "backup"]
    assert row["project"] == "default"
    assert made["token"] not in remote.ok("token", "list").output
    assert "there is no token 'zz'" in remote.refused("token", "revoke", "zz")
    remote.ok("token", "revoke", row["id"][:12])
    assert [r for r in remote.data("token", "list") if r["name"] == "backup"] == []


def test_what_a_shell_completes(remote: Remote) -> None:
    remote.ok("env", "create", "completed")

    def complete(line: str, **environment: str) -> list[str]:
        words = line.split(" ")
        chosen = {"_VETRO_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        done = subprocess.run(
            [sys.executable, "-c", "from vetro.cli.main import main; main(prog_name='vetro')"],
            env={"PATH": "/usr/bin:/bin", **remote.environment, **chosen, **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stderr == ""
        return [entry.partition(",")[2] for entry in done.stdout.split()]

    assert complete("vetro env show comp") == ["completed"]
    assert complete("vetro his") == ["history"]
    assert complete("vetro package show io.murano.a") == ["io.murano.applications"]
    assert complete("vetro env list --context l") == ["local"]
    # Whatever is wrong, nothing disturbs the line that is typed.
    assert complete("vetro env show comp", VETRO_CONTEXT="unknown") == []
    for shell, word in (("bash", "complete"), ("zsh", "compdef"), ("fish", "complete --no-files")):
        assert word in remote.ok("completion", shell).stdout
