"""Upgrades: newer versions for what an environment runs, and the drafts that move it there."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Schema
from pydantic import StringConstraints

from vetro.server.api.answers import upgrades as answers
from vetro.server.api.v2.access import who
from vetro.server.api.v2.packages import ReleaseShown
from vetro.server.api.v2.procedures import ProcedureShown
from vetro.server.api.v2.routes import Answer, Routes, accepted, created
from vetro.server.api.v2.sessions import SessionShown
from vetro.server.api.v2.shapes import Given, Short

routes = Routes("upgrades")
_Version = Annotated[str, StringConstraints(max_length=128)]


class OfferShown(Schema):
    """A package of an environment's objects of which there is a newer release."""

    package: str
    name: str = Field(description="For people.")
    used: list[str] = Field(description="The versions that objects have, lowest first.")
    to: str = Field(description="The newest.")
    versions: list[str] = Field(description="All that are newer, newest first.")
    bump: str = Field(description="patch, minor, breaking: by the numbers.")
    security: bool = Field(description="Whether a change since then is one of security.")
    changes: list[ReleaseShown] = Field(description="What is new since the highest version that is used.")


class Offers(Schema):
    """What could be upgraded."""

    items: list[OfferShown]


class UpgradeAsked(Given):
    """What is to be upgraded. Objects are named by id, or by a name that only one of them has."""

    to: dict[Short, _Version] = Field({}, description="Package to version; none: the newest of all.")
    objects: list[Short] = Field([], description="Only these, with what they own; none: all.", max_length=1000)
    answers: dict[Short, dict[Short, Any]] = Field({}, description="Object to property to value.")
    drops: list[Short] = Field([], description="OBJECT.PROPERTY whose values may be lost.", max_length=1000)


class UpgradeChain(UpgradeAsked):
    """What is to be upgraded one after the other, and how each can be taken back."""

    settle: float | None = Field(
        None, ge=0, le=86_400, description="Seconds for which each is looked at; null: as authors say, or 30."
    )
    hold: float = Field(0, ge=0, le=2_592_000, description="Seconds for which the last can be taken back afterwards.")
    confirmed: bool | Annotated[list[str], Field(max_length=1000)] = Field(
        False, description="What does not come back is known, and may go; a list: these losses, and no others."
    )
    together: bool = Field(False, description="All go back where one does not go well.")


class UpgradeWanted(UpgradeAsked):
    """What is to be upgraded."""

    draft: bool = Field(True, description="Make the session; false: only say what would be.")


class UpgradeMade(Schema):
    """The session that does it when it is deployed, and the report."""

    session: SessionShown | None
    report: dict[str, Any] = Field(
        description="objects (from, to, steps, dropped, changed), asked, removed, problems, packages, ready; order: "
        "ids of applications, what others use first, as they can be upgraded one by one (objects)."
    )


@routes.add("GET", "/environments/{environment_id}/upgrades", "listUpgrades", "show_environment", Offers)
def list_upgrades(request: HttpRequest, environment_id: str) -> Any:
    """The packages of an environment's objects of which there is a newer release."""
    return answers.list_upgrades(who(request), environment_id)


@routes.add(
    "POST",
    "/environments/{environment_id}/upgrades",
    "upgradeEnvironment",
    "update_environment",
    UpgradeMade,
    status=201,
)
def upgrade_environment(request: HttpRequest, environment_id: str, given: UpgradeWanted) -> Answer:
    """Moves objects to newer versions of their packages: a draft, which is deployed as any other.

    While something is asked, or a value would be lost unconfirmed, the answer is 409 with the report in `details`.
    """
    return created(answers.upgrade_environment(who(request), environment_id, **given.dict()))


@routes.add(
    "POST",
    "/environments/{environment_id}/upgrades/one-by-one",
    "upgradeOneByOne",
    "update_environment",
    ProcedureShown,
    status=202,
)
def upgrade_one_by_one(request: HttpRequest, environment_id: str, given: UpgradeChain) -> Answer:
    """Upgrades one application after the other, what others use first, each with a way back; stops where one goes back.

    It needs nobody: the service goes on. Refused as an upgrade is, and where there would be no way back.
    """
    return accepted(answers.upgrade_one_by_one(who(request), environment_id, **given.dict()))
