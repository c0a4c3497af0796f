"""Users, projects and roles: who may manage them, and what is left behind."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.accounts import service
from vetro.server.accounts.models import Token
from vetro.server.audit.models import AuditRecord
from vetro.server.caller import SYSTEM
from vetro.server.errors import Conflict, Forbidden, Invalid, NotFound

pytestmark = pytest.mark.django_db


def test_a_user_with_a_role_can_be_made_and_the_audit_says_who_made_it(root: Any) -> None:
    user = service.create_user(root.caller, " carl ", password="correct horse", email="carl@example.org")
    project = service.create_project(root.caller, "new")
    assert service.grant(root.caller, user, project, "reader") is True
    assert service.grant(root.caller, user, project, "reader") is False
    assert service.roles_of(user) == {"new": ["reader"]}
    done = AuditRecord.objects.filter(user_id=root.caller.user_id).order_by("id").values_list("action", "target_name")
    assert list(done) == [("user.create", "carl"), ("project.create", "new"), ("membership.grant", "carl")]


def test_members_manage_nobody(ann: Any) -> None:
    with pytest.raises(Forbidden, match="manage_accounts"):
        service.create_user(ann.caller, "carl")
    with pytest.raises(Forbidden):
        service.create_project(ann.caller, "mine")
    with pytest.raises(Forbidden):
        service.list_users(ann.caller)


def test_names_are_unique(ann: Any) -> None:
    with pytest.raises(Conflict, match="'ann'"):
        service.create_user(SYSTEM, "ann")
    with pytest.raises(Conflict, match="'demo'"):
        service.create_project(SYSTEM, "demo")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 256])
def test_a_name_can_be_read_and_is_not_too_long(name: str) -> None:
    with pytest.raises(Invalid):
        service.create_user(SYSTEM, name)


@pytest.mark.parametrize("password", ["", "seven77", "x" * 1025])
def test_a_password_is_neither_short_nor_endless(password: str) -> None:
    with pytest.raises(Invalid, match="characters"):
        service.create_user(SYSTEM, "carl", password=password)


def test_a_locked_account_and_a_closed_project_sign_nobody_in(ann: Any, bob: Any) -> None:
    assert (ann.get("/v1/nope").status_code, bob.get("/v1/nope").status_code) == (404, 404)
    service.set_active(SYSTEM, service.find_user("ann"), False)
    assert (ann.get("/v1/nope").status_code, bob.get("/v1/nope").status_code) == (401, 404)
    service.set_active(SYSTEM, service.find_user("ann"), True)
    service.set_project_enabled(SYSTEM, service.find_project("demo"), False)
    assert (ann.get("/v1/nope").status_code, bob.get("/v1/nope").status_code) == (401, 401)


def test_who_lost_the_last_role_is_out_at_once(ann: Any) -> None:
    service.revoke_role(SYSTEM, service.find_user("ann"), service.find_project("demo"), "member")
    assert ann.get("/v1/nope").status_code == 401
    with pytest.raises(NotFound, match="does not have role 'member'"):
        service.revoke_role(SYSTEM, service.find_user("ann"), service.find_project("demo"), "member")


def test_a_deleted_user_takes_the_tokens_along(ann: Any, bob: Any) -> None:
    service.delete_user(SYSTEM, service.find_user("ann"))
    assert ann.get("/v1/nope").status_code == 401
    assert Token.objects.count() == 1


def test_an_unknown_name_is_told_with_a_similar_one(ann: Any) -> None:
    with pytest.raises(NotFound, match="did you mean 'demo'"):
        service.find_project("dmo")


def test_lists_need_two_queries_whatever_their_length(people: Any, root: Any, django_assert_num_queries: Any) -> None:
    for number in range(5):
        people(f"p{number}", f"project{number % 2}")
    with django_assert_num_queries(2):
        found = service.list_users(root.caller)
    assert [user["name"] for user in found] == ["p0", "p1", "p2", "p3", "p4", "root"]
    assert found[0]["projects"] == {"project0": ["member"]}
    assert {p["name"]: p["users"] for p in service.list_projects(root.caller)} == {
        "operators": 1,
        "project0": 3,
        "project1": 2,
    }
