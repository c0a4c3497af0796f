"""What the form session gives to pages and clients: plain and immutable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic
from vetro.forms.model import Choice, Form


@dataclass(frozen=True, slots=True)
class FormView:
    """A form as it is now; see `vetro.server.forms`."""

    id: str
    purpose: str
    source: str
    form: Form
    #: Number of the page that is shown.
    page: int
    outcome: Literal["shown", "next", "invalid", "ready"]
    #: Those of the page that is shown, also at its fields; for a builder that refused its arguments, theirs.
    problems: Sequence[Diagnostic] = ()
    #: Other sources that the form may be switched to, and why the definition is not among them.
    sources: Sequence[str] = ()
    reason: str = ""
    #: Numbers of pages that were answered already.
    pages_done: Sequence[int] = ()
    #: Model builders that it can start from.
    builders: Sequence[Choice] = ()
    title: str = ""
    #: {id, fqn, name, version}; None where no package of the catalog is meant.
    package: Mapping[str, str] | None = None
    environment_id: str | None = None
    session_id: str | None = None
    object_id: str | None = None
    #: The template that the object is for; then there is no environment.
    template_id: str | None = None
    #: What it makes is deployed at once, in an environment of its own.
    quick: bool = False
    revision: int = 0
    kept: datetime | None = None


@dataclass(frozen=True, slots=True)
class FormResult:
    """What became of a form."""

    purpose: str
    environment_id: str | None = None
    session_id: str | None = None
    object_id: str | None = None
    #: Of an action: what runs it.
    task_id: str | None = None
    #: The person wants to go on adding applications.
    stay: bool = False
    #: The object is in this template.
    template_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChoiceList:
    """A page of what can be chosen. ``next``: the cursor of what follows, None at the end."""

    items: Sequence[Choice]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What a form is about; plain data in `FormDraft.content`."""

    #: Row of the catalog and its definition (digest in the blob store); empty where there is none.
    package_id: str = ""
    fqn: str = ""
    name: str = ""
    version: str = ""
    ui: str = ""
    #: ``Name/version@package`` of the class whose form it is; empty where only the definition can be filled in.
    type: str = ""
    object_id: str = ""
    action_id: str = ""
    method: str = ""
    #: The wizard was opened from a field of another one.
    referred: bool = False
    #: The object goes into a template, not into an environment.
    template_id: str = ""
    #: The object gets an environment of its own, even if that is there already.
    quick: bool = False
    #: How that environment is to be called; empty: like the application.
    environment: str = ""
    #: The form that is tried out and gets what is made here; empty for others.
    into: str = ""

    @property
    def package(self) -> dict[str, str] | None:
        """The package for clients."""
        if not self.fqn:
            return None
        return {"id": self.package_id, "fqn": self.fqn, "name": self.name, "version": self.version}

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return {name: getattr(self, name) for name in self.__slots__}
