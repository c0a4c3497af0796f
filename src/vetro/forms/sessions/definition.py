"""`DefinitionFormSession`: a UI definition being filled in. Its expressions run elsewhere: `vetro.forms.queries` says
what is asked of a task process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vetro.diagnostics import Diagnostic, Text, decode_messages, encode_messages
from vetro.forms.author_texts import translated_form, translated_problems
from vetro.forms.dynamic.definition import BUILT_IN_FORM
from vetro.forms.model import Field, Form, Page, flaw, flaw_json
from vetro.forms.placement import problems_in, with_problems
from vetro.forms.plainform import form_of
from vetro.forms.sessions.base import Answers, FormFailed, FormSession, Turn, Work
from vetro.forms.sessions.review import Earlier
from vetro.model.paths import at
from vetro.model.secrets import is_mark
from vetro.packages.texts import Translations

#: Puts a question to a task process that has read the definition.
Ask = Callable[[Mapping[str, Any]], Any]
#: What the real contracts say of an object model, at the form as a whole.
Check = Callable[[Mapping[str, Any]], Sequence[Diagnostic]]


class DefinitionFormSession(FormSession):
    """``about`` as in `vetro.forms.queries`. ``stored``: the object that is edited, with ``left``: the state of the
    wizard that made it; ``texts``: what the package says in other languages. The work is ``{state, typed, aside, made,
    stays, found}``; ``aside`` has what was typed into fields that may be hidden now.
    """

    source = "definition"

    def __init__(
        self,
        ask: Ask,
        about: Mapping[str, Any],
        *,
        check: Check = lambda model: (),
        stored: Mapping[str, Any] | None = None,
        left: Mapping[str, Any] | None = None,
        texts: Translations | None = None,
    ) -> None:
        self._ask = ask
        self._about = dict(about)
        self._check = check
        self._stored = stored
        self._left = left
        self._texts = texts or {}
        #: The form that came with the last answer, so that it need not be asked for again.
        self._shown: tuple[Any, Form] | None = None

    def begin(self) -> Work:
        found = self._question("start", reopen=self._left)
        return self._kept({"state": found["state"], "typed": {}}, found)

    def makes(self) -> str | None:
        """The class of the objects that the definition makes; None where an expression says it."""
        found: str | None = self._question("makes")["class"]
        return found

    def page(self, work: Work) -> int:
        step: int = work["state"]["step"]
        return step

    def count(self, work: Work) -> int:
        return len(work["state"]["steps"])

    def done(self, work: Work) -> Sequence[int]:
        steps = work["state"]["steps"]
        return [number for number in range(self._reachable(work) + 1) if steps[number]["raw"] is not None]

    def form(self, work: Work, page: int | None = None) -> Form:
        due = self._due(work, page)
        typed = work["typed"].get(str(due))
        if self._shown is not None and self._shown[0] is work["state"] and page is None and typed is None:
            form = self._shown[1]
        else:
            aside = _aside(work, due)
            form = self._form_of(
                self._question("show", state=work["state"], page=page, typed=typed, aside=aside)["form"]
            )
        if work.get("found") and due == self.page(work):
            form = with_problems(form, [flaw(**item) for item in decode_messages(work["found"])], due)
        return form

    def pages(self, work: Work) -> Form:
        return self._form_of(self._question("pages", state=work["state"])["form"])

    def evaluate(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Work:
        due = self._due(work, page)
        before = work["typed"].get(str(due)) or {}
        typed = self._typed(work, answers, due)
        if partial:
            typed = {**before, **typed}
        # What is hidden just now comes back as it was typed.
        aside = {**work.get("aside", {}), str(due): {**_aside(work, due), **typed}}
        return {"state": work["state"], "typed": {**work["typed"], str(due): typed}, "aside": aside}

    def validate(self, work: Work, answers: Answers, page: int | None = None) -> Sequence[Diagnostic]:
        due = self._due(work, page)
        found = self._question("validate", state=work["state"], page=due, raw=self._typed(work, answers, due))
        problems = [flaw(**item) for item in decode_messages(found["problems"])]
        return translated_problems(problems, self._texts)

    def submit(self, work: Work, answers: Answers, page: int | None = None, *, partial: bool = False) -> Turn:
        due = self._due(work, page)
        raw = self._typed(work, answers, due)
        if partial:
            raw = {**(work["typed"].get(str(due)) or {}), **raw}
        found = self._question(
            "submit",
            state=work["state"],
            page=due,
            raw=raw,
            partial=partial,
            stored=self._stored,
            aside=_aside(work, due),
        )
        typed = {key: value for key, value in work["typed"].items() if key != str(due)}
        aside = {**work.get("aside", {}), str(due): {**_aside(work, due), **raw}}
        kept = self._kept({"state": found["state"], "typed": typed, "aside": aside}, found)
        if found["outcome"] == "done":
            problems = list(self._check(found["model"]))
            if problems:
                return Turn(
                    "invalid",
                    {**kept, "found": encode_messages([flaw_json(problem) for problem in problems])},
                    problems,
                )
            return Turn("ready", {**kept, "made": found["model"], "stays": found["stays"]})
        if found["outcome"] == "next":
            return Turn("next", kept)
        return Turn("invalid", kept, problems_in(self.form(kept).pages[found["page"]]))

    def earlier(self, work: Work) -> Earlier | None:
        if self._left is None:
            return None
        state = self._question("start", reopen=self._left)["state"]
        form = self._form_of(self._question("pages", state=state)["form"])
        before, now = ([step["raw"] or {} for step in one["steps"]] for one in (state, work["state"]))

        def changed(page: int, path: str) -> bool:
            return bool(at(before[page], path) != at(now[page], path))

        return Earlier(form, changed)

    def back(self, work: Work, page: int) -> Work:
        state = {**work["state"], "step": self._due(work, page)}
        return {"state": state, "typed": work["typed"], "aside": work.get("aside", {})}

    def ready(self, work: Work) -> bool:
        return work.get("made") is not None

    def result(self, work: Work) -> dict[str, Any]:
        made: dict[str, Any] = work["made"]
        return made

    def _reachable(self, work: Work) -> int:
        """The number of the last page that can be shown: expressions of later ones see pages that nobody answered."""
        steps = work["state"]["steps"]
        return next((number for number, step in enumerate(steps) if step["cleaned"] is None), len(steps) - 1)

    def _due(self, work: Work, page: int | None) -> int:
        if page is None:
            return self.page(work)
        count = self.count(work)
        if not 0 <= page < count:
            raise FormFailed(Text("There is no page {page}, only {count}.", page=page + 1, count=count))
        # The last page, which every wizard has by itself, reads no answers.
        built_in = page == count - 1 and work["state"]["steps"][page]["form"] == BUILT_IN_FORM
        if page > self._reachable(work) and page != self.page(work) and not built_in:
            raise FormFailed(Text("Page {page} can be shown once the pages before it are answered.", page=page + 1))
        return page

    def _typed(self, work: Work, answers: Answers, page: int) -> dict[str, Any]:
        """What was typed, with secrets that were typed before and are not sent again."""
        before = work["typed"].get(str(page)) or {}
        return {name: before[name] if is_mark(value) and name in before else value for name, value in answers.items()}

    def _kept(self, work: Work, found: Mapping[str, Any]) -> Work:
        self._shown = (work["state"], self._form_of(found["form"]))
        return work

    def _form_of(self, found: Mapping[str, Any]) -> Form:
        return _with_confirmations(translated_form(form_of(found), self._texts))

    def _question(self, do: str, **more: Any) -> Any:
        found = self._ask({"do": do, "about": self._about, **more})
        failed = found.get("failed")
        if failed is not None:
            failed = decode_messages(failed)
            raise FormFailed(failed["civil"], failed)
        return found


def _with_confirmations(form: Form) -> Form:
    """With right words where what is typed a second time is no password: to definitions every secret is one."""
    return replace(form, pages=tuple(_page_with_confirmations(page) for page in form.pages))


def _page_with_confirmations(page: Page) -> Page:
    called = {
        field.name: field.label
        for section in page.sections
        for field in section.fields
        if field.secret and "password" not in field.label.casefold()
    }
    if not any(field.confirms in called for section in page.sections for field in section.fields):
        return page
    sections = tuple(
        replace(section, fields=tuple(_confirmation(field, called.get(field.confirms)) for field in section.fields))
        for section in page.sections
    )
    return replace(page, sections=sections)


def _confirmation(field: Field, label: str | None) -> Field:
    if label is None:
        return field
    required = Text("Enter it a second time.")
    was = field.messages.get("required")
    return replace(
        field,
        label=Text("{label} a second time", label=label),
        help=Text("The same again, against typing mistakes"),
        messages={**field.messages, "required": required},
        problems=tuple(replace(one, message=required) if one.message == was else one for one in field.problems),
    )


def _aside(work: Work, page: int) -> dict[str, Any]:
    found: dict[str, Any] = work.get("aside", {}).get(str(page), {})
    return found
