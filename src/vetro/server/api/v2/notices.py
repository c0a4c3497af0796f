"""Notices: who is told what happens in the project, and what became of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Field, Query, Schema

from vetro.server.api.paging import aware, page, place
from vetro.server.api.paging import cursor as cursor_of
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.shapes import Given, Name, Page
from vetro.server.errors import Invalid
from vetro.server.notices import service

routes = Routes("notices")
_RULE = "manage_notices"

Level = Literal["info", "warning", "error"]
Url = Annotated[str, Field(max_length=2000)]
Mails = Annotated[list[Annotated[str, Field(max_length=254)]], Field(max_length=20)]


class TargetShown(Schema):
    """Where notices go."""

    id: str
    name: str
    kind: Literal["webhook", "mail", "chat"]
    url: str | None = Field(description="Of a webhook; of a chat only its host, for the rest is a secret.")
    to: list[str] | None = Field(description="Addresses of e-mail.")
    form: str | None = Field(description="Of a chat: slack, mattermost or template.")
    template: str | None
    language: str
    enabled: bool
    rules: int = Field(description="How many rules name it.")
    dead: int = Field(description="Notices that could not be delivered in three days.")
    failing: str | None = Field(description="Why the newest notice did not arrive; null where it did.")
    secrets: int = Field(description="Secrets that sign: two during a rotation.")
    created: datetime


class TargetAdded(TargetShown):
    """A new target."""

    secret: str | None = Field(description="Of a webhook: what its signatures are checked with. Told only now.")


class TargetWanted(Given):
    """A target to be made."""

    name: Name = Field(examples=["ops"])
    kind: Literal["webhook", "mail", "chat"]
    url: Url | None = Field(None, description="Of a webhook or chat.", examples=["https://ops.example.com/vetro"])
    to: Mails | None = Field(None, description="Of mail.")
    form: Literal["slack", "mattermost", "template"] | None = Field(None, description="Of a chat; slack without.")
    template: str | None = Field(
        None, max_length=8000, description="JSON with places like {{title}}.", examples=['{"text": "{{title}}"}']
    )
    language: Literal["", "en", "de"] = Field("", description="Of what people read.")


class TargetChange(Given):
    """What is to change. Where notices go is given as a whole: ``url`` or ``to``, ``form``, ``template``."""

    name: Name | None = None
    enabled: bool | None = None
    language: Literal["", "en", "de"] | None = None
    url: Url | None = None
    to: Mails | None = None
    form: Literal["slack", "mattermost", "template"] | None = None
    template: str | None = Field(None, max_length=8000)


class SecretWanted(Given):
    """A rotation."""

    hours: int = Field(service.HOURS, ge=0, le=service.MOST_HOURS, description="How long the secret before signs, too.")


class SecretShown(Schema):
    """A new secret."""

    secret: str = Field(description="Told only now.")


class RuleShown(Schema):
    """What a target is told."""

    id: str
    target_id: str
    target: str
    environment_id: str | None = Field(description="Null: all environments of the project.")
    environment: str | None = Field(description="Its name; null where it is gone, too.")
    kinds: list[str] = Field(description="Empty: all.")
    least: Level
    created: datetime


class RuleWanted(Given):
    """A rule to be made."""

    target_id: str = Field(max_length=32)
    environment_id: str | None = Field(None, max_length=32, description="Without: all environments of the project.")
    kinds: list[Annotated[str, Field(max_length=32)]] = Field(
        [], max_length=50, description="docs/notices.md lists them; empty: all.", examples=[["deployment.failed"]]
    )
    least: Level = Field("info", description="At least how bad it has to be.")


class RuleChange(Given):
    """What is to change."""

    environment_id: str | None = Field(None, max_length=32, description="Empty text: all environments.")
    kinds: list[Annotated[str, Field(max_length=32)]] | None = Field(None, max_length=50)
    least: Level | None = None


class DeliveryShown(Schema):
    """A notice to one target."""

    id: str = Field(description="The header `webhook-id`.")
    target_id: str
    target: str
    environment_id: str | None
    kind: str
    level: Level
    title: str
    state: Literal["waiting", "delivered", "dead", "dropped"]
    changes: int = Field(description="How many changes it tells in one.")
    attempts: int
    problem: str | None = Field(description="Why the last attempt failed.")
    created: datetime
    due: datetime | None = Field(description="When it is tried next.")
    ended: datetime | None


@routes.add("GET", "/notices/targets", "listNoticeTargets", _RULE, Page[TargetShown])
def list_targets(request: HttpRequest) -> Any:
    """Where notices of the project go."""
    found = service.targets(who(request))
    return page(found, len(found))


@routes.add("POST", "/notices/targets", "addNoticeTarget", _RULE, TargetAdded, status=201)
def add_target(request: HttpRequest, given: TargetWanted) -> Answer:
    """A new target. The secret of a webhook is in this answer only."""
    settings = given.dict(include={"url", "to", "form", "template"})
    made, secret = service.add_target(who(request), given.name, given.kind, settings, given.language)
    return created({**made, "secret": secret})


@routes.add("GET", "/notices/targets/{target_id}", "showNoticeTarget", _RULE, TargetShown)
def show_target(request: HttpRequest, target_id: str) -> Any:
    """One target."""
    return service.target(who(request), target_id)


@routes.add("PATCH", "/notices/targets/{target_id}", "changeNoticeTarget", _RULE, TargetShown)
def change_target(request: HttpRequest, target_id: str, given: TargetChange) -> Any:
    """Changes a target; what waits for it is tried at once."""
    changes = given.dict(exclude_none=True)
    where = {key: changes.pop(key) for key in ("url", "to", "form", "template") if key in changes}
    return service.change_target(who(request), target_id, {**changes, **({"settings": where} if where else {})})


@routes.add("DELETE", "/notices/targets/{target_id}", "removeNoticeTarget", _RULE, status=204)
def remove_target(request: HttpRequest, target_id: str) -> Answer:
    """Removes a target with its rules and deliveries."""
    service.remove_target(who(request), target_id)
    return nothing()


@routes.add("POST", "/notices/targets/{target_id}/test", "testNoticeTarget", _RULE, DeliveryShown, status=201)
def test_target(request: HttpRequest, target_id: str) -> Answer:
    """Has a worker send a test; read the delivery to see what became of it."""
    return created(service.test_target(who(request), target_id))


@routes.add("POST", "/notices/targets/{target_id}/secret", "rotateNoticeSecret", _RULE, SecretShown)
def rotate_secret(request: HttpRequest, target_id: str, given: SecretWanted) -> Any:
    """A new secret of a webhook. For some hours messages are signed by both."""
    return {"secret": service.rotate_secret(who(request), target_id, given.hours)}


@routes.add("GET", "/notices/rules", "listNoticeRules", _RULE, Page[RuleShown])
def list_rules(request: HttpRequest) -> Any:
    """What the targets are told."""
    found = service.rules(who(request))
    return page(found, len(found))


@routes.add("POST", "/notices/rules", "addNoticeRule", _RULE, RuleShown, status=201)
def add_rule(request: HttpRequest, given: RuleWanted) -> Answer:
    """A new rule."""
    made = service.add_rule(who(request), given.target_id, given.environment_id or "", given.kinds, given.least)
    return created(made)


@routes.add("PATCH", "/notices/rules/{rule_id}", "changeNoticeRule", _RULE, RuleShown)
def change_rule(request: HttpRequest, rule_id: str, given: RuleChange) -> Any:
    """Changes a rule."""
    return service.change_rule(who(request), rule_id, given.dict(exclude_none=True))


@routes.add("DELETE", "/notices/rules/{rule_id}", "removeNoticeRule", _RULE, status=204)
def remove_rule(request: HttpRequest, rule_id: str) -> Answer:
    """Removes a rule."""
    service.remove_rule(who(request), rule_id)
    return nothing()


@routes.add("GET", "/notices/deliveries", "listNoticeDeliveries", _RULE, Page[DeliveryShown])
def list_deliveries(
    request: HttpRequest,
    target: Annotated[str | None, Query(max_length=32, description="Id of a target.")] = None,
    state: Annotated[list[Literal["waiting", "delivered", "dead", "dropped"]] | None, Query(max_length=4)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Any:
    """Notices of the last 30 days, the newest first, and what became of them."""
    found = service.deliveries(
        who(request), target_id=target, state=state or (), before=_before(cursor), most=limit + 1
    )
    end = cursor_of(found[limit - 1]["created"].isoformat(), found[limit - 1]["id"]) if len(found) > limit else None
    return page(found[:limit], None, end)


@routes.add("GET", "/notices/deliveries/{delivery_id}", "showNoticeDelivery", _RULE, DeliveryShown)
def show_delivery(request: HttpRequest, delivery_id: str) -> Any:
    """One notice."""
    return service.delivery(who(request), delivery_id)


def _before(cursor: str | None) -> tuple[datetime, str] | None:
    found = place(cursor, str, str)
    if found is None:
        return None
    try:
        return aware(datetime.fromisoformat(found[0])), found[1]
    except ValueError:
        raise Invalid("This is no cursor of this list.") from None
