"""States of an environment, differences between them, going back to one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Path, Query, Schema

from vetro.server.api.answers import history as answers
from vetro.server.api.paging import LARGEST
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created
from vetro.server.api.v2.sessions import Changes, SessionShown
from vetro.server.api.v2.shapes import Page

routes = Routes("history")


class StateRow(Schema):
    """A state that a task left."""

    number: int = Field(description="The environment's version at which it became the state.")
    created: datetime
    task_id: str | None
    kind: str | None = Field(description="Kind of the task; undo: it took others back.")
    state: str | None = Field(description="State of the task.")
    user_id: str | None
    finished: datetime | None
    undone_of: int | None = Field(
        None, description="The first of the states that it took back: it is a copy of the one before that."
    )


class StateShown(Schema):
    """A state with its model."""

    number: int
    model: dict[str, Any] = Field(description="As models are everywhere in /v2; secrets are marked.")


class LockedPackage(Schema):
    """An archive of a lock."""

    name: str
    version: str
    digest: str = Field(description="SHA-256 of the archive.")
    source: str = Field(description="Where it was: project, public, environment (in no catalog); empty: not known.")
    signer: str = Field(description="Who vouches for it; empty: nobody.")


class VersionChoice(Schema):
    """Why a version was chosen."""

    who: str = Field(description="What asked, NAME/VERSION; empty: the objects.")
    name: str = Field(description="What it asked for: a package, or the class of an object.")
    spec: str = Field(description="In which versions.")
    chosen: str = Field(description="What it got, NAME/VERSION.")


class LockBody(Schema):
    """The document. Its canonical form (sorted keys, no blanks) has the digest that names the lock."""

    format: int
    engine: str
    library: dict[str, str] = Field(description="Standard packages: NAME/VERSION to SHA-256.")
    packages: list[LockedPackage]
    configs: str = Field(description="SHA-256 of the class configurations.")
    resolution: list[VersionChoice]


class LockShown(Schema):
    """The lock of a state."""

    digest: str
    state: int
    lock: LockBody


class AskerShown(Schema):
    """An object that asks for a class."""

    id: str
    name: str
    class_name: str


class ReasonShown(Schema):
    """One way from objects to a version."""

    objects: list[AskerShown] = Field(description="The first ones.")
    count: int = Field(description="How many there are.")
    choices: list[VersionChoice]


class PackageExplained(Schema):
    """Why there is a version of a package."""

    name: str
    version: str
    digest: str
    reasons: list[ReasonShown]


class ObstacleShown(Schema):
    """The first thing that keeps a version out."""

    kind: str = Field(
        description="absent, disabled, unusable, requirement, dependency (of its own), object, lock, none."
    )
    text: str
    who: str = Field(description="The package whose requirement it is, NAME/VERSION.")
    spec: str
    file: str
    line: int = Field(description="0: not known.")


class PackagesExplained(Schema):
    """Why an environment has its packages."""

    number: int = Field(description="The state that is explained.")
    lock: str = Field(description="Its digest.")
    packages: list[PackageExplained]
    obstacle: ObstacleShown | None = Field(None, description="null: the version is there, or none was asked for.")


@routes.add("GET", "/environments/{environment_id}/lock", "showLock", "show_history", LockShown)
def show_lock(
    request: HttpRequest,
    environment_id: str,
    state: Annotated[int | None, Query(ge=0, le=LARGEST, description="Number of a state; the newest without.")] = None,
) -> Any:
    """The packages with which a state was deployed, by digest, and why these were chosen."""
    return answers.show_lock(who(request), environment_id, state=state)


@routes.add("GET", "/environments/{environment_id}/why", "explainPackages", "show_history", PackagesExplained)
def explain_packages(
    request: HttpRequest,
    environment_id: str,
    package: Annotated[str, Query(max_length=512, description="Only this one.")] = "",
    version: Annotated[str, Query(max_length=128, description="Of it: why this one, or why not.")] = "",
) -> Any:
    """Why the environment has its packages in these versions, and what keeps another one out."""
    return answers.explain_packages(who(request), environment_id, package=package, version=version)


@routes.add("GET", "/environments/{environment_id}/states", "listStates", "show_history", Page[StateRow])
def list_states(
    request: HttpRequest,
    environment_id: str,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Any:
    """The states of an environment, newest first."""
    return answers.list_states(who(request), environment_id, limit=limit, cursor=cursor)


@routes.add("GET", "/environments/{environment_id}/states/{number}", "showState", "show_history", StateShown)
def show_state(request: HttpRequest, environment_id: str, number: Annotated[int, Path(ge=0, le=LARGEST)]) -> Any:
    """The object model of a state."""
    return answers.show_state(who(request), environment_id, number)


@routes.add("GET", "/environments/{environment_id}/diff", "compareStates", "show_history", Changes)
def compare_states(
    request: HttpRequest,
    environment_id: str,
    older: Annotated[int, Query(alias="from", ge=0, le=LARGEST, description="Number of a state.")],
    newer: Annotated[
        int | None, Query(alias="to", ge=0, le=LARGEST, description="Number of a state; the newest without.")
    ] = None,
) -> Any:
    """What changed from one state to another."""
    return answers.compare_states(who(request), environment_id, older, newer)


@routes.add(
    "POST",
    "/environments/{environment_id}/states/{number}/restore",
    "restoreState",
    "update_environment",
    SessionShown,
    status=201,
)
def restore_state(request: HttpRequest, environment_id: str, number: Annotated[int, Path(ge=0, le=LARGEST)]) -> Answer:
    """A new session whose draft is that state; deploying it makes it so again, with the packages that it had."""
    return created(answers.restore_state(who(request), environment_id, number))
