"""`vetro notice` against a running service, whose worker sends what is due."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.remotekit import Remote


def test_targets_rules_and_a_test_that_cannot_arrive(remote: Remote, here: Path) -> None:
    secret = remote.ok("notice", "target", "add", "ops", "--webhook", "https://10.0.0.1/", "-o", "value").stdout.strip()
    assert secret.startswith("whsec_")
    assert secret not in remote.ok("notice", "target", "list", "-o", "json").stdout
    template = here / "template.json"
    template.write_text('{"text": "{{title}}"}')
    remote.ok("notice", "target", "add", "room", "--chat", "https://hooks.example.com/T0", "--template", str(template))
    remote.ok("notice", "rule", "add", "ops", "--kind", "deployment.failed", "--least", "warning")
    (rule,) = json.loads(remote.ok("notice", "rule", "list", "-o", "json").stdout)
    assert (rule["target"], rule["kinds"], rule["least"]) == ("ops", ["deployment.failed"], "warning")

    failed = remote.run("notice", "test", "ops")
    assert failed.exit_code == 1
    assert "there is no host of this name that notices may be sent to" in " ".join(failed.output.split())
    (sent,) = json.loads(remote.ok("notice", "deliveries", "--target", "ops", "-o", "json").stdout)
    assert (sent["kind"], sent["state"]) == ("test", "waiting") and sent["attempts"] > 0

    assert remote.ok("notice", "target", "secret", "ops").stdout.startswith("whsec_")
    remote.ok("notice", "target", "switch", "ops", "off")
    assert "switched off" in remote.run("notice", "test", "ops").output
    remote.ok("notice", "rule", "remove", rule["id"][:8])
    for name in ("ops", "room"):
        remote.ok("notice", "target", "remove", name)
    assert "no targets" in remote.ok("notice", "target", "list").output


def test_what_belongs_together_is_asked_for(remote: Remote) -> None:
    for args in ((), ("--webhook", "https://a.example.com/", "--mail", "a@example.com"), ("--chat", "https://a/")):
        assert remote.run("notice", "target", "add", "x", *args).exit_code == 2
    assert "there is no target 'nobody'" in remote.run("notice", "test", "nobody").output
