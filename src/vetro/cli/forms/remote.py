"""`RemoteFormSession`: a form that a server keeps, for the same dialogue and scripts as one of this machine.

The server computes and checks; what was answered is safe there, so an interrupted form goes on where it was left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vetro.cli.client.requests import Client
from vetro.cli.environments.stored_files import upload
from vetro.diagnostics import Diagnostic
from vetro.forms.model import Choice, Form, Picker, flaw
from vetro.forms.plainform import form_of
from vetro.forms.sessions import FormSession, Turn, Work
from vetro.forms.sessions.base import Answers

#: The last answer of the server, in the work.
_SHOWN = "shown"


class RemoteFormSession(FormSession):
    """``shown``: what the server answered to the beginning (`POST /v2/forms`)."""

    def __init__(self, client: Client, shown: Mapping[str, Any]) -> None:
        self._client = client
        self._first = shown
        self.id = str(shown["id"])
        self.source = str(shown["source"])
        self.purpose = str(shown["purpose"])

    def begin(self) -> Work:
        return {_SHOWN: dict(self._first)}

    def form(self, work: Work, page: int | None = None) -> Form:
        shown = work[_SHOWN]
        if page is not None and page != shown["page"]:
            shown = self._client.get(f"/forms/{self.id}", page=page)
        return form_of(shown["form"])

    def page(self, work: Work) -> int:
        return int(work[_SHOWN]["page"])

    def count(self, work: Work) -> int:
        return len(work[_SHOWN]["form"]["pages"])

    def done(self, work: Work) -> Sequence[int]:
        return list(work[_SHOWN]["pages_done"])

    def pages(self, work: Work) -> Form:
        form = self.form(work)
        filled = [self.form(work, number).pages[number] for number in range(self.count(work))]
        return replace(form, pages=tuple(filled))

    def evaluate(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Work:
        return self._asked("evaluate", {"answers": dict(answers), "page": page, "partial": partial})

    def preset(self, work: Work, name: str) -> Work:
        return self._asked("evaluate", {"answers": {}, "partial": True, "preset": name})

    def validate(self, work: Work, answers: Answers, page: int | None = None) -> Sequence[Diagnostic]:
        found = self._client.post(f"/forms/{self.id}/validate", {"answers": dict(answers), "page": page})
        return [flaw(**problem) for problem in found["problems"]]

    def submit(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Turn:
        made = self._asked("submit", {"answers": dict(answers), "page": page, "partial": partial})
        problems = [flaw(**problem) for problem in made[_SHOWN]["problems"]]
        return Turn(made[_SHOWN]["outcome"], made, problems)

    def back(self, work: Work, page: int) -> Work:
        return self._asked("back", {"page": page})

    def ready(self, work: Work) -> bool:
        return bool(work[_SHOWN]["outcome"] == "ready")

    def start_from(self, builder: str, answers: Answers) -> Work:
        """The work with what a model builder makes of its arguments."""
        return self._asked("start-from", {"builder": builder, "answers": dict(answers)})

    def result(self, work: Work) -> dict[str, Any]:
        """What became of it: ``{environment_id, session_id, object_id, task_id, …}``. The form is gone then."""
        found: dict[str, Any] = self._client.post(f"/forms/{self.id}/finish")
        return found

    def pick(
        self, picker: Picker, what: str, search: str, offset: int, work: Work
    ) -> tuple[Sequence[Choice], bool] | None:
        listed = picker.types if what == "types" else picker.existing
        more = picker.more_types if what == "types" else picker.more_existing
        wanted = search.casefold()
        found = [choice for choice in listed if wanted in f"{choice.label} {choice.group or ''}".casefold()]
        return found[offset:], more

    def beside(self, package: str) -> RemoteFormSession:
        """The form of an application that is made for a field of this one; ``package``: full name."""
        found = self._client.get("/packages", fqn=package, limit=1)["items"][0]
        about = {"environment_id": self._first["environment_id"], "package": found["id"], "into": self.id}
        return RemoteFormSession(self._client, self._client.post("/forms", about))

    def upload(self, path: str) -> dict[str, Any]:
        """The object that a file of this machine is, once the server has it. Raises `OSError`."""
        return upload(self._client, str(self._first["environment_id"]), path)

    def discard(self) -> None:
        """Throws the form away."""
        self._client.delete(f"/forms/{self.id}")

    def _asked(self, what: str, body: Mapping[str, Any]) -> Work:
        given = {name: value for name, value in body.items() if value is not None}
        return {_SHOWN: self._client.post(f"/forms/{self.id}/{what}", given)}
