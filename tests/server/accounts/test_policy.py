"""Rules: defaults, roles, files, and what a broken file does."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vetro.server import setup
from vetro.server.accounts import policy
from vetro.server.accounts.policy_file import PolicyError, read_policy
from vetro.server.accounts.policy_rules import RULES, default_rules
from vetro.server.caller import SYSTEM, Caller
from vetro.server.errors import Forbidden, NotSignedIn

ADMIN_ONLY = {
    "list_environments_all_tenants",
    "publicize_package",
    "add_category",
    "force_version",
    "delete_category",
    "admin_api",
    "context_is_admin",
    "list_audit_all_projects",
    "manage_accounts",
    "build_images",
    "operate",
    "mark_images",
    "impact_all_projects",
    "keep_environment_ids",
}


def someone(*roles: str) -> Caller:
    return Caller("u", "somebody", "p", "project", roles, policy.is_admin(roles))


@pytest.fixture
def with_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    def use(text: str, name: str = "policy.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        changed = setup.config().changed({"accounts.policy_file": str(path)})
        monkeypatch.setattr(setup, "_current", changed)
        return path

    return use


def test_members_may_do_what_no_administrator_has_to() -> None:
    refused = {name for name in RULES if not policy.allows(someone("member"), name)}
    assert refused == ADMIN_ONLY


def test_administrators_may_do_everything() -> None:
    assert [name for name in RULES if not policy.allows(someone("admin"), name)] == []
    assert [name for name in RULES if not policy.allows(SYSTEM, name)] == []


def test_readers_only_read() -> None:
    allowed = {name for name in RULES if policy.allows(someone("reader"), name)}
    changing = ("create_", "update_", "delete_", "upload_", "modify_", "execute_", "clone_", "cancel_", "retry_")
    assert [name for name in allowed if name.startswith(changing)] == []
    assert {"list_environments", "show_environment", "get_package", "get_schema", "download_package"} <= allowed


@pytest.mark.parametrize("roles", [("reader", "member"), ("_member_",), ("heat_stack_owner",)])
def test_roles_of_a_keystone_that_are_not_reader_alone_count_as_members(roles: tuple[str, ...]) -> None:
    assert policy.allows(someone(*roles), "create_environment")


def test_a_rule_that_nobody_wrote_follows_the_default_rule() -> None:
    policy.enforce(someone("reader"), "some_rule_of_a_plugin")


def test_refusals_are_403_and_that_of_schemas_401(with_file: Any) -> None:
    with_file('"get_schema": "!"\n"get_package": "!"\n')
    with pytest.raises(NotSignedIn):
        policy.enforce(someone("member"), "get_schema")
    with pytest.raises(Forbidden, match="get_package"):
        policy.enforce(someone("member"), "get_package")


def test_a_file_in_json_of_the_old_form_replaces_rules(with_file: Any) -> None:
    old = {"context_is_admin": "role:boss", "default": "!", "list_environments": "", "get_package": [["role:cook"]]}
    with_file(json.dumps(old, indent=1), "policy.json")
    assert policy.allows(someone("boss"), "add_category")
    assert not policy.allows(someone("admin"), "add_category")
    assert policy.allows(someone("cook"), "get_package")
    assert not policy.allows(someone("member"), "get_package")
    assert not policy.allows(someone("member"), "unheard_of")


def test_rules_may_name_users_and_projects(with_file: Any) -> None:
    with_file("upload_package: project_id:p and user_id:u\ndownload_package: project_id:other\n")
    assert policy.allows(someone("reader"), "upload_package")
    assert not policy.allows(someone("member"), "download_package")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('"a": ""\n"get_package": "role"\n', 2, "is no expression"),
        ('"get_package": "role:a or or role:b"\n', 1, "is no expression"),
        ('"get_package": "(role:a"\n', 1, "is no expression"),
        ('\n\n"get_package": "rule:nothing_there"\n', 3, "there is no rule 'nothing_there'"),
        ('"get_package": "rule:get_pakage"\n', 1, "did you mean 'get_package'"),
        ('"a": "rule:b"\n"b": "not rule:a"\n', 1, "refers to itself"),
        ('"a": ""\n"a": "!"\n', 2, "stands there twice"),
        ('"a": {"b": "c"}\n', 1, "not a mapping"),
        ('{"a": "",\n "b" "c"}', 2, ""),
        ("- a\n", 1, "must hold a mapping"),
        ('"a": "http://elsewhere/%(x)s"\n', 1, "asks another server"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(PolicyError) as caught:
        read_policy(path)
    assert f"{path}:{line}: " in caught.value.message
    assert says in caught.value.message


def test_a_missing_or_huge_file_or_one_in_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        read_policy(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b'"a": "\xe4"')
    with pytest.raises(PolicyError, match="UTF-8"):
        read_policy(tmp_path / "latin")
    (tmp_path / "huge").write_bytes(b"#" * (2 << 20))
    with pytest.raises(PolicyError, match="larger"):
        read_policy(tmp_path / "huge")


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# nothing yet\n")
    assert read_policy(tmp_path / "empty") == {}


def test_a_name_that_nothing_asks_for_is_told(with_file: Any, caplog: pytest.LogCaptureFixture) -> None:
    path = with_file(
        '"creat_environment": "!"\n"boss": "role:boss"\n"get_package": "rule:boss"\n"no_such_thing": "@"\n'
    )
    assert policy.allows(someone("member"), "create_environment")  # the slip refuses nobody, so somebody has to say so
    assert f"{path}: creat_environment: nothing asks for this rule; did you mean 'create_environment'?" in caplog.text
    assert "no_such_thing: nothing asks for this rule" in caplog.text and ": boss:" not in caplog.text
    told = {name: meaning for name, _, _, meaning in policy.describe()}
    assert "did you mean 'create_environment'" in told["creat_environment"] and told["boss"] == ""


def test_a_changed_file_counts_and_a_broken_one_leaves_the_rules_as_they_were(
    with_file: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = with_file('"get_package": "!"\n')
    monkeypatch.setattr(policy, "_LOOK", 0.0)
    assert not policy.allows(someone("member"), "get_package")
    path.write_text('"get_package": "role:member"\n')
    assert policy.allows(someone("member"), "get_package")
    path.write_text('"get_package": "nonsense\n')
    assert policy.allows(someone("member"), "get_package")
    assert f"{path}:" in caplog.text


def test_deciding_costs_a_look_up() -> None:
    caller = someone("member")
    policy.allows(caller, "get_package")
    best = min(_timed(caller) for _ in range(5))
    assert best < 30e-6


def _timed(caller: Caller) -> float:
    began = time.perf_counter()
    for _ in range(1000):
        policy.allows(caller, "get_package")
    return (time.perf_counter() - began) / 1000


def test_a_reader_is_refused_by_the_api(people: Any) -> None:
    reader = people("rita", role="reader")
    assert reader.post("/v1/environments", {"name": "x"}).status_code == 403


def test_every_rule_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")
    lines = [
        f"| `{name}` | `{text or chr(34) * 2}` | {RULES[name][1]} |" for name, text in default_rules("admin").items()
    ]
    assert [line for line in lines if line not in page] == []


def test_a_refusal_says_who_one_is() -> None:
    caller = Caller("1", "rita", "2", "demo", roles=("reader",))
    with pytest.raises(Forbidden) as caught:
        policy.enforce(caller, "upload_package")
    assert caught.value.hint == "you act as reader in project demo; administrators grant roles"
