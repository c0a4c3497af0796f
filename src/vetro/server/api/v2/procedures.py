"""Updates with a way back: how they stand, taking them back, keeping what is now."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Field, Schema

from vetro.server.api.answers import procedures as answers
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, accepted
from vetro.server.api.v2.shapes import Page

routes = Routes("procedures")


class ProcedureTask(Schema):
    """A task of a procedure."""

    key: str
    kind: str = Field(description="snapshot, deploy, restore, drop.")
    task_id: str | None = Field(description="null: it could not be begun.")
    state: str = Field(description="That of the task; gone: it is not known any more.")
    error: Any = Field(None, description="Why it could not be begun: {message, hint}.")


class HeldPart(Schema):
    """A server or volume that is held."""

    id: str
    name: str
    kind: str = Field(description="server, volume.")
    method: str = Field(description="rows, copy, layer, image, snapshot, kept.")
    standstill: float = Field(description="Seconds for which it did not answer.")


class ProcedureStates(Schema):
    """Numbers of states of the environment."""

    before: int
    update: int | None = Field(description="That the update left.")
    undo: int | None = Field(description="That took it back: a copy of the one before.")


class ProcedurePart(Schema):
    """One of the upgrades that a chain makes one after the other."""

    names: list[str] = Field(description="Its applications.")
    state: str = Field(description="done, now, back (taken back), open (not begun).")


class ProcedureShown(Schema):
    """An update that can be taken back."""

    id: str
    kind: str = Field(description="guarded-update.")
    environment_id: str
    environment: str = Field(description="Its name.")
    user_id: str
    step: str = Field(
        description="ready, snapshotting, deploying, settling, drafting (the next part), holding, keeping, restoring, "
        "recovering (what was brought back has to serve again), releasing; stuck: a person says undo or keep; at its "
        "end kept or restored."
    )
    final: bool
    reason: str = Field(description="Why it goes back, or what it is stuck at.")
    unwell: dict[str, str] = Field(
        description="Of what was brought back: components by name that did not become as well as before in time, and "
        "how they were then."
    )
    upgrade: dict[str, str] = Field(description="Packages to versions; empty: it is no upgrade.")
    settle: float = Field(description="Seconds for which what is new is looked at.")
    hold: float = Field(description="Seconds for which it can be taken back afterwards.")
    until: datetime | None = Field(description="When the present step is over by itself.")
    losses: list[str] = Field(description="What does not come back.")
    parts: list[ProcedurePart] = Field(description="Of an upgrade one by one; else none.")
    together: bool = Field(description="Whether all parts go back where one does not go well.")
    held: list[HeldPart]
    states: ProcedureStates
    undoable: bool
    keepable: bool
    tasks: list[ProcedureTask]
    created: datetime
    finished: datetime | None


class WayBackPart(Schema):
    """How a server or volume would be kept."""

    id: str
    name: str
    kind: str = Field(description="server, volume.")
    method: str = Field(description="Empty: it would not be.")
    standstill: float = Field(description="Seconds for which it will not answer, about.")
    why: str


class WayBackShown(Schema):
    """Whether a deployment could be taken back."""

    able: bool
    why: str = Field(description="Why not.")
    required: bool = Field(description="An author wants it: without it the draft cannot be deployed.")
    losses: list[str] = Field(description="What does not come back.")
    parts: list[WayBackPart]
    settle: float = Field(description="Seconds for which what is new is looked at, as authors say.")


class UndoneState(Schema):
    """A state that would be taken back."""

    number: int
    kind: str | None = Field(description="Kind of the task that left it.")


class UndoShown(Schema):
    """What taking an update back would do."""

    procedure: ProcedureShown
    states: list[UndoneState] = Field(description="Newest first; all that came after the snapshot.")
    older: int = Field(description="The state that comes back: compare it with `newer` at `/diff`.")
    newer: int


@routes.add("GET", "/procedures/{procedure_id}", "showProcedure", "show_environment", ProcedureShown)
def show_procedure(request: HttpRequest, procedure_id: str) -> Any:
    """An update with a way back."""
    return answers.show_procedure(who(request), procedure_id)


@routes.add(
    "GET", "/environments/{environment_id}/procedures", "listProcedures", "show_environment", Page[ProcedureShown]
)
def list_procedures(request: HttpRequest, environment_id: str) -> Any:
    """The hundred newest updates with a way back of an environment, newest first."""
    return answers.list_procedures(who(request), environment_id)


@routes.add("GET", "/sessions/{session_id}/way-back", "showWayBack", "update_environment", WayBackShown)
def show_way_back(request: HttpRequest, session_id: str) -> Any:
    """Whether deploying the draft could be taken back, and what would not come back. The cloud is asked."""
    return answers.show_way_back(who(request), session_id)


@routes.add("GET", "/environments/{environment_id}/undo", "explainUndo", "show_environment", UndoShown)
def explain_undo(request: HttpRequest, environment_id: str) -> Any:
    """What taking the update of the environment back would do. 409 (SRV616) where there is none."""
    return answers.explain_undo(who(request), environment_id)


@routes.add(
    "POST", "/environments/{environment_id}/undo", "undoEnvironment", "undo_environment", ProcedureShown, status=202
)
def undo_environment(request: HttpRequest, environment_id: str) -> Answer:
    """Takes the update of the environment back: disks, addresses, stacks, model and lock become as they were before."""
    return accepted(answers.undo_environment(who(request), environment_id))


@routes.add(
    "POST", "/environments/{environment_id}/keep", "keepEnvironment", "undo_environment", ProcedureShown, status=202
)
def keep_environment(request: HttpRequest, environment_id: str) -> Answer:
    """Has what is now stay, and lets go of what is held: the update cannot be taken back any more."""
    return accepted(answers.keep_environment(who(request), environment_id))
