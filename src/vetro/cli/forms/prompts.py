"""`Asking`: one question after the other to a person at a terminal, each answer checked and kept at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vetro.cli import output as out
from vetro.cli.forms import input as ask
from vetro.cli.forms.answers import page_answers
from vetro.cli.forms.questions import Question, is_there, put, within, without
from vetro.cli.forms.terminal import TerminalIO, entered
from vetro.cli.plaindata import json_text
from vetro.data_classes import dataclass
from vetro.forms.entry import read
from vetro.forms.model import FILE, Choice, Field, Page
from vetro.forms.sessions import FormFailed, FormSession, Work
from vetro.model.paths import ABSENT, pointer

Answers = dict[str, Any]
#: Full name of a package -> id of the application that a person has made of it; None where nothing came of it.
Create = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class _New:
    """Stands for an application that is still to be made."""

    package: str


class Asking:
    """`work` always has all answers so far. ``create``: makes an application for a field of a definition; ``upload``:
    what becomes of a file that a field wants; None: the form takes none."""

    def __init__(
        self,
        form_session: FormSession,
        work: Work,
        io: TerminalIO,
        *,
        create: Create | None = None,
        upload: ask.Upload | None = None,
    ) -> None:
        self.form_session = form_session
        self._create = create
        self._upload = upload
        self.work = work
        self._io = io
        #: Questions that were answered with the one that made them.
        self._entered: set[tuple[str, str]] = set()
        #: Groups that are being filled in, and what they held before; see `questions`.
        self._opened: dict[str, dict[str, Any]] = {}

    @property
    def _texts(self) -> bool:
        """Whether answers are sent as they are typed, and those that are missing are as they were."""
        return self.form_session.source == "definition"

    def _wrong(self, text: str) -> None:
        self._io.say("  " + out.style(text, fg="red"))

    def ask_one(self, question: Question, page: Page) -> bool:
        """Asks and keeps the answer; False when the question is to be asked once more. Raises `GoBack`."""
        field = question.field
        if question.what == "text":
            told = field.messages.get("instead") or ask.current(field)
            if told not in (None, ""):
                self._io.say(f"{question.label}: {'set' if field.secret else told}")
            return True
        for problem in field.problems:
            if problem.code == "unavailable":
                self._wrong(problem.message)
        if field.description and question.what != "more":
            for line in field.description.splitlines():
                self._io.say(out.style("  " + line, dim=True))
        handler = {"value": self._value, "list": self._list, "map": self._map, "fill": self._fill, "more": self._more}
        return handler[question.what](question, page)

    def _value(self, question: Question, page: Page) -> bool:
        field, label = question.field, question.label
        if field.secret:
            value = ask.ask_secret(self._io, label, field)
        elif field.kind == "boolean":
            value = ask.ask_yes(self._io, label, field, bool(ask.current(field)))
        elif field.widget == FILE:
            value = ask.ask_file(self._io, label, field, self._upload)
        elif field.kind == "reference" and not self._texts:
            value = ask.ask_object(self._io, label, field, self._search(field))
        elif field.choices or field.kind in ("choice", "reference"):
            value = ask.ask_choice(self._io, label, field, [*field.choices, *self._new(field)])
            if isinstance(value, _New):
                self._io.say("")
                made = None if self._create is None else self._create(value.package)
                self._io.say(out.style(f"Back to {label}", bold=True))
                if made is None:
                    return False
                value = made
        else:
            value = ask.ask_text(self._io, label, field, raw=self._texts)
        return self._take(question, page, value)

    def _new(self, field: Field) -> list[Choice]:
        """Applications that can be made for a field of a definition, where there is an environment to put them into."""
        if self._create is None or field.picker is None:
            return []
        return [Choice(_New(str(one.value)), f"new: {one.label}", group="New") for one in field.picker.types]

    def _list(self, question: Question, page: Page) -> bool:
        items = question.field.items
        assert items is not None
        if items.choices and not items.nullable:
            value = ask.ask_several(self._io, question.label, question.field, items.choices)
            return self._take(question, page, value, deep=True)
        value = self._entries(question, lambda number, found: self._item(items, f"  {number}"))
        return self._take(question, page, value, deep=True)

    def _map(self, question: Question, page: Page) -> bool:
        field = question.field
        assert field.items is not None
        items, named = field.items, {f.name for section in field.sections for f in section.fields if section.name == ""}
        own = {key: part for key, part in (ask.current(field) or {}).items() if key in named}

        def entry(number: int, found: list[Any]) -> Any:
            key = entered(self._io, f"  name {number}: ", ())
            if not key:
                return ABSENT
            value = self._item(items, f"  {key}")
            return ABSENT if value is ABSENT else (key, value)

        value = self._entries(question, entry)
        return self._take(question, page, {**own, **dict(value)} if isinstance(value, list) else value, deep=True)

    def _entries(self, question: Question, entry: Any) -> Any:
        """All items anew, one after the other; `KEPT` where the person leaves those that are there."""
        field = question.field
        held = ask.current(field)
        shown = "".join(part.strip() + " " for part in json_text(held).split("\n")).strip() if held else ""
        prompt = f"{question.label} (Enter: {'as it is' if held else 'none'}; +: enter them)"
        while True:
            text = entered(self._io, ask.prompt_of(prompt, field, shown), ask.explanation(field))
            if text is None:
                return {} if field.kind == "map" else []
            if text.strip() == "":
                return ask.KEPT
            if text.strip() == "+":
                break
            if text.strip()[0] in "[{":
                return read(field, text)
            self._io.say("  Type + to enter them one by one, or JSON.")
        found: list[Any] = []
        while (value := entry(len(found) + 1, found)) is not ABSENT:
            found.append(value)
        return found

    def _item(self, items: Field, label: str) -> Any:
        """One plain item; `ABSENT` after an empty line."""
        if items.choices:
            value = ask.ask_choice(self._io, label, items, items.choices)
        else:
            text = entered(self._io, f"{label}: ", ask.explanation(items))
            value = read(items, text) if text else ABSENT
        return ABSENT if value is ask.KEPT else value

    def _fill(self, question: Question, page: Page) -> bool:
        field = question.field
        held = ask.current(field)
        if not field.required:
            told = f"{question.label}: enter values?" if held is None else f"{question.label}: change what it holds?"
            wanted = ask.ask_yes(self._io, told, field, False)
            if wanted is not True:
                return True
        self._opened[question.path] = dict(held) if isinstance(held, dict) else {}
        return True

    def _more(self, question: Question, page: Page) -> bool:
        """Another item with fields of its own; an item is left out with ``-number``."""
        field = question.field
        held = ask.current(field)
        count = len(held) if isinstance(held, (list, dict)) else 0
        prompt = f"{question.label}: {count} so far (Enter: enough; +: another one; -N: without number N): "
        text = entered(self._io, prompt, ask.explanation(field))
        word = (text or "").strip()
        if word == "":
            return not self._told(question.path, self._answers(page))
        keys = [str(key) for key in held] if isinstance(held, dict) else [str(number) for number in range(count)]
        if word[0] == "-" and word[1:].isdecimal() and 1 <= int(word[1:]) <= count:
            self._keep(page, without(self._answers(page), question.path + pointer(keys[int(word[1:]) - 1])))
        elif word == "+":
            self._add(question, page, count)
        else:
            self._io.say("  Type +, or - and the number of one of them, or only Enter.")
        return False

    def _add(self, question: Question, page: Page, count: int) -> None:
        field = question.field
        template = field.leading[count] if count < len(field.leading) else field.items
        if template is None:
            self._io.say("  There cannot be more.")
            return
        key, label = str(count), f"{question.label} / {count + 1}"
        if field.kind == "map":
            key = entered(self._io, "  name: ", ()) or ""
            if not key:
                return
            label = f"{question.label} / {key}"
        if template.widget == FILE:
            value = ask.ask_file(self._io, label, template, self._upload)
        elif template.kind == "reference":
            value = ask.ask_object(self._io, label, template, self._search(template))
        elif template.kind in ("object", "map"):
            value = {}
        elif template.kind in ("list", "tuple"):
            value = []
        elif template.secret:
            value = ask.ask_secret(self._io, label, template)
        else:
            value = self._item(template, label)
        if value is not ABSENT and value is not ask.KEPT:
            path = question.path + pointer(key)
            answers = put(put(self._answers(page), question.path, ask.current(field) or _empty(field)), path, value)
            if not self._told(path, answers):
                self._keep(page, answers)
                self._entered.add((path, "value"))

    # -- answers -------------------------------------------------------------------------------------------------------

    def _take(self, question: Question, page: Page, value: Any, *, deep: bool = False) -> bool:
        """Keeps a value that is acceptable; False, and says why, when it is not."""
        answers = self._answers(page)
        if value is not ask.KEPT:
            for path, before in self._opened.items():
                if within(question.path, path) and not is_there(answers, path):
                    answers = put(answers, path, before)
            if value is not ABSENT:
                answers = put(answers, question.path, value)
            elif self._texts:
                answers = put(answers, question.path, "")
            elif question.field.nullable:
                answers = put(answers, question.path, None)
            else:
                answers = without(answers, question.path)
            if question.field.secret:
                for other in page.fields():
                    if pointer(other.confirms) == question.path:
                        answers[other.name] = answers.get(question.field.name)
        if self._told(question.path, answers, deep=deep):
            return False
        if value is not ask.KEPT:
            self._keep(page, answers)
        return True

    def _told(self, path: str, answers: Answers, *, deep: bool = False) -> bool:
        """Says what is wrong at ``path``, and whether there was anything."""
        found = [
            problem
            for problem in self.form_session.validate(self.work, answers)
            if problem.place == path or (deep and within(problem.place, path))
        ]
        for problem in found:
            where = problem.place[len(path) :].replace("/", " ").strip()
            number = str(int(where) + 1) if where.isdecimal() else where
            self._wrong(f"{number}: {problem.message}" if where else problem.message)
        return bool(found)

    def _keep(self, page: Page, answers: Answers) -> None:
        self.work = self.form_session.evaluate(self.work, answers)

    def _complete(self) -> Answers:
        form = self.form_session.form(self.work)
        return {} if self._texts else self._answers(form.pages[self.form_session.page(self.work)])

    def _answers(self, page: Page) -> Answers:
        return page_answers(self.form_session, page)

    def _search(self, field: Field) -> ask.Search:
        picker = field.picker
        assert picker is not None

        def search(what: str, text: str) -> tuple[Sequence[Choice], bool]:
            found = self.form_session.pick(picker, what, text, 0, self.work)
            if found is None:
                raise FormFailed(f"nothing can be chosen for {field.label}")
            return found

        return search


def _empty(field: Field) -> Any:
    return {} if field.kind == "map" else []
