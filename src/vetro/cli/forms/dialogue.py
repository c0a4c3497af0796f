"""`Dialogue`: a form filled in by a person at a terminal, page by page, with a review before the end."""

from __future__ import annotations

from collections.abc import Sequence

from vetro.cli import output as out
from vetro.cli.forms import input as ask
from vetro.cli.forms.answers import Given, check_pages, of_page
from vetro.cli.forms.prompts import Asking, Create
from vetro.cli.forms.questions import Question, questions, within
from vetro.cli.forms.terminal import COMMANDS, GoBack, TerminalIO, entered
from vetro.diagnostics import Diagnostic
from vetro.forms.model import Choice, Field, Form, Page
from vetro.forms.placement import problems_in
from vetro.forms.sessions import FormSession, Turn, Work, review
from vetro.model.paths import ABSENT


class Dialogue(Asking):
    """``given``: answers that are suggested. `work` always has all answers so far. `run` raises what `FormSession`
    raises, `UnknownAnswer`, and `EOFError` and `KeyboardInterrupt` when the person goes away.

    ``everything``: fields of level "advanced", too. ``create``, ``upload``: see `Asking`.
    """

    def __init__(
        self,
        form_session: FormSession,
        work: Work,
        given: Given,
        io: TerminalIO,
        *,
        everything: bool = False,
        create: Create | None = None,
        upload: ask.Upload | None = None,
    ) -> None:
        super().__init__(form_session, work, io, create=create, upload=upload)
        self._given = given
        self._everything = everything
        self._suggested: set[int] = set()
        #: Properties that a preset has set, and nobody wants to adjust.
        self._settled: frozenset[str] = frozenset()
        #: Once all pages were seen: paths whose questions are asked again; everything else stays as it is.
        self._again: str | None = None

    def run(self) -> Work:
        """Asks until the form is accepted and the person agrees; the work is `ready` then."""
        form = self.form_session.form(self.work)
        check_pages(form, self._given)
        self._io.say(out.style(form.title, bold=True))
        for line in (form.description, form.help, COMMANDS):
            if line:
                self._io.say(line)
        while True:
            turn = self._page()
            if turn is not None and turn.outcome == "ready" and self._agreed():
                return self.work

    # -- pages ---------------------------------------------------------------------------------------------------------

    def _page(self) -> Turn | None:
        """Asks the page that is due and submits it until it is taken; None when the person went back from it."""
        number = self.form_session.page(self.work)
        form = self.form_session.form(self.work)
        self._entered.clear()
        if number not in self._suggested:
            self._suggested.add(number)
            given = of_page(form, form.pages[number], self._given)
            if given:
                self.work = self.form_session.evaluate(self.work, {**self._answers(form.pages[number]), **given})
                form = self.form_session.form(self.work)
            if form.presets:
                self._choose_preset(form)
                form = self.form_session.form(self.work)
        if self._again is None:
            self._head(form, number)
            done: set[tuple[str, str]] = set()
        else:
            done = {q.key for q in self._questions(form.pages[number]) if not within(q.path, self._again)}
        while True:
            if not self._ask_all(number, done):
                return None
            turn = self.form_session.submit(self.work, self._complete(), partial=self._texts)
            self.work = turn.work
            if turn.outcome != "invalid":
                self._again = None if self._again is None else "-"
                return turn
            now = self.form_session.form(self.work)
            due = self.form_session.page(self.work)
            self._complain(turn.problems or problems_in(now.pages[due]))
            if due != number:  # an answer to an earlier page does not hold any more
                number = due
                self._head(now, number)
            wrong = [problem.place for problem in turn.problems]
            done = {q.key for q in self._questions(now.pages[due]) if not any(within(p, q.path) for p in wrong)}
            if len(done) == len(self._questions(now.pages[due])):
                done = set()

    def _ask_all(self, number: int, done: set[tuple[str, str]]) -> bool:
        """Asks what is not done yet; False when the person went back to the page before."""
        history: list[tuple[str, str]] = []
        while True:
            page = self.form_session.form(self.work).pages[number]
            question = next((q for q in self._questions(page) if q.key not in done | self._entered), None)
            if question is None:
                return True
            try:
                over = self.ask_one(question, page)
            except GoBack:
                if history:
                    done.discard(history.pop())
                elif number:
                    self.work = self.form_session.back(self.work, number - 1)
                    return False
                else:
                    self._io.say("  This is the first question.")
                continue
            if over:
                done.add(question.key)
                if question.what != "text":
                    history.append(question.key)

    def _choose_preset(self, form: Form) -> None:
        """One choice instead of many questions; what it sets is asked only by those who want to adjust it."""
        own = Choice("", "values of my own")
        offered = [Choice(one.name, f"{one.title}: {one.description}" if one.description else one.title)
                   for one in form.presets]  # fmt: skip
        asked = Field("preset", "choice", "Preset", initial=form.preset, choices=(*offered, own))
        while True:
            try:
                chosen = ask.ask_choice(self._io, asked.label, asked, asked.choices)
                names = frozenset(name for one in form.presets for name in one.values)
                if chosen in (ABSENT, ""):
                    return
                self.work = self.form_session.preset(self.work, chosen)
                adjusts = ask.ask_yes(self._io, "Adjust what it sets?", Field("adjust", "boolean", "Adjust"), False)
                self._settled = frozenset() if adjusts is True else names
                return
            except GoBack:
                self._io.say("  This is the first question.")

    def _questions(self, page: Page) -> list[Question]:
        found = questions(page, everything=self._everything, opened=self._opened)
        return [q for q in found if self._again is not None or not self._is_settled(q)]

    def _is_settled(self, question: Question) -> bool:
        """Whether a preset has answered it; what it leaves open is asked."""
        if question.path.split("/")[1].replace("~1", "/").replace("~0", "~") not in self._settled:
            return False
        field = question.field
        return not (field.required and field.enabled and ask.current(field) in (None, ""))

    def _head(self, form: Form, number: int) -> None:
        page = form.pages[number]
        if len(form.pages) > 1:
            self._io.say("")
            self._io.say(out.style(f"{page.title} of {len(form.pages)}: {page.name}", bold=True))
        for text in page.intro:
            self._io.say(text)

    def _complain(self, problems: Sequence[Diagnostic]) -> None:
        page = self.form_session.form(self.work).pages[self.form_session.page(self.work)]
        labels = {q.path: q.label for q in questions(page)}
        for problem in problems:
            label = labels.get(problem.place)
            self._wrong(f"{label}: {problem.message}" if label else problem.message)

    # -- the end -------------------------------------------------------------------------------------------------------

    def _agreed(self) -> bool:
        """Shows what was answered; False when something is to be changed."""
        pages = review(self.form_session.pages(self.work), earlier=self.form_session.earlier(self.work))
        rows = [(number, row) for number, page in enumerate(pages) for row in page.rows]
        self._io.say("")
        self._io.say(out.style("Please check", bold=True))
        for index, (number, (label, answer, path)) in enumerate(rows, 1):
            was = (pages[number].before or {}).get(path)
            self._io.say(
                f"{index:>4}  {label}: {answer}" + ("" if was is None else out.style(f"  (was: {was})", dim=True))
            )
        while True:
            try:
                text = (entered(self._io, "Enter: that is right; a number: change it: ", ()) or "").strip()
            except GoBack:
                text = str(len(rows))
            if not text:
                return True
            if text.isdecimal() and 1 <= int(text) <= len(rows):
                page, (_, _, path) = rows[int(text) - 1]
                self.work = self.form_session.back(self.work, page)
                self._again = path
                return False
            self._io.say("  Type one of the numbers, or only Enter.")
