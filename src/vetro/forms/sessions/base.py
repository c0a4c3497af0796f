"""What all form sessions have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic, Text
from vetro.forms.model import Choice, Form, Picker
from vetro.forms.sessions.review import Earlier
from vetro.yaql.errors import VetroError

Work = dict[str, Any]
Answers = Mapping[str, Any]


class FormFailed(VetroError):
    """The form of a package cannot be used. The message is for the person, `author` for whoever maintains it."""

    kind = "ui-definition"
    code = "FRM320"

    def __init__(self, message: str, author: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        #: {code, kind, message, hint, position}: what the author wants to know; None where nobody but us is at fault.
        self.author = author
        self.details: dict[str, Any] | None = None if author is None else {"author": dict(author)}


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of submitted answers. ``problems`` are also in the form, at their fields."""

    outcome: Literal["next", "invalid", "ready"]
    work: Work
    problems: Sequence[Diagnostic] = ()


class FormSession(ABC):
    """See `vetro.forms.sessions`. Methods raise `FormFailed`, and whatever asking a task process raises."""

    source: str

    @abstractmethod
    def begin(self) -> Work:
        """A new beginning."""

    @abstractmethod
    def form(self, work: Work, page: int | None = None) -> Form:
        """The form with one page filled in: the one that is due, or ``page``; of others only names and titles."""

    @abstractmethod
    def page(self, work: Work) -> int:
        """The number of the page that is due."""

    def count(self, work: Work) -> int:
        """How many pages there are."""
        return 1

    def done(self, work: Work) -> Sequence[int]:
        """Numbers of the pages that were answered already."""
        return ()

    @abstractmethod
    def pages(self, work: Work) -> Form:
        """The form with all pages filled in."""

    @abstractmethod
    def evaluate(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Work:
        """Keeps what was typed so far, and computes anew what depends on it."""

    def preset(self, work: Work, name: str) -> Work:
        """The work with the values of one of `Form.presets`. Raises `FormFailed` where there is none of this name."""
        raise FormFailed(Text("This form has no presets."))

    @abstractmethod
    def validate(self, work: Work, answers: Answers, page: int | None = None) -> Sequence[Diagnostic]:
        """What `submit` would complain about without asking the real contracts. Nothing is kept."""

    @abstractmethod
    def submit(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Turn:
        """Takes the answers of a page."""

    @abstractmethod
    def back(self, work: Work, page: int) -> Work:
        """Makes an earlier page due."""

    @abstractmethod
    def ready(self, work: Work) -> bool:
        """Whether `result` may be called."""

    @abstractmethod
    def result(self, work: Work) -> dict[str, Any]:
        """What the answers make: an object model, or arguments. Call it when `ready`."""

    def earlier(self, work: Work) -> Earlier | None:
        """What the form held before it was edited; None where something new is made."""
        return None

    def pick(
        self, picker: Picker, what: str, search: str, offset: int, work: Work
    ) -> tuple[Sequence[Choice], bool] | None:
        """A page of what a picker offers, and whether there is more; None: what the field holds is all there is."""
        return None
