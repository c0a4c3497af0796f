"""Tokens and links: shown once, stored as digests, ended at once."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from vetro.server.accounts import revocation, service, token_usage
from vetro.server.accounts.authentication import caller_of_token
from vetro.server.accounts.models import Token
from vetro.server.caller import SYSTEM
from vetro.server.errors import Forbidden, Invalid, NotFound, NotSignedIn

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def made(person: Any, **more: Any) -> tuple[Token, str]:
    user, project = service.find_user(person.caller.user_id), service.find_project(person.caller.project_id)
    return service.create_token(person.caller, user, project, **more)


def test_a_token_stands_for_its_owner_in_its_project(ann: Any) -> None:
    token, text = made(ann, name="ci", days=3)
    caller = caller_of_token(text, "10.0.0.9")
    assert (caller.user_name, caller.project_name, caller.roles) == ("ann", "demo", ("member",))
    assert (caller.token_id, caller.address, caller.is_admin) == (token.id, "10.0.0.9", False)
    assert token.expires is not None and timedelta(days=2.9) < token.expires - datetime.now(UTC) < timedelta(days=3)


def test_the_database_holds_no_token(ann: Any) -> None:
    token, text = made(ann)
    token.refresh_from_db()
    stored = [str(getattr(token, field.attname)) for field in Token._meta.fields]
    assert all(text[10:] not in value for value in stored)
    assert text.startswith(token.prefix)


def test_every_role_of_the_owner_counts(ann: Any) -> None:
    user, project = service.find_user("ann"), service.find_project("demo")
    service.grant(SYSTEM, user, project, "admin")
    caller = caller_of_token(ann.token)
    assert (caller.roles, caller.is_admin) == (("admin", "member"), True)


def test_an_expired_token_is_refused(ann: Any) -> None:
    token, text = made(ann, days=1)
    Token.objects.filter(pk=token.pk).update(expires=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(NotSignedIn):
        caller_of_token(text)


def test_a_token_without_end_works(ann: Any) -> None:
    token, text = made(ann, days=0)
    assert token.expires is None
    assert caller_of_token(text).user_name == "ann"


@pytest.mark.parametrize("name", ["id", "text"])
def test_a_revoked_token_is_refused_by_the_next_request(ann: Any, name: str) -> None:
    token, text = made(ann)
    service.revoke_token(ann.caller, token.id if name == "id" else text)
    with pytest.raises(NotSignedIn):
        caller_of_token(text)
    with pytest.raises(NotFound):
        service.revoke_token(ann.caller, token.id)


def test_tokens_of_others_are_not_to_be_seen_made_or_ended(ann: Any, eve: Any, root: Any) -> None:
    user, project = service.find_user("ann"), service.find_project("demo")
    with pytest.raises(Forbidden):
        service.create_token(eve.caller, user, project)
    with pytest.raises(Forbidden):
        service.list_tokens(eve.caller, user)
    with pytest.raises(NotFound):  # the answer for one that there is not
        service.revoke_token(eve.caller, ann.caller.token_id)
    assert [token["user"] for token in service.list_tokens(eve.caller)] == ["eve"]
    assert {token["user"] for token in service.list_tokens(root.caller)} == {"ann", "eve", "root"}


def test_nobody_gets_a_token_for_a_project_of_others(eve: Any, ann: Any) -> None:
    with pytest.raises(Invalid, match="does not belong to project 'demo'"):
        service.create_token(eve.caller, service.find_user("eve"), service.find_project("demo"))


@pytest.mark.parametrize("text", ["", "x", "vetro_" + "a" * 43, "ä\udc80", "x" * 100_000, "a\x00b"])
def test_nonsense_is_no_token(ann: Any, text: str) -> None:
    with pytest.raises(NotSignedIn):
        caller_of_token(text)


def test_looking_a_token_up_is_one_query(ann: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        caller_of_token(ann.token)


@pytest.mark.django_db(transaction=True)
def test_a_remembered_token_ends_when_it_is_revoked_or_expires(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    token, text = made(ann, days=1)
    assert caller_of_token(text) == caller_of_token(text)
    tomorrow = time.time() + 86_400
    with monkeypatch.context() as later:
        later.setattr(time, "time", lambda: tomorrow)
        with pytest.raises(NotSignedIn):
            caller_of_token(text)
    assert caller_of_token(text).token_id == token.id
    Token.objects.filter(pk=token.pk).update(revoked=datetime.now(UTC))
    with pytest.raises(NotSignedIn):
        caller_of_token(text)
    Token.objects.filter(pk=token.pk).update(revoked=None)
    assert caller_of_token(text).roles == ("member",)
    service.find_user("ann").memberships.update(role="reader")
    assert caller_of_token(text).roles == ("reader",)


def test_when_a_token_was_used_is_written_later(ann: Any) -> None:
    token_usage.flush()
    caller_of_token(ann.token)
    assert Token.objects.get(pk=ann.caller.token_id).last_used is None
    assert token_usage.flush() == 1
    found = Token.objects.get(pk=ann.caller.token_id).last_used
    assert found is not None and datetime.now(UTC) - found < timedelta(seconds=30)
    assert token_usage.flush() == 0
    later = datetime.now(UTC) + timedelta(seconds=5)  # another process has seen it after this one
    Token.objects.filter(pk=ann.caller.token_id).update(last_used=later)
    caller_of_token(ann.token)
    token_usage.flush()
    assert Token.objects.get(pk=ann.caller.token_id).last_used == later


def test_a_link_signs_in_once_and_is_no_token(ann: Any, root: Any) -> None:
    user, project = service.find_user("ann"), service.find_project("demo")
    link, text = service.create_link(root.caller, user, project)
    with pytest.raises(NotSignedIn):
        caller_of_token(text)
    assert service.redeem_link(text, "10.0.0.9") == (user, project)
    with pytest.raises(NotSignedIn, match="was used"):
        service.redeem_link(text)
    assert link.id not in [token["id"] for token in service.list_tokens(root.caller)]


def test_a_token_is_no_link_and_an_old_link_none_any_more(ann: Any, root: Any) -> None:
    with pytest.raises(NotSignedIn):
        service.redeem_link(ann.token)
    link, text = service.create_link(root.caller, service.find_user("ann"), service.find_project("demo"))
    Token.objects.filter(pk=link.pk).update(expires=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(NotSignedIn):
        service.redeem_link(text)


def test_only_administrators_make_links(ann: Any) -> None:
    with pytest.raises(Forbidden):
        service.create_link(ann.caller, service.find_user("ann"), service.find_project("demo"))


def test_bearer_tokens_are_for_v2_only(ann: Any) -> None:
    from django.test import Client, RequestFactory

    from vetro.server.accounts.authentication import caller_of

    header = {"authorization": f"Bearer {ann.token}"}
    assert Client(headers=header).get("/v1/nope").status_code == 401
    request = RequestFactory(headers=header).get("/v2/x")
    assert caller_of(request, bearer=True).user_name == "ann"


def test_who_missed_the_first_link_gets_another_until_somebody_has_signed_in() -> None:
    from vetro.server.http.startup import first_account

    missed, link = first_account(), first_account()
    assert missed is not None and link is not None and missed != link
    user, _ = service.redeem_link(link)
    assert user.username == "admin"
    assert first_account() is None


@pytest.mark.parametrize("otherwise", ["token", "password", "account"])
def test_there_is_no_other_first_link_where_one_can_sign_in_otherwise(otherwise: str) -> None:
    from vetro.server.http.startup import first_account

    assert first_account() is not None
    user, project = service.find_user("admin"), service.find_project("default")
    if otherwise == "token":
        service.create_token(SYSTEM, user, project)
    elif otherwise == "password":
        service.set_password(SYSTEM, user, "correct horse")
    else:
        service.create_user(SYSTEM, "bea")
    assert first_account() is None


@pytest.fixture
def both(ann: Any) -> Any:
    """ann belongs to project others, too."""
    project = service.create_project(SYSTEM, "others")
    service.grant(SYSTEM, service.find_user("ann"), project, "member")
    return project


def by(text: str) -> dict[str, Any]:
    return {"headers": {"x-auth-token": text}}


@pytest.mark.attack("tokens", "A3")
def test_by_token_there_are_tokens_for_its_project_only(ann: Any, both: Any) -> None:
    for name in ("others", both.id):
        answer = ann.post("/v2/tokens", {"name": "x", "project": name})
        assert (answer.status_code, "own project only" in answer.json()["error"]["message"]) == (403, True)
    assert ann.post("/v2/tokens", {"name": "x", "project": "demo"}).status_code == 201


@pytest.mark.attack("tokens", "A3")
@pytest.mark.parametrize("days", [None, 0, 400])
def test_a_token_made_by_a_token_ends_no_later(ann: Any, days: int | None) -> None:
    token, text = made(ann, days=2)
    answer = ann.post("/v2/tokens", {"name": "x", "days": days}, **by(text)).json()
    assert token.expires is not None
    assert abs(datetime.fromisoformat(answer["expires"]) - token.expires) < timedelta(milliseconds=1)
    sooner = ann.post("/v2/tokens", {"name": "x", "days": 1}, **by(text)).json()
    assert datetime.fromisoformat(sooner["expires"]) < token.expires


@pytest.mark.attack("tokens", "A3")
def test_tokens_end_with_the_one_they_were_made_with_however_deep(ann: Any) -> None:
    chain = [made(ann, days=2)[1]]
    for _ in range(4):
        chain.append(ann.post("/v2/tokens", {"name": "deeper"}, **by(chain[-1])).json()["token"])
    aside = ann.post("/v2/tokens", {"name": "aside"}).json()["token"]
    assert all(ann.get("/v2/me", **by(text)).status_code == 200 for text in chain)
    assert ann.post("/v2/auth/logout", **by(chain[1])).status_code == 204
    assert [ann.get("/v2/me", **by(text)).status_code for text in chain] == [200, 401, 401, 401, 401]
    assert ann.get("/v2/me", **by(aside)).status_code == 200


@pytest.mark.attack("tokens", "A3")
def test_nothing_is_made_with_a_token_that_was_revoked_meanwhile(ann: Any) -> None:
    _, text = made(ann)
    caller = caller_of_token(text)
    service.revoke_token(ann.caller, str(caller.token_id))
    with pytest.raises(NotSignedIn):
        service.create_token(caller, service.find_user("ann"), service.find_project("demo"))


@pytest.mark.attack("tokens", "A3")
def test_by_token_the_tokens_of_its_project_are_seen_and_ended(ann: Any, both: Any, root: Any) -> None:
    here, there = made(ann, name="here")[0], service.create_token(SYSTEM, service.find_user("ann"), both)[0]
    assert there.id not in {row["id"] for row in ann.get("/v2/tokens").json()["items"]}
    assert ann.delete(f"/v2/tokens/{there.id}").status_code == 404
    assert ann.delete(f"/v2/tokens/{here.id}").status_code == 204
    assert there.id in {row["id"] for row in root.get("/v2/tokens?user=ann").json()["items"]}
    assert root.delete(f"/v2/tokens/{there.id}").status_code == 204


@pytest.mark.attack("tokens", "A7")
def test_the_last_role_takes_the_tokens_of_a_project_along(ann: Any, both: Any, root: Any) -> None:
    user = service.find_user("ann")
    token, text = service.create_token(SYSTEM, user, both)
    _, link = service.create_link(SYSTEM, user, both)
    service.grant(SYSTEM, user, both, "reader")
    assert root.delete("/v2/admin/memberships?user=ann&project=others&role=reader").status_code == 204
    assert caller_of_token(text).project_name == "others"
    assert root.delete("/v2/admin/memberships?user=ann&project=others").status_code == 204
    service.grant(SYSTEM, user, both, "member")  # what was taken is not given back with a new role
    with pytest.raises(NotSignedIn):
        caller_of_token(text)
    with pytest.raises(NotSignedIn):
        service.redeem_link(link)
    assert caller_of_token(ann.token).project_name == "demo"
    assert revocation.drop(datetime.now(UTC)) == 0
    assert revocation.drop(datetime.now(UTC) + revocation.KEPT + timedelta(seconds=5)) == 2
    assert not Token.objects.filter(pk=token.pk).exists()


@pytest.mark.attack("tokens", "A7")
def test_tokens_whose_roles_went_before_are_found(ann: Any) -> None:
    token, _text = made(ann)
    service.find_user("ann").memberships.all().delete()
    revocation.drop(datetime.now(UTC))
    assert Token.objects.get(pk=token.pk).revoked is not None


@pytest.mark.attack("accounts", "A7")
@pytest.mark.parametrize("change", ["password", "own", "lock", "remove", "role"])
def test_links_end_with_password_lock_account_and_role(ann: Any, root: Any, change: str) -> None:
    user, project = service.find_user("ann"), service.find_project("demo")
    url = root.post("/v2/admin/users/ann/link?project=demo").json()["url"]
    if change == "password":
        assert root.patch("/v2/admin/users/ann", {"password": "correct horse"}).status_code == 200
    elif change == "own":
        service.set_password(ann.caller, user, "correct horse")
    elif change == "lock":
        for enabled in (False, True):
            assert root.patch("/v2/admin/users/ann", {"enabled": enabled}).status_code == 200
    elif change == "remove":
        assert root.delete("/v2/admin/users/ann").status_code == 204
    else:
        service.revoke_role(SYSTEM, user, project, "member")
        user.memberships.create(project=service.create_project(SYSTEM, "else"))
    answer = Client().post(url[url.index("/app/") :])
    assert answer.status_code == 401 and "does not work any more" in answer.content.decode()
    assert "vetro_session" not in answer.cookies or not answer.cookies["vetro_session"].value
