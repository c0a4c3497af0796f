"""Impact: what a version of a package would change in the environments that use it."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Field, File, Form, Schema
from ninja.files import UploadedFile

from vetro.packages.lock import LockedPackage
from vetro.server.api.answers import impact as answers
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, accepted
from vetro.server.api.v2.shapes import Given, Short
from vetro.server.catalog import blobs, drafts
from vetro.server.catalog.inspection.protocol import content_of
from vetro.server.language import translated_data

routes = Routes("packages")


class ImpactReason(Schema):
    """Why environments are in a group."""

    text: str
    count: int = Field(description="In how many environments of the project.")


class FailurePlace(Schema):
    """Where the package fails in environments of other projects."""

    file: str
    line: int
    count: int


class ImpactEnvironment(Schema):
    """An environment that was looked at."""

    id: str
    name: str
    state: int = Field(description="The number of the state that was looked at.")
    lock: str = Field(description="SHA-256 of its lock; empty: it has none.")
    plan: bool = Field(description="Whether there are plans to be read.")
    simulated: bool = Field(description="Nothing of it exists: its cloud executes nothing.")


class ImpactGroup(Schema):
    """Environments with which the same would happen."""

    group: str = Field(description="same, changes, replaces, loses, asks, fails, skipped.")
    count: int
    others: int = Field(description="How many of them are of other projects.")
    reasons: list[ImpactReason] = Field(description="What happens, the commonest first; of the own project only.")
    places: list[FailurePlace] = Field(description="For other projects: places in this package, and nothing else.")
    environments: list[ImpactEnvironment] = Field(description="The first 100 that the caller may know by name.")


class ImpactShown(Schema):
    """What a version would change, as far as it was found out."""

    id: str
    package: str
    version: str
    digest: str
    engine: str
    created: str
    all_projects: bool
    state: str = Field(description="running or done.")
    done: int
    total: int
    basis: str = Field(description="SHA-256 over archive, engine, and state and lock of each environment.")
    groups: list[ImpactGroup] = Field(description="The largest first.")
    tasks: list[str] = Field(description="Tasks that are still to be done.")


class ImpactPlan(Schema):
    """What was found out of one environment."""

    id: str
    name: str
    state: int
    lock: str
    group: str
    detail: dict[str, Any]
    old: dict[str, Any] | None = Field(description="The plan with the version that it has.")
    new: dict[str, Any] | None = Field(description="The plan with the new one.")


class ImpactAsked(Given):
    """Which version; an archive comes as part `archive` instead."""

    package: Short | None = Field(None, description="Id, NAME or NAME/VERSION.")
    all_projects: bool = Field(False, description="Environments of all projects; needs rule impact_all_projects.")


@routes.add("POST", "/packages/impact", "beginImpact", "plan_environment", ImpactShown, status=202, takes="multipart")
def begin(
    request: HttpRequest,
    given: Annotated[ImpactAsked, Form()],
    archive: Annotated[UploadedFile | None, File()] = None,
) -> Answer:
    """Begins to find out what a version would change. Nothing outside changes; tasks of kind `plans` do it.

    At most 5 questions of a project at once. Archives count for the quota `archives`, and are kept for 7 days.
    """
    caller = who(request)
    draft = None if archive is None else drafts.read(caller, content_of(archive), drafts.Options(strict=False))
    beside: list[LockedPackage] = [] if draft is None else [answers.locked(draft.row)]
    with transaction.atomic():
        made = answers.begin_impact(
            caller,
            package=given.package,
            all_projects=given.all_projects,
            beside=beside,
            size=0 if draft is None else len(draft.data),
        )
        if draft is not None:
            blobs.put(draft.data)  # there before any task begins, and not at all where the question is refused
    return accepted(translated_data(made))


@routes.add("GET", "/packages/impact/{impact_id}", "showImpact", "plan_environment", ImpactShown)
def show(request: HttpRequest, impact_id: str) -> Any:
    """What was found out so far: groups of environments, the largest first. It is kept for 30 days."""
    return translated_data(answers.show_impact(who(request), impact_id))


@routes.add(
    "GET",
    "/packages/impact/{impact_id}/environments/{environment_id}",
    "showImpactPlan",
    "plan_environment",
    ImpactPlan,
)
def show_plan(request: HttpRequest, impact_id: str, environment_id: str) -> Any:
    """What was found out of one environment of the project, with its plans."""
    return translated_data(answers.show_impact_plan(who(request), impact_id, environment_id))
